/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the ioctl() numbers, structures and flags of /dev/litepcieN.  Each
 * DMA channel has one such device node.
 *
 * The calls with ioctl numbers up to 27 are calls of LitePCIe's driver
 * (2024.12), with its layouts and names: LitePCIe's reader is h2c (host to card)
 * in Lanebox, its writer is c2h.  The numbers from 64 on are Lanebox's own.
 * Their structures are padded by hand.  The caller must set their reserved
 * fields to 0.  A call fails with -EINVAL if a reserved field that the driver
 * reads is not 0.
 *
 * A call that needs the card also fails with -ENODEV if the card has gone, and
 * with -EIO while the card is being reset or sleeps.
 *
 * Arguments of calls have the byte order of the host, and so have registers
 * that REG reads or writes.  Fields of the types __le32 and __le64 are
 * little-endian.
 */
#ifndef LITEPCIE_UAPI_H
#define LITEPCIE_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* limits of what a call may ask for: LITEPCIE_*_LEAST and LITEPCIE_*_MOST */
#include "litepcie_limits.h"

#define LITEPCIE_IOCTL			'S'

/* LitePCIe's own calls ------------------------------------------------ */

/*
 * REG: read the register at BAR0 + @addr into @val (@is_write 0), or write @val
 * to it.  @addr is a multiple of 4.
 *
 * Every open file may read all registers.  Without CAP_SYS_RAWIO only these
 * registers may be written to, by the type of their block in the capability
 * table (LITEPCIE_BLOCK_):
 *
 *   CONTROL	the register "scratch"
 *   COUNTERS	the register "control"
 *   PATTERN	the register "control".  The write fails with -EBUSY if it would
 *		change a bit that acts on a direction of channel 0 while another
 *		file owns that direction.
 *   MODULE	the registers "read" and "buffer_place", by which a transceiver
 *		module's memory is read
 *   MEMORY, USER, USER_WINDOW
 *		all of the block
 *
 * A write to any other register, including those of block types and versions
 * that the driver does not know, fails with -EPERM.  A read or write with an
 * @addr that is not a multiple of 4, or is beyond BAR0, fails with -EINVAL.
 */
struct litepcie_ioctl_reg {
	__u32 addr;
	__u32 val;
	__u8 is_write;
};

/*
 * DMA: switch the loopback inside the channel's DMA, which returns h2c data as
 * c2h data, on or off.  The call fails with -EBUSY if the switch would change
 * while another open file owns a direction of the channel.
 */
struct litepcie_ioctl_dma {
	__u8 loopback_enable;
};

/*
 * DMA_WRITER (c2h) and DMA_READER (h2c): start LitePCIe's loop, in which the
 * card goes round the ring and never waits, in a direction (@enable 1), or stop
 * the direction (@enable 0).  A successful call returns the counts below.  If
 * LitePCIe's loop runs already, a start does nothing else, in any file.  If the
 * direction is stopped already, a stop by the owner clears the error of its
 * last run, and a stop by another file does nothing else.
 *   @hw_count	buffers that the card is done with since the start, as of the last
 *		time that the driver asked the card
 *   @sw_count	buffers that software is done with since the start
 * A start makes the caller the owner of a direction that has no owner.  Errors:
 *   -EBUSY	another file owns the direction, and the call would start or stop it;
 *		or, for a start, the direction runs as another kind of run
 *   -EIO		the direction, or for a start any part of the card, did not stop, so
 *		bus mastering is off until the card is reset; or, for a start, the
 *		card's table does not hold a descriptor for each buffer
 *   -ENOMEM	a start has no memory for the ring
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
 * MMAP_DMA_INFO: returns the offsets in bytes at which mmap() finds the rings,
 * and the size and number of their buffers.  In the field names tx is h2c, rx is
 * c2h.
 *
 * Each open file has rings of its own, which no other file can map, export,
 * read or write.  mmap() fails with -EBUSY while another file owns the
 * direction.  A file that maps a ring before it takes the direction maps the
 * ring that it will have.  A new ring in the driver's memory is all zeros.  The
 * ring has LitePCIe's shape, which is 256 buffers of 8 KiB, until RING_SETUP or
 * RING_MEMORY replaces it.  Once the direction is released, the file's next ring
 * has that shape again.
 *
 * The memory of rings cannot be swapped, and is charged as locked memory is.
 * VmPin of the process includes charged memory.  Without CAP_IPC_LOCK, a call
 * fails with -ENOMEM if the charge to the process or to its user would exceed
 * the process's RLIMIT_MEMLOCK.  The charge ends when no open file, no
 * direction, no mapping and no descriptor of EXPORT keeps the memory.  In each
 * direction of a channel one ring of LitePCIe's shape in the driver's memory is
 * free of charge at a time.
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
 * LOCK: take or release directions.  A status of 0 says that the request was
 * refused, because the direction has an owner already, even if that is the
 * caller.  A status of 1 says that the request was granted, or that nothing was
 * requested.  A release by the owner stops the direction, and so does the last
 * close() of the owner's file.
 */
