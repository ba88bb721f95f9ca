/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the ioctl() numbers, structures and flags of /dev/litepcieN-capture,
 * the node of the card's capture block.  The node exists only if the card has
 * that block.
 *
 * The card writes frames as pcapng blocks to a ring in host memory.  Two counts
 * of bytes since the start are the whole protocol.  `position` is written by
 * the card behind the data: all below it is whole blocks.  `limit` is written
 * by the host: the card writes no further.  Both only grow.
 *
 * A card has one queue or more, each with a ring.  A file's calls are about queue
 * 0, or about the one that QUEUE has chosen.  The file that calls RING or read()
 * takes its queue, and keeps it until the file is closed.  Meanwhile the calls of
 * other files about that queue fail with -EBUSY, except QUEUE, INFO, DISCARDS,
 * poll() and mmap() of the status page, which every file may use at any time.
 *
 * All queues run together.  START of another queue than 0 only gets the queue
 * ready, and START of queue 0 begins the run of all that are ready.  STOP of
 * queue 0, and its file's end, end the run of all.  STOP of another queue ends
 * that queue's part only.  If its file is closed, the queue can be taken again
 * when the run has ended.
 *
 * read() without a RING uses a ring of the driver's.  It returns a page with
 * the header of a pcapng file, and then the blocks.  The first read() starts
 * the capture.  A read() waits for blocks, and gives their room back to the
 * card.  With O_NONBLOCK it fails with -EAGAIN instead of waiting.  When the
 * card has been reset, read() returns the blocks from before, and then fails
 * with -EIO (-ENODEV, if the card has gone).  poll() then says POLLERR, and
 * also POLLIN until read() has returned these blocks.
 *
 * Structures are padded by hand.  The caller sets reserved fields to 0, or the
 * call fails with -EINVAL.  Arguments of calls have the byte order of the host.
 * The words that the card writes are little-endian.  On a big-endian host
 * nothing can be captured: RING and read() fail with -EOPNOTSUPP.
 */
#ifndef LITEPCIE_UAPI_CAPTURE_H
#define LITEPCIE_UAPI_CAPTURE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "litepcie.h"

/* Limits in bytes of a ring, and of an MBUF, which is a part of the ring */
#define LITEPCIE_CAPTURE_LEAST_RING	0x10000u
#define LITEPCIE_CAPTURE_MOST_RING	0x40000000u
#define LITEPCIE_CAPTURE_LEAST_MBUF	0x1000u
#define LITEPCIE_CAPTURE_MOST_MBUF	0x400000u

/* Most ports that frames may come from; most bytes that a frame may have */
#define LITEPCIE_CAPTURE_MOST_PORTS	16u
#define LITEPCIE_CAPTURE_MOST_FRAME	16383u

/*
 * RING: take the capture, and give it a ring in the caller's own memory.
 *
 * The memory is pinned and charged as that of RING_MEMORY is (litepcie.h), until
 * the file is closed or gets another ring.  The card writes to these physical
 * pages even if the process unmaps them.  After a fork() the child has copies.
 *
 *   @address		start of the memory, a multiple of the page size
 *   @bytes		size of the ring: a power of two, 64 KiB to 1 GiB
 *   @mbuf_bytes		size of an MBUF: a power of two, 4 KiB to 4 MiB, at most a
 *			quarter of the ring
 *   @segment_bytes	returned: size of the contiguous pieces that the card is
 *			told of
 *   @segments		returned: number of these pieces
 *
 * Errors:
 *   -EINVAL	also: the ring of another queue has MBUFs of another size
 *   -EBUSY	another file has the queue, or the capture runs
 *   -EMSGSIZE	the memory is not contiguous enough.  Each MBUF, and each of the
 *		pieces (of which a card takes at most 2048), must lie within one page.
 *		MADV_HUGEPAGE or MAP_HUGETLB, and memory that is aligned to a huge
 *		page, allow MBUFs of up to 2 MiB.
 *   -EFAULT	no memory is mapped at @address, or the caller may not write to it
 *   -EOPNOTSUPP	the memory is a file's, or shared and not hugetlbfs's; or the card
 *		does not reach all memory without a bounce buffer
 *   -ENOMEM	also: more than RLIMIT_MEMLOCK, without CAP_IPC_LOCK
 */
struct litepcie_capture_ring {
	__u64 address;
	__u64 bytes;
	__u32 mbuf_bytes;
	__u32 reserved;
	__u32 segment_bytes;
	__u32 segments;
	__u64 reserved2[2];
};

/*
 * START: begin to take frames, at position 0 and with all accounts at 0.
 *
 * @snap and @wait_cycles of queue 0 are those of all queues.
 *
 *   @flags	LITEPCIE_CAPTURE_
 *   @snap	bytes to keep of a frame, at most LITEPCIE_CAPTURE_MOST_FRAME; 0: all
 *   @wait_cycles	clock cycles that whole records may wait on the card for more, at
 *		most 2^24 - 1
 *   @limit	first limit: at most the size of the ring
 *
 * Errors:
 *   -EINVAL	also: the file has no ring; or, of queue 0, another queue has been
 *		started with other flags, or with NEWEST a card that sorts frames (SORT)
 *		has a queue that has not been started
 *   -EBUSY	another file has the queue, or the capture runs
 *   -EIO		the card was reset while it captured, and STOP has not been called since;
 *		or the card does not stop, so bus mastering is off until it is reset
 */
