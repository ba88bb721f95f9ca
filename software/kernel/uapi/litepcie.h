/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * What user space may ask of /dev/litepcieN, one node for each DMA channel.
 *
 * Numbers 0 to 27 are those of LitePCIe's driver (2024.12), layouts and names
 * included: its reader is h2c (host to card) here, its writer c2h.  Numbers
 * from 64 on are ours: their structures are padded by hand, and what is
 * reserved must be 0.
 */
#ifndef LITEPCIE_UAPI_H
#define LITEPCIE_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define LITEPCIE_IOCTL			'S'

/* LitePCIe's ----------------------------------------------------------- */

/*
 * Read or write the register at BAR0 + @addr, which is a multiple of 4.
 *
 * Everybody may read all registers.  What everybody may write to is a list, by
 * the types of block in the capability table (LITEPCIE_BLOCK_):
 *
 * CONTROL	the register "scratch"
 * COUNTERS	the register "control"
 * PATTERN	the register "control"; a bit that acts on a direction is its
 *		owner's, -EBUSY to others
 * MEMORY, USER, USER_WINDOW
 *		all of the block
 *
 * All else, types that the driver does not know included, takes CAP_SYS_RAWIO:
 * -EPERM without it.
 */
struct litepcie_ioctl_reg {
	__u32 addr;
	__u32 val;
	__u8 is_write;
};

/*
 * The loopback inside the DMA, h2c to c2h.  -EBUSY if that is a change and a
 * direction is another open file's.
 */
struct litepcie_ioctl_dma {
	__u8 loopback_enable;
};

/*
 * Start or stop a direction, or only repeat its state; the counts come back.
 * @hw_count: buffers that the card is done with, as of the last interrupt
 * @sw_count: buffers that software is done with
 * Starting takes the direction if nobody has it; -EBUSY if somebody else has.
 * -EIO: the direction does not stop, or another does not.  The card may make no
 * request until it is reset.
 */
struct litepcie_ioctl_dma_writer {
	__u8 enable;
	__s64 hw_count;
	__s64 sw_count;
};

struct litepcie_ioctl_dma_reader {
	__u8 enable;
	__s64 hw_count;
	__s64 sw_count;
};

/*
 * Where mmap() finds the rings.  tx is h2c, rx is c2h.
 *
 * Each open file has rings of its own, which no other file can map, export, read
 * or write: -EBUSY while another file has the direction.  A file that maps a ring
 * before it takes the direction maps the one that it will have.  A new ring is
 * all zeros.  It is LitePCIe's until RING_SETUP or RING_MEMORY replaces it; once
 * the direction is released the next ring is LitePCIe's again.
 *
 * The memory of rings cannot be swapped, and is charged as locked memory is: it
 * is VmPin of the process, and all that a user's processes have together is at
 * most RLIMIT_MEMLOCK (-ENOMEM), unless they have CAP_IPC_LOCK.  It is charged
 * until nothing keeps it: no direction, no mapping, no descriptor of EXPORT.
 * A ring of LitePCIe's shape is free of charge in each direction of the card, for
 * one file at a time; a second file is charged for its own.
 */
struct litepcie_ioctl_mmap_dma_info {
	__u64 dma_tx_buf_offset;
	__u64 dma_tx_buf_size;
	__u64 dma_tx_buf_count;

	__u64 dma_rx_buf_offset;
	__u64 dma_rx_buf_size;
	__u64 dma_rx_buf_count;
};

/*
 * Take or release directions.  A status of 0 answers a request: somebody else
 * has it.  A direction that is released, also by close(), is stopped.
 */
struct litepcie_ioctl_lock {
	__u8 dma_reader_request;
	__u8 dma_writer_request;
	__u8 dma_reader_release;
	__u8 dma_writer_release;
	__u8 dma_reader_status;
	__u8 dma_writer_status;
};

struct litepcie_ioctl_mmap_dma_update {
	__s64 sw_count;
};

#define LITEPCIE_IOCTL_REG		_IOWR(LITEPCIE_IOCTL,  0, struct litepcie_ioctl_reg)
#define LITEPCIE_IOCTL_DMA		_IOW(LITEPCIE_IOCTL,  20, struct litepcie_ioctl_dma)
#define LITEPCIE_IOCTL_DMA_WRITER	_IOWR(LITEPCIE_IOCTL, 21, struct litepcie_ioctl_dma_writer)
#define LITEPCIE_IOCTL_DMA_READER	_IOWR(LITEPCIE_IOCTL, 22, struct litepcie_ioctl_dma_reader)
#define LITEPCIE_IOCTL_MMAP_DMA_INFO \
	_IOR(LITEPCIE_IOCTL, 24, struct litepcie_ioctl_mmap_dma_info)
