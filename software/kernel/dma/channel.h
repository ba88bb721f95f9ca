/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares a DMA channel with its two directions (ways), and the functions that give a direction to
 * an open file, start it, count what it has done, and stop it.  card.h says in which order locks
 * are taken.
 */
#ifndef LITEPCIE_CHANNEL_H
#define LITEPCIE_CHANNEL_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "ring.h"
#include "uapi/litepcie.h"

struct dma_buf;
struct litepcie;
struct litepcie_block;
struct litepcie_chan;
struct litepcie_file;

/* width in bits of the descriptor index, which is in the lowest bits of the register loop_status */
#define LITEPCIE_INDEX_BITS 16
#define LITEPCIE_WAYS	2	/* number of directions of a channel: h2c and c2h */

/*
 * The counts of a held run or a stream, in which the card uses each descriptor once and then waits
 * for the driver to hand over more.  A descriptor describes a buffer or a part of one.  The counts
 * begin with 0 at the start of the run.
 */
struct litepcie_held {
	u64	advanced;	/* descriptors of the run that were handed to the card */
	/*
	 * descriptors that the card had counted as done when the driver last looked; hw_count of
	 * the direction is less if the data of the last of them may still be on its way, see
	 * settled() in held.c
	 */
	u64	done;
	/*
	 * bytes in all descriptors that were handed to the card in the run.  In an h2c stream an
	 * incomplete beat (less than LITEPCIE_BEAT_BYTES) that was sent counts as a whole one.
	 */
	u64	bytes;
	/*
	 * bytes that the card has finished, from the status line as the driver last read it; 0 in a
	 * run without a status line
	 */
	u64	position;
	/*
	 * ring: descriptor n (from 0) has entry (n & @mask), which is the number of bytes in the
	 * run's descriptors 0 to n together, counted like @bytes, but with the true length of an
	 * incomplete beat at the end of descriptor n itself
	 */
	u64	*end;
	u64	mask;		/* number of entries of @end, a power of two, minus 1 */
};

/*
 * Packet settings of one direction (LITEPCIE_IOCTL_PACKETS): those that an open file has for its
 * later runs, or those of one run.  begin_notices() in dma.c sets those of a run.
 */
struct litepcie_ends {
	bool	packets;	/* true: packets are on */
	u32	flush_us;	/* flush time in us; 0: none */
};

/*
 * The state of a stream, which is a run that read() or write() has started.  This structure is
 * written with way->io and way->wait.lock held, so a thread that holds one of the two locks may
 * read it.  The start of another run clears the structure with way->wait.lock alone, and increments
 * way->generation.
 */
struct litepcie_stream {
	/*
	 * Bytes of the stream that the program has passed in this run.  The count includes the
	 * bytes that the program has read or written.  When the program has read all data of a c2h
	 * buffer that the card has ended early, the count also includes the rest of that buffer.
	 * The rest of each incomplete h2c beat that was sent is included, too.  This count modulo
	 * the ring's size is the offset in the ring at which the next read() or write() goes on.
	 */
	u64	at;
	/*
	 * h2c: bytes of the packet for which the last write() with O_NONBLOCK found no room; 0 if
	 * it found room, or with packets off
	 */
	u64	wanted;
	/*
	 * h2c: the status line's count @errors when fsync() last failed with EIO in this run.
	 * c2h: 1 + the number of the last buffer for which read() has failed with EBADMSG.
	 * 0: no such call has failed in this run.
	 */
	u64	warned;
};

struct litepcie_way {
	struct litepcie_chan	*chan;
	u32			id;	/* direction: LITEPCIE_WAY_H2C or LITEPCIE_WAY_C2H */
	/* first register of the direction, from which LITEPCIE_DMA_GROUP_ are the offsets */
	void __iomem		*regs;
	u32			cause;	/* number of the direction's interrupt cause */
	/* number of descriptors that the card's table for this direction can hold */
	u32			depth;
	/*
	 * h2c with LitePCIe's endpoint: largest number of bytes that the card may count as done
	 * before they have arrived from host memory; else 0
	 */
	u32			in_flight;
	/*
	 * true: direction h2c of a card whose register enable says whether all fetched data has
	 * left the engine towards the user's logic (LITEPCIE_DMA_ENABLE_TAKEN)
	 */
	bool			tells_taken;
	/*
	 * true: in the present run the card writes the direction's progress to host memory, as a
	 * status line
	 */
	bool			reports;
	/* register of the card's interrupt moderation for the direction; NULL: the card has none */
	void __iomem		*moderation;

