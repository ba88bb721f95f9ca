/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The BARs of the "kernel" back end. Lanebox's driver maps them itself, memory write-combining; with
 * LitePCIe's there is sysfs, for BAR0.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kernel.h"
#include "litepcie_capability.h"

/* A user without the right to write to the card's DMA registers may still look at them. */
static void map_bar(struct litepcie *dev, const struct litepcie_bar *bar)
{
	struct kernel *kernel = kernel_of(dev);
	void *base = mmap(NULL, bar->size, PROT_READ | PROT_WRITE, MAP_SHARED, kernel->fd,
			  (off_t)bar->offset);

	dev->bar_size[bar->bar] = bar->size;
	if (base != MAP_FAILED)
		kernel->bar[bar->bar] = (struct litepcie_window) {
			.base = base, .size = bar->size, .write_combining = bar->write_combining,
		};
	else
		snprintf(kernel->bar_why, sizeof(kernel->bar_why),
			 "the driver does not map BAR%u%s: %s", bar->bar,
			 errno == EPERM ? " without CAP_SYS_RAWIO" : "", strerror(errno));
}

void kernel_map_bars(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);

	for (unsigned int n = 0; n < LITEPCIE_BARS; n++) {
		struct litepcie_bar bar = { .bar = n };

		if (ioctl(kernel->fd, LITEPCIE_IOCTL_BAR, &bar) == 0)
			map_bar(dev, &bar);
	}
	if (dev->bar_size[0])
		return;
	sysfs_map_bar(kernel, kernel->minor);
	/* The driver knows no bounds of its own: so far every gateware reaches. */
	dev->bar_size[0] = kernel->bar[0].base ? kernel->bar[0].size :
						 LITEPCIE_CAP_OFFSET + LITEPCIE_CAP_SIZE;
}

void kernel_unmap_bars(struct litepcie *dev)
{
	struct litepcie_window *bar = kernel_of(dev)->bar;

	for (unsigned int n = 0; n < LITEPCIE_BARS; n++)
		if (bar[n].base)
			munmap((void *)bar[n].base, bar[n].size);
}
