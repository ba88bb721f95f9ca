/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "kernel" back end: backend_kernel.c opens the device and makes accesses,
 * kernel_bar.c maps the BARs, kernel_ring.c the rings, which kernel_dma.c runs; kernel_wait.c
 * sleeps, kernel_users.c names other programs, and sysfs.c finds what only sysfs tells.
 */
#ifndef LITEPCIE_KERNEL_H
#define LITEPCIE_KERNEL_H

#include <sys/types.h>

#include "engine.h"
#include "litepcie.h"

struct kernel {
	int			fd;
	struct litepcie_window	bar[LITEPCIE_BARS];		/* base NULL: not mapped */
	bool			*read_only[LITEPCIE_BARS];	/* for each page; NULL: no page is */
	char			bar_why[LITEPCIE_WHY_SIZE];	/* why a BAR or page is not mapped */
	unsigned int		minor;
	bool			held;		/* Lanebox's driver, which has held runs */
	const struct litepcie_status *status;	/* the driver's status page; NULL: none */
	struct litepcie_index	*index;		/* this open file's index page */
	int			event;		/* eventfd of litepcie_dma_fd(), or -1 */
	int			user;		/* eventfd of the user's interrupt, or -1 */
	int64_t			interrupts_before;	/* count at the start; -1: nothing runs */
};

static inline struct kernel *kernel_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* -errno with a sentence that names @doing. */
int kernel_ioctl(struct litepcie *dev, unsigned long request, void *arg, const char *doing);

/* Map BAR0 of the card behind minor number @minor. On failure kernel->bar_why says why. */
void sysfs_map_bar(struct kernel *kernel, unsigned int minor);

/* Map every BAR, by Lanebox's driver or else by sysfs, and set dev->bar_size. */
void kernel_map_bars(struct litepcie *dev);
void kernel_unmap_bars(struct litepcie *dev);

/* Is @offset of the BAR mapped for writing? */
bool kernel_bar_writable(const struct kernel *kernel, unsigned int bar, uint64_t offset);

/* Function-level reset through the kernel, which takes the driver along. */
int sysfs_reset(struct litepcie *dev);

/* Interrupts of the directions that are active, by the driver's own count; -1: it has none. */
int64_t sysfs_interrupts(struct litepcie *dev);

/* Which programs have the device open, as part of a sentence. */
void kernel_users(struct litepcie *dev, char *text, size_t size);

/* Map the status page, the index page and the records, for which no direction need be owned. */
int kernel_dma_map(struct litepcie *dev);
void kernel_dma_unmap(struct litepcie *dev);

/* 0, or -EOPNOTSUPP with a sentence: the driver has no held runs. */
int kernel_check_held(struct litepcie *dev);

/* Take the active directions, with rings of this handle's shape; give them up. */
int kernel_take(struct litepcie *dev);
int kernel_give(struct litepcie *dev);
int kernel_export(struct litepcie *dev, const struct litepcie_ring *ring);

/* Functions of struct litepcie_channel; kernel_sleep() is the back end's sleep(). */
int kernel_look(struct litepcie *dev);
int kernel_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);
int kernel_event_fd(struct litepcie *dev);
int kernel_user_enable(struct litepcie *dev, bool on);
int kernel_user_look(struct litepcie *dev);
int kernel_sleep(struct litepcie *dev, int timeout_ms);

void kernel_clear_event(struct litepcie *dev);

extern const struct litepcie_channel litepcie_kernel_channel;

#endif /* LITEPCIE_KERNEL_H */
