/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "kernel" back end: backend_kernel.c opens the device and makes accesses,
 * kernel_dma.c runs the driver's rings, sysfs.c finds what only sysfs and procfs tell.
 */
#ifndef LITEPCIE_KERNEL_H
#define LITEPCIE_KERNEL_H

#include <sys/types.h>

#include "backend.h"
#include "kernel_abi.h"

struct kernel {
	int			fd;
	uint8_t			*bar;		/* BAR0, NULL: not mapped */
	size_t			bar_bytes;
	char			bar_why[LITEPCIE_WHY_SIZE];	/* why not */
	struct litepcie_ioctl_mmap_info rings;
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

/* Interrupts that the driver has taken, on all cards; -1: cannot be known. */
int64_t procfs_interrupts(void);

int kernel_dma_map(struct litepcie *dev);
void kernel_dma_unmap(struct litepcie *dev);
int kernel_dma_take(struct litepcie *dev);
int kernel_dma_give(struct litepcie *dev);
int kernel_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config);
int kernel_dma_stop(struct litepcie *dev);
int kernel_dma_poll(struct litepcie *dev);
int kernel_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);
int kernel_c2h_release(struct litepcie *dev, unsigned int count);
int kernel_h2c_submit(struct litepcie *dev, unsigned int count);

#endif /* LITEPCIE_KERNEL_H */
