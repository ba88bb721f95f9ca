/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Provide memory for the "vfio" back end, and map it for the card through the IOMMU. A ring that is
 * not in the program's own memory gets huge pages if the system has enough of them.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture_pages.h"
#include "vfio.h"

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) & ~(unit - 1);
}

/*
 * Make a file of @size bytes and map it, at @place if that is not NULL. @flags are those of
 * litepcie_memory_file(). After an error the function returns MAP_FAILED, and keeps no file open.
 */
static void *map_file(void *place, size_t size, unsigned int flags, int *fd)
{
	void *memory = MAP_FAILED;

	*fd = litepcie_memory_file(size, flags);
	if (*fd >= 0)
		memory = mmap(place, size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | (place ? MAP_FIXED : 0), *fd, 0);
	if (memory == MAP_FAILED && *fd >= 0)
		close(*fd);
	return memory;
}

/*
 * Get memory of small pages at an address that is aligned to 2 MiB, so that the kernel can make
 * huge pages of them (transparent huge pages).
 */
static void *get_small(size_t size, int *fd, int node)
{
	void *memory, *place = litepcie_memory_reserve(size, PROT_NONE);

	if (place == MAP_FAILED)
		return place;
	memory = map_file(place, size, 0, fd);
	if (memory == MAP_FAILED) {
		munmap(place, size);
		return memory;
	}
	litepcie_node_bind(node, memory, size);
	madvise(memory, size, MADV_HUGEPAGE);
	litepcie_memory_huge(memory, size);
	return memory;
}

/*
 * Get *@size bytes in reserved huge pages of @page bytes, and round *@size up to whole pages.
 * Returns MAP_FAILED, and leaves *@size, if the system has too few huge pages.
 */
static void *get_huge(size_t *size, int *fd, uint64_t page, int node)
{
	size_t whole = round_up(*size, page);
	void *memory = map_file(NULL, whole, litepcie_pages_flags(page), fd);

	if (memory != MAP_FAILED) {
		litepcie_node_bind(node, memory, whole);
		*size = whole;
	}
	return memory;
}

/*
 * Get memory of @kind, one of LITEPCIE_MEMORY_. A ring gets reserved huge pages of 2 MiB if the
 * system has enough, else small pages. A huge page of 2 MiB takes one entry of the IOMMU instead of
 * 512. If the program has asked for a size of pages for this ring, only reserved pages of that size
 * are taken, and the function returns MAP_FAILED if there are too few. Records and status lines get
 * small pages.
 */
static void *get_pages(struct litepcie *dev, unsigned int kind, size_t *size, int *fd)
{
	uint64_t asked = litepcie_pages_asked(dev, kind);
	void *memory = MAP_FAILED;
	char folder[128];
	int node;

	snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%s", vfio_of(dev)->address);
	node = litepcie_node_in(folder);
	*fd = -1;
	if (asked)
		return get_huge(size, fd, asked, node);
	/* only rings get huge pages: the card's records and status lines are too small for one */
	if (kind < LITEPCIE_MEMORY_NOTICES || kind % 2 == LITEPCIE_MEMORY_CAPTURE % 2)
		memory = get_huge(size, fd, LITEPCIE_HUGE_BYTES, node);
	return memory != MAP_FAILED ? memory : get_small(*size, fd, node);
}

static int map_failed(size_t size, int error)
{
	if (error == ENOMEM)
		return litepcie_fail(-error, "%zu bytes of DMA memory cannot be locked: raise the "
				     "limit (ulimit -l), or take smaller rings", size);
	return litepcie_fail_errno(error, "%zu bytes of DMA memory", size);
}

void vfio_memory_free(struct litepcie *dev, unsigned int kind)
{
	struct vfio *vfio = vfio_of(dev);

	if (!vfio->memory[kind])
		return;
	vfio->interface->unmap(dev, vfio->memory[kind]->size, litepcie_iova(kind));
	litepcie_memory_drop(vfio->memory[kind]);
	vfio->memory[kind] = NULL;
}

int vfio_memory(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		struct litepcie_memory **memory, uint64_t *iova)
{
	struct vfio *vfio = vfio_of(dev);
	void *base = place;
	int rc, fd = -1;

	vfio_memory_free(dev, kind);
	bytes = round_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
	if (!place)
		base = get_pages(dev, kind, &bytes, &fd);
	if (base == MAP_FAILED && litepcie_pages_asked(dev, kind))
		return litepcie_pages_missing(dev, litepcie_pages_asked(dev, kind), bytes);
	if (base == MAP_FAILED)
		return map_failed(bytes, errno);
	*memory = litepcie_memory_new(base, bytes, fd, place);
	if (!*memory)
		return -ENOMEM;
	rc = vfio->interface->map(dev, base, bytes, litepcie_iova(kind));
	if (rc < 0) {
		litepcie_memory_drop(*memory);
		return map_failed(bytes, -rc);
	}
	vfio->memory[kind] = *memory;
	*iova = litepcie_iova(kind);
	return 0;
}
