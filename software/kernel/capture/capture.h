/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the driver's part for the card's capture block, which records network frames.  capture.c
 * runs the hardware, and capture_registers.c reads and writes its registers.  capture_news.c wakes
 * threads.  capture_sort.c handles rules, counts of frames and the generator of test frames.
 * capture_owner.c handles the owners of queues and their rings.  capture_node.c has the device
 * node, capture_calls.c its ioctl() and capture_read.c its read().
 *
 * The block has one queue or more, each with a ring.  The card has one bit that starts and stops
 * all queues.  START or the first read() of queue 0 starts queue 0 and all queues that are ready.
 * STOP of queue 0 and the close() of its file stop all queues.
 *
 * capture_calls.c, capture_node.c and capture_read.c call litepcie_enter() before they call a
 * function of another file that accesses registers.  litepcie_capture_use_memory() and
 * litepcie_capture_leave() call litepcie_enter() themselves.  pci.c calls the functions that are
 * declared in card.h, and these work without litepcie_enter(), as the watchdog does.
 *
 * Locks, outermost first, in the order of card.h:
 *   file->io		held by a read() of the file while it copies, but not while it waits
 *   card->live
 *   capture->mutex	protects owners, rings, start, stop, and the registers with counts of frames
 *   card->master_lock
 *   queue->wait.lock	protects the state of the queue's run, and the settings of WAKE
 *   capture->select_lock	protects the register `select`, which names a queue, and the
 *			registers of that queue
 */
#ifndef LITEPCIE_CAPTURE_H
#define LITEPCIE_CAPTURE_H

#include "card.h"
#include "uapi/litepcie_capture_node.h"

/* The flags of START that this driver knows.  INFO tells them to programs. */
#define CAPTURE_START_FLAGS \
	(LITEPCIE_CAPTURE_KEEP_BAD | LITEPCIE_CAPTURE_LOSSLESS | LITEPCIE_CAPTURE_NEWEST | \
	 LITEPCIE_CAPTURE_NET | LITEPCIE_CAPTURE_HOST_CLOCK | LITEPCIE_CAPTURE_STAGING)

struct litepcie_capture_file;

/* A queue of the capture block: a ring in host memory, and its status line. */
struct litepcie_capture_queue {
	struct litepcie_capture		*capture;
	unsigned int			number;
	/* the queue's part of the status page, which the card and the driver write */
	struct litepcie_capture_status	*status;

	/* capture->mutex protects @owner to @limit; poll() reads @owner without it */
	struct litepcie_capture_file	*owner;
	/* the queue's ring, mapped for the card until the card is unbound; NULL: none */
	struct litepcie_ring		*ring;
	/* true: the card may write to @ring until the run of all queues stops */
	bool				used;
	/*
	 * of the queue's last start, by START or read(): @flags: LITEPCIE_CAPTURE_ flags;
	 * @staging: bytes of the card's staging memory that the queue may use at once; @first:
	 * the first limit in bytes
	 */
	u32				flags;
	u32				staging;
	u64				first;
	/*
	 * error (-errno) that ended the queue's last run; 0: none, or it was cleared since; may be
	 * read without a lock
	 */
	int				error;
	/*
	 * position in bytes up to which the card may write, unless the run has the flag NEWEST; may
	 * be read without a lock
	 */
	u64				limit;

	/* lock: wait.lock protects the fields from @wait to @event */
	wait_queue_head_t		wait;
	/*
	 * state of the queue: a LITEPCIE_CAPTURE_RUN_ value; changes with capture->mutex and
	 * wait.lock held
	 */
	u32				run;
	/*
	 * position in bytes that was asked for by WAKE, or by read() or poll() of a file that uses
	 * read(): when the card has passed this position, waiting threads are woken and @event is
	 * signalled; U64_MAX: no position was asked for
	 */
	u64				wake;
	/* eventfd that the queue's last WAKE has set; NULL: none */
	struct eventfd_ctx		*event;
};

