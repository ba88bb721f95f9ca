/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the model of the capture's node for the random sequences of the program node. The model
 * follows litepcie_capture_node.h and knows nothing of the driver's code. For each call the model
 * predicts the result. check_all() compares the driver and the card with the model.
 */
#ifndef NODE_MODEL_H
#define NODE_MODEL_H

#include "node_card.h"

#define FILES		6u
#define NOBODY		(-1)
#define NO_WAKE		(~0ull)
#define MOST_RING	0x80000u	/* bytes of the largest ring that a made-up program makes */
#define READ_RING_BYTES	0x400000u	/* bytes of the driver's own ring for read() */
#define READ_MBUF_BYTES	0x10000u

struct known_file {
	struct file	*filp;		/* the open file; NULL: it is not open */
	unsigned int	queue;
	bool		header;		/* true: a read() of the file has started its queue */
	size_t		header_at;
	u64		at, wake;
};

struct known_queue {
	int		owner;		/* number of the file that owns the queue, or NOBODY */
	size_t		ring;		/* bytes of the queue's ring; 0: the queue has no ring */
	size_t		piece;		/* bytes of each contiguous piece of the ring */
	u32		run, flags;
	bool		used;		/* true: the card may write to the ring */
	/* @error: -errno of the last run, or 0; @event: number of the queue's eventfd, or NOBODY */
	int		error, event;
	u64		first, limit, position, line, wake;
	bool		armed;		/* true: the driver has asked the card for an interrupt */
	bool		told;		/* true: the driver must wake the waiters in this step */
	unsigned int	woken;		/* number of wake-ups of the queue before this step */
};

struct known {
	struct known_file	file[FILES];
	struct known_queue	queue[QUEUES];
	/* error with which calls must fail while the card cannot be used, or 0 */
	int			entry;
	bool			lost, removed, running, sorts, generates, unquiet;
	u32			flags, mbuf, interrupts;
	u64			lost_frames, signals[2];
	/* a frame that waits for room (LOSSLESS): its queue or NOBODY, its port and its bytes */
	int			waits;
	unsigned int		port;
	u64			bytes;
};

extern struct known known;
extern u8 program_rings[QUEUES][MOST_RING];

void model_begin(void);
void check_all(void);
void check_rings(void);

/*
 * Functions of the model. Those that are named after a call or an event tell the model of it before
 * the driver gets it, and return what the driver must return by the contract in
 * uapi/litepcie_capture_node.h. known_calls() and known_watch() bring the model up to date after
 * the card or the driver's watchdog has acted.
 */
struct known_queue *known_queue_of(unsigned int file);
bool known_room(const struct known_queue *queue, u64 bytes);
bool known_news(unsigned int file);
int known_owner(unsigned int file);
int known_ring(unsigned int file, size_t bytes, u32 mbuf);
int known_start(unsigned int file, u32 flags, u64 first);
int known_stop(unsigned int file, u64 *position);
int known_limit(unsigned int file, u64 to);
int known_wake(unsigned int file, u64 position, int fd);
int known_read_begin(unsigned int file);
__poll_t known_poll(unsigned int file);
void known_arm(struct known_queue *queue, u64 position);
void known_close(unsigned int file);
void known_frame(struct known_queue *queue, unsigned int port, u64 bytes);
void known_abort(int error);
void known_settle(void);
void known_lost(void);
void known_calls(void);
void known_watch(void);

#endif /* NODE_MODEL_H */
