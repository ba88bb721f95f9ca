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
 * of bytes since the start of a run are the whole protocol.  The card writes
 * `position` after the data: all bytes below it are whole blocks.  The host
 * writes `limit`: without the flag NEWEST the card writes no byte beyond it.
 * During a run both only grow.
 *
 * A card has one queue or more, each with a ring.  A file's calls are about
 * queue 0, or about the one that QUEUE has chosen.  The file that calls RING or
 * read() takes its queue, and keeps it until the file is closed.  Meanwhile the
 * calls of other files about that queue fail with -EBUSY, except QUEUE, INFO,
 * DISCARDS, poll() and mmap() of the status page, which every file may use at
 * any time.
 *
 * All queues run together.  START of another queue than 0 only gets that queue
 * ready, and START of queue 0 begins the run of queue 0 and of all queues that
 * are ready.  STOP of queue 0, and the close() of its file, end the run of all
 * queues.  STOP of another queue ends that queue's part only.  If the file of
 * another queue is closed, another file can take that queue once the run has
 * ended.
 *
 * read() of a file that has called RING fails with -EINVAL.  In other files
 * read() uses a ring of the driver's, and returns 4 KiB with the header of a
 * pcapng file, and then the blocks.  The first read() starts the queue as a
 * START without flags does, and queue 0's may set the clock (HOST_CLOCK).  A
 * read() waits for blocks, and gives their room back to the card.  With
 * O_NONBLOCK it fails with -EAGAIN instead of waiting.  After a STOP read()
 * returns what is left, and then 0.  When the card has been reset, read()
 * returns the blocks from before, and then fails with -EIO (-ENODEV, if the
 * card has gone).  poll() then says POLLERR, and also POLLIN until read() has
 * returned these blocks.
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

/*
 * LITEPCIE_CAPTURE_*_LEAST and _MOST: limits in bytes of a ring, an MBUF (a
 * part of a ring) and a frame.  LITEPCIE_CAPTURE_PORTS, _QUEUES and _RULES: how
 * many of these a card has at most.  Also the number of words of a rule, and
 * the number of entries of the spread (the table that gives a frame's queue).
 */
#include "litepcie_limits.h"
#include "litepcie.h"

/*
 * RING: take the file's queue, and give it a ring in the caller's own memory.
 *
 * The memory is pinned and charged as that of RING_MEMORY is (litepcie.h), until
 * the file is closed or gets another ring.  If the file of another queue than 0
 * is closed during that queue's run, the memory stays pinned until the run ends.
 * The card writes to these physical pages even if the process unmaps them.
 * After a fork() the child has copies of private pages.
 *
 *   @address		start of the memory, a multiple of the page size
 *   @bytes		size of the ring: a power of two, LITEPCIE_CAPTURE_RING_LEAST to
 *			LITEPCIE_CAPTURE_RING_MOST
 *   @mbuf_bytes		size of an MBUF, which is one of the equal parts of the ring that
 *			the card fills one after the other: a power of two,
 *			LITEPCIE_CAPTURE_MBUF_LEAST to LITEPCIE_CAPTURE_MBUF_MOST, at most a
 *			quarter of the ring
 *   @segment_bytes	returned: size of the contiguous pieces of the ring, whose
 *			addresses the driver writes to the card
 *   @segments		returned: number of these pieces
 *
 * Errors:
 *   -EINVAL	also: the ring of another queue has MBUFs of another size
 *   -EBUSY	another file has the queue, the capture runs, the queue has been started,
 *		or the file uses read()
 *   -EMSGSIZE	the memory is not contiguous enough.  Each MBUF, and each of the
 *		pieces (at most @most_segments of INFO), must lie within one page.
 *		MADV_HUGEPAGE or MAP_HUGETLB, and memory that is aligned to a huge
 *		page, allow MBUFs of up to 2 MiB.
 *   -EFAULT	no memory is mapped at @address, or the caller may not write to it
 *   -EOPNOTSUPP	the memory is a file's, or shared and not hugetlbfs's; or the card
 *		does not reach all memory without a bounce buffer; or the host is
 *		big-endian
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
 * START: begin to take frames, at position 0 and with all counts of frames and
 * bytes at 0.
 *
 * @snap and @wait_cycles of queue 0's START hold for all queues.  Those of
 * another queue's START are not used.  Each queue has its own @staging_bytes.
 *
 *   @flags	LITEPCIE_CAPTURE_
 *   @snap	bytes to keep of a frame, at most LITEPCIE_CAPTURE_FRAME_MOST; 0: all
 *   @wait_cycles	clock cycles that complete records may wait on the card for further
 *		records, so that the card writes them together: a number of
 *		LITEPCIE_CAPTURE_WAIT_BITS bits
 *   @staging_bytes	with STAGING: bytes of the card's staging memory that the queue
 *			may use at once, a multiple of LITEPCIE_CAPTURE_CELL from
 *			LITEPCIE_CAPTURE_STAGING_LEAST to LITEPCIE_CAPTURE_STAGING_MOST;
 *			without STAGING: 0
 *   @limit	first limit: at most the size of the ring
 *
 * Errors:
 *   -EINVAL	also: the file has no ring.  START of queue 0 also fails so in
 *		three cases: another queue has been started with other flags,
 *		apart from HOST_CLOCK and STAGING; with NEWEST, a queue of a card that sorts frames (SORT) has not
 *		been started; or a ring would have too many pieces, since all
 *		rings get pieces of the size of the smallest one.
 *   -EBUSY	another file has the queue, the capture runs, the queue has been started
 *		already, or the file uses read()
 *   -EPERM	NET without CAP_NET_RAW
 *   -EOPNOTSUPP	NET, and the card has no net device whose frames it can copy; or
 *		HOST_CLOCK, and the card's clock cannot be set; or STAGING, and the card
 *		gives each queue an equal part of the staging memory
 *   -EIO		the card was reset or slept while the queue ran or was ready, and STOP has
 *		not been called since; or a part of the card does not stop, so bus
 *		mastering is off until the card is reset; or the card does not set its
 *		counts of frames to 0
 */