struct litepcie_capture {
	struct litepcie			*card;
	const struct litepcie_block	*block;
	void __iomem			*regs;
	/* capability entry of the block CAPTURE_QUEUES; NULL: the capture has one queue */
	const struct litepcie_block	*sorter;
	void __iomem			*sorter_regs;
	/* capability entry of the block CAPTURE_NET; NULL: no net device can be captured */
	const struct litepcie_block	*net;
	void __iomem			*net_regs;
	/*
	 * number of the capture's interrupt cause, which the card raises when the position of a
	 * queue has passed the value of the queue's register `wake`
	 */
	u32				cause;
	struct device			dev;
	struct cdev			cdev;
	char				irq_name[32];
	/*
	 * the status page and its DMA address; @able: the page is mapped for the card, which can
	 * write to it without a bounce buffer, so that frames can be captured
	 */
	struct litepcie_capture_status	*status;
	dma_addr_t			status_dma;
	bool				able;
	/* by it one ring of read() at a time is not charged as locked memory, see charge.c */
	struct litepcie_allowance	*allowance;
	spinlock_t			select_lock;	/* see the locks at the head of this file */

	/* lock: protects the fields from @running to @sort */
	struct mutex			mutex;
	bool				running;
	/*
	 * bytes of an MBUF, one of the equal parts of a ring that the card fills one after the
	 * other; the same in the rings of all queues
	 */
	u32				mbuf_bytes;
	/*
	 * of queue 0's last start, by START or read(): @flags: LITEPCIE_CAPTURE_ flags; @snap:
	 * bytes to keep of each frame, 0: all
	 */
	u32				flags;
	u32				snap;
	/* argument of the last LITEPCIE_IOCTL_CAPTURE_SORT; flags 0: all frames go to queue 0 */
	struct litepcie_capture_sort	sort;

	struct delayed_work		watchdog;	/* runs litepcie_capture_watch() */

	unsigned int			queues;
	struct litepcie_capture_queue	queue[LITEPCIE_CAPTURE_QUEUES];
};

/* An open file of the capture's device node. */
struct litepcie_capture_file {
	/*
	 * queue that the file's calls are about; until the file owns this queue, it may choose
	 * another one, with capture->mutex held
	 */
	struct litepcie_capture_queue *queue;
	/*
	 * lock: held by a read() of the file while it copies; protects @at and @header_at.  poll()
	 * reads these two fields, @header and @wake without a lock.
	 */
	struct mutex		io;
	/*
	 * page with the pcapng header that read() returns first; NULL until a read() has started
	 * the queue
	 */
	u8			*header;
	size_t			header_at;	/* bytes of the header that read() has returned */
	u64			at;		/* bytes of the ring that read() has returned */
	/*
	 * position in bytes of the file's last WAKE, or 0 after a later START: poll() of a file
	 * that does not use read() reports POLLIN once the card has passed this position
	 */
	u64			wake;
};

static inline struct device *litepcie_capture_dma(const struct litepcie_capture *capture)
{
	return &capture->card->pdev->dev;
}

/* Returns the next queue of the capture, or NULL if @queue is the last one. */
static inline struct litepcie_capture_queue *
litepcie_queue_after(struct litepcie_capture_queue *queue)
{
	return queue->number + 1 < queue->capture->queues ? queue + 1 : NULL;
}

static inline u64 litepcie_capture_position(const struct litepcie_capture_queue *queue)
{
	return litepcie_load_reported(&queue->status->position);
}

/* Functions of capture_registers.c: registers of the block and of its queues */
void litepcie_capture_write(struct litepcie_capture *capture, unsigned int parameter, u32 offset,
			    u32 value);
u32 litepcie_capture_read(struct litepcie_capture *capture, unsigned int parameter, u32 offset);
void litepcie_sorter_put(struct litepcie_capture *capture, unsigned int parameter, u32 value);
u64 litepcie_sorter_get64(struct litepcie_capture *capture, unsigned int parameter);
void litepcie_capture_put_net(struct litepcie_capture *capture, bool on);
u32 litepcie_capture_net_lost(struct litepcie_capture *capture);
void litepcie_capture_set_clock(struct litepcie_capture *capture);
void litepcie_queue_put(struct litepcie_capture_queue *queue, unsigned int parameter, u32 offset,
			u32 value);