struct litepcie_capture_start {
	__u32 flags;
	__u32 snap;
	__u32 wait_cycles;
	__u32 reserved;
	__u64 limit;
	__u64 reserved2[3];
};

/* Flag of START: record the frames that their source found bad, too. */
#define LITEPCIE_CAPTURE_KEEP_BAD	1u
/* Flag of START: frames wait for room where they would be lost. */
#define LITEPCIE_CAPTURE_LOSSLESS	2u
/*
 * Flag of START: the card writes over the oldest data, without regard to the
 * limit.
 */
#define LITEPCIE_CAPTURE_NEWEST		4u

/*
 * STOP: take no more frames.  When the call returns, all data and the last
 * status line are in memory, and the card writes no more.  A stop of a capture
 * that does not run does nothing, and clears the error of a reset.
 *
 * Frames that wait for room (LOSSLESS) are waited for while the ring has room.
 * If it has none, they are lost and counted.
 *
 * While queue 0 runs, STOP of another queue has the card seal that queue's MBUF.
 * All below @position is then in memory.  The card may still write beyond it, up
 * to the limit.
 *
 *   @position	returned: bytes in the ring since the start
 */
struct litepcie_capture_stop {
	__u64 position;
	__u64 reserved[3];
};

/*
 * LIMIT: let the card write up to @limit, which only grows: a smaller limit is
 * ignored.  A limit of more than a ring beyond the position fails with -EINVAL.
 */
struct litepcie_capture_limit {
	__u64 limit;
	__u64 reserved;
};

/*
 * WAKE: ask for one wake-up when the position has passed @position, at once if
 * it has already.  poll() then says POLLIN, and the eventfd @fd is signalled (-1:
 * none).  A caller asks, looks at the position once more, and then sleeps.  The
 * end of the capture wakes, too: with a @position of 2^64 - 1, only the end does.
 */
struct litepcie_capture_wake {
	__u64 position;
	__s32 fd;
	__u32 reserved;
};

/*
 * GENERATE: start the card's generator of frames from frame 0 on, or stop it
 * (@size 0).  gateware/capture/generator/Generator.scala describes its frames.
 * The caller must have queue 0.
 */
struct litepcie_capture_generate {
	__u32 size;		/* bytes of a frame, 1 to 16383; 0: make no frames */
	/* time from frame to frame in 1/256 of a clock cycle; 0: no pause */
	__u32 period;
	__u32 count;		/* frames to make; 0: without end */
	__u32 seed;
	__u32 port_mask;	/* frame n comes from port n & port_mask; 0 to 15 */
	__u32 reserved[3];
};

/* A count of frames, and of the bytes that they had together. */
struct litepcie_capture_account {
	__u64 frames;
	__u64 bytes;
};

/*
 * The accounts of one port: frames that were delivered, dropped because they
 * were bad, lost because the ring had no room, and lost because the card's
 * staging memory had none.
 */
struct litepcie_capture_port {
	struct litepcie_capture_account delivered, bad, lost_ring, lost_staging;
};

/*
 * INFO: describe the capture.  Every file may call it.  The driver reads @ask and
 * @reserved only, and fills in all other fields.
 *
 *   @ask	LITEPCIE_CAPTURE_ASK_, or 0
 */
struct litepcie_capture_info {
	__u32 ask;
	__u32 reserved;
	__u64 position;		/* bytes in the ring, as of the card's last status line */
	__u64 limit;
	__u64 ring_bytes;	/* size of the queue's ring; 0: no file has the queue */
	__u32 mbuf_bytes;
	__u32 segment_bytes;
	__u32 run;		/* state of the capture: LITEPCIE_CAPTURE_RUN_ */
	__s32 error;		/* why the last run was stopped: -errno, or 0 */
	__u32 flags;		/* the flags that START was called with */
	__u32 snap;
	__u32 generated;	/* frames that the generator has made since its start */
	__u32 generating;	/* 1: the generator makes a frame now */
	__u32 staging_bytes;	/* size of the staging memory on the card */
	__u32 most_segments;	/* most contiguous pieces that a ring may have */
	__u64 status_offset;	/* mmap() offset of the status page */
	__u32 queue;		/* the file's queue; next field: number of the card's queues */
	__u32 queues;
	__u64 reserved2[3];
	struct litepcie_capture_port port[LITEPCIE_CAPTURE_MOST_PORTS];
};

/*
 * Flag of INFO: fill in @port with the accounts of one moment.  The driver reads
 * some 300 registers for that.
 */
#define LITEPCIE_CAPTURE_ASK_ACCOUNTS	1u

