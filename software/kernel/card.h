/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The objects of the driver, and the locks that protect them.
 *
 * A card (struct litepcie) is one PCI function, a channel one DMA channel with
 * its device node, a way one direction of a channel.  Card and channels live
 * until the last open file is closed, which may be long after the PCI function has
 * gone.  So code may touch the hardware only between litepcie_enter() and
 * litepcie_exit(), or in the interrupt handler.
 *
 * Locks, outermost first.  A copy from or to user memory may take mmap_lock, so no
 * such copy is made with a lock held that stands below mmap_lock in the list:
 *   way->io		one read() or write() of the way at a time, with its copies
 *   (mmap_lock)	the kernel's
 *   card->live		held for reading between litepcie_enter() and litepcie_exit()
 *   way->mutex		owner, rings, start and stop; h2c's before c2h's
 *   card->master_lock	bus mastering
 *   notices.lock	which notices (see notices.c) are on
 *   way->wait.lock	counts
 *   card->irq_lock	which interrupt causes are enabled
 * card->files_lock, card->user.lock and ring->lock are not nested in a fixed order
 * with these.
 */
#ifndef LITEPCIE_CARD_H
#define LITEPCIE_CARD_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/hrtimer.h>
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

#include "ring.h"
#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"

#define LITEPCIE_NAME		"litepcie"
#define LITEPCIE_CHANNELS_MAX	8
#define LITEPCIE_CAUSES_MAX	32

enum litepcie_direction {
	LITEPCIE_H2C,
	LITEPCIE_C2H,
	LITEPCIE_WAYS
};

enum litepcie_state {
	LITEPCIE_LIVE,
	LITEPCIE_OFFLINE,	/* reset or asleep; may become LIVE again */
	LITEPCIE_GONE		/* unplugged or unbound; final */
};

struct litepcie;
struct litepcie_chan;
struct litepcie_file;

/*
 * A held run: the card uses only the descriptors that it was handed.  A descriptor is
 * a buffer or a part of one.  The counts begin with the run, and never wrap.
 */
struct litepcie_held {
	u64	advanced;	/* descriptors handed over */
	u64	done;		/* descriptors that the card has counted as done */
	u64	bytes;		/* in all descriptors handed over */
	u64	*end;		/* ring: the value of @bytes after each recent descriptor */
	u64	mask;		/* entries of @end, less one; a power of two less one */
};

/* What LITEPCIE_IOCTL_PACKETS has set for one direction of a file. */
struct litepcie_ends {
	bool	packets;
	u32	flush_us;
};

/* A run of read() or write().  Changed with both way->io and way->wait.lock held. */
struct litepcie_stream {
	u64	at;		/* bytes that were read, or written; modulo the ring: the place */
	u64	warned;		/* h2c: errors that fsync() has returned EIO for;
				 * c2h: 1 + number of the last buffer read() failed on
				 */
};

struct litepcie_way {
	struct litepcie_chan	*chan;
	enum litepcie_direction	id;
	void __iomem		*regs;		/* register group, LITEPCIE_DMA_GROUP_ */
	u32			cause;		/* number of its interrupt cause */
	u32			depth;		/* descriptors that the card's table takes */
	u32			in_flight;	/* h2c of LitePCIe's endpoint: bytes that the card
						 * may count as done before they arrive; else 0
						 */
	bool			tells_taken;	/* h2c: the card has the bit ENABLE_TAKEN */
	bool			told;		/* this run: the card writes the status line */
	void __iomem		*moderation;	/* register, or NULL: the card has none */

	struct mutex		io;		/* one read() or write() at a time */
	struct mutex		mutex;		/* protects owner, rings, start and stop */
	struct litepcie_file	*owner;
	struct litepcie_ring	*ring;		/* the owner's, mapped for the card; or NULL */
	struct litepcie_allowance *allowance;	/* frees one ring of LitePCIe's shape of charge */
	char			irq_name[24];