	/*
	 * lock: protects @stream, and the bytes of the ring that the next read() or write() copies.
	 * In a stream, read() and write() hold the lock while they copy and wait, fsync() and the
	 * last close() while they wait for the card, and the work @flusher while it hands bytes
	 * over to the card.  So the bytes of two calls are not mixed, and no new stream starts
	 * while a call copies bytes of the last one.  In LitePCIe's loop (LITEPCIE_RUN_LOOP), in
	 * which the card never waits, a read() or write() holds the lock only while it copies
	 * buffers, the first of which is number @sw_count.  A call that finds that another file
	 * owns the direction does not wait for the lock.
	 */
	struct mutex		io;
	/*
	 * lock: protects the fields from @owner to @ends, @reports, the fields @ring and @ends of
	 * open files, and the hand-over of buffers to the card.  A start and a stop of the
	 * direction hold the lock.  @ring and @reports do not change during a run.  So code with
	 * wait.lock held may read @ring if @run or @generation shows that the run goes on.  @owner
	 * and @reports may be read without a lock, but may then change at any moment.
	 */
	struct mutex		mutex;
	/* open file that owns the direction; NULL: none */
	struct litepcie_file	*owner;
	/* the direction's ring, mapped for the card until the card is unbound; NULL: none */
	struct litepcie_ring	*ring;
	/*
	 * exempts one ring of 256 buffers of 8 KiB at a time from being charged as locked memory,
	 * see charge.c
	 */
	struct litepcie_allowance *allowance;
	struct litepcie_ends	ends;	/* packet settings of the present run, or of the last one */
	char			irq_name[24];

	/*
	 * lock: wait.lock protects the fields from @wait to @event.  The lock is also that of the
	 * queue @wait, in which threads of blocked read(), write(), fsync() and close() calls
	 * sleep.  @run, @count, @mode, held.advanced and held.bytes change with @mutex held, too,
	 * so a holder of either lock may read them.  Single fields may be read without a lock
	 * (READ_ONCE).
	 */
	wait_queue_head_t	wait;
	struct litepcie_status_way *status;	/* this direction's part of the status page */
	/* kind of the present run: LITEPCIE_RUN_ value; RUN_REST: the direction is stopped */
	u32			run;
	/* -errno by which the present or last run has failed; 0: none, or it was cleared since */
	int			error;
	/*
	 * incremented by set_run(), so at least by each start and stop of the direction: a read()
	 * or write() finds out by this number that the run in which it began is over
	 */
	unsigned int		generation;
	/*
	 * of the present or last run: @count: number of buffers in its ring; @mode: how the driver
	 * learns of progress, a LITEPCIE_MODE_ value; @interval_us: timer period in us.  Mode and
	 * period of a stream may differ from those of its ring, see set_run().
	 */
	u32			count, mode, interval_us;
	/*
	 * true: the direction runs, with LITEPCIE_RING_INDEXED: poll() compares @hw_count with the
	 * count that the program writes to the index page
	 */
	bool			indexed;
	/*
	 * LITEPCIE_RUN_LOOP: number of rounds times number of buffers, plus the index, from the
	 * last read of the register loop_status; goes back to 0 after 65536 rounds
	 */
	u64			position;
	/*
	 * Counts since the start of the run.  @hw_count: buffers that the card is done with; in a
	 * held run or a stream, in which the card waits for more, descriptors.  @sw_count: buffers
	 * that the program is done with, used in LitePCIe's loop (LITEPCIE_RUN_LOOP), in which the
	 * card never waits.
	 */
	s64			hw_count, sw_count;
	struct litepcie_held	held;
	/*
	 * number of buffers, half of those in the ring: in LITEPCIE_RUN_LOOP, write() may be at
	 * most so many buffers ahead of the card
	 */
	u32			margin;
	/*
	 * counts since the probe.  @interrupts: interrupts of this direction that were handled.
	 * @lost: buffers for which read() or write() was too late in LITEPCIE_RUN_LOOP.  @missed:
	 * runs of the watchdog that found interrupts missing.
	 */
	u64			interrupts, lost, missed;
	/*
	 * h2c: bytes dropped by close() since the probe: those that the card had not fetched when
	 * close() stopped waiting, and incomplete last beats (of less than LITEPCIE_BEAT_BYTES)
	 * that the card's endpoint cannot send
	 */
	u64			unsent;
	struct litepcie_stream	stream;
	/*
	 * eventfd that LITEPCIE_IOCTL_EVENT has set; NULL: none.  It is signalled at each interrupt
	 * of the direction, when the driver finds that the card has finished more buffers, and when
	 * the run fails or ends.
	 */
	struct eventfd_ctx	*event;

