/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "kernel" back end: backend_kernel.c opens the device and makes accesses,
 * kernel_bar.c maps the BARs,
 * kernel_dma.c runs the driver's rings, sysfs.c finds what only sysfs and procfs tell.
 */
#ifndef LITEPCIE_KERNEL_H
#define LITEPCIE_KERNEL_H

#include <sys/types.h>

#include "backend.h"
#include "litepcie.h"

struct kernel {
	int			fd;
	struct litepcie_window	bar[LITEPCIE_BARS];		/* base NULL: not mapped */
	char			bar_why[LITEPCIE_WHY_SIZE];	/* why not BAR0 */
	unsigned int		minor;
	size_t			h2c_bytes, c2h_bytes;	/* of the mapped rings */
	bool			shapes;		/* the driver has rings of any shape, and events */
	bool			shaped;		/* one was asked for */
	struct litepcie_index	*index;		/* NULL: the counts are asked for */
	int			event;		/* eventfd, or -1 */
	bool			h2c_enabled;
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

/* Function-level reset through the kernel, which takes the driver along. */
int sysfs_reset(struct litepcie *dev);

/* Interrupts that the driver has taken, on all cards; -1: cannot be known. */
int64_t procfs_interrupts(void);

int kernel_dma_map(struct litepcie *dev);
void kernel_dma_unmap(struct litepcie *dev);

extern const struct litepcie_engine litepcie_kernel_engine;

#endif /* LITEPCIE_KERNEL_H */
