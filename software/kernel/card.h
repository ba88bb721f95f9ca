/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the driver's structures and functions, and the order of its locks.
 *
 * A card (struct litepcie) is one PCI function.  A channel is one DMA channel
 * with its device node.  A way is one direction of a channel.  The structures
 * of a card and of its channels live until the last open file is closed, which
 * may be long after the PCI function has gone.  So code may touch the hardware
 * only between litepcie_enter() and litepcie_exit(), or in the interrupt
 * handler.
 *
 * The driver takes its locks in this order, outermost first.  A copy from or to
 * user memory may take mmap_lock, so no such copy is made with a lock held that
 * stands below mmap_lock in the list:
 *   way->io		held by a read() or write() of the way, also while it copies
 *   (mmap_lock)	the kernel's lock of an address space
 *   card->live		held for reading between litepcie_enter() and litepcie_exit()
 *   way->mutex		protects owner, ring, start and stop; h2c's before c2h's
 *   card->master_lock	protects the bus master bit
 *   notices.lock	protects which notices (see notices.c) are on
 *   way->wait.lock	protects the counts of a way
 *   card->irq_lock	protects which interrupt causes are enabled
 * The locks card->files_lock, card->user.lock and ring->lock have no fixed
 * order relative to the locks of this list.
 */
#ifndef LITEPCIE_CARD_H
#define LITEPCIE_CARD_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dma/ring.h"
#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"

#define LITEPCIE_NAME		"litepcie"
#define LITEPCIE_CHANNELS_MAX	8
#define LITEPCIE_VIRTIO_MAX	8

enum litepcie_direction {
	LITEPCIE_H2C,
	LITEPCIE_C2H,
	LITEPCIE_WAYS
};

enum litepcie_state {
	LITEPCIE_LIVE,
	LITEPCIE_OFFLINE,	/* the card is reset or asleep, and may become LIVE again */
	LITEPCIE_GONE		/* the card is unplugged or unbound, which is final */
};

struct litepcie;
struct litepcie_capture;
struct litepcie_chan;
struct litepcie_file;
struct litepcie_virtio;

/*
 * The counts of a held run, in which the card uses only the descriptors that
 * the driver has handed to it.  A descriptor is a buffer or a part of one.  The
 * counts begin with 0 at the start of the run, and never wrap.
 */
struct litepcie_held {
	u64	advanced;	/* descriptors of the run that were handed to the card */
	u64	done;		/* descriptors of the run that the card is done with */
	/* bytes in all descriptors of the run that were handed to the card */
	u64	bytes;
	/*
	 * held run: bytes of the run that the card has finished, as the card's
	 * status line says
	 */
	u64	position;
	/*
	 * ring of u64: entry n (modulo entries) is the value of @bytes after
	 * descriptor n
	 */
	u64	*end;
	/*
	 * index mask of the ring @end: its number of entries (a power of two)
	 * minus 1
	 */
	u64	mask;
};

/*
 * The packet settings that an open file has made for one direction with
 * LITEPCIE_IOCTL_PACKETS.
 */
struct litepcie_ends {
	bool	packets;
	u32	flush_us;
};

/*
 * The state of a stream, which is a run by read() or write().  Code that
 * changes this state holds both way->io and way->wait.lock.
 */
struct litepcie_stream {
	/*
	 * Bytes that the program has read or written in this run.  Modulo the
	 * ring's size this count is the next place in the ring.
	 */
	u64	at;
	/*
	 * h2c: bytes of the packet that write() last refused for want of room,
	 * or 0.
	 */
	u64	wanted;
	/*
	 * h2c: the value of the status line's error count when fsync() last
	 * returned EIO.  c2h: 1 + the number of the last buffer for which
	 * read() has failed with EBADMSG.
	 */
	u64	warned;
};

struct litepcie_way {
	struct litepcie_chan	*chan;
	enum litepcie_direction	id;
	/*
	 * address of the direction's registers; their offsets are
	 * LITEPCIE_DMA_GROUP_
	 */
	void __iomem		*regs;
	/*
	 * number of this direction's interrupt cause, a bit of the interrupt
	 * registers
	 */
	u32			cause;
	/*
	 * number of descriptors that the card's table for this direction holds
	 */
	u32			depth;
	/*
	 * h2c of LitePCIe's endpoint: bytes that the card may count as done
	 * before they arrive.  0 for c2h and for all other endpoints.
	 */
	u32			in_flight;
	/*
	 * h2c: true if the enable register has the bit ENABLE_TAKEN, by which
	 * the card says that the user's logic has taken all data.
	 */
	bool			tells_taken;
	/*
	 * true if the card writes this direction's status line (its counts) to
	 * host memory in the current run
	 */
	bool			told;
	/*
	 * address of the interrupt moderation register; NULL if the card has
	 * none
	 */
	void __iomem		*moderation;