	/*
	 * wait.lock protects the fields from here to @event.  Code that changes one
	 * wakes the waiters with the same lock held, so an interrupt takes one lock.
	 */
	wait_queue_head_t	wait;
	struct litepcie_status_way *status;	/* in the channel's page */
	u32			run;		/* LITEPCIE_RUN_ */
	int			error;		/* -errno that stopped the last run, or 0 */
	unsigned int		generation;	/* incremented by each start and stop */
	u32			count, mode, interval_us;	/* of the last run's ring */
	struct litepcie_ends	ends;		/* of the last run */
	bool			indexed;	/* poll() goes by the index page */
	u64			position;	/* loop: the loop status last read, in buffers */
	s64			hw_count, sw_count;	/* buffers, or a held run's descriptors */
	struct litepcie_held	held;
	u32			margin;		/* half the ring's count of buffers */
	u64			interrupts, lost, missed;	/* since the probe */
	u64			unsent;		/* bytes dropped by close(), since the probe */
	struct litepcie_stream	stream;
	struct eventfd_ctx	*event;		/* signalled when @wait is woken, or NULL */

	struct hrtimer		timer;		/* asks the card for progress, see moderation.c */
	struct delayed_work	flusher;	/* h2c: sends an incomplete beat */
	struct delayed_work	watchdog;	/* queued while the direction runs */
	s64			watched;	/* hw_count when the watchdog last ran */
	u64			watched_interrupts;	/* interrupts when the watchdog last ran */
};

/* The status lines and records that the card writes to host memory, see notices.c. */
struct litepcie_notices {
	const struct litepcie_block	*block;
	void __iomem		*regs;
	bool			able;		/* the card can write them to this memory */
	bool			mapped;		/* the memory is mapped for the card */
	struct litepcie_record	*records;	/* a ring of @entries, in 2^@order pages */
	u32			entries;
	unsigned int		order;
	dma_addr_t		records_dma, status_dma;
	struct mutex		lock;		/* protects control */
	u32			control;
};

struct litepcie_chan {
	struct litepcie		*card;
	struct litepcie_status	*status;	/* a page that every file may map read-only */
	struct device		dev;
	struct cdev		cdev;
	void __iomem		*loopback;
	struct litepcie_notices	notices;
	struct litepcie_way	way[LITEPCIE_WAYS];
};

/* The interrupt of the logic in the user slot. */
struct litepcie_user {
	u32			cause;		/* LITEPCIE_CAUSES_MAX: the logic has none */
	spinlock_t		lock;		/* protects event and file */
	struct eventfd_ctx	*event;		/* signalled by the interrupt, or NULL */
	struct litepcie_file	*file;		/* that has set @event, or NULL */
	char			irq_name[24];
};

/* One entry of the capability table. */
struct litepcie_block {
	u16			type, version;
	u8			index, bar;
	u32			offset, size;
	unsigned int		parameters;
	const u32		*parameter;
};

struct litepcie {
	struct kref		kref;
	struct pci_dev		*pdev;		/* invalid once @state is GONE */
	void __iomem		*bar0;		/* invalid once @state is GONE */
	resource_size_t		bar0_size;

	u32			*table;		/* the capability table */
	struct litepcie_block	*blocks;
	unsigned int		block_count;
	char			target[4 * LITEPCIE_CAP_TARGET_WORDS];
	char			digest[8 * LITEPCIE_CAP_DIGEST_WORDS + 1];

	bool			lost;		/* the card answers all ones; set in any context */
	struct rw_semaphore	live;		/* protects state */
	enum litepcie_state	state;

	spinlock_t		irq_lock;	/* protects irq_enabled */
	u32			irq_enabled;
	void __iomem		*irq_enable, *irq_clear, *irq_vector;
	bool			msix;		/* the card has MSI-X */
	unsigned int		messages;	/* vectors 0 to messages - 1 are requested */
	struct litepcie_way	*cause[LITEPCIE_CAUSES_MAX];
	struct litepcie_user	user;

	struct mutex		master_lock;	/* protects unquiet and the bus master bit */
	u32			unquiet;	/* bit way->cause: that direction does not stop */

	struct mutex		files_lock;	/* protects files */
	struct list_head	files;
	void __iomem		*memory[PCI_STD_NUM_BARS];	/* write-combining BARs */

	unsigned int		channels;
	struct litepcie_chan	*chan[LITEPCIE_CHANNELS_MAX];
};

