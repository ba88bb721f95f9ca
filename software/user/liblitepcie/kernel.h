/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "kernel" back end: backend_kernel.c opens the device and makes accesses,
 * kernel_bar.c maps the BARs, kernel_ring.c the rings, which kernel_dma.c runs; kernel_users.c
 * names other programs, and sysfs.c finds what only sysfs and procfs tell.
 */
#ifndef LITEPCIE_KERNEL_H
#define LITEPCIE_KERNEL_H

#include <sys/types.h>

#include "backend.h"
#include "litepcie.h"

#define KERNEL_PARTS	8u	/* interrupts a round: DMA_BUFFER_PER_IRQ in the driver */

struct kernel {
	int			fd;
	struct litepcie_window	bar[LITEPCIE_BARS];		/* base NULL: not mapped */
	bool			*read_only[LITEPCIE_BARS];	/* pages; NULL: none */
	char			bar_why[LITEPCIE_WHY_SIZE];	/* why not BAR0 */
	unsigned int		minor;
	bool			shapes;		/* Lanebox's driver: rings of any shape, and events */
	struct litepcie_index	*index;		/* NULL: the counts are asked for */
	int			event;		/* eventfd, or -1 */
	bool			h2c_enabled;
	int64_t			(*counts)(struct litepcie *dev);	/* interrupts */
	int64_t			interrupts_before;
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

/* Whether there is a mapping of this place that may be written to. */
bool kernel_bar_writable(const struct kernel *kernel, unsigned int bar, uint64_t offset);

/* Function-level reset through the kernel, which takes the driver along. */
int sysfs_reset(struct litepcie *dev);

/* Interrupts of the directions that are active, by the driver's own count; -1: it has none. */
int64_t sysfs_interrupts(struct litepcie *dev);

/* Interrupts that the driver has taken, on all cards; -1: cannot be known. */
int64_t procfs_interrupts(struct litepcie *dev);

/* Which programs have the device open, as part of a sentence. */
void kernel_users(struct litepcie *dev, char *text, size_t size);

/* What of the rings is there without owning them. */
int kernel_dma_map(struct litepcie *dev);
void kernel_dma_unmap(struct litepcie *dev);

/* Take the active directions, with rings of this handle's shape; give them up. */
int kernel_take(struct litepcie *dev);
int kernel_give(struct litepcie *dev);
int kernel_setup(struct litepcie *dev, size_t size, unsigned int count);

extern const struct litepcie_engine litepcie_kernel_engine;

#endif /* LITEPCIE_KERNEL_H */
