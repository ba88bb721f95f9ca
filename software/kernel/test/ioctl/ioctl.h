/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what the driver's ioctl.c needs of the kernel and of card.h, for the test program ioctl,
 * which includes the driver's ioctl.c. Locks do nothing, as the program has one thread.
 */
#ifndef IOCTL_H
#define IOCTL_H

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uapi/litepcie.h"

#define LITEPCIE_CARD_H
#define CONFIG_COMPAT

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef __s64 compat_s64 __attribute__((aligned(4)));

#define __user
#define __iomem
#define ARRAY_SIZE(_a)			(sizeof(_a) / sizeof((_a)[0]))
#define BUILD_BUG_ON_ZERO(_wrong)	((int)sizeof(struct { int : -!!(_wrong); int full; }) * 0)
#define array_index_nospec(_n, _count)	(_n)
#define IS_ERR(_pointer)		((uintptr_t)(_pointer) >= (uintptr_t)-4095)
#define PTR_ERR(_pointer)		((int)(intptr_t)(_pointer))
#define CAP_SYS_RAWIO			17
#define capable(_what)			false
#define WRITE_ONCE(_x, _value)		((_x) = (_value))
#define mutex_lock(_lock)		((void)0)
#define mutex_unlock(_lock)		((void)0)
#define spin_lock_irq(_lock)		((void)0)
#define spin_unlock_irq(_lock)		((void)0)
#define u64_to_user_ptr(_address)	((void *)(uintptr_t)(_address))
#define array_size(_count, _size)	((size_t)(_count) * (_size))
#define kvfree				free
#define le64_to_cpu(_word)		(_word)
#define compat_ptr(_address)		((void *)(_address))
#define compat_ptr_ioctl		litepcie_ioctl

#define LITEPCIE_WAYS 2
enum litepcie_right { LITEPCIE_RIGHT_NONE, LITEPCIE_RIGHT_STEER, LITEPCIE_RIGHT_WRITE };

struct file {
	void	*private_data;
};

struct dma_buf {
	struct file *file;
};

struct litepcie {
	char			*bar0;
	u64			bar0_size;
	struct litepcie_chan	*chan[1];
};

struct litepcie_geometry {
	u32	size, count;
};

struct litepcie_way {
	u32				id;
	u32				depth, run;
	int				error;
	bool				reports, mutex;
	s64				hw_count, sw_count;
	struct litepcie_status_way	*status;
	struct litepcie_file		*owner;
	struct { u64 position; }	held;
	struct { bool lock; }		wait;
};

struct litepcie_chan {
	struct litepcie		*card;
	char			*loopback;
	struct litepcie_way	way[LITEPCIE_WAYS];
};

struct litepcie_file {
	struct litepcie_chan	*chan;
};

#endif /* IOCTL_H */