/* An open file. */
struct litepcie_file {
	struct litepcie_chan	*chan;
	struct file		*filp;
	struct list_head	node;		/* in card->files */
	struct litepcie_index	*index;		/* a page that all mappings of the file share */
	struct litepcie_ring	*ring[LITEPCIE_WAYS];	/* of LitePCIe's shape; under way->mutex */
	struct litepcie_ends	ends[LITEPCIE_WAYS];	/* under way->mutex */
};

/* Way @n of the card, counted through all its channels, or NULL if there are fewer. */
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

static inline struct device *litepcie_dev(struct litepcie_way *way)
{
	return &way->chan->dev;
}

static inline bool litepcie_is_gone(const struct litepcie *card)
{
	return READ_ONCE(card->state) == LITEPCIE_GONE || READ_ONCE(card->lost);
}

/* Direction @id of the file's channel, or NULL. */
static inline struct litepcie_way *litepcie_find_way(struct litepcie_file *file, u32 id)
{
	if (id >= LITEPCIE_WAYS)
		return NULL;
	return &file->chan->way[array_index_nospec(id, LITEPCIE_WAYS)];
}

const char *litepcie_way_name(const struct litepcie_way *way);

/* card.c */
struct litepcie *litepcie_card_alloc(struct pci_dev *pdev);
void litepcie_card_get(struct litepcie *card);
void litepcie_card_put(struct litepcie *card);
int litepcie_enter(struct litepcie *card);
void litepcie_exit(struct litepcie *card);
void litepcie_set_state(struct litepcie *card, enum litepcie_state state);
bool litepcie_check_lost(struct litepcie *card);

/* capability.c */
int litepcie_capability_read(struct litepcie *card);
bool litepcie_capability_same(struct litepcie *card);
const struct litepcie_block *litepcie_block_find(struct litepcie *card,
						 u16 type, unsigned int nth);
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n);
u64 litepcie_cycles(struct litepcie *card, u32 microseconds);

/* rights.c */
enum litepcie_right {
	LITEPCIE_RIGHT_NONE,
	LITEPCIE_RIGHT_STEER,		/* write through litepcie_owner_steer() only */
	LITEPCIE_RIGHT_WRITE
};

enum litepcie_right litepcie_right(struct litepcie *card, unsigned int bar, u64 offset, u64 size);
u32 litepcie_steered(enum litepcie_direction id);

/* irq.c */
int litepcie_irq_init(struct litepcie *card);
void litepcie_irq_exit(struct litepcie *card);
void litepcie_irq_silence(struct litepcie *card);
void litepcie_cause_enable(struct litepcie *card, u32 cause, bool enable);
void litepcie_cause_settle(struct litepcie *card);

/* dma.c */
void litepcie_dma_init(struct litepcie_way *way);
int litepcie_dma_halt(struct litepcie_way *way);
bool litepcie_dma_taken(struct litepcie_way *way);
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run);
int litepcie_dma_stop(struct litepcie_way *way);
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_dma_abort(struct litepcie_way *way, int error);
int litepcie_dma_settle(struct litepcie_way *way);

/* owner.c */
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

/* held.c */
bool litepcie_held_update(struct litepcie_way *way, bool *lost);
void litepcie_held_look(struct litepcie_way *way);
void litepcie_held_append(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
u64 litepcie_held_outstanding(struct litepcie_way *way);
u64 litepcie_held_position(const struct litepcie_way *way);
int litepcie_held_advance(struct litepcie_file *file, struct litepcie_advance *advance,
			  const u32 *lengths);

/* notices.c */
void litepcie_notices_init(struct litepcie_chan *chan, unsigned int nth);
void litepcie_notices_unmap(struct litepcie_chan *chan);
void litepcie_notices_free(struct litepcie_chan *chan);
size_t litepcie_notices_bytes(const struct litepcie_notices *notices);
void litepcie_notices_start(struct litepcie_way *way, u32 flush_us);
void litepcie_notices_stop(struct litepcie_way *way, bool live);
void litepcie_notices_off(struct litepcie_way *way);
bool litepcie_notices_ended(const struct litepcie_way *way, u64 number);
void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags);

