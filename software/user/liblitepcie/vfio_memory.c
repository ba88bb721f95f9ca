/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Memory of the "vfio" back end: huge pages where there are some, mapped for the card by the IOMMU.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "vfio.h"

#define HUGE_PAGE	(2u << 20)

/* Above 4 GiB, so that an address that loses its upper half is noticed; within 39 bits. */
#define IOVA		0x100000000u

/*
 * Huge pages take 512 times fewer entries of the IOMMU's cache. Where none are set aside, the
 * kernel is asked to put some together.
 */
static void *get_pages(size_t *size)
{
	size_t whole = (*size + HUGE_PAGE - 1) & ~((size_t)HUGE_PAGE - 1);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);

	if (memory != MAP_FAILED) {
		*size = whole;
		return memory;
	}
	memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (memory != MAP_FAILED)
		madvise(memory, *size, MADV_HUGEPAGE);
	return memory;
}

static int map_failed(struct litepcie *dev, size_t size, int error)
{
	if (error == ENOMEM)
		return litepcie_fail(dev, -error, "%zu bytes of DMA memory cannot be locked: raise "
				     "the limit (ulimit -l), or take smaller rings", size);
	return litepcie_fail(dev, -error, "%zu bytes of DMA memory: %s", size, strerror(error));
}

int vfio_memory(struct litepcie *dev, size_t bytes, struct litepcie_memory **memory,
		uint64_t *iova)
{
	struct vfio *vfio = vfio_of(dev);
	void *base;
	int rc;

	vfio_memory_free(dev);
	base = get_pages(&bytes);
	if (base == MAP_FAILED)
		return map_failed(dev, bytes, errno);
	*memory = litepcie_memory_new(dev, base, bytes);
	if (!*memory)
		return -ENOMEM;
	rc = vfio->interface->map(dev, base, bytes, IOVA);
	if (rc < 0) {
		litepcie_ring_drop(*memory);
		return map_failed(dev, bytes, -rc);
	}
	vfio->memory = *memory;
	*iova = IOVA;
	return 0;
}

void vfio_memory_free(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (!vfio->memory)
		return;
	vfio->interface->unmap(dev, vfio->memory->size, IOVA);
	litepcie_ring_drop(vfio->memory);
	vfio->memory = NULL;
}