	/*
	 * mutex that a read() or write() of this direction holds until it
	 * returns
	 */
	struct mutex		io;
	/*
	 * lock: protects the direction's owner and ring, its start and its stop
	 */
	struct mutex		mutex;
	struct litepcie_file	*owner;
	/*
	 * ring of buffers of the direction's owner, mapped for DMA by the card;
	 * NULL: none
	 */
	struct litepcie_ring	*ring;
	/*
	 * allowance that makes one ring of LitePCIe's shape free of charge, see
	 * charge.c
	 */
	struct litepcie_allowance *allowance;
	char			irq_name[24];

	/*
	 * wait.lock protects the fields from @wait to @event.  Code that
	 * changes one of them wakes the waiters with the same lock held, so an
	 * interrupt takes only one lock.
	 */
	wait_queue_head_t	wait;
	/*
	 * this direction's part of the channel's status page, which programs
	 * map read-only
	 */
	struct litepcie_status_way *status;
	/* kind of the direction's current run: a LITEPCIE_RUN_ value */
	u32			run;
	/* error (-errno) that ended the direction's last run, or 0 */
	int			error;
	/*
	 * counter that each start and stop of the direction increments; a
	 * sleeping read() or write() sees by it that its run is over
	 */
	unsigned int		generation;
	/*
	 * number of buffers, LITEPCIE_MODE_ value and timer period in us of the
	 * last run's ring
	 */
	u32			count, mode, interval_us;
	/*
	 * packet settings (LITEPCIE_IOCTL_PACKETS) that the direction's last
	 * run began with
	 */
	struct litepcie_ends	ends;
	/*
	 * true: poll() compares the card's count of buffers with the program's
	 * count in the index page; false: with @sw_count
	 */
	bool			indexed;
	/*
	 * run of the kind LOOP: buffers by the register loop status when it was
	 * last read
	 */
	u64			position;
	/*
	 * buffers that the card and the program are done with; in a held run
	 * hw_count counts descriptors
	 */
	s64			hw_count, sw_count;
	struct litepcie_held	held;
	/*
	 * half the number of the ring's buffers: how far write() may be ahead
	 * in a LOOP
	 */
	u32			margin;
	/*
	 * counts since the probe: interrupts, buffers lost, findings of the
	 * watchdog that interrupts are missing
	 */
	u64			interrupts, lost, missed;
	/*
	 * h2c: bytes that close() has dropped since the probe, because the card
	 * had not fetched them
	 */
	u64			unsent;
	struct litepcie_stream	stream;
	/*
	 * eventfd that is signalled when the direction's waiters are woken, or
	 * NULL
	 */
	struct eventfd_ctx	*event;

	/*
	 * timer whose callback asks the card how many buffers it has finished,
	 * see moderation.c
	 */
	struct hrtimer		timer;
	/*
	 * h2c: delayed work that sends an incomplete beat after the flush time
	 */
	struct delayed_work	flusher;
	/*
	 * delayed work that checks once a second for lost interrupts while the
	 * direction runs
	 */
	struct delayed_work	watchdog;
	/*
	 * value of @hw_count (buffers that the card has finished) when the
	 * watchdog last ran
	 */
	s64			watched;
	/* value of @interrupts when the watchdog last ran */
	u64			watched_interrupts;
};

/*
 * One channel's notices: the status lines and records that the card writes to
 * host memory, see notices.c.
 */
struct litepcie_notices {
	const struct litepcie_block	*block;
	void __iomem		*regs;
	/*
	 * true if the card can write the pages of the notices without bounce
	 * buffers
	 */
	bool			able;
	/*
	 * true while the pages of the records and status lines are mapped for
	 * DMA by the card
	 */
	bool			mapped;
	/*
	 * ring of @entries c2h records (the card's reports of finished
	 * buffers), in 2^@order pages
	 */
	struct litepcie_record	*records;
	u32			entries;
	unsigned int		order;
	dma_addr_t		records_dma, status_dma;
	/* lock: protects @control, the copy of a card register */
	struct mutex		lock;
	/*
	 * copy of the card's register that switches records and status lines on
	 */
	u32			control;
};