/* stream.c */
void litepcie_stream_init(struct litepcie_way *way);
bool litepcie_stream_ready(struct litepcie_way *way);
ssize_t litepcie_stream_transfer(struct litepcie_way *way, struct litepcie_file *file,
				 struct iov_iter *iter, bool nonblock);
int litepcie_stream_sync(struct litepcie_file *file);
void litepcie_stream_close(struct litepcie_file *file);

/* progress.c */
bool litepcie_dma_progress(struct litepcie_way *way);
void litepcie_dma_ask(struct litepcie_way *way);
void litepcie_dma_interrupt(struct litepcie_way *way);
void litepcie_dma_news(struct litepcie_way *way);

/* throttle.c */
void litepcie_throttle_probe(struct litepcie_chan *chan, unsigned int nth);
void litepcie_throttle_start(struct litepcie_way *way);

/* moderation.c */
void litepcie_moderation_init(struct litepcie_way *way);
void litepcie_moderation_start(struct litepcie_way *way);
void litepcie_moderation_stop(struct litepcie_way *way);
void litepcie_moderation_interrupt(struct litepcie_way *way);

/* bar.c */
#define LITEPCIE_MMAP_SHIFT	40	/* an mmap() offset from this bit up is a region */
enum litepcie_region {
	LITEPCIE_REGION_RINGS,		/* both rings, as LITEPCIE_IOCTL_MMAP_DMA_INFO says */
	LITEPCIE_REGION_H2C,
	LITEPCIE_REGION_C2H,
	LITEPCIE_REGION_STATUS,
	LITEPCIE_REGION_INDEX,
	LITEPCIE_REGION_RECORDS,
	LITEPCIE_REGION_BAR		/* BAR n is region LITEPCIE_REGION_BAR + n */
};

int litepcie_bar_info(struct litepcie *card, struct litepcie_bar *bar);
int litepcie_bar_mmap(struct litepcie *card, unsigned int bar, u64 offset,
		      struct vm_area_struct *vma);
void litepcie_bar_zap(struct litepcie *card);
void litepcie_bar_map_memory(struct litepcie *card);
void litepcie_bar_unmap_memory(struct litepcie *card);

/* user.c */
int litepcie_user_init(struct litepcie *card);
void litepcie_user_interrupt(struct litepcie *card);
int litepcie_user_event(struct litepcie_file *file, struct eventfd_ctx *event);
void litepcie_user_leave(struct litepcie_file *file, bool live);
void litepcie_user_forget(struct litepcie *card);

/* p2pmem.c */
int litepcie_p2pmem_add(struct litepcie *card);

/* dmabuf.c */
struct dma_buf *litepcie_dmabuf_export(struct litepcie_way *way, struct litepcie_file *file,
				       u32 fd_flags);

/* chrdev.c */
int litepcie_chrdev_init(void);
void litepcie_chrdev_exit(void);
struct litepcie_chan *litepcie_chan_alloc(struct litepcie *card);
int litepcie_chan_add(struct litepcie_chan *chan);
void litepcie_chan_del(struct litepcie_chan *chan);

/* setup.c */
int litepcie_setup_ring(struct litepcie_file *file, struct litepcie_ring_setup *setup);
int litepcie_setup_memory(struct litepcie_file *file, struct litepcie_ring_memory *request);
int litepcie_setup_info(struct litepcie_file *file, struct litepcie_ring_info *info);
int litepcie_setup_packets(struct litepcie_file *file, const struct litepcie_packets *packets);

/* ioctl.c, rw.c, mmap.c, sysfs.c */
long litepcie_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long litepcie_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
ssize_t litepcie_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t litepcie_write_iter(struct kiocb *iocb, struct iov_iter *from);
int litepcie_fsync(struct file *filp, loff_t start, loff_t end, int datasync);
int litepcie_mmap(struct file *file, struct vm_area_struct *vma);
int litepcie_mmap_pages(struct vm_area_struct *vma, struct litepcie_ring *ring, size_t first);
extern const struct attribute_group *litepcie_groups[];

/* pci.c */
extern struct pci_driver litepcie_pci_driver;

#endif /* LITEPCIE_CARD_H */