struct litepcie_ioctl_lock {
	__u8 dma_reader_request;
	__u8 dma_writer_request;
	__u8 dma_reader_release;
	__u8 dma_writer_release;
	__u8 dma_reader_status;
	__u8 dma_writer_status;
};

/*
 * MMAP_DMA_WRITER_UPDATE (c2h) and MMAP_DMA_READER_UPDATE (h2c): set the number
 * of buffers that software is done with since the start of LitePCIe's loop
 * (started by DMA_WRITER and DMA_READER).  In this loop read(), write(), and
 * poll() without RING_INDEXED compare the number with the card's count.  The
 * number may also go back.  Without an owner of the direction the call changes
 * nothing.  Errors:
 *   -EBUSY	another file owns the direction
 *   -EINVAL	@sw_count is negative
 */
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

/* Lanebox's own calls ------------------------------------------------- */

#define LITEPCIE_WAY_H2C	0
#define LITEPCIE_WAY_C2H	1

/*
 * The three modes of a ring: how the driver learns how many buffers the card
 * has finished in a direction.
 */

/*
 * Interrupt mode: the card interrupts after every buffers_per_interrupt
 * buffers, and no timer of interval_us asks for progress.  In a LOOP the card
 * may merge interrupts that follow each other closely.  A run of the kind STREAM
 * uses adaptive mode instead, with an interval of 100 us.
 */
#define LITEPCIE_MODE_INTERRUPT	0
/*
 * Adaptive mode: after an interrupt a timer of the driver asks the card every
 * interval_us, until the card has nothing new.  Meanwhile the direction raises
 * no interrupts.
 */
#define LITEPCIE_MODE_ADAPTIVE	1
/*
 * Poll mode: a timer of the driver asks the card every interval_us.  The
 * direction raises no interrupts.
 */
#define LITEPCIE_MODE_POLL	2

/*
 * Flag of RING_SETUP and RING_MEMORY: while the direction runs, poll() compares
 * the card's count with @software of the index page, in every kind of run.
 */
#define LITEPCIE_RING_INDEXED	1u

/*
 * Flag that only RING_INFO returns: the ring lies in the owner's own memory
 * (RING_MEMORY).
 */
#define LITEPCIE_RING_MEMORY	2u

/*
 * Flag that only RING_INFO returns: another file than the caller's owns the
 * direction.
 */
#define LITEPCIE_RING_BUSY	4u

/*
 * The kinds of run.  The call that starts a direction decides its kind.  Until
 * the direction is stopped, calls that want another kind of run fail with
 * -EBUSY.
 *
 *   REST		the direction is stopped
 *   LOOP		started by LitePCIe's numbers 21 and 22: the card goes round the whole
 *		ring and never waits for software.  Buffers for which software is too
 *		late are lost.  Those that read() and write() have lost are counted in
 *		sysfs (h2c_lost, c2h_lost).
 *   HELD		started by ADVANCE: the card uses the buffers that ADVANCE has handed
 *		over, then waits for more
 *   STREAM	started by read() or write(), which hand over buffers as bytes come
 *		and go; as in HELD, the card waits for more buffers
 *
 * Numbers 21 and 22 with @enable 0 stop any kind of run.  If the run in which a
 * read() or write() began is stopped while the call waits, the call fails with
 * -ECANCELED unless it has copied data, even if another run has started
 * meanwhile.  A reset or a sleep of the card ends a run with the error -EIO.
 * ADVANCE, read() and write() of the owner then fail with that error until
 * number 21 or 22 has stopped the direction or has started a LOOP, or until the
 * owner has released the direction.
 */
