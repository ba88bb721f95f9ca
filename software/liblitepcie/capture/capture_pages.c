/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The pages of a ring and their NUMA node. capture_pages.h says what each function promises. */
#include "capture_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"

#define PREFERRED	1	/* the mode MPOL_PREFERRED of mbind() */
#define NODES		1024

int litepcie_pages_check(uint64_t page_bytes, uint64_t ring_bytes)
{
	if (!page_bytes)
		return 0;
	if (page_bytes != LITEPCIE_CAPTURE_PAGES_2M && page_bytes != LITEPCIE_CAPTURE_PAGES_1G)
		return litepcie_fail(-EINVAL, "pages of %llu bytes: it must be %llu or %llu, or 0 "
				     "for the largest there are", (unsigned long long)page_bytes,
				     (unsigned long long)LITEPCIE_CAPTURE_PAGES_2M,
				     (unsigned long long)LITEPCIE_CAPTURE_PAGES_1G);
	if (ring_bytes < page_bytes)
		return litepcie_fail(-EINVAL, "pages of %llu bytes for a ring of %llu: the ring "
				     "must fill a page", (unsigned long long)page_bytes,
				     (unsigned long long)ring_bytes);
	return 0;
}

int litepcie_pages_missing(struct litepcie *dev, uint64_t page_bytes, uint64_t ring_bytes)
{
	bool large = page_bytes == LITEPCIE_CAPTURE_PAGES_1G;
	unsigned long long count = (ring_bytes + page_bytes - 1) / page_bytes;

	return litepcie_fail(-ENOMEM, "%s: there are no %llu free huge pages of %s for a ring "
			     "of %llu bytes: write their number to /sys/kernel/mm/hugepages/"
			     "hugepages-%llukB/nr_hugepages%s", dev->name, count,
			     large ? "1 GiB" : "2 MiB", (unsigned long long)ring_bytes,
			     (unsigned long long)page_bytes >> 10,
			     large ? ", or start Linux with hugepagesz=1G hugepages=N, since "
			     "later there may be no 1 GiB in one piece" : "");
}

uint64_t litepcie_pages_asked(const struct litepcie *dev, unsigned int kind)
{
	const struct litepcie_capture *capture;

	if (kind < LITEPCIE_MEMORY_CAPTURE || kind % 2 != LITEPCIE_MEMORY_CAPTURE % 2)
		return 0;
	capture = dev->captures[(kind - LITEPCIE_MEMORY_CAPTURE) / 2];
	return capture ? capture->config.page_bytes : 0;
}

unsigned int litepcie_pages_flags(uint64_t page_bytes)
{
	if (!page_bytes)
		return 0;
	/* memfd_create() has log2(page size) in the same bits of its flags as mmap(). */
	return MFD_HUGETLB |
	       (page_bytes == LITEPCIE_CAPTURE_PAGES_1G ? 30u : 21u) << MAP_HUGE_SHIFT;
}

int litepcie_node_in(const char *folder)
{
	char path[512];
	FILE *file;
	int node;

	snprintf(path, sizeof(path), "%s/numa_node", folder);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	return node < 0 || node >= NODES ? -1 : node;
}

int litepcie_node_bind(int node, void *base, size_t size)
{
	unsigned long mask[NODES / (8 * sizeof(unsigned long))] = { 0 };
	unsigned int bits = 8 * sizeof(mask[0]);

	if (node < 0 || node >= NODES)
		return 0;
	mask[(unsigned int)node / bits] = 1ul << ((unsigned int)node % bits);
	if (syscall(SYS_mbind, base, size, PREFERRED, mask, (unsigned long)NODES + 1, 0) < 0)
		return -errno;
	return 0;
}