	/* asks the card for progress in adaptive and poll mode, see timer.c */
	struct hrtimer		timer;
	/*
	 * h2c: sends the last bytes of a stream after the flush time, if they are less than a beat
	 * (LITEPCIE_BEAT_BYTES)
	 */
	struct delayed_work	flusher;
	/* asks the card once a second while the direction runs, and finds lost interrupts */
	struct delayed_work	watchdog;
	/*
	 * values of @hw_count and of @interrupts when the watchdog last ran; @watched is 0 until
	 * the watchdog first runs in a run
	 */
	s64			watched;
	u64			watched_interrupts;
};

/* The status lines and records of a channel, which the card writes: see notices.c. */
struct litepcie_notices {
	const struct litepcie_block	*block;
	void __iomem		*regs;
	/*
	 * true: the driver can use status lines and records, and does so in all runs but
	 * LITEPCIE_RUN_LOOP
	 */
	bool			able;
	/* true: the pages of status lines and records are mapped for the card */
	bool			mapped;
	/* ring of @entries records of c2h buffers, in 2^@order pages */
	struct litepcie_record	*records;
	u32			entries;
	unsigned int		order;
	dma_addr_t		records_dma, status_dma;
	struct mutex		lock;	/* protects @control and the register of the same name */
	/*
	 * value that the register `control` of the card's block RECORDS has, or will get when the
	 * card can be reached again
	 */
	u32			control;
};

struct litepcie_chan {
	struct litepcie		*card;
	/* the status page, which every open file of the channel's node may map read-only */
	struct litepcie_status	*status;
	struct device		dev;
	struct cdev		cdev;
	void __iomem		*loopback;
	struct litepcie_notices	notices;
	/*
	 * Threads that wait for either direction by poll() or epoll.  A program may change the
	 * events for which an epoll waits, and the kernel does not add the epoll to another queue
	 * then.  So both directions have one queue.  lock: pollers.lock protects only this queue,
	 * and may be taken with way->wait.lock held.
	 */
	wait_queue_head_t	pollers;
	struct litepcie_way	way[LITEPCIE_WAYS];
};

static inline struct litepcie *litepcie_of(struct litepcie_way *way)
{
	return way->chan->card;
}

/*
 * Load a 64-bit word that the card writes to host memory.  Loads that follow this call see all that
 * the card wrote before it wrote the value that is returned.
 */
static inline u64 litepcie_load_reported(const __le64 *word)
{
	__le64 value = READ_ONCE(*word);

	dma_rmb();
	return le64_to_cpu(value);
}

static inline struct device *litepcie_dev(struct litepcie_way *way)
{
	return &way->chan->dev;
}

const char *litepcie_way_name(const struct litepcie_way *way);