#define LITEPCIE_RUN_REST	0u
#define LITEPCIE_RUN_LOOP	1u
#define LITEPCIE_RUN_HELD	2u
#define LITEPCIE_RUN_STREAM	3u

/*
 * RING_SETUP: give a direction that the caller owns, and that is stopped, a
 * new ring with the properties below.  A release of the direction drops that
 * ring, and the next ring has LitePCIe's shape again (256 buffers of 8 KiB).
 * Mappings of the old ring keep its memory and the charge for it.  Errors:
 *   -EINVAL	a field is out of its range
 *   -EBUSY	the caller does not own the direction, or the direction runs
 *   -ENOMEM	no memory, or more than RLIMIT_MEMLOCK without CAP_IPC_LOCK
 */
struct litepcie_ring_setup {
	__u32 way;
	/*
	 * bytes of each buffer of the ring: a power of two and at least a page,
	 * LITEPCIE_BUFFER_LEAST to LITEPCIE_BUFFER_MOST
	 */
	__u32 buffer_size;
	/*
	 * number of buffers in the ring: LITEPCIE_BUFFERS_LEAST to the card's
	 * table_depth, see RING_INFO
	 */
	__u32 buffer_count;
	/*
	 * number of buffers from one interrupt of the card to the next, in a run
	 * of the kind LOOP or HELD: 1 to buffer_count; not used in MODE_POLL
	 */
	__u32 buffers_per_interrupt;
	/*
	 * how the driver learns how many buffers the card has finished: a
	 * LITEPCIE_MODE_ value
	 */
	__u32 mode;
	/*
	 * period of the driver's timer in us: LITEPCIE_POLL_US_LEAST to
	 * LITEPCIE_POLL_US_MOST; 0 with MODE_INTERRUPT
	 */
	__u32 interval_us;
	/*
	 * flags of the ring: LITEPCIE_RING_INDEXED or 0; RING_INFO may return
	 * LITEPCIE_RING_MEMORY and LITEPCIE_RING_BUSY, too
	 */
	__u32 flags;
	__u32 reserved;
};

/*
 * RING_INFO: describes the ring that a direction has now, whichever file owns
 * the direction.  If no file owns the direction, or its owner has no ring yet,
 * the call describes the ring that the caller would get.  The driver reads @way
 * and @reserved only, and fills in all other fields.
 */
struct litepcie_ring_info {
	__u32 way;
	__u32 reserved;
	struct litepcie_ring_setup setup;
	/* mmap() offset of this direction's ring of buffers */
	__u64 ring_offset;
	__u64 ring_bytes;
	__u64 status_offset;		/* mmap() offset of the page with struct litepcie_status */
	__u64 index_offset;		/* mmap() offset of the page with struct litepcie_index */
	/*
	 * number of descriptors that the card's table for this direction holds
	 */
	__u32 table_depth;
	/*
	 * bytes of each physically contiguous piece of the ring; 0: there is
	 * no ring yet
	 */
	__u32 chunk_bytes;
	/*
	 * c2h: mmap() offset of the ring of struct litepcie_record, the card's
	 * reports of finished buffers; 0 if records_bytes is 0
	 */
	__u64 records_offset;
	/*
	 * bytes of the ring of records; its mapping has this size, rounded up to
	 * whole pages; 0: the direction is h2c, or the driver offers no records
	 */
	__u64 records_bytes;
};

/*
 * RING_MEMORY: as RING_SETUP, but the ring lies in the caller's own memory, and
 * begins at @address, a multiple of the page size.  In huge pages such a ring
 * costs less to write to disks and sockets than the driver's ring, which is
 * mapped in small pages.
 *
 * The memory is pinned, and charged as the driver's rings are, but never free of
 * charge.  The memory stays pinned at least until the direction is released or
 * gets another ring.  While it is pinned, the card may read (h2c) or write (c2h)
 * these physical pages.  If the process unmaps or discards the memory, what is
 * mapped there later does not show the card's data.  After a fork() the child
 * has copies of private pages.  MADV_DONTFORK keeps the parent's memory in huge
 * pages after a fork().
 *
 * Errors beside those of RING_SETUP:
 *   -EFAULT	no memory is mapped at @address, or the caller may not write to it
 *   -EMSGSIZE	a buffer lies in more than one page.  MADV_HUGEPAGE or MAP_HUGETLB,
 *		and a ring that is aligned to a huge page, allow buffers of the size of
 *		a huge page (2 MiB on x86).
 *   -EOPNOTSUPP	the memory is shared and not hugetlbfs's; or the card does not reach
 *		all memory without a bounce buffer
 *   -ENOMEM	also: more than RLIMIT_MEMLOCK, without CAP_IPC_LOCK
 *
 * mmap() and EXPORT of such a ring fail with -EADDRINUSE, because the caller
 * has mapped the memory already.
 */