#define LITEPCIE_IOCTL_LOCK		_IOWR(LITEPCIE_IOCTL, 25, struct litepcie_ioctl_lock)
#define LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE \
	_IOW(LITEPCIE_IOCTL, 26, struct litepcie_ioctl_mmap_dma_update)
#define LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE \
	_IOW(LITEPCIE_IOCTL, 27, struct litepcie_ioctl_mmap_dma_update)

/* Ours ----------------------------------------------------------------- */

#define LITEPCIE_WAY_H2C	0
#define LITEPCIE_WAY_C2H	1

/* How news of a direction come. */
#define LITEPCIE_MODE_INTERRUPT	0	/* by interrupt, each buffers_per_interrupt */
#define LITEPCIE_MODE_ADAPTIVE	1	/* by interrupt, then by looking while there are any */
#define LITEPCIE_MODE_POLL	2	/* by looking, each interval_us; no interrupt at all */

/* poll() goes by the software count in the index page, not by the driver's. */
#define LITEPCIE_RING_INDEXED	1u

/* Told by RING_INFO, not asked for: the ring lies in memory of a user's own. */
#define LITEPCIE_RING_MEMORY	2u

/* Told by RING_INFO: the direction is another open file's, and so is the ring. */
#define LITEPCIE_RING_BUSY	4u

/*
 * How a direction runs.  Whoever starts it decides: LitePCIe's numbers 21 and 22
 * start its loop, ADVANCE a held run, read() or write() a stream.  Until it is
 * stopped each of these refuses the others with -EBUSY.
 *
 * LOOP		the card goes round the whole ring and waits for nobody: what
 *		software is late for is lost, and counted
 * HELD		the card has the buffers that ADVANCE hands over, and then waits
 * STREAM	the same for a stream of bytes: read() and write() hand over
 *
 * 21 and 22 with @enable 0 stop any of them.  They also end the error that
 * a reset or a lost card leaves behind: until then the owner's calls get it.
 */
#define LITEPCIE_RUN_REST	0u
#define LITEPCIE_RUN_LOOP	1u
#define LITEPCIE_RUN_HELD	2u
#define LITEPCIE_RUN_STREAM	3u

/*
 * A ring of another shape for a direction that is the caller's and stopped.
 * When the direction is released it has LitePCIe's again.  Old mappings keep
 * the old memory, and the charge for it.
 */
struct litepcie_ring_setup {
	__u32 way;
	__u32 buffer_size;		/* bytes: a power of two, 4 KiB to 4 MiB */
	__u32 buffer_count;		/* 4 or more, at most the card's table */
	__u32 buffers_per_interrupt;	/* 1 to buffer_count */
	__u32 mode;			/* LITEPCIE_MODE_ */
	__u32 interval_us;		/* 10 to 1000000; 0 with MODE_INTERRUPT */
	__u32 flags;			/* LITEPCIE_RING_ */
	__u32 reserved;
};

/*
 * What the direction has now, whosever it is; only @way and @reserved are read.
 * Of a direction that is nobody's: the ring that the caller would have.
 */
struct litepcie_ring_info {
	__u32 way;
	__u32 reserved;
	struct litepcie_ring_setup setup;
	__u64 ring_offset;		/* for mmap(): all of the ring */
	__u64 ring_bytes;
	__u64 status_offset;		/* for mmap(): a page with struct litepcie_status */
	__u64 index_offset;		/* for mmap(): a page with struct litepcie_index */
	__u32 table_depth;
	__u32 chunk_bytes;		/* contiguous for the card; 0: not made yet */
	__u64 records_offset;		/* c2h: for mmap(): a ring of struct litepcie_record */
	__u64 records_bytes;		/* of it; 0: the card writes none */
};

