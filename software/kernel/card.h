/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares a card and the functions that act on all of it, and the order of the driver's locks.
 * dma/channel.h declares channels and their directions, and file/file.h the open files of a
 * channel's device node.
 *
 * A card (struct litepcie) is one PCI function.  A channel is one DMA channel with its device
 * node.  A way is one direction of a channel.  The structures of a card and of its channels live
 * until the last open file is closed, which may be long after the PCI function has gone.  So calls
 * of programs touch the hardware only between litepcie_enter() and litepcie_exit().  A function that
 * touches it for a program needs litepcie_enter(), unless its comment says that it makes these two
 * calls itself, or that an argument @live tells whether they were made.  The code of pci.c,
 * interrupt handlers, timers and delayed work also touch the hardware, without litepcie_enter().
 *
 * The driver takes its locks in this order, outermost first.  A copy from or to user memory may
 * take mmap_lock, so no such copy is made with a lock held that stands below mmap_lock in the list:
 *   way->io		protects the way's stream; held by a read() or write(), also while it copies
 *   (mmap_lock)	the kernel's lock of a process's address space
 *   card->live		held for reading between litepcie_enter() and litepcie_exit()
 *   way->mutex		protects owner, ring, start and stop; h2c's before c2h's
 *   card->master_lock	protects the bus master bit
 *   notices.lock	protects which notices (see notices.c) are on
 *   way->wait.lock	protects the counts of a way
 *   chan->pollers.lock	protects the queue of threads that wait in poll()
 *   card->user.lock	protects the eventfd of the user logic's interrupt
 *   card->irq_lock	protects which interrupt causes are enabled
 * No lock of this list is taken while card->files_lock or ring->lock is held.  The file
 * capture/capture.h lists the capture's locks.  While vdev->lock of virtio/virtio_device.h is held,
 * no other lock is taken.
 */
#ifndef LITEPCIE_CARD_H
#define LITEPCIE_CARD_H

#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "dma/channel.h"
#include "file/file.h"
#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"

#define LITEPCIE_NAME		"litepcie"
#define LITEPCIE_CHANNELS_MAX	8
#define LITEPCIE_VIRTIO_MAX	8

enum litepcie_state {
	LITEPCIE_LIVE,
	LITEPCIE_OFFLINE,	/* the card is reset or asleep, and may become LIVE again */
	LITEPCIE_GONE		/* the card is unplugged or unbound, which is final */
};

struct litepcie_capture;
struct litepcie_virtio;

/* The interrupt of the logic in the user slot, and the eventfd that it signals. */
struct litepcie_user {
	/* interrupt cause of the user's logic; LITEPCIE_CAUSES_MAX: the logic has none */
	u32			cause;
	/*
	 * lock: protects @event and @file.  While the lock is free, the interrupt cause @cause is
	 * enabled if and only if @event is set.
	 */
	spinlock_t		lock;
	struct eventfd_ctx	*event;
	struct litepcie_file	*file;	/* has set @event; may be read without a lock */
	char			irq_name[24];
};

/* One entry of the capability table, which describes one block of the gateware. */
struct litepcie_block {
	u16			type, version;
	u8			index, bar;
	u32			offset, size;
	unsigned int		parameters;
	const u32		*parameter;
};

/* The handler of an interrupt cause that belongs to a virtio device. */
struct litepcie_listener {
	irq_handler_t		handler;	/* NULL: no virtio device listens to the cause */
	void			*data;		/* argument with which @handler is called */
};

/* A virtio device of the card, see virtio.c. */
struct litepcie_virtio_slot {
	const struct litepcie_block	*block;		/* NULL: no such device */
	struct litepcie_virtio		*device;	/* NULL: there is none at present */
};

struct litepcie {
	struct kref		kref;
	/* @pdev and @bar0 are invalid once @state is GONE */
	struct pci_dev		*pdev;
	void __iomem		*bar0;
	resource_size_t		bar0_size;

	u32			*table;		/* copy of the card's capability table */
	struct litepcie_block	*blocks;
	unsigned int		block_count;
	char			target[4 * LITEPCIE_CAP_TARGET_WORDS];
	char			digest[8 * LITEPCIE_CAP_DIGEST_WORDS + 1];

	/*
	 * true: the card counts as lost, since its registers have read as all ones or pci.c cannot
	 * use it; set in any context without a lock.  xchg() lets only one context log the loss.
	 */
	bool			lost;
	/*
	 * lock: protects @state, and so the use of the hardware: litepcie_enter() takes it for
	 * reading, and litepcie_set_state() for writing
	 */
	struct rw_semaphore	live;
	enum litepcie_state	state;

	/* lock: protects the mask of enabled causes, which the handler reads without a lock */
	spinlock_t		irq_lock;
	u32			irq_enabled;
	void __iomem		*irq_enable, *irq_clear, *irq_vector;
	bool			msix;		/* true if the gateware can send MSI-X messages */
	/*
	 * number of interrupt vectors, from vector 0 on, among which are all that irq.c has
	 * requested, see free_messages()
	 */
	unsigned int		messages;
	struct litepcie_way	*cause[LITEPCIE_CAUSES_MAX];	/* NULL: of no direction */
	struct litepcie_user	user;
	struct litepcie_capture	*capture;	/* NULL: the card has none */