struct litepcie_ring_memory {
	struct litepcie_ring_setup setup;
	__u64 address;
	__u64 reserved;
};

/*
 * ADVANCE: hand buffers over to the card, in the order of the ring.  For h2c
 * they are filled buffers, for c2h empty ones to be filled.  Buffer n, counted
 * from the start of the run, lies at n modulo the ring's count.  The first call
 * takes and starts a direction at rest, even with a @count of 0.
 *
 *   @count	number of buffers.  Together with the buffers that the card still has,
 *		they may be at most the ring's count.
 *   @flags	LITEPCIE_ADVANCE_
 *   @lengths	h2c: the address of @count words of 32 bits, the bytes of each buffer,
 *		from 1 to buffer_size.  0: all buffers are full.  c2h: must be 0.
 *   @advanced	returned: buffers that were handed over since the start of the run
 *
 * Errors:
 *   -EINVAL	the card would have more buffers than the ring, or a length is 0 or
 *		more than buffer_size
 *   -EBUSY	another file owns the direction, or it runs as another kind of run
 *   -EIO		a part of the card does not stop, or the card's counts cannot be true; or
 *		the card was reset or slept while the direction ran, which drops what was
 *		in flight.  After a reset or sleep ADVANCE, read() and write() fail and
 *		poll() says POLLERR alone, until the direction is stopped, released or
 *		started as a LOOP.
 *   -ENOMEM	the first call has no memory for the ring
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
 * PACKETS: switch packets on or off, and set the flush time.  The call acts on
 * those runs of the caller in this direction that ADVANCE, read() or write()
 * start later.  A file that has never made the call has packets off.
 *
 *   @flags	LITEPCIE_PACKETS_
 *   @flush_us	microseconds, at most LITEPCIE_FLUSH_US_MOST
 *		c2h: a partly filled buffer ends when no more data has come for so
 *		long.  0: it never ends for this reason.  A run of ADVANCE ignores
 *		@flush_us without PACKETS_ON.  Before the first call it is 100 for
 *		read().
 *		h2c: write() sends an incomplete beat (less than
 *		LITEPCIE_BEAT_BYTES) after so long, rounded up to ticks of the
 *		kernel's timer.  0, as before the first call: an incomplete beat
 *		is never sent for this reason.
 *
 * With packets on, write() waits until the ring has room for all of its packet.
 * With O_NONBLOCK it fails with -EAGAIN instead, and poll() without RING_INDEXED
 * then reports POLLOUT when all of that packet has room.  A write() of a packet
 * that is longer than the ring without one buffer fails with -EMSGSIZE.
 *
 * Errors:
 *   -EOPNOTSUPP	@flags or @flush_us is not 0, and the driver offers no records, so
 *		only full buffers are announced
 */
struct litepcie_packets {
	__u32 way;
	__u32 flags;
	__u32 flush_us;
	__u32 reserved[5];
};

/*
 * Flag of PACKETS: packets are on.  h2c: each buffer that ADVANCE hands over,
 * and each write(), is one packet.  c2h: the end of a packet ends its buffer,
 * and read() returns at most the rest of one packet.
 */
#define LITEPCIE_PACKETS_ON	1u

/*
 * The record, which the card writes when a c2h buffer has ended, in a run of
 * ADVANCE or read().  Buffer n (from 0) has record n modulo the number of
 * records.  The record is valid when @sequence is n + 1.  A buffer ends when it
 * is full, and earlier at the end of a packet or after the flush time.  In a run
 * of ADVANCE without PACKETS_ON it ends only when it is full.  A packet that is
 * longer than a buffer continues in the next one.
 *
 * The card's words are little-endian.  On a big-endian host the driver offers
 * no records.
 */
