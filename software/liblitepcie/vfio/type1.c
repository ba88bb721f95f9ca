/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The older interface of VFIO (type1): the program opens a container, adds the card's IOMMU group
 * to it, and gets the device from the group. Memory is mapped into the container.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vfio.h"

#define TYPE1	VFIO_TYPE1v2_IOMMU

static int open_container(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	vfio->iommu = vfio_open_file("/dev/vfio/vfio");
	if (vfio->iommu < 0)
		return vfio->iommu;
	if (ioctl(vfio->iommu, VFIO_GET_API_VERSION) != VFIO_API_VERSION)
		return litepcie_fail(-EPROTO, "/dev/vfio/vfio speaks another version of VFIO than "
				     "%d", VFIO_API_VERSION);
	if (ioctl(vfio->iommu, VFIO_CHECK_EXTENSION, TYPE1) != 1)
		return litepcie_fail(-EOPNOTSUPP, "this kernel's VFIO has no type1 IOMMU: modprobe "
				     "vfio_iommu_type1");
	return 0;
}

static int join_group(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[64];

	snprintf(path, sizeof(path), "/dev/vfio/%d", vfio->group_number);
	vfio->group = vfio_open_file(path);
	if (vfio->group < 0)
		return vfio->group;
	if (ioctl(vfio->group, VFIO_GROUP_GET_STATUS, &status) < 0)
		return litepcie_fail_errno(errno, "%s", path);
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		return vfio_check_viable(dev, true);
	if (ioctl(vfio->group, VFIO_GROUP_SET_CONTAINER, &vfio->iommu) < 0 ||
	    ioctl(vfio->iommu, VFIO_SET_IOMMU, TYPE1) < 0)
		return litepcie_fail(-errno, "IOMMU group %d: %s%s", vfio->group_number,
				     strerror(errno), errno == EPERM ?
				     "; does the machine remap interrupts? If it cannot: module "
				     "parameter allow_unsafe_interrupts of vfio_iommu_type1" : "");
	return 0;
}

static int type1_open(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	int rc = open_container(dev) ?: join_group(dev);

	if (rc < 0)
		return rc;
	vfio->device = ioctl(vfio->group, VFIO_GROUP_GET_DEVICE_FD, vfio->address);
	if (vfio->device < 0)
		return litepcie_fail_errno(errno, "%s: VFIO does not hand it out", vfio->address);
	return 0;
}

static int type1_map(struct litepcie *dev, void *memory, size_t size, uint64_t iova)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map), .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)memory, .size = size, .iova = iova,
	};

	return ioctl(vfio_of(dev)->iommu, VFIO_IOMMU_MAP_DMA, &map) < 0 ? -errno : 0;
}

static void type1_unmap(struct litepcie *dev, size_t size, uint64_t iova)
{
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap), .iova = iova, .size = size,
	};

	ioctl(vfio_of(dev)->iommu, VFIO_IOMMU_UNMAP_DMA, &unmap);
}

const struct vfio_interface vfio_type1 = {
	.open = type1_open,
	.map = type1_map,
	.unmap = type1_unmap,
};
