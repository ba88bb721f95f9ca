/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares a card with its functions, and the order of the driver's locks.
 * dma/channel.h declares channels and their directions, and file/file.h the open files of a
 * channel's device node.
 *
 * A card (struct litepcie) is one PCI function.  A channel is one DMA channel with its device node.
 * A way is one direction of a channel.  The structures of a card and of its channels stay at least
 * until the driver has let go of the card and the last open file is closed, which may be long after
 * the PCI function has gone.  So calls of programs touch the hardware only between litepcie_enter()
 * and litepcie_exit().  A function that touches the hardware for a program either makes these two
 * calls itself, or is called between them, or has an argument @live that says whether
 * litepcie_enter() has succeeded.  The functions of pci.c, interrupt handlers, timers, watchdogs
 * and litepcie_virtio.ko touch the hardware without litepcie_enter().
 *
 * The driver takes its locks in this order, outermost first.  A copy from or to user memory may
 * take mmap_lock, so no such copy is made with a lock held that stands below mmap_lock in the list:
 *   way->io		protects the way's stream; held while read() and write() copy, and in a
 *			stream also while read(), write(), fsync() and close() wait
 *   (mmap_lock)	the kernel's lock of a process's address space
 *   card->live		held for reading between litepcie_enter() and litepcie_exit()
 *   way->mutex		protects owner, ring, start and stop of a way; of a channel's two mutexes,
 *			that of h2c is taken first
 *   card->master_lock	protects the mask of parts that did not stop, and the bus master bit where
 *			litepcie_master_off() and litepcie_master_on() change it
 *   notices.lock	protects the register that switches a channel's status lines and records on
 *			(see notices.c)
 *   way->wait.lock	protects the counts and the state of a way
 *   chan->pollers.lock	protects the queue of threads that wait in poll()
 *   card->user.lock	protects the eventfd of the user logic's interrupt
 *   card->irq_lock	protects which interrupt causes are enabled
 * No lock of this list is taken while card->files_lock or ring->lock is held.  The file
 * capture/capture.h lists the capture's locks.  While the lock of a struct litepcie_vdev
 * (virtio/virtio_device.h) is held, no other lock of the driver is taken.
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
	/*
	 * the card is being probed or reset, or it is asleep or shut down; litepcie_enter() returns
	 * -EIO, or -ENODEV if the card counts as lost
	 */
	LITEPCIE_OFFLINE,
	/*
	 * the driver has let go of the card, since the card was unplugged or unbound or a late
	 * stage of its probe failed, which is final; litepcie_enter() returns -ENODEV
	 */
	LITEPCIE_GONE
};

struct litepcie_capture;
struct litepcie_virtio;

/* The interrupt of the logic in the user slot, and the eventfd that it signals. */
struct litepcie_user {
	/* interrupt cause of the user's logic; LITEPCIE_CAUSES_MAX: the logic has none */
	u32			cause;
	/*
	 * lock: protects @event and @file.  As long as litepcie_enter() succeeds and the lock is
	 * free, the interrupt cause @cause is enabled if and only if @event is set.
	 */
	spinlock_t		lock;
	struct eventfd_ctx	*event;
	/* file that has set @event, or NULL; may be read without a lock */
	struct litepcie_file	*file;
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

/*
 * The handler of an interrupt cause that belongs to a virtio device.  No lock guards the two
 * fields.  Only the virtio device's own driver changes them: litepcie_virtio_listen() stores @data
 * and then @handler, and litepcie_virtio_ignore() clears @handler and waits until the handler no
 * longer runs.  The interrupt handler of MSI loads @handler and then @data.
 */
struct litepcie_listener {
	irq_handler_t		handler;	/* function to call; NULL: none */
	void			*data;		/* argument with which @handler is called */
};

/*
 * A virtio device of the card, see virtio.c.  litepcie_virtio_find() sets @block at the probe.
 * litepcie_virtio_add() and litepcie_virtio_del() change @device.  No lock of the driver guards
 * @device: the functions of pci.c that make these two calls run with the kernel's device_lock() of
 * the PCI device held.
 */
struct litepcie_virtio_slot {
	/* the device's entry in the capability table; NULL: the card has no such device */
	const struct litepcie_block	*block;
	/* auxiliary device of the virtio device; NULL: there is none at present */
	struct litepcie_virtio		*device;
};

struct litepcie {
	struct kref		kref;
	/*
	 * @pdev and @bar0 are valid until the driver has let go of the card.  Calls of programs
	 * must not use them once @state is LITEPCIE_GONE.
	 */
	struct pci_dev		*pdev;
	void __iomem		*bar0;
	resource_size_t		bar0_size;