	struct litepcie_virtio_slot virtio[LITEPCIE_VIRTIO_MAX];
	/*
	 * bit masks of interrupt causes: @virtio_causes has all causes of virtio devices,
	 * @virtio_queues only those of their queues
	 */
	u32			virtio_causes, virtio_queues;
	struct litepcie_listener listener[LITEPCIE_CAUSES_MAX];

	struct mutex		master_lock;	/* protects the bus master bit and @unquiet */
	/*
	 * bit n: the direction, capture or virtio device whose (first) interrupt cause is n did not
	 * stop, so bus mastering is off
	 */
	u32			unquiet;

	struct mutex		files_lock;	/* protects @files */
	struct list_head	files;
	/* the kernel's mappings of the memory BARs, which are write-combining */
	void __iomem		*memory[PCI_STD_NUM_BARS];

	unsigned int		channels;
	unsigned int		nodes;	/* the first @nodes channels have a device node */
	struct litepcie_chan	*chan[LITEPCIE_CHANNELS_MAX];
};

/*
 * Returns DMA direction (way) number @n of the card, or NULL if it has fewer.  0 and 1 are h2c and
 * c2h of channel 0, 2 and 3 those of channel 1, and so on.
 */
static inline struct litepcie_way *litepcie_nth_way(struct litepcie *card, unsigned int n)
{
	if (n >= card->channels * LITEPCIE_WAYS)
		return NULL;
	return &card->chan[n / LITEPCIE_WAYS]->way[n % LITEPCIE_WAYS];
}

static inline bool litepcie_is_gone(const struct litepcie *card)
{
	return READ_ONCE(card->state) == LITEPCIE_GONE || READ_ONCE(card->lost);
}

/* Functions of card.c: the life of a card, and litepcie_enter() */
struct litepcie *litepcie_card_alloc(struct pci_dev *pdev);
void litepcie_card_get(struct litepcie *card);
void litepcie_card_put(struct litepcie *card);
int litepcie_enter(struct litepcie *card);
void litepcie_exit(struct litepcie *card);
void litepcie_set_state(struct litepcie *card, enum litepcie_state state);
void litepcie_lose(struct litepcie *card);
bool litepcie_answers(struct litepcie *card);
bool litepcie_check_lost(struct litepcie *card);

/* Functions of capability.c: the capability table and its blocks */
int litepcie_capability_read(struct litepcie *card);
bool litepcie_capability_same(struct litepcie *card);
const struct litepcie_block *litepcie_block_find(struct litepcie *card,
						 u16 type, unsigned int index);
bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last);
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n);
u64 litepcie_cycles(struct litepcie *card, u32 microseconds);

/* Functions of rights.c: the registers and pages that a file without CAP_SYS_RAWIO may write to */
enum litepcie_right {
	LITEPCIE_RIGHT_NONE,
	/* the file may write the register, but only through litepcie_owner_steer() */
	LITEPCIE_RIGHT_STEER,
	LITEPCIE_RIGHT_WRITE
};

enum litepcie_right litepcie_right(struct litepcie *card, unsigned int bar, u64 offset, u64 size);
u32 litepcie_steered(u32 id);

/* Functions of irq.c: the card's interrupt messages */
int litepcie_irq_init(struct litepcie *card);
void litepcie_irq_exit(struct litepcie *card);
void litepcie_irq_silence(struct litepcie *card);

/* Functions of cause.c: which interrupt causes are enabled */
void litepcie_cause_enable(struct litepcie *card, u32 cause, bool enable);
void litepcie_cause_settle(struct litepcie *card);

/* Functions of bar.c: BARs that processes map */
int litepcie_bar_info(struct litepcie *card, struct litepcie_bar *bar);
int litepcie_bar_mmap(struct litepcie *card, unsigned int bar, u64 offset,
		      struct vm_area_struct *vma);
void litepcie_bar_zap(struct litepcie *card);
void litepcie_bar_map_memory(struct litepcie *card);
void litepcie_bar_unmap_memory(struct litepcie *card);

/* Functions of user.c: the interrupt of the logic in the user slot */
int litepcie_user_init(struct litepcie *card);
void litepcie_user_interrupt(struct litepcie *card);
int litepcie_user_event(struct litepcie_file *file, struct eventfd_ctx *event);
void litepcie_user_leave(struct litepcie_file *file, bool live);
void litepcie_user_forget(struct litepcie *card);

/* Functions of virtio.c.  A kernel without CONFIG_AUXILIARY_BUS does not use virtio devices. */
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
 * Functions of capture_news.c, capture_owner.c and capture_node.c.  For a card without a capture,
 * all but litepcie_capture_interrupt() may be called and do nothing.
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

/* Function of p2pmem.c: the card's memory for other PCI devices */
int litepcie_p2pmem_add(struct litepcie *card);

/* Variable of pci.c: the driver's functions that the kernel's PCI core calls */
extern struct pci_driver litepcie_pci_driver;

#endif /* LITEPCIE_CARD_H */
