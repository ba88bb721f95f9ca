/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the capture block's part of the driver: capture.c runs the hardware,
 * capture_owner.c knows who has the capture and its ring, capture_node.c has the
 * device node and its calls, and capture_read.c has read().
 *
 * Locks, outermost first, in the order of card.h:
 *   file->io		held by a read() of the file, also while it copies
 *   card->live
 *   capture->mutex	protects owner, ring, start, stop, and the accounts' registers
 *   card->master_lock
 *   capture->wait.lock	protects run, and what was asked for with WAKE
 */
#ifndef LITEPCIE_CAPTURE_H
#define LITEPCIE_CAPTURE_H

#include "card.h"
#include "uapi/litepcie_capture_node.h"

/* bytes of the header that read() returns first */
#define LITEPCIE_CAPTURE_HEADER	SZ_4K

struct litepcie_capture_file;

struct litepcie_capture {
	struct litepcie			*card;
	const struct litepcie_block	*block;
	void __iomem			*regs;
	/* number of the interrupt cause that `wake` raises */
	u32				cause;
	struct device			dev;
	struct cdev			cdev;
	char				irq_name[32];
	/*
	 * the status page, which the card and the driver write; @able says that
	 * it is mapped for the card
	 */
	struct litepcie_capture_status	*status;
	dma_addr_t			status_dma;
	bool				able;
	/* makes the ring of read() free of charge, see charge.c */
	struct litepcie_allowance	*allowance;

	/* lock: protects the fields from @owner to @limit; poll() reads @owner without it */
	struct mutex			mutex;
	struct litepcie_capture_file	*owner;
	/* the owner's ring, mapped for DMA by the card; NULL: none */
	struct litepcie_ring		*ring;
	u32				mbuf_bytes;
	/* flags of the last START: LITEPCIE_CAPTURE_ */
	u32				flags;
	u32				snap;
	/* error that ended the last run, or 0; may be read without a lock */
	int				error;
	u64				limit;	/* may be read without a lock */

	/* wait.lock protects the fields from @wait to @event */
	wait_queue_head_t		wait;
	u32				run;	/* LITEPCIE_CAPTURE_RUN_ */
	/* position that a caller waits to be passed; U64_MAX: none */
	u64				wake;
	/* eventfd that is signalled when @wake has been passed, or NULL */
	struct eventfd_ctx		*event;

	/*
	 * delayed work that checks once a second whether the card is still
	 * there, and whether an interrupt was lost
	 */
	struct delayed_work		watchdog;
};

/* An open file of the capture's device node. */
struct litepcie_capture_file {
	struct litepcie_capture	*capture;
	/* lock: held by a read() of the file; protects @at and @header_at */
	struct mutex		io;
	/* the file's header of a recording, a page; NULL: the file has not called read() */
	u8			*header;
	size_t			header_at;	/* bytes of the header that read() has returned */
	u64			at;		/* bytes of the ring that read() has returned */
	/* position of the file's last WAKE: poll() says POLLIN beyond it */
	u64			wake;
};

static inline struct device *litepcie_capture_dma(const struct litepcie_capture *capture)
{
	return &capture->card->pdev->dev;
}

static inline u64 litepcie_capture_position(const struct litepcie_capture *capture)
{
	return litepcie_load_told(&capture->status->position);
}

/* The functions that follow are defined in capture.c. */
void litepcie_capture_watch(struct work_struct *work);
int litepcie_capture_halt(struct litepcie_capture *capture, u32 control);
int litepcie_capture_begin(struct litepcie_capture *capture,
			   const struct litepcie_capture_start *start, u32 run);
int litepcie_capture_finish(struct litepcie_capture *capture, int error, bool live, u32 control);
void litepcie_capture_allow(struct litepcie_capture *capture, u64 limit);
void litepcie_capture_arm(struct litepcie_capture *capture, u64 position);
void litepcie_capture_news(struct litepcie_capture *capture);
void litepcie_capture_silence(struct litepcie_capture *capture);
int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_capture_generate *wanted);
int litepcie_capture_generated(struct litepcie_capture *capture,
			       struct litepcie_capture_info *info);
int litepcie_capture_accounts(struct litepcie_capture *capture,
			      struct litepcie_capture_info *info);

/* The functions that follow are defined in capture_owner.c. */
int litepcie_capture_use_memory(struct litepcie_capture_file *file,
				struct litepcie_capture_ring *request);
int litepcie_capture_start_file(struct litepcie_capture_file *file,
				const struct litepcie_capture_start *start);
int litepcie_capture_stop_file(struct litepcie_capture_file *file,
			       struct litepcie_capture_stop *stop);
int litepcie_capture_check_owner(const struct litepcie_capture_file *file);
int litepcie_capture_take_to_read(struct litepcie_capture_file *file);
void litepcie_capture_leave(struct litepcie_capture_file *file);

/* The functions that follow are defined in capture_read.c. */
ssize_t litepcie_capture_read_iter(struct kiocb *iocb, struct iov_iter *to);

#endif /* LITEPCIE_CAPTURE_H */