	u32			*table;		/* copy of the card's capability table */
	struct litepcie_block	*blocks;
	unsigned int		block_count;
	char			target[4 * LITEPCIE_CAP_TARGET_WORDS];
	char			digest[8 * LITEPCIE_CAP_DIGEST_WORDS + 1];

	/*
	 * true: the card counts as lost.  Its registers have read as all ones, the kernel has
	 * reported an unplugged card or a PCIe error that blocks access to the card, or revive()
	 * has failed.  Set in any context without a lock, and cleared by revive().
	 * litepcie_check_lost() sets @lost by xchg(), so that only one context logs the loss.
	 */
	bool			lost;
	/*
	 * lock: protects @state, and so the use of the hardware by calls of programs:
	 * litepcie_enter() takes the lock for reading, and litepcie_set_state() takes it for
	 * writing
	 */
	struct rw_semaphore	live;
	enum litepcie_state	state;

	/*
	 * lock: protects @irq_enabled, the mask of enabled interrupt causes, and the register
	 * @irq_enable, which has the same value while the card is live.  The interrupt handler
	 * reads @irq_enabled without the lock.
	 */
	spinlock_t		irq_lock;
	u32			irq_enabled;
	void __iomem		*irq_enable, *irq_clear, *irq_vector;
	bool			msix;		/* true if the gateware can send MSI-X messages */
	/*
	 * the interrupt vectors that irq.c has requested all have numbers below this one, see
	 * free_messages()
	 */
	unsigned int		messages;
	/* direction to which each interrupt cause belongs; NULL: to no direction */
	struct litepcie_way	*cause[LITEPCIE_CAUSES_MAX];
	struct litepcie_user	user;
	struct litepcie_capture	*capture;	/* NULL: the card has no capture block */

	struct litepcie_virtio_slot virtio[LITEPCIE_VIRTIO_MAX];
	/*
	 * bit masks of interrupt causes, which are set at the probe: @virtio_causes has all causes
	 * of virtio devices, @virtio_queues only those of their queues
	 */
	u32			virtio_causes, virtio_queues;
	/* handler of each interrupt cause in @virtio_causes */
	struct litepcie_listener listener[LITEPCIE_CAUSES_MAX];

	/*
	 * lock: protects @unquiet, and the bus master bit where litepcie_master_off() and
	 * litepcie_master_on() change it
	 */
	struct mutex		master_lock;
	/*
	 * bit n: the direction, capture or virtio device whose (first) interrupt cause is n did not
	 * stop, so bus mastering is off
	 */
	u32			unquiet;

	struct mutex		files_lock;	/* protects @files */
	struct list_head	files;	/* open files of the channels' device nodes */
	/*
	 * write-combining mapping of each memory BAR in the kernel; NULL: the BAR is not memory, is
	 * BAR0, or could not be mapped
	 */
	void __iomem		*memory[PCI_STD_NUM_BARS];

	unsigned int		channels;
	/* number of channels that have a device node: the first @nodes of @chan */
	unsigned int		nodes;
	struct litepcie_chan	*chan[LITEPCIE_CHANNELS_MAX];
};

/*
 * Returns DMA direction (way) number @n of the card, or NULL if the card has no such direction.
 * Numbers 0 and 1 are h2c and c2h of channel 0, 2 and 3 those of channel 1, and so on.
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

/* Functions of rights.c: registers and pages that a process without CAP_SYS_RAWIO may write to */
enum litepcie_right {
	LITEPCIE_RIGHT_NONE,
	/* the process may write the register, but only through litepcie_owner_steer() */
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

/*
 * Functions of virtio.c.  If the kernel lacks CONFIG_AUXILIARY_BUS, they do nothing, and the card's
 * virtio devices are not used.
 */
#ifdef CONFIG_AUXILIARY_BUS
void litepcie_virtio_find(struct litepcie *card);
int litepcie_virtio_halt(struct litepcie *card);
void litepcie_virtio_add(struct litepcie *card);
void litepcie_virtio_del(struct litepcie *card);
#else
static inline void litepcie_virtio_find(struct litepcie *card) { }
static inline int litepcie_virtio_halt(struct litepcie *card) { return 0; }
static inline void litepcie_virtio_add(struct litepcie *card) { }
static inline void litepcie_virtio_del(struct litepcie *card) { }
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