void litepcie_queue_put_staging(struct litepcie_capture_queue *queue, u32 bytes);
void litepcie_queue_put64(struct litepcie_capture_queue *queue, unsigned int parameter, u64 value);
u64 litepcie_queue_get64(struct litepcie_capture_queue *queue, unsigned int parameter, u32 offset);
void litepcie_queue_put_segment(struct litepcie_capture_queue *queue, unsigned int number,
				dma_addr_t address);
void litepcie_queue_get_account(struct litepcie_capture_queue *queue, u32 number,
				struct litepcie_capture_account *account);
u32 litepcie_capture_status(struct litepcie_capture *capture);
int litepcie_capture_await(struct litepcie_capture *capture, u32 mask, u32 value);
bool litepcie_capture_is_usable(const struct litepcie_block *block);
const struct litepcie_block *litepcie_capture_find_sorter(struct litepcie *card);
bool litepcie_capture_has_clock(const struct litepcie_block *block);
bool litepcie_capture_has_quotas(const struct litepcie_block *sorter);
const struct litepcie_block *litepcie_capture_find_net(struct litepcie *card);

/*
 * State of a wait for the capture block.  The wait fails if the block makes no progress for long,
 * as litepcie_is_stuck() defines it.
 */
struct litepcie_patience {
	unsigned long	since;	/* jiffies when the wait began, or the last progress was seen */
	unsigned int	polls;	/* number of reads of the block's status register since @since */
};

void litepcie_be_patient(struct litepcie_patience *patience);
bool litepcie_is_stuck(struct litepcie_patience *patience);

/* Functions of capture.c: start and stop of the hardware */
void litepcie_capture_watch(struct work_struct *work);
int litepcie_capture_halt(struct litepcie_capture *capture, u32 control);
int litepcie_capture_begin(struct litepcie_capture_queue *queue,
			   const struct litepcie_capture_start *start, u32 run);
int litepcie_capture_finish(struct litepcie_capture *capture, int error, bool live, bool patient);
int litepcie_capture_part(struct litepcie_capture_queue *queue, u64 *end);
void litepcie_capture_allow(struct litepcie_capture_queue *queue, u64 limit);
void litepcie_capture_arm(struct litepcie_capture_queue *queue, const u64 *position);

/* Functions of capture_news.c: waking of threads that wait for a queue */
void litepcie_queue_tell(struct litepcie_capture_queue *queue, bool ended);
void litepcie_queue_news(struct litepcie_capture_queue *queue);
void litepcie_capture_news(struct litepcie_capture *capture);

/* Functions of capture_sort.c: rules, counts of frames, and the generator of test frames */
int litepcie_capture_sort(struct litepcie_capture *capture,
			  const struct litepcie_capture_sort *wanted);
void litepcie_capture_put_sort(struct litepcie_capture *capture);
void litepcie_capture_silence(struct litepcie_capture *capture);
int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_capture_generate *wanted);
int litepcie_capture_generated(struct litepcie_capture *capture,
			       struct litepcie_capture_info *info);
int litepcie_capture_accounts(struct litepcie_capture_queue *queue,
			      struct litepcie_capture_info *info);
int litepcie_capture_discards(struct litepcie_capture *capture,
			      struct litepcie_capture_discards *discards);

/* Functions of capture_owner.c: the open file that owns a queue, and the queue's ring */
int litepcie_capture_choose(struct litepcie_capture_file *file,
			    const struct litepcie_capture_choice *choice);
int litepcie_capture_use_memory(struct litepcie_capture_file *file,
				struct litepcie_capture_ring *request);
int litepcie_capture_start_file(struct litepcie_capture_file *file,
				const struct litepcie_capture_start *start);
int litepcie_capture_stop_file(struct litepcie_capture_file *file,
			       struct litepcie_capture_stop *stop);
int litepcie_capture_check_owner(const struct litepcie_capture_file *file);
int litepcie_capture_check_first(const struct litepcie_capture_file *file);
int litepcie_capture_take_to_read(struct litepcie_capture_file *file);
void litepcie_capture_leave(struct litepcie_capture_file *file);

/* Function of capture_calls.c: ioctl() of the capture's node */
long litepcie_capture_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

/* Function of capture_read.c: read() of the capture's node */
ssize_t litepcie_capture_read_iter(struct kiocb *iocb, struct iov_iter *to);

#endif /* LITEPCIE_CAPTURE_H */