struct litepcie_record {
	__le32 bytes;	/* bytes of data in the c2h buffer */
	/*
	 * how the c2h buffer ended: the bitwise OR of LITEPCIE_RECORD_
	 * values of litepcie_limits.h
	 */
	__le32 flags;
	__le64 sequence;
};

/*
 * Flag of ADVANCE: the last buffer of this call, too, raises an interrupt when
 * the card is done with it, except in MODE_POLL.
 */
#define LITEPCIE_ADVANCE_NOTIFY	1u

/*
 * COUNTS: ask the card how far a direction is.  Every open file may make this
 * call, and the call starts nothing.
 *   @hardware	buffers that the card is done with since the start; in a run of
 *		write(): descriptors, of which a buffer may have several
 *   @advanced	buffers handed over to the card since the start, counted like
 *		@hardware; 0 in a LOOP
 *   @position	bytes that the card is done with since the start.  While the card goes
 *		on, these may be the bytes of fewer than @hardware buffers, never of
 *		more.
 *   @run		LITEPCIE_RUN_
 *   @error	error of the present or the last run: -errno, or 0
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
 * EVENT: let the driver signal an eventfd.
 *   @way	LITEPCIE_WAY_: until the direction is released, signal the eventfd at each
 *	interrupt of the direction, when the driver finds that the card has finished more
 *	buffers, and when the run fails or ends.  Only the direction's owner may ask.
 *	A new eventfd is also signalled at once, if the run has made progress or
 *	failed before this call.
 *	LITEPCIE_EVENT_USER: signal the eventfd when the logic in the card's user slot
 *	raises its interrupt.  One file at a time may ask.  After a reset or a sleep of
 *	the card the call must be made again.
 *   @fd	the eventfd; -1: signal none from now on
 * Errors:
 *   -EBUSY	the caller does not own the direction, or another file has the
 *		interrupt of the user's logic
 *   -ENXIO	the user's logic has no interrupt
 */
struct litepcie_event {
	__u32 way;
	__s32 fd;
	__u32 reserved[2];
};

#define LITEPCIE_EVENT_USER	2u

/*
 * BAR: get the offset and size of a BAR for mmap().  BAR0 has registers and is
 * mapped uncached.  Another BAR must be memory, which is a prefetchable BAR, and
 * is mapped write-combining.  The call fails with -ENODEV if the card has no
 * such memory, and with -EINVAL if @bar is more than 5.  The driver reads @bar
 * and @reserved only.
 *
 * Every open file may map all of a BAR with PROT_READ.  Without CAP_SYS_RAWIO a
 * mapping with PROT_WRITE may hold only blocks of the types MEMORY, USER and
 * USER_WINDOW whose version the driver knows.  The capability table has their
 * offsets and sizes, which are multiples of 4 KiB.  mmap() with PROT_WRITE fails
 * with -EPERM if the pages hold anything else.
 */
struct litepcie_bar {
	__u32 bar;
	/*
	 * returned: 1: the BAR is memory, mapped write-combining; 0: the BAR
	 * has registers
	 */
	__u32 write_combining;
	__u64 offset;			/* returned: offset at which mmap() finds the BAR */
	__u64 size;			/* returned: the BAR's size in bytes */
	__u64 reserved;
};

/*
 * EXPORT: make a dma-buf of the caller's ring.  Other devices can attach to the
 * dma-buf, and other processes can map it with MAP_SHARED.  @fd_flags may have
 * O_CLOEXEC and O_RDWR.  The ring's memory, and the charge for it if there is
 * one, stay at least until the last descriptor is closed and the last mapping is
 * gone.  Errors:
 *   -EBUSY	another file owns the direction
 *   -EADDRINUSE	the ring lies in the caller's own memory
 *   -EOPNOTSUPP	the card reaches the ring only through a bounce buffer
 */
struct litepcie_export {
	__u32 way;
	__u32 fd_flags;
	__s32 fd;			/* returned: the descriptor of the dma-buf */
	__u32 reserved;
};

