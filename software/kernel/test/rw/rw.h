/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what the driver's rw.c needs of the kernel and of card.h, for the test program rw, which
 * includes the driver's rw.c. The program has one thread. The made-up card goes on in the middle of
 * each copy of a buffer to the program.
 */
#ifndef RW_H
#define RW_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "uapi/litepcie.h"

#define LITEPCIE_CARD_H

typedef uint8_t u8;
typedef uint32_t u32;
typedef __u64 u64;
typedef __s64 s64;

#define LITEPCIE_WAYS 2

#define IOCB_NOWAIT			8
#define ERESTARTSYS			512
#define min_t(_type, _a, _b)		((_type)(_a) < (_type)(_b) ? (_type)(_a) : (_type)(_b))
#define min3(_a, _b, _c)		min_t(size_t, _a, min_t(size_t, _b, _c))
#define READ_ONCE(_x)			(_x)
#define smp_load_acquire(_from)		(*(_from))
#define WRITE_ONCE(_x, _value)		((_x) = (_value))
#define dev_warn_ratelimited(_dev, ...)	(warnings++)
#define signal_pending(_task)		((void)(_task), made.signal)

/* The locks are flags. The program has one thread, so to take a lock that is held is a deadlock. */
struct mutex { bool held; };
typedef struct mutex spinlock_t;

#define mutex_lock(_lock)		take(_lock)
#define mutex_trylock(_lock)		(!(_lock)->held && (take(_lock), true))
#define mutex_lock_interruptible(_lock)	(take(_lock), 0)
#define mutex_unlock(_lock)		leave(_lock)
#define spin_lock_irq(_lock)		take(_lock)
#define spin_unlock_irq(_lock)		leave(_lock)
#define lockdep_assert_held(_lock)	need((_lock)->held, #_lock " is not held")
/*
 * Stands for the kernel's macro of this name, which sleeps until @_condition is true. Here, if
 * @_condition is false, made.meanwhile does once what other threads do during the sleep. If
 * @_condition is still false then, the sleep ends as by a signal.
 */
#define wait_event_interruptible(_wait, _condition) \
	((_condition) || (made.meanwhile && (made.meanwhile(), (_condition))) ? 0 : -ERESTARTSYS)

struct device { int nothing; };
struct litepcie { bool lost; };
struct litepcie_file { struct litepcie_chan *chan; };
struct file { struct litepcie_file *private_data; unsigned int f_flags; };
struct kiocb { struct file *ki_filp; int ki_flags; };
struct iov_iter { u8 *data; size_t left; };
typedef struct { spinlock_t lock; } wait_queue_head_t;

struct litepcie_ring {
	struct { u32 size, count; } geometry;
	u8 *data;
};

struct litepcie_way {
	struct litepcie_chan	*chan;
	u32			id;
	struct mutex		io, mutex;
	struct litepcie_file	*owner;
	struct litepcie_ring	*ring;
	wait_queue_head_t	wait;
	u32			run, margin;
	int			error;
	unsigned int		generation;
	u64			lost;
	s64			hw_count, sw_count;
};

struct litepcie_chan { struct litepcie_way way[LITEPCIE_WAYS]; };

extern struct made {
	bool		interrupts;	/* true: an interrupt handler asks the card for progress */
	u64	written;	/* number of buffers that the made-up card has written in this run */
	u32	pace;		/* largest number of buffers that the card writes during a copy */
	/* true: the run has ended, so litepcie_dma_progress() leaves hw_count as it is */
	bool	stopped;
	bool	signal;		/* true: a signal is pending for the calling thread */
	/* number of copies of a read() after which another thread stops the run; 0: none does */
	unsigned int	stops_after;
	/* what other threads do while a call waits; NULL: nothing */
	void	(*meanwhile)(void);
} made;
extern unsigned int warnings;
extern struct task { int nothing; } *const current;

void need(bool holds, const char *what);
void take(struct mutex *lock);
void leave(struct mutex *lock);

size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *to);
bool copy_from_iter_full(void *to, size_t bytes, struct iov_iter *from);
void iov_iter_revert(struct iov_iter *iter, size_t bytes);
void iov_iter_advance(struct iov_iter *iter, size_t bytes);
#define iov_iter_count(_iter)	((_iter)->left)

#define litepcie_dev(_way)	NULL
#define litepcie_of(_way)	NULL
#define litepcie_is_gone(_card)	((_card) != NULL)
#define litepcie_enter(_card)	((void)(_card), entered++, 0)
#define litepcie_exit(_card)	((void)(_card), entered--)
#define litepcie_ring_get(_ring)	((void)(_ring))
#define litepcie_ring_put(_ring)	((void)(_ring))
#define litepcie_ring_for_cpu(_ring, _buffer)	((void)(_ring), (void)(_buffer))
#define litepcie_ring_for_card(_ring, _buffer)	((void)(_ring), (void)(_buffer))
#define litepcie_ring_buffer(_ring, _buffer) \
	((_ring)->data + (size_t)(_buffer) * (_ring)->geometry.size)
#define litepcie_stream_transfer(_way, _file, _iter, _nonblock)	(-EINVAL)
#define litepcie_stream_sync(_file)	((_file) ? 0 : 0)

/* number of calls of litepcie_enter() that litepcie_exit() has not ended */
extern int entered;

bool litepcie_dma_progress(struct litepcie_way *way);
ssize_t litepcie_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t litepcie_write_iter(struct kiocb *iocb, struct iov_iter *from);
int litepcie_fsync(struct file *filp, loff_t start, loff_t end, int datasync);

#endif /* RW_H */
