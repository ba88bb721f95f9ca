/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what progress.c, held.c and advance.c of the driver need of the kernel and of card.h, for
 * the test program progress, which includes these files. Locks do nothing, as the program has one
 * thread.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "uapi/litepcie.h"

#define LITEPCIE_CARD_H
#define LITEPCIE_COMPAT_H
#define LITEPCIE_TRACE_H

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

/* number of low bits of the register loop_status that hold a buffer's index, as in channel.h */
#define LITEPCIE_INDEX_BITS	16
#define __iomem
#define BIT_ULL(_n)		(1ull << (_n))
#define unlikely(_x)		(_x)
#define READ_ONCE(_x)		(_x)
#define WRITE_ONCE(_x, _value)	((_x) = (_value))
#define lockdep_assert_held(_lock)		((void)0)
#define waitqueue_active(_wait)			false
#define wake_up_locked(_wait)			((void)0)
#define wq_has_sleeper(_wait)			(!(_wait))
#define wake_up_locked_poll(_wait, _events)	((void)(_events))
#define spin_lock(_lock)			((void)0)
#define spin_unlock(_lock)			((void)0)
#define spin_lock_irq(_lock)			((void)0)
#define spin_unlock_irq(_lock)			((void)0)
#define spin_lock_irqsave(_lock, _flags)	((void)((_flags) = 0))
#define spin_unlock_irqrestore(_lock, _flags)	((void)(_flags))
#define mutex_lock(_lock)			((void)0)
#define mutex_unlock(_lock)			((void)0)
#define smp_store_release(_to, _value)		announce(_to, _value)
#define cpu_to_le64(_value)			(_value)

#undef __always_inline
#define __always_inline inline

struct litepcie_geometry {
	u32	size, count, per_interrupt, mode;
};

struct litepcie_ring {
	struct litepcie_geometry geometry;
};

struct litepcie_held {
	u64	advanced, done, bytes, position, *end, mask;
};

struct litepcie_ends {
	bool packets;
};

struct litepcie_chan {
	void	*card;
	bool	pollers;
};

struct litepcie_way {
	struct litepcie_chan		*chan;
	u32				id;
	bool				reports;
	struct litepcie_ends		ends;
	u8				*regs;
	u32				in_flight, run, count, mode;
	int				error;
	u64				position, interrupts;
	s64				hw_count, sw_count;
	struct litepcie_ring		*ring;
	struct litepcie_status_way	*status;
	struct litepcie_held		held;
	struct { bool lock; }		wait;
	bool				mutex;
	void				*event;
};

struct litepcie_file {
	struct litepcie_way way;
};

#endif /* PROGRESS_H */