struct litepcie_capture_start {
	__u32 flags;
	__u32 snap;
	__u32 wait_cycles;
	__u32 staging_bytes;
	__u64 limit;
	__u64 reserved[3];
};

/* Flag of START: also record frames that their source has marked as bad. */
#define LITEPCIE_CAPTURE_KEEP_BAD	1u
/*
 * Flag of START: a frame for which the ring or the staging memory has no room
 * waits on the card until there is room, or until the run is ended (STOP).
 * Without the flag such a frame is lost.
 */
#define LITEPCIE_CAPTURE_LOSSLESS	2u
/*
 * Flag of START: the card writes over the oldest data, without regard to the
 * limit.
 */
#define LITEPCIE_CAPTURE_NEWEST		4u
/*
 * Flag of START: also record what the card's net device receives and sends.  The
 * flag needs CAP_NET_RAW, as any capture of the host's network traffic does.
 */
#define LITEPCIE_CAPTURE_NET		8u
/*
 * Flag of START: set the card's clock, which gives frames their times, to the
 * host's time in ns since 1970 (CLOCK_REALTIME).  Only queue 0's START does so.
 * Without the flag the clock goes on as it is.  From the card's reset, until
 * something sets it, it has the time since the reset.  The first read() of queue
 * 0 sets the clock, too, unless the card is a simulated one.
 */
#define LITEPCIE_CAPTURE_HOST_CLOCK	16u
/*
 * Flag of START: the queue may use @staging_bytes of the card's staging memory at
 * once.  If that is more than the memory for all queues together, busy queues
 * share the memory as their frames come.  Without the flag a queue may use an
 * equal part (@staging_bytes of INFO), so it loses no frame because of another.
 */
#define LITEPCIE_CAPTURE_STAGING	32u

/*
 * STOP: take no more frames.  When a STOP of queue 0 has succeeded, all data and
 * the last status lines are in memory, and the card writes no more.  A STOP of a
 * queue that has not been started only clears the error of a reset or sleep.
 *
 * STOP of queue 0 waits for frames that LOSSLESS keeps on the card, as long as
 * the rings have room for them.  If a ring has no room and nothing is written
 * for half a second, these frames are lost and counted.
 *
 * While queue 0 runs, STOP of another queue lets the card end that queue's MBUF
 * (a part of the ring) with a seal block.  All bytes below @position are then
 * in memory.  The card may still write beyond @position, up to the limit.
 *
 *   @position	returned: position, in bytes since the start, up to which the ring has
 *		data.  The caller sets it to 0.
 */
