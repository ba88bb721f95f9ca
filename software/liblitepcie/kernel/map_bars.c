/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The BARs of the "kernel" back end. Lanebox's driver maps BAR0 uncached, and BARs of prefetchable
 * memory write-combining. With LitePCIe's driver only BAR0 is mapped, through sysfs.
 *
 * Writes to registers that could make the card write to any address of host memory need
 * CAP_SYS_RAWIO. For a user without that capability the driver maps a whole BAR for reading. It
 * maps for writing only those pages in which every byte may be written. The driver decides that by
 * the card's capability table, so the library finds out by trying.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"
#include "litepcie_capability.h"

static void *map(const struct kernel *kernel, uint64_t offset, size_t size, int protection)
{
	return mmap(NULL, size, protection, MAP_SHARED, kernel->fd, (off_t)offset);
}

/*
 * Replace the read-only mapping at @place by a mapping for writing, of the @size bytes from @offset
 * of the BAR on. Returns false if the driver does not allow that.
 */
static bool make_writable(const struct kernel *kernel, uint64_t offset, uint8_t *place,
			  size_t size)
{
	void *found = map(kernel, offset, size, PROT_READ | PROT_WRITE);

	if (found == MAP_FAILED)
		return false;
	if (mremap(found, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED)
		return true;
	munmap(found, size);
	return false;
}

/*
 * Of the @pages pages of the BAR from page @first on, make those writable that the driver allows.
 * The whole BAR is mapped read-only at @base before. The driver allows or refuses a mapping as a
 * whole, so a part that is refused is tried again in two halves.
 */
static void map_writable_parts(const struct kernel *kernel, const struct litepcie_bar *bar,
			       uint8_t *base, size_t first, size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), at = first * page, half = pages / 2;

	if (make_writable(kernel, bar->offset + at, base + at, pages * page))
		return;
	if (pages == 1) {
		kernel->read_only[bar->bar][first] = true;
		return;
	}
	map_writable_parts(kernel, bar, base, first, half);
	map_writable_parts(kernel, bar, base, first + half, pages - half);
}

/*
 * Map all of a BAR for reading, and for writing those pages of it that may be written. Returns
 * MAP_FAILED if the BAR cannot even be mapped for reading, or if there is no memory.
 */
static void *map_for_user(struct litepcie *dev, const struct litepcie_bar *bar)
{
	struct kernel *kernel = kernel_of(dev);
	size_t pages = bar->size / (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *base = map(kernel, bar->offset, bar->size, PROT_READ);

	if (base == MAP_FAILED)
		return base;
	kernel->read_only[bar->bar] = calloc(pages + 1, sizeof(bool));
	if (!kernel->read_only[bar->bar]) {
		munmap(base, bar->size);
		errno = ENOMEM;
		return MAP_FAILED;
	}
	map_writable_parts(kernel, bar, base, 0, pages);
	snprintf(dev->bar_why, sizeof(dev->bar_why),
		 "it maps this page without CAP_SYS_RAWIO for reading only");
	return base;
}

bool kernel_bar_writable(const struct litepcie *dev, unsigned int bar, uint64_t offset)
{
	const bool *read_only = kernel_of(dev)->read_only[bar];

	return dev->bar[bar].base &&
	       !(read_only && read_only[offset / (uint64_t)sysconf(_SC_PAGESIZE)]);
}

static void map_bar(struct litepcie *dev, const struct litepcie_bar *bar)
{
	struct kernel *kernel = kernel_of(dev);
	void *base = map(kernel, bar->offset, bar->size, PROT_READ | PROT_WRITE);

	dev->bar_size[bar->bar] = bar->size;
	if (base == MAP_FAILED && errno == EPERM)
		base = map_for_user(dev, bar);
	if (base != MAP_FAILED)
		dev->bar[bar->bar] = (struct litepcie_window) {
			.base = base, .size = bar->size, .write_combining = bar->write_combining,
			.partial = kernel->read_only[bar->bar],
		};
	else
		snprintf(dev->bar_why, sizeof(dev->bar_why),
			 "the driver does not map BAR%u%s: %s", bar->bar,
			 errno == EPERM ? " without CAP_SYS_RAWIO" : "", strerror(errno));
}

void kernel_map_bars(struct litepcie *dev)
{
	for (unsigned int n = 0; n < LITEPCIE_BARS; n++) {
		struct litepcie_bar bar = { .bar = n };

		if (ioctl(kernel_of(dev)->fd, LITEPCIE_IOCTL_BAR, &bar) == 0)
			map_bar(dev, &bar);
	}
	if (dev->bar_size[0])
		return;
	sysfs_map_bar(dev);
	/*
	 * LitePCIe's driver does not tell the size of BAR0. If sysfs does not map BAR0 either,
	 * assume that it ends with the capability table, which every gateware of Lanebox has.
	 */
	dev->bar_size[0] = dev->bar[0].base ? dev->bar[0].size :
					      LITEPCIE_CAP_OFFSET + LITEPCIE_CAP_SIZE;
}

void kernel_unmap_bars(struct litepcie *dev)
{
	litepcie_bars_unmap(dev);
	for (unsigned int n = 0; n < LITEPCIE_BARS; n++)
		free(kernel_of(dev)->read_only[n]);
}
