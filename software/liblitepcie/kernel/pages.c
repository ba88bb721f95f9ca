/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Memory for a capture's ring that the driver pins, in pages of the kinds of kernel.h, and on the
 * card's NUMA node if that has room.
 *
 * The node must be set before the memory is touched. A child of fork() does not get the memory, so
 * that the fork splits no huge page.
 */
#include <sys/mman.h>

#include "capture/capture_pages.h"
#include "kernel.h"
#include "litepcie_capture.h"

/*
 * Size and mmap() flags of each kind of pages. For the kind without flags the kernel is asked by
 * madvise() to make huge pages.
 */
static const struct {
	uint64_t	bytes;
	int		flags;
} kinds[KERNEL_PAGES] = {
	{ LITEPCIE_CAPTURE_PAGES_1G, MAP_HUGETLB | 30 << MAP_HUGE_SHIFT },
	{ LITEPCIE_CAPTURE_PAGES_2M, MAP_HUGETLB | 21 << MAP_HUGE_SHIFT },
	{ LITEPCIE_HUGE_BYTES, 0 },
};

static void *map(unsigned int kind, size_t size)
{
	if (!kinds[kind].flags)
		return litepcie_memory_reserve(size, PROT_READ | PROT_WRITE);
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | kinds[kind].flags, -1, 0);
}

struct litepcie_memory *kernel_pages_get(struct litepcie *dev, unsigned int kind, uint64_t bytes)
{
	uint64_t page = kinds[kind].bytes;
	size_t size = (size_t)((bytes + page - 1) / page * page);
	void *base;

	/* A page of 1 GiB is only taken if the ring has at least 1 GiB. */
	if (page > LITEPCIE_HUGE_BYTES && bytes < page)
		return NULL;
	base = map(kind, size);
	if (base == MAP_FAILED)
		return NULL;
	litepcie_node_bind((int)sysfs_number(kernel_of(dev)->minor, "device/numa_node"), base,
			   size);
	if (!kinds[kind].flags)
		madvise(base, size, MADV_HUGEPAGE);
	if (madvise(base, size, MADV_POPULATE_WRITE) < 0 && errno != EINVAL) {
		munmap(base, size);
		return NULL;
	}
	if (!kinds[kind].flags)
		litepcie_memory_huge(base, size);
	madvise(base, size, MADV_DONTFORK);
	return litepcie_memory_new(base, size, -1, false);
}