struct litepcie_capture_stop {
	__u64 position;
	__u64 reserved[3];
};

/*
 * LIMIT: let the card write up to byte @limit of the run.  A @limit below the
 * last one is ignored.  The call fails with -EINVAL if the queue does not run or
 * was started by read(), or if @limit is more than the ring's size beyond the
 * card's position.  With NEWEST no @limit is too far beyond the position.
 */
struct litepcie_capture_limit {
	__u64 limit;
	__u64 reserved;
};

/*
 * WAKE: ask for one wake-up when the queue's position has passed @position.  If
 * the queue's position has passed @position already, the wake-up comes at once.
 * At the wake-up poll() says POLLIN, and the eventfd @fd is signalled (-1: no
 * eventfd).  The end of the run is a wake-up, too.  A @position of 2^64 - 1 is
 * never passed.  If the queue has not been started, the wake-up comes at once.
 * The call fails with -EBUSY in a file that uses read().
 */
struct litepcie_capture_wake {
	__u64 position;
	__s32 fd;
	__u32 reserved;
};

/*
 * GENERATE: start the card's generator of frames from frame 0 on, or stop it
 * (@size 0).  gateware/capture/generator/Generator.scala describes its frames.
 * The caller must have queue 0.  The call fails with -EINVAL if the caller has
 * no queue or another queue; and with -EBUSY if another file has the queue that
 * the caller's calls are about, or if the last frame of an earlier GENERATE
 * waits for room in a ring.
 */
struct litepcie_capture_generate {
	/* bytes of a frame, at most LITEPCIE_CAPTURE_FRAME_MOST; 0: make no frames */
	__u32 size;
	/* time from one frame's start to the next in 1/256 of a clock cycle; 0: no pause */
	__u32 period;
	__u32 count;		/* number of frames to make; 0: frames without end */
	__u32 seed;
	/* frame n comes from port (n & port_mask); below LITEPCIE_CAPTURE_PORTS */
	__u32 port_mask;
	__u32 reserved[3];
};

/*
 * A number of frames, and the bytes that all of these frames had at their source
 * together.
 */
struct litepcie_capture_account {
	__u64 frames;
	__u64 bytes;
};

/*
 * The counts of the frames of one port in one queue since the start of the run:
 *   @delivered		frames that were recorded in the ring
 *   @bad		frames that were dropped because their source has marked them as bad
 *			and KEEP_BAD is off
 *   @lost_ring		frames that were lost because the ring had no room
 *   @lost_staging	frames that were lost because the staging memory on the card, in
 *			which a frame waits until it is written to the ring, had no room
 */
struct litepcie_capture_port {
	struct litepcie_capture_account delivered, bad, lost_ring, lost_staging;
};

/*
 * INFO: describe the capture.  Every file may call it.  The driver reads @ask
 * and @reserved only, and fills in all other fields.
 *
 *   @ask	LITEPCIE_CAPTURE_ASK_, or 0
 */
struct litepcie_capture_info {
	__u32 ask;
	__u32 reserved;
	__u64 position;		/* bytes written since the start, by the card's last status line */
	__u64 limit;		/* position up to which the card may write, except with NEWEST */
	__u64 ring_bytes;	/* size of the queue's ring; 0: no file has the queue */
	__u32 mbuf_bytes;
	__u32 segment_bytes;
	__u32 run;		/* state of the file's queue: LITEPCIE_CAPTURE_RUN_ */
	__s32 error;		/* error that ended the queue's last run: -errno, or 0 */
	/*
	 * of the last start of queue 0, by START or read(): @flags:
	 * LITEPCIE_CAPTURE_ flags; @snap: bytes to keep of a frame, 0: all
	 */
	__u32 flags;
	__u32 snap;
	__u32 generated;	/* frames that the generator has made since its start */
	__u32 generating;	/* 1: the generator makes a frame now; 0 also between two frames */
	__u32 staging_bytes;	/* an equal part of the card's staging memory for one queue */
	__u32 most_segments;	/* largest number of contiguous pieces that a ring may have */
	__u64 status_offset;	/* mmap() offset of the status page */
	/* number of the file's queue; @queues: how many queues the card has */
	__u32 queue;
	__u32 queues;
	/*
	 * frames of the net device that the card could not copy to the capture
	 * in the last run with the flag NET
	 */
	__u64 net_lost;
	/*
	 * LITEPCIE_CAPTURE_ flags of START that the driver knows; 0: a driver from before
	 * this field, which knows KEEP_BAD, LOSSLESS and NEWEST for certain
	 */
	__u32 start_flags;
	__u32 reserved2[3];
	struct litepcie_capture_port port[LITEPCIE_CAPTURE_PORTS];
};

