/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares a model of the capture's device node /dev/litepcieN-capture, for the random sequences of
 * the test program node. The model is written after the contract in uapi/litepcie_capture_node.h,
 * and predicts what calls return. check_all() compares the state of the driver and of the made-up
 * card with the model.
 */
#ifndef NODE_MODEL_H
#define NODE_MODEL_H

#include "node_card.h"

#define FILES		6u
#define NOBODY		(-1)
#define NO_WAKE		(~0ull)
/* bytes of the largest ring for which a random sequence calls LITEPCIE_IOCTL_CAPTURE_RING */
#define MOST_RING	0x80000u
#define READ_RING_BYTES	0x400000u	/* bytes of the ring that the driver makes for read() */
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
	bool		used;		/* true: the queue takes part in the present run */
	/*
	 * @error: -errno that ended the queue's last run, or 0. @event: number of the eventfd that
	 * the last WAKE has set for the queue, or NOBODY.
	 */
	int		error, event;
	u64		first, limit, position, line, wake;
	bool		armed;		/* true: the card owes an interrupt for position @wake */
	/* true: in this step the driver must wake the queue's waiting threads */
	bool		told;
	/* number of times that the queue's waiting threads were woken before this step */
	unsigned int	woken;
};

struct known {
	struct known_file	file[FILES];
	struct known_queue	queue[QUEUES];
	/* -errno with which calls that need the card fail while the card cannot be used, or 0 */
	int			entry;
	bool			lost, removed, running, sorts, generates, unquiet;
	u32			flags, mbuf, interrupts;
	u64			lost_frames, signals[2];
	/*
	 * A frame that waits for room in a ring, in a run with LOSSLESS: @waits is the number of
	 * its queue, or NOBODY if no frame waits. @port is the frame's port, and @bytes the size of
	 * its record.
	 */
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
 * Functions of the model. known_ring(), known_start(), known_stop(), known_limit(), known_wake(),
 * known_read_begin() and known_poll() are called before the driver gets such a call. They return
 * what the driver must return, and change the model. known_arm(), known_close(), known_frame(),
 * known_abort(), known_settle() and known_lost() only change the model. known_calls() and
 * known_watch() bring the model up to date after the card or the driver's watchdog has acted.
 * known_queue_of(), known_room(), known_news() and known_owner() only read the model.
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