/*
 * The same in memory of the caller's own, in which the caller finds it: in huge
 * pages it costs less to write to disks and sockets than a mapping of the
 * driver's, which is one of small pages.  @address and the bytes from there on
 * are pinned, and charged as the driver's are, until the direction is released
 * or has another ring, and nobody copies from this one.  Until then the card
 * writes to these very pages: memory that is unmapped, discarded or, in the
 * child of a fork(), copied meanwhile shows nothing of it (MADV_DONTFORK keeps
 * the parent's in huge pages).
 * @address: a multiple of the page size
 *
 * Beside what RING_SETUP answers:
 * -EFAULT	there is no memory, or none that the caller may write to
 * -EMSGSIZE	a buffer lies in more than one page: MADV_HUGEPAGE or
 *		MAP_HUGETLB, and a ring that is aligned, allow up to 2 MiB
 * -EOPNOTSUPP	a file's memory, or shared memory that is not hugetlbfs's; or
 *		the card does not reach all memory without a bounce buffer
 * -ENOMEM	also: more than RLIMIT_MEMLOCK, without CAP_IPC_LOCK
 *
 * mmap() and EXPORT refuse such a ring with -EADDRINUSE: it has its place.
 */
struct litepcie_ring_memory {
	struct litepcie_ring_setup setup;
	__u64 address;
	__u64 reserved;
};

/*
 * Hand buffers over to the card, in the order of the ring: filled ones (h2c), or
 * empty ones to be filled (c2h).  Buffer n is the one at n modulo the ring's count.
 * A direction at rest is taken and started by the first call, also by one with a
 * @count of 0.
 *
 * @count: at most as many as the card does not have already
 * @flags: LITEPCIE_ADVANCE_
 * @lengths: h2c: the address of @count words of 32 bits, the bytes of each buffer,
 *	from 1 to all; c2h, or 0: all of each
 * @advanced: out: buffers that were handed over since the start
 *
 * -EINVAL	more buffers than the card does not have, or a length that no buffer has
 * -EBUSY	another file's direction, or one that runs in another way
 * -EIO		the card was reset while the direction ran
 */
struct litepcie_advance {
	__u32 way;
	__u32 count;
	__u32 flags;
	__u32 reserved;
	__u64 lengths;
	__u64 advanced;
};

/*
 * Packets of the caller's runs in a direction that ADVANCE, read() or write() start
 * from now on.  At first there are none.
 *
 * @flags: LITEPCIE_PACKETS_
 * @flush_us: 0 to 1000000
 *	c2h: a buffer that has some data ends so long after the last of it, without
 *	more; 0: never.  Of a run of ADVANCE it takes PACKETS_ON.  It is 100 for
 *	read() until this call says otherwise.
 *	h2c: write() sends an incomplete beat after so long, or a bit later; 0: never
 *
 * -EOPNOTSUPP	the card has no records: its buffers are whole
 */
struct litepcie_packets {
	__u32 way;
	__u32 flags;
	__u32 flush_us;
	__u32 reserved[5];
};

/*
 * h2c: each buffer that ADVANCE hands over is a packet, each write() is one.  c2h:
 * the end of a packet ends its buffer, and read() gives no more than the rest of
 * one packet.
 */
#define LITEPCIE_PACKETS_ON	1u

/*
 * What the card says of a c2h buffer that has ended, in a run of ADVANCE or read().
 * Buffer n's is at n modulo the ring's entries, and is there when @sequence is n + 1.
 * The buffer ends early at the end of a packet, or after the flush time.  What is
 * longer than a buffer goes on in the next.
 */
struct litepcie_record {
	__u32 bytes;
	__u32 flags;	/* LITEPCIE_RECORD_FLAG_, in litepcie_capability.h */
	__u64 sequence;
};

/* The last of these buffers raises an interrupt when the card is done with it. */
#define LITEPCIE_ADVANCE_NOTIFY	1u

/*
 * How far a direction is.  The card is asked, and nothing is started; everybody may.
 * @hardware: buffers that the card is done with since the start
 * @advanced: buffers that it was given; of a LOOP 0
 * @position: bytes that it is done with
 * @run: LITEPCIE_RUN_
 * @error: why it was stopped: -errno, or 0
 */
struct litepcie_counts {
	__u32 way;
	__u32 reserved;
	__u64 hardware;
	__u64 advanced;
	__u64 position;
	__u32 run;
	__s32 error;
	__u64 reserved2[2];
};