/*
 * Flag of INFO: fill in @port with the counts of the file's queue, all of one
 * moment.  The driver makes hundreds of register accesses for that.
 */
#define LITEPCIE_CAPTURE_ASK_ACCOUNTS	1u

/*
 * QUEUE: let the file's calls be about queue @queue.  Call it before the file
 * is added to an epoll: an epoll that has the file already is woken by all
 * queues of the card, @queue among them.
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
 * SORT: set how the card chooses a frame's queue.  The settings act from the
 * next START of queue 0 until the file is closed or calls SORT again, also after
 * a reset or a sleep of the card.  The caller must have queue 0.  Without SORT
 * all frames go to queue 0.
 *
 *   @flags	LITEPCIE_CAPTURE_SORT_
 *   @rules	number of rules in use, from rule 0 on.  The first rule that matches a
 *		frame is applied.
 *   @rule	the words of each rule, as gateware/capture/queues/Rule.scala defines
 *		them
 *   @spread	the number of the queue for each entry, which is used for a frame
 *		unless the rule that matches the frame names a queue or discards it.  A
 *		frame's entry is the hash of its addresses and ports modulo the number of
 *		entries, or with SORT_BY_PORT the number of the card's port that the frame
 *		came from.
 *
 * Errors:
 *   -EINVAL	also: a rule or an entry names a queue that the card does not have, or
 *		the caller has no queue or another queue than 0
 *   -EBUSY	another file has the queue that the caller's calls are about, or the
 *		capture runs
 *   -EOPNOTSUPP	the card has no rules, as a card with one queue has none
 */
struct litepcie_capture_sort {
	__u32 flags;
	__u32 rules;
	__u64 reserved[2];
	__u32 rule[LITEPCIE_CAPTURE_RULES][LITEPCIE_RULE_WORDS];
	__u8 spread[LITEPCIE_CAPTURE_SPREAD];
};

/*
 * Flags of SORT: ON: the card uses the rules and the spread; without ON all
 * frames go to queue 0.  BY_PORT: a frame's entry of the spread is the number of
 * the port that the frame came from.
 */
#define LITEPCIE_CAPTURE_SORT_ON	1u
#define LITEPCIE_CAPTURE_SORT_BY_PORT	2u

/*
 * DISCARDS: get the numbers of frames that rules have discarded since the start,
 * all of one moment.  Each of these frames is counted twice: @account has first
 * the counts for each rule, then those for each port.  Every file may make this
 * call.  The call fails with -EOPNOTSUPP if the card has no rules.
 */
struct litepcie_capture_discards {
	struct litepcie_capture_account account[LITEPCIE_CAPTURE_RULES +
						LITEPCIE_CAPTURE_PORTS];
};

/*
 * States of a queue (@run).  REST: the queue is stopped.  RING: the queue was
 * started by START.  READ: it was started by read().  A queue that was started
 * may still wait for the start of queue 0.
 */
#define LITEPCIE_CAPTURE_RUN_REST	0u
#define LITEPCIE_CAPTURE_RUN_RING	1u
#define LITEPCIE_CAPTURE_RUN_READ	2u

/*
 * The status page, which every file may map for reading: an array with an
 * element for each queue.  The card writes the first 32 bytes of an element, the
 * status line, after the data that the line counts.  The driver clears the line
 * before a start, and writes the rest of the element, in the byte order of the
 * host.
 */
struct litepcie_capture_status {
	__le64 position;	/* bytes written since the start; these are whole blocks */
	__le64 records;		/* number of records (frames) written since the start */
	/* frames of the queue lost since the start: no room in ring or staging memory */
	__le64 lost;
	__le64 time;		/* time in ns by the card's clock at which this line was written */
	__u64 limit;		/* position up to which the card may write, except with NEWEST */
	/*
	 * @run: state of the queue, LITEPCIE_CAPTURE_RUN_; @error: error that
	 * ended the queue's last run, -errno or 0; both as in INFO
	 */
	__u32 run;
	__s32 error;
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