/* Functions of dma.c: start and stop of a direction, and the card's bus mastering */
void litepcie_dma_init(struct litepcie_way *way);
void litepcie_master_off(struct litepcie *card, u32 cause);
void litepcie_master_on(struct litepcie *card, u32 cause);
int litepcie_dma_halt(struct litepcie_way *way);
bool litepcie_dma_taken(struct litepcie_way *way);
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run);
int litepcie_dma_stop(struct litepcie_way *way);
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_dma_give(struct litepcie_way *way, struct litepcie_file *file, bool live);
void litepcie_dma_abort(struct litepcie_way *way, int error);
int litepcie_dma_settle(struct litepcie_way *way);

/* Functions of owner.c: the open file that owns a direction, and the direction's ring */
void litepcie_owner_set(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_owner_forget(struct litepcie_way *way, bool live);
int litepcie_owner_take(struct litepcie_way *way, struct litepcie_file *file);
bool litepcie_owner_is_other(const struct litepcie_way *way, const struct litepcie_file *file);
int litepcie_owner_ring(struct litepcie_way *way);
int litepcie_owner_setup(struct litepcie_way *way, struct litepcie_file *file,
			 const struct litepcie_geometry *geometry, struct litepcie_memory *memory);
int litepcie_owner_event(struct litepcie_way *way, struct litepcie_file *file,
			 struct eventfd_ctx *event);
void litepcie_owner_leave(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_owner_unmap(struct litepcie_way *way);
void litepcie_owner_drop_orphan(struct litepcie_way *way);
struct litepcie_ring *litepcie_owner_ring_of(struct litepcie_way *way, struct litepcie_file *file);
struct litepcie_geometry litepcie_owner_geometry(struct litepcie_way *way,
						 struct litepcie_file *file);
int litepcie_owner_steer(struct litepcie_file *file, struct litepcie_chan *chan,
			 void __iomem *reg, u32 value, const u32 acts_on[LITEPCIE_WAYS]);

/*
 * Functions of held.c: counts of a held run or a stream, in which the card waits for more
 * descriptors
 */
int litepcie_held_update(struct litepcie_way *way);
bool litepcie_held_is_behind(struct litepcie_way *way);
u64 litepcie_held_position(const struct litepcie_way *way);

/*
 * Functions of advance.c: descriptors that are handed to the card, which waits for them, in a held
 * run or a stream
 */
void litepcie_held_append(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
int litepcie_held_advance(struct litepcie_file *file, struct litepcie_advance *advance,
			  const u32 *lengths);

/* Functions of notices.c: records and status lines, which the card writes */
void litepcie_notices_init(struct litepcie_chan *chan, unsigned int index);
void litepcie_notices_unmap(struct litepcie_chan *chan);
void litepcie_notices_free(struct litepcie_chan *chan);
size_t litepcie_notices_bytes(const struct litepcie_notices *notices);
void litepcie_notices_start(struct litepcie_way *way, u32 flush_us);
void litepcie_notices_stop(struct litepcie_way *way, bool live);
void litepcie_notices_off(struct litepcie_way *way);
bool litepcie_notices_ended(const struct litepcie_way *way, u64 number);
void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags);

/* Functions of progress.c: counts of what the card has finished, and waking of threads */
bool litepcie_dma_progress(struct litepcie_way *way);
void litepcie_dma_ask(struct litepcie_way *way);
void litepcie_dma_interrupt(struct litepcie_way *way);
void litepcie_dma_news(struct litepcie_way *way);

/* Functions of moderation.c: interrupts that the card merges */
void litepcie_moderation_probe(struct litepcie_chan *chan, unsigned int index);
void litepcie_moderation_start(struct litepcie_way *way);

/* Functions of timer.c: the timer that asks the card in adaptive and poll mode */
void litepcie_timer_init(struct litepcie_way *way);
void litepcie_timer_start(struct litepcie_way *way);
void litepcie_timer_stop(struct litepcie_way *way);
void litepcie_timer_interrupt(struct litepcie_way *way);

/* Function of dmabuf.c: a ring as a dma-buf */
struct dma_buf *litepcie_dmabuf_export(struct litepcie_way *way, struct litepcie_file *file,
				       u32 fd_flags);

#endif /* LITEPCIE_CHANNEL_H */