struct litepcie_chan {
	struct litepcie		*card;
	/*
	 * the channel's status page (counts of its directions), which every
	 * file may map read-only
	 */
	struct litepcie_status	*status;
	struct device		dev;
	struct cdev		cdev;
	void __iomem		*loopback;
	struct litepcie_notices	notices;
	struct litepcie_way	way[LITEPCIE_WAYS];
};

/*
 * The interrupt of the logic in the user slot, and the eventfd that it signals.
 */
struct litepcie_user {
	/*
	 * number of the interrupt cause; LITEPCIE_CAUSES_MAX if the user's
	 * logic has none
	 */
	u32			cause;
	/* lock: protects the user interrupt's @event and @file */
	spinlock_t		lock;
	/* eventfd that the user logic's interrupt signals, or NULL */
	struct eventfd_ctx	*event;
	/* open file that has set the eventfd @event, or NULL */
	struct litepcie_file	*file;
	char			irq_name[24];
};

/*
 * One entry of the capability table, which describes one block of the gateware.
 */
struct litepcie_block {
	u16			type, version;
	u8			index, bar;
	u32			offset, size;
	unsigned int		parameters;
	const u32		*parameter;
};

/* The handler of an interrupt cause that belongs to a virtio device. */
struct litepcie_listener {
	irq_handler_t		handler;	/* NULL: nobody listens to the cause */
	void			*data;		/* argument of the handler */
};

/* A virtio device of the card, see virtio.c. */
struct litepcie_virtio_slot {
	/* the device's entry in the capability table; NULL: no such device */
	const struct litepcie_block	*block;
	/* NULL while the card is being reset or removed */
	struct litepcie_virtio		*device;
};

struct litepcie {
	struct kref		kref;
	/* the PCI device; invalid once the card's @state is GONE */
	struct pci_dev		*pdev;
	/* mapping of BAR0; invalid once the card's @state is GONE */
	void __iomem		*bar0;
	resource_size_t		bar0_size;

	u32			*table;		/* copy of the card's capability table */
	struct litepcie_block	*blocks;
	unsigned int		block_count;
	char			target[4 * LITEPCIE_CAP_TARGET_WORDS];
	char			digest[8 * LITEPCIE_CAP_DIGEST_WORDS + 1];

	/*
	 * true once the card's registers have read as all ones; may be set in
	 * any context
	 */
	bool			lost;
	struct rw_semaphore	live;		/* lock: protects the card's state */
	enum litepcie_state	state;

	/* lock: protects the mask of enabled interrupt causes */
	spinlock_t		irq_lock;
	u32			irq_enabled;
	void __iomem		*irq_enable, *irq_clear, *irq_vector;
	bool			msix;		/* true if the gateware can send MSI-X messages */
	/*
	 * The driver has requested the interrupt vectors 0 to messages - 1, and
	 * frees them.
	 */
	unsigned int		messages;
	struct litepcie_way	*cause[LITEPCIE_CAUSES_MAX];
	struct litepcie_user	user;
	/* the card's capture of frames; NULL: the card has none */
	struct litepcie_capture	*capture;

	struct litepcie_virtio_slot virtio[LITEPCIE_VIRTIO_MAX];
	/*
	 * masks of the interrupt causes that belong to virtio devices, and of
	 * those that belong to their queues
	 */
	u32			virtio_causes, virtio_queues;
	struct litepcie_listener listener[LITEPCIE_CAUSES_MAX];

	/*
	 * lock: protects the card's bus master bit and @unquiet, the mask of
	 * directions that did not stop
	 */
	struct mutex		master_lock;
	/*
	 * Bit n is set if the direction, or the capture, with interrupt cause
	 * n did not stop when it was told to.
	 */
	u32			unquiet;

	/* lock: protects the list of the card's open files */
	struct mutex		files_lock;
	struct list_head	files;
	/*
	 * the kernel's mappings of the memory BARs, which are write-combining
	 */
	void __iomem		*memory[PCI_STD_NUM_BARS];

	unsigned int		channels;
	struct litepcie_chan	*chan[LITEPCIE_CHANNELS_MAX];
};