/* Most queues and rules that a card has; words of a rule; entries of the spread */
#define LITEPCIE_CAPTURE_MOST_QUEUES	16u
#define LITEPCIE_CAPTURE_MOST_RULES	16u
#define LITEPCIE_CAPTURE_RULE_WORDS	16u
#define LITEPCIE_CAPTURE_SPREAD_ENTRIES	128u

/*
 * QUEUE: let the file's calls be about queue @queue.  Call it before the file is added to an epoll:
 * an epoll that has the file already is woken by all queues of the card, @queue among them.
 *
 * Errors:
 *   -EINVAL	the card has no such queue (INFO says how many it has)
 *   -EBUSY	the file has a queue already
 */
struct litepcie_capture_choice {
	__u32 queue;
	__u32 reserved[3];
};

/*
 * SORT: say how frames get to the queues, from the next START of queue 0 on until
 * the file is closed, also behind a reset or a sleep of the card.  The caller must
 * have queue 0.  Without SORT all frames go to queue 0.
 *
 *   @flags	LITEPCIE_CAPTURE_SORT_
 *   @rules	rules in use, from rule 0 on.  The first that a frame matches counts.
 *   @rule	the words of each rule, as gateware/capture/queues/Rule.scala has them
 *   @spread	the queue of each entry.  A frame's entry is the hash of its
 *		addresses and ports modulo 128, or its port
 *
 * Errors:
 *   -EINVAL	also: a rule or an entry names a queue that the card does not have
 *   -EBUSY	another file has queue 0, or the capture runs
 *   -EOPNOTSUPP	the card has one queue
 */
struct litepcie_capture_sort {
	__u32 flags;
	__u32 rules;
	__u64 reserved[2];
	__u32 rule[LITEPCIE_CAPTURE_MOST_RULES][LITEPCIE_CAPTURE_RULE_WORDS];
	__u8 spread[LITEPCIE_CAPTURE_SPREAD_ENTRIES];
};

/* Flags of SORT: use rules and spread; a frame's entry of the spread is its port */
#define LITEPCIE_CAPTURE_SORT_ON	1u
#define LITEPCIE_CAPTURE_SORT_BY_PORT	2u

/*
 * DISCARDS: get the frames that rules have discarded, as of one moment.  Each
 * frame is counted twice: first come accounts for each rule, then those for
 * each port.  Every file may make this call.  -EOPNOTSUPP: the card has no
 * rules.
 */
struct litepcie_capture_discards {
	struct litepcie_capture_account account[LITEPCIE_CAPTURE_MOST_RULES +
						LITEPCIE_CAPTURE_MOST_PORTS];
};

/* Values of @run: the capture rests, was started by START, was started by read() */
#define LITEPCIE_CAPTURE_RUN_REST	0u
#define LITEPCIE_CAPTURE_RUN_RING	1u
#define LITEPCIE_CAPTURE_RUN_READ	2u

/*
 * The status page, which every file may map for reading: an array with an
 * element for each queue.  The card writes the first 32 bytes of an element, as
 * one line, behind the data that they tell of.  The driver writes the rest, in
 * the byte order of the host.
 */
struct litepcie_capture_status {
	__le64 position;	/* bytes written since the start: all below are whole blocks */
	__le64 records;
	__le64 lost;		/* number of frames lost since the start, for any reason */
	__le64 time;		/* device time in ns at which the card wrote this line */
	__u64 limit;
	__u32 run;		/* state of the capture: LITEPCIE_CAPTURE_RUN_ */
	__s32 error;		/* why the last run was stopped: -errno, or 0 */
	__u64 reserved[2];
};

#define LITEPCIE_IOCTL_CAPTURE_RING	_IOWR(LITEPCIE_IOCTL, 80, struct litepcie_capture_ring)
#define LITEPCIE_IOCTL_CAPTURE_START	_IOW(LITEPCIE_IOCTL,  81, struct litepcie_capture_start)
#define LITEPCIE_IOCTL_CAPTURE_STOP	_IOWR(LITEPCIE_IOCTL, 82, struct litepcie_capture_stop)
#define LITEPCIE_IOCTL_CAPTURE_LIMIT	_IOW(LITEPCIE_IOCTL,  83, struct litepcie_capture_limit)
#define LITEPCIE_IOCTL_CAPTURE_WAKE	_IOW(LITEPCIE_IOCTL,  84, struct litepcie_capture_wake)
#define LITEPCIE_IOCTL_CAPTURE_INFO	_IOWR(LITEPCIE_IOCTL, 85, struct litepcie_capture_info)
#define LITEPCIE_IOCTL_CAPTURE_GENERATE	_IOW(LITEPCIE_IOCTL,  86, struct litepcie_capture_generate)
#define LITEPCIE_IOCTL_CAPTURE_QUEUE	_IOW(LITEPCIE_IOCTL,  87, struct litepcie_capture_choice)
#define LITEPCIE_IOCTL_CAPTURE_SORT	_IOW(LITEPCIE_IOCTL,  88, struct litepcie_capture_sort)
#define LITEPCIE_IOCTL_CAPTURE_DISCARDS	_IOR(LITEPCIE_IOCTL,  89, struct litepcie_capture_discards)

#endif /* LITEPCIE_UAPI_CAPTURE_H */
