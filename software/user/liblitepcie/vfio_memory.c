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
#include <unistd.h>

#include "vfio.h"

#define HUGE_PAGE	(2u << 20)

/*
 * Above 4 GiB, so that an address that loses its upper half is noticed; within 39 bits, and so far
 * from one kind of memory to the next that the largest rings fit.
 */
#define IOVA		0x100000000u
#define IOVA_STEP	0x100000000u

/*
 * Huge pages take 512 times fewer entries of the IOMMU's cache. Where none are set aside, the
 * kernel is asked to put some together.
 */
static void *get_pages(unsigned int kind, size_t *size)
{
	size_t whole = (*size + HUGE_PAGE - 1) & ~((size_t)HUGE_PAGE - 1);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *memory = MAP_FAILED;

	if (kind == LITEPCIE_MEMORY_RINGS)	/* the others take a page or two */
		memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);
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

static uint64_t place(unsigned int kind)
{
	return IOVA + (uint64_t)kind * IOVA_STEP;
}

static void free_memory(struct litepcie *dev, unsigned int kind)
{
	struct vfio *vfio = vfio_of(dev);

	if (!vfio->memory[kind])
		return;
	vfio->interface->unmap(dev, vfio->memory[kind]->size, place(kind));
	litepcie_ring_drop(vfio->memory[kind]);
	vfio->memory[kind] = NULL;
}

int vfio_memory(struct litepcie *dev, unsigned int kind, size_t bytes,
		struct litepcie_memory **memory, uint64_t *iova)
{
	struct vfio *vfio = vfio_of(dev);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;
	int rc;

	free_memory(dev, kind);
	bytes = (bytes + page - 1) & ~(page - 1);
	base = get_pages(kind, &bytes);
	if (base == MAP_FAILED)
		return map_failed(dev, bytes, errno);
	*memory = litepcie_memory_new(dev, base, bytes);
	if (!*memory)
		return -ENOMEM;
	rc = vfio->interface->map(dev, base, bytes, place(kind));
	if (rc < 0) {
		litepcie_ring_drop(*memory);
		return map_failed(dev, bytes, -rc);
	}
	vfio->memory[kind] = *memory;
	*iova = place(kind);
	return 0;
}

void vfio_memory_free(struct litepcie *dev)
{
	for (unsigned int kind = 0; kind < LITEPCIE_MEMORIES; kind++)
		free_memory(dev, kind);
}