/* An open file of a channel's device node. */
struct litepcie_file {
	struct litepcie_chan	*chan;
	struct file		*filp;
	struct list_head	node;		/* this file's entry in the list card->files */
	/*
	 * the file's index page, in which the program writes how many buffers
	 * it is done with; all mappings of this file share it
	 */
	struct litepcie_index	*index;
	/*
	 * The file's own rings, which have LitePCIe's shape.  Protected by
	 * way->mutex.
	 */
	struct litepcie_ring	*ring[LITEPCIE_WAYS];
	/*
	 * packet settings (LITEPCIE_IOCTL_PACKETS) for the file's next runs;
	 * protected by way->mutex
	 */
	struct litepcie_ends	ends[LITEPCIE_WAYS];
};

/*
 * Returns DMA direction (way) number @n of the card, or NULL if it has fewer.
 * 0 and 1 are h2c and c2h of channel 0, 2 and 3 those of channel 1, and so on.
 */
static inline struct litepcie_way *litepcie_nth_way(struct litepcie *card, unsigned int n)
{
	if (n >= card->channels * LITEPCIE_WAYS)
		return NULL;
	return &card->chan[n / LITEPCIE_WAYS]->way[n % LITEPCIE_WAYS];
}

static inline struct litepcie *litepcie_of(struct litepcie_way *way)
{
	return way->chan->card;
}

/*
 * Load a 64-bit word that the card writes to host memory.  Loads that follow
 * this call see all that the card has written before that word.
 */
static inline u64 litepcie_load_told(const __u64 *word)
{
	u64 value = READ_ONCE(*word);

	dma_rmb();
	return value;
}

static inline struct device *litepcie_dev(struct litepcie_way *way)
{
	return &way->chan->dev;
}

static inline bool litepcie_is_gone(const struct litepcie *card)
{
	return READ_ONCE(card->state) == LITEPCIE_GONE || READ_ONCE(card->lost);
}

/*
 * Returns direction @id of the file's channel, or NULL if there is no such
 * direction.
 */
static inline struct litepcie_way *litepcie_find_way(struct litepcie_file *file, u32 id)
{
	if (id >= LITEPCIE_WAYS)
		return NULL;
	return &file->chan->way[array_index_nospec(id, LITEPCIE_WAYS)];
}

const char *litepcie_way_name(const struct litepcie_way *way);

/* The functions that follow are defined in card.c. */
struct litepcie *litepcie_card_alloc(struct pci_dev *pdev);
void litepcie_card_get(struct litepcie *card);
void litepcie_card_put(struct litepcie *card);
int litepcie_enter(struct litepcie *card);
void litepcie_exit(struct litepcie *card);
void litepcie_set_state(struct litepcie *card, enum litepcie_state state);
bool litepcie_check_lost(struct litepcie *card);

/* The functions that follow are defined in capability.c. */
int litepcie_capability_read(struct litepcie *card);
bool litepcie_capability_same(struct litepcie *card);
const struct litepcie_block *litepcie_block_find(struct litepcie *card,
						 u16 type, unsigned int index);
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n);
u64 litepcie_cycles(struct litepcie *card, u32 microseconds);

/*
 * Functions of rights.c, which decides whether a file without CAP_SYS_RAWIO may
 * write to a register.
 */
enum litepcie_right {
	LITEPCIE_RIGHT_NONE,
	/*
	 * the file may write the register through litepcie_owner_steer() only
	 */
	LITEPCIE_RIGHT_STEER,
	LITEPCIE_RIGHT_WRITE
};

enum litepcie_right litepcie_right(struct litepcie *card, unsigned int bar, u64 offset, u64 size);
u32 litepcie_steered(enum litepcie_direction id);

/* The functions that follow are defined in irq.c. */
int litepcie_irq_init(struct litepcie *card);
void litepcie_irq_exit(struct litepcie *card);
void litepcie_irq_silence(struct litepcie *card);
void litepcie_cause_enable(struct litepcie *card, u32 cause, bool enable);
void litepcie_cause_settle(struct litepcie *card);

/* The functions that follow are defined in dma.c. */
void litepcie_dma_init(struct litepcie_way *way);
void litepcie_master_off(struct litepcie *card, u32 cause);
void litepcie_master_on(struct litepcie *card, u32 cause);
int litepcie_dma_halt(struct litepcie_way *way);
bool litepcie_dma_taken(struct litepcie_way *way);
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run);
int litepcie_dma_stop(struct litepcie_way *way);
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_dma_abort(struct litepcie_way *way, int error);
int litepcie_dma_settle(struct litepcie_way *way);

