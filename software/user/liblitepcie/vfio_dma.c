/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Memory and interrupts of the "vfio" back end: huge pages where there are some, mapped for the
 * card by the IOMMU, and its message as an eventfd.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vfio.h"

#define HUGE_PAGE	(2u << 20)

/* Above 4 GiB, so that an address that loses its upper half is noticed; within 39 bits. */
#define IOVA		0x100000000u

/* Memory -------------------------------------------------------------------------------------- */

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

int vfio_memory(struct litepcie *dev, size_t bytes, uint8_t **base, uint64_t *iova)
{
	struct vfio *vfio = vfio_of(dev);
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map), .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.iova = IOVA,
	};
	void *memory;

	vfio_memory_free(dev);
	memory = get_pages(&bytes);
	if (memory == MAP_FAILED)
		return map_failed(dev, bytes, errno);
	map.vaddr = (uintptr_t)memory;
	map.size = bytes;
	if (ioctl(vfio->container, VFIO_IOMMU_MAP_DMA, &map) < 0) {
		int error = errno;

		munmap(memory, bytes);
		return map_failed(dev, bytes, error);
	}
	vfio->memory = *base = memory;
	vfio->memory_size = bytes;
	*iova = IOVA;
	return 0;
}

void vfio_memory_free(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap), .iova = IOVA, .size = vfio->memory_size,
	};

	if (!vfio->memory)
		return;
	ioctl(vfio->container, VFIO_IOMMU_UNMAP_DMA, &unmap);
	munmap(vfio->memory, vfio->memory_size);
	vfio->memory = NULL;
}

/* Interrupts ---------------------------------------------------------------------------------- */

static unsigned int vectors(const struct vfio *vfio)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = VFIO_PCI_MSI_IRQ_INDEX };

	return ioctl(vfio->device, VFIO_DEVICE_GET_IRQ_INFO, &info) < 0 ? 0 : info.count;
}

static int set_irq(const struct vfio *vfio, int fd)
{
	union {
		struct vfio_irq_set set;
		uint8_t room[sizeof(struct vfio_irq_set) + sizeof(int)];
	} request = {
		.set = {
			.argsz = sizeof(struct vfio_irq_set) + (fd >= 0 ? sizeof(int) : 0),
			.flags = VFIO_IRQ_SET_ACTION_TRIGGER |
				 (fd >= 0 ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE),
			.index = VFIO_PCI_MSI_IRQ_INDEX,
			.count = fd >= 0,
		},
	};

	if (fd >= 0)
		memcpy(request.room + sizeof(struct vfio_irq_set), &fd, sizeof(fd));
	return ioctl(vfio->device, VFIO_DEVICE_SET_IRQS, &request.set);
}

/* One message for all causes: every card has MSI, and one with MSI-X uses it while that is off. */
int vfio_irq_enable(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (!vectors(vfio))
		return litepcie_fail(dev, -EOPNOTSUPP, "%s has no MSI, or the host keeps it from "
				     "using it (pci=nomsi)", vfio->address);
	if (vfio->irq < 0)
		vfio->irq = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (vfio->irq < 0 || set_irq(vfio, vfio->irq) < 0)
		return litepcie_fail(dev, -errno, "%s: its message cannot be caught: %s",
				     vfio->address, strerror(errno));
	vfio->irq_set = true;
	return 0;
}

void vfio_irq_disable(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (vfio->irq_set)
		set_irq(vfio, -1);
	vfio->irq_set = false;
	if (vfio->irq >= 0)
		close(vfio->irq);
	vfio->irq = -1;
}

int vfio_sleep(struct litepcie *dev, int timeout_ms)
{
	struct vfio *vfio = vfio_of(dev);
	struct pollfd event = { .fd = vfio->irq, .events = POLLIN };
	uint64_t count;
	int rc, error;

	litepcie_unlock(dev, 0);
	rc = poll(&event, 1, timeout_ms);
	error = errno;
	litepcie_lock(dev);
	if (rc < 0)
		return litepcie_fail(dev, -error, "the wait for an interrupt: %s", strerror(error));
	if (read(vfio->irq, &count, sizeof(count)) != sizeof(count))
		return 0;
	dev->stats.interrupts += (int64_t)count;
	return 1;
}