/*
 * Signal an eventfd whenever there is news of a direction, for its owner; or, with
 * LITEPCIE_EVENT_USER in place of the direction, whenever the logic in the card's
 * user slot raises its interrupt, for one file at a time (-EBUSY to others).
 * -1 ends it.  A reset of the card ends that of the user's logic.
 * -ENXIO: the logic has no interrupt
 */
struct litepcie_event {
	__u32 way;
	__s32 fd;
};

#define LITEPCIE_EVENT_USER	2u

/*
 * A BAR for mmap().  Memory (prefetchable) is mapped write-combining, registers
 * uncached.  -ENODEV: there is no such BAR.
 *
 * All of a BAR may be mapped PROT_READ.  Without CAP_SYS_RAWIO a mapping that can
 * be written to has whole blocks of the types MEMORY, USER and USER_WINDOW in it,
 * and nothing else: their offsets and sizes are in the capability table, and are
 * multiples of 4 KiB.  A page with a single register that REG may not write is
 * refused: -EPERM.
 */
struct litepcie_bar {
	__u32 bar;
	__u32 write_combining;		/* out: 1 for memory */
	__u64 offset;			/* out: for mmap() */
	__u64 size;			/* out: bytes */
};

/*
 * A dma-buf of the caller's ring, for other devices.  @fd_flags: O_CLOEXEC,
 * O_RDWR.  The ring's memory is charged until the last descriptor is closed.
 */
struct litepcie_export {
	__u32 way;
	__u32 fd_flags;
	__s32 fd;			/* out */
	__u32 reserved;
};

/*
 * A page that everybody may read, for each channel.  A direction's counts are from
 * its start and never wrap: all buffers below @buffers are the user's (c2h) or have
 * been fetched (h2c).
 *
 * A card that has records writes the first 32 bytes of a direction itself, in a
 * run of ADVANCE, read() or write(): they are true without a call or an interrupt.
 */
struct litepcie_status_way {
	__u64 position;			/* bytes that the card is done with */
	__u64 buffers;			/* that it is done with */
	__u64 errors;			/* of these buffers, those with missing or bad data */
	__u64 time;			/* of the card, when it wrote this; 0: the driver did */
	__u64 reserved[4];
	__u64 advanced;			/* buffers that the card was given; of a LOOP 0 */
	__u32 run;			/* LITEPCIE_RUN_ */
	__s32 error;			/* why it was stopped: -errno, or 0 */
	__u64 reserved2[6];
};

struct litepcie_status {
	struct litepcie_status_way way[2];	/* LITEPCIE_WAY_ */
};

/*
 * A page of the open file's own, in which its user says how far it is, for poll():
 * with RING_INDEXED c2h is readable while @software is less than the buffers in the
 * status page, and h2c is writable while it is less than these and the ring's
 * count, less one.  A start sets the word to 0.  The driver compares the words,
 * and trusts none of them.
 */
struct litepcie_index_way {
	__u64 software;
	__u64 reserved[7];
};

struct litepcie_index {
	struct litepcie_index_way way[2];	/* LITEPCIE_WAY_ */
};

#define LITEPCIE_IOCTL_RING_SETUP	_IOW(LITEPCIE_IOCTL,  64, struct litepcie_ring_setup)
#define LITEPCIE_IOCTL_RING_INFO	_IOWR(LITEPCIE_IOCTL, 65, struct litepcie_ring_info)
#define LITEPCIE_IOCTL_EVENT		_IOW(LITEPCIE_IOCTL,  66, struct litepcie_event)
#define LITEPCIE_IOCTL_BAR		_IOWR(LITEPCIE_IOCTL, 67, struct litepcie_bar)
#define LITEPCIE_IOCTL_EXPORT		_IOWR(LITEPCIE_IOCTL, 68, struct litepcie_export)
#define LITEPCIE_IOCTL_RING_MEMORY	_IOW(LITEPCIE_IOCTL,  69, struct litepcie_ring_memory)
#define LITEPCIE_IOCTL_ADVANCE		_IOWR(LITEPCIE_IOCTL, 70, struct litepcie_advance)
#define LITEPCIE_IOCTL_COUNTS		_IOWR(LITEPCIE_IOCTL, 71, struct litepcie_counts)
#define LITEPCIE_IOCTL_PACKETS		_IOW(LITEPCIE_IOCTL,  72, struct litepcie_packets)

#endif /* LITEPCIE_UAPI_H */