/*
 * FEATURES: find out which version of this ABI the driver has, and which parts
 * of it work with this kernel and this card.  A program looks at the flag of
 * what it wants to use, instead of comparing versions.  Flags that this header
 * does not name are those of a later driver.  LitePCIe's own driver does not
 * know this call, so it fails with -ENOTTY.  The caller sets all fields to 0,
 * or the call fails with -EINVAL.
 */
struct litepcie_features {
	__u32 version;			/* returned: LITEPCIE_VERSION of the driver */
	__u32 reserved;
	__u64 flags;			/* returned: LITEPCIE_FEATURE_ flags */
	__u64 reserved2[6];
};

#define LITEPCIE_VERSION		1u

#define LITEPCIE_FEATURE_HELD		(1ull << 0)	/* the calls ADVANCE and COUNTS work */
/*
 * the driver has the call RING_MEMORY, which may still fail with -EOPNOTSUPP on
 * a host where the card needs bounce buffers
 */
#define LITEPCIE_FEATURE_MEMORY		(1ull << 1)
/*
 * the driver has the call EXPORT, which may still fail with -EOPNOTSUPP on a
 * host where the card needs bounce buffers
 */
#define LITEPCIE_FEATURE_EXPORT		(1ull << 2)
/*
 * the call PACKETS takes flags and a flush time: the card writes records, and
 * the driver can use them
 */
#define LITEPCIE_FEATURE_PACKETS	(1ull << 3)
/*
 * the call EVENT works with LITEPCIE_EVENT_USER: the user's logic has an
 * interrupt
 */
#define LITEPCIE_FEATURE_USER_EVENT	(1ull << 4)

/*
 * The part of one direction in a channel's status page, which every open file
 * may map for reading.  The counts begin with 0 at the start of a run.
 *
 * The first 32 bytes of this struct are the status line.  If the driver offers
 * records, the card itself writes the line in runs of the kinds HELD and STREAM,
 * so that a program needs no call to see progress.  Otherwise the driver writes
 * the line when it has asked the card.  The words of the line are little-endian,
 * whether card or driver writes them.  The other words have the byte order of
 * the host.
 */
struct litepcie_status_way {
	/* bytes that the card is done with since the direction's start */
	__le64 position;
	/*
	 * buffers that the card is done with since the direction's start; in a
	 * run of write(): descriptors, of which a buffer may have several
	 */
	__le64 buffers;
	/*
	 * how many of the buffers or descriptors that @buffers counts have
	 * missing (h2c) or bad (c2h) data; 0 if the driver writes the status
	 * line
	 */
	__le64 errors;
	/*
	 * device time in clock cycles at which the card wrote the status line;
	 * 0: the driver wrote or cleared the line
	 */
	__le64 time;
	__u64 reserved[4];
	/*
	 * buffers handed over to the card since the direction's start, counted
	 * like @buffers; 0 in a LOOP
	 */
	__u64 advanced;
	/*
	 * @run: kind of the present run, LITEPCIE_RUN_; @error: error of the
	 * present or the last run, -errno or 0; both as in COUNTS
	 */
	__u32 run;
	__s32 error;
	__u64 reserved2[6];
};

struct litepcie_status {
	/*
	 * [LITEPCIE_WAY_H2C]: status of h2c; [LITEPCIE_WAY_C2H]: status of c2h
	 */
	struct litepcie_status_way way[2];
};

/*
 * The part of one direction in the index page.  Each open file has an index page
 * of its own.  With RING_INDEXED the program writes to @software how many
 * buffers it is done with, and poll() compares that number with @hardware, the
 * count of COUNTS as of the last time that the driver asked the card.  While the
 * direction runs, c2h is readable if @software < @hardware, and h2c is writable
 * if @software < @hardware + the ring's count - 1.  A start of the direction
 * sets @software to 0.  The driver uses @software for these comparisons only, so
 * a wrong value harms only the program that wrote it.
 */
struct litepcie_index_way {
	__u64 software;
	__u64 reserved[7];
};

struct litepcie_index {
	/*
	 * the program's counts: [LITEPCIE_WAY_H2C] for h2c, [LITEPCIE_WAY_C2H]
	 * for c2h
	 */
	struct litepcie_index_way way[2];
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
#define LITEPCIE_IOCTL_FEATURES		_IOWR(LITEPCIE_IOCTL, 73, struct litepcie_features)

#endif /* LITEPCIE_UAPI_H */