/* The functions that follow are defined in owner.c. */
void litepcie_owner_set(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_owner_forget(struct litepcie_way *way, bool live);
int litepcie_owner_take(struct litepcie_way *way, struct litepcie_file *file);
int litepcie_owner_begin(struct litepcie_way *way, struct litepcie_file *file);
int litepcie_owner_ring(struct litepcie_way *way);
int litepcie_owner_setup(struct litepcie_way *way, struct litepcie_file *file,
			 const struct litepcie_geometry *geometry, struct litepcie_memory *memory);
int litepcie_owner_event(struct litepcie_way *way, struct litepcie_file *file,
			 struct eventfd_ctx *event);
void litepcie_owner_give(struct litepcie_way *way, struct litepcie_file *file, bool live);
void litepcie_owner_leave(struct litepcie_way *way, struct litepcie_file *file, bool live);
void litepcie_owner_unmap(struct litepcie_way *way);
void litepcie_owner_drop_orphan(struct litepcie_way *way);
struct litepcie_ring *litepcie_owner_ring_of(struct litepcie_way *way, struct litepcie_file *file);
struct litepcie_geometry litepcie_owner_geometry(struct litepcie_way *way,
						 struct litepcie_file *file);
int litepcie_owner_steer(struct litepcie_file *file, struct litepcie_chan *chan,
			 void __iomem *reg, u32 value, const u32 acts_on[LITEPCIE_WAYS]);

/* The functions that follow are defined in held.c. */
bool litepcie_held_update(struct litepcie_way *way, bool *lost);
void litepcie_held_look(struct litepcie_way *way);
void litepcie_held_append(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
u64 litepcie_held_outstanding(struct litepcie_way *way);
u64 litepcie_held_position(const struct litepcie_way *way);
int litepcie_held_advance(struct litepcie_file *file, struct litepcie_advance *advance,
			  const u32 *lengths);

/* The functions that follow are defined in notices.c. */
void litepcie_notices_init(struct litepcie_chan *chan, unsigned int index);
void litepcie_notices_unmap(struct litepcie_chan *chan);
void litepcie_notices_free(struct litepcie_chan *chan);
size_t litepcie_notices_bytes(const struct litepcie_notices *notices);
void litepcie_notices_start(struct litepcie_way *way, u32 flush_us);
void litepcie_notices_stop(struct litepcie_way *way, bool live);
void litepcie_notices_off(struct litepcie_way *way);
bool litepcie_notices_ended(const struct litepcie_way *way, u64 number);
void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags);

/*
 * Functions of stream.c.  The header stream.h declares those that only
 * stream.c, packets.c and sync.c use.
 */
bool litepcie_stream_ready(struct litepcie_way *way);
ssize_t litepcie_stream_transfer(struct litepcie_way *way, struct litepcie_file *file,
				 struct iov_iter *iter, bool nonblock);

/* The functions that follow are defined in sync.c. */
void litepcie_stream_init(struct litepcie_way *way);
int litepcie_stream_sync(struct litepcie_file *file);
void litepcie_stream_close(struct litepcie_file *file);

/* The functions that follow are defined in progress.c. */
bool litepcie_dma_progress(struct litepcie_way *way);
void litepcie_dma_ask(struct litepcie_way *way);
void litepcie_dma_interrupt(struct litepcie_way *way);
void litepcie_dma_news(struct litepcie_way *way);

/* The functions that follow are defined in throttle.c. */
void litepcie_throttle_probe(struct litepcie_chan *chan, unsigned int index);
void litepcie_throttle_start(struct litepcie_way *way);

/* The functions that follow are defined in moderation.c. */
void litepcie_moderation_init(struct litepcie_way *way);
void litepcie_moderation_start(struct litepcie_way *way);
void litepcie_moderation_stop(struct litepcie_way *way);
void litepcie_moderation_interrupt(struct litepcie_way *way);

/*
 * bar.c defines the functions that follow.  Before them stand the regions of
 * the device node's mmap() offsets.
 */

/*
 * The bits from bit 40 up of the device node's mmap() offset are the number of
 * a region, a value of enum litepcie_region.
 */
#define LITEPCIE_MMAP_SHIFT	40
enum litepcie_region {
	/*
	 * LitePCIe's region: both rings, at the offsets that
	 * LITEPCIE_IOCTL_MMAP_DMA_INFO gives
	 */
	LITEPCIE_REGION_RINGS,
	LITEPCIE_REGION_H2C,
	LITEPCIE_REGION_C2H,
	LITEPCIE_REGION_STATUS,
	LITEPCIE_REGION_INDEX,
	LITEPCIE_REGION_RECORDS,
	/* region of BAR 0; BAR n is region LITEPCIE_REGION_BAR + n */
	LITEPCIE_REGION_BAR
};

int litepcie_bar_info(struct litepcie *card, struct litepcie_bar *bar);
int litepcie_bar_mmap(struct litepcie *card, unsigned int bar, u64 offset,
		      struct vm_area_struct *vma);
void litepcie_bar_zap(struct litepcie *card);
void litepcie_bar_map_memory(struct litepcie *card);
void litepcie_bar_unmap_memory(struct litepcie *card);

/* The functions that follow are defined in user.c. */
int litepcie_user_init(struct litepcie *card);
void litepcie_user_interrupt(struct litepcie *card);
int litepcie_user_event(struct litepcie_file *file, struct eventfd_ctx *event);
void litepcie_user_leave(struct litepcie_file *file, bool live);
void litepcie_user_forget(struct litepcie *card);

/*
 * The functions that follow are defined in virtio.c.  Without an auxiliary bus
 * in the kernel, the card's virtio devices are left alone.
 */
#ifdef CONFIG_AUXILIARY_BUS
void litepcie_virtio_find(struct litepcie *card);
int litepcie_virtio_halt(struct litepcie *card);
void litepcie_virtio_add(struct litepcie *card);
void litepcie_virtio_del(struct litepcie *card);
void litepcie_virtio_interrupt(struct litepcie *card, int irq, u32 causes);
#else
static inline void litepcie_virtio_find(struct litepcie *card) { }
static inline int litepcie_virtio_halt(struct litepcie *card) { return 0; }
static inline void litepcie_virtio_add(struct litepcie *card) { }
static inline void litepcie_virtio_del(struct litepcie *card) { }
static inline void litepcie_virtio_interrupt(struct litepcie *card, int irq, u32 causes) { }
#endif

/*
 * The functions that follow are defined in capture.c, capture_owner.c and
 * capture_node.c.  On a card without a capture they do nothing.
 */
int litepcie_capture_probe(struct litepcie *card);
void litepcie_capture_put(struct litepcie *card);
void litepcie_capture_map(struct litepcie *card);
void litepcie_capture_unmap(struct litepcie *card);
int litepcie_capture_add(struct litepcie *card);
void litepcie_capture_del(struct litepcie *card);
int litepcie_capture_settle(struct litepcie *card);
void litepcie_capture_abort(struct litepcie *card, int error);
void litepcie_capture_interrupt(struct litepcie *card);

/* The functions that follow are defined in p2pmem.c. */
int litepcie_p2pmem_add(struct litepcie *card);

/* The functions that follow are defined in dmabuf.c. */
struct dma_buf *litepcie_dmabuf_export(struct litepcie_way *way, struct litepcie_file *file,
				       u32 fd_flags);

/* The functions that follow are defined in chrdev.c. */
int litepcie_chrdev_init(void);
void litepcie_chrdev_exit(void);
struct litepcie_chan *litepcie_chan_alloc(struct litepcie *card);
int litepcie_chrdev_beside(struct device *dev, const struct litepcie_chan *chan,
			   const char *name);
int litepcie_chan_add(struct litepcie_chan *chan);
void litepcie_chan_del(struct litepcie_chan *chan);

/* The functions that follow are defined in setup.c. */
int litepcie_setup_ring(struct litepcie_file *file, struct litepcie_ring_setup *setup);
int litepcie_setup_memory(struct litepcie_file *file, struct litepcie_ring_memory *request);
int litepcie_setup_info(struct litepcie_file *file, struct litepcie_ring_info *info);
int litepcie_setup_packets(struct litepcie_file *file, const struct litepcie_packets *packets);
int litepcie_setup_features(struct litepcie_file *file, struct litepcie_features *features);

/*
 * The functions and attributes that follow are defined in ioctl.c, rw.c, mmap.c
 * and sysfs.c.
 */
long litepcie_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long litepcie_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
ssize_t litepcie_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t litepcie_write_iter(struct kiocb *iocb, struct iov_iter *from);
int litepcie_fsync(struct file *filp, loff_t start, loff_t end, int datasync);
int litepcie_mmap(struct file *file, struct vm_area_struct *vma);
int litepcie_mmap_pages(struct vm_area_struct *vma, struct litepcie_ring *ring, size_t first);
extern const struct attribute_group *litepcie_groups[];

/* pci.c defines the PCI driver, which main.c registers. */
extern struct pci_driver litepcie_pci_driver;

#endif /* LITEPCIE_CARD_H */
