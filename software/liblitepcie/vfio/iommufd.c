/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The newer interface of VFIO: the device has a file of its own, which is bound to an iommufd, and
 * memory is mapped into an address space of the iommufd. No IOMMU group is opened.
 *
 * Headers of kernels before 6.6 lack this interface. So the numbers and structs of its calls are
 * defined in this file, as in the kernel's include/uapi/linux/vfio.h and iommufd.h.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vfio.h"

#define IOMMUFD_IOCTL(number)	_IO(';', 0x80 + (number))
#define IOAS_ALLOC		IOMMUFD_IOCTL(1)
#define IOAS_MAP		IOMMUFD_IOCTL(5)
#define IOAS_UNMAP		IOMMUFD_IOCTL(6)
#define MAP_AT_IOVA		1u
#define MAP_WRITABLE		2u
#define MAP_READABLE		4u
#define DEVICE_BIND		_IO(VFIO_TYPE, VFIO_BASE + 18)
#define DEVICE_ATTACH		_IO(VFIO_TYPE, VFIO_BASE + 19)

struct ioas_alloc {
	uint32_t size, flags, id;
};
_Static_assert(sizeof(struct ioas_alloc) == 12, "IOMMU_IOAS_ALLOC");

struct ioas_map {
	uint32_t size, flags, id, reserved;
	uint64_t memory, length, iova;
};
_Static_assert(sizeof(struct ioas_map) == 40, "IOMMU_IOAS_MAP");

struct ioas_unmap {
	uint32_t size, id;
	uint64_t iova, length;
};
_Static_assert(sizeof(struct ioas_unmap) == 24, "IOMMU_IOAS_UNMAP");

struct device_bind {
	uint32_t argsz, flags;
	int32_t iommufd;
	uint32_t id;
};
_Static_assert(sizeof(struct device_bind) == 16, "VFIO_DEVICE_BIND_IOMMUFD");

struct device_attach {
	uint32_t argsz, flags, id;
};
_Static_assert(sizeof(struct device_attach) == 12, "VFIO_DEVICE_ATTACH_IOMMUFD_PT");

/*
 * Explain why the device could not be bound to the iommufd. The kernel reports a card that another
 * program has, and an IOMMU group with devices of other drivers, by the same error. So the drivers
 * of the group's devices are checked first.
 */
static int bind_failed(struct litepcie *dev, int error)
{
	struct vfio *vfio = vfio_of(dev);

	if (vfio_check_viable(dev, false) < 0)
		return -EPERM;
	if (error == EBUSY || error == EINVAL)
		return litepcie_fail(-EBUSY, "%s: another program has this card; let it finish "
				     "first", vfio->address);
	return litepcie_fail(-error, "%s: iommufd does not take it: %s%s", vfio->address,
			     strerror(error), error == EPERM ?
			     "; does the machine remap interrupts? If it cannot: module parameter "
			     "allow_unsafe_interrupts of iommufd" : "");
}

/*
 * Bind the VFIO device's file to the iommufd, and attach it to a new address space. Before the
 * bind, all other calls on that file fail.
 */
static int bind_device(struct litepcie *dev, int device)
{
	struct vfio *vfio = vfio_of(dev);
	struct device_bind bind = { .argsz = sizeof(bind), .iommufd = vfio->iommu };
	struct device_attach attach = { .argsz = sizeof(attach) };
	struct ioas_alloc alloc = { .size = sizeof(alloc) };

	if (ioctl(device, DEVICE_BIND, &bind) < 0)
		return bind_failed(dev, errno);
	if (ioctl(vfio->iommu, IOAS_ALLOC, &alloc) < 0)
		return litepcie_fail_errno(errno, "/dev/iommu");
	vfio->space = attach.id = alloc.id;
	if (ioctl(device, DEVICE_ATTACH, &attach) < 0)
		return litepcie_fail_errno(errno, "%s: the IOMMU gives it no addresses",
					   vfio->address);
	return 0;
}

static int iommufd_open(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	int device, rc;

	vfio->iommu = vfio_open_file("/dev/iommu");
	if (vfio->iommu < 0)
		return vfio->iommu;
	device = vfio_open_file(vfio->file);
	if (device < 0)
		return device;
	rc = bind_device(dev, device);
	if (rc < 0)
		close(device);
	else
		vfio->device = device;
	return rc;
}

static int iommufd_map(struct litepcie *dev, void *memory, size_t size, uint64_t iova)
{
	struct vfio *vfio = vfio_of(dev);
	struct ioas_map map = {
		.size = sizeof(map), .flags = MAP_AT_IOVA | MAP_WRITABLE | MAP_READABLE,
		.id = vfio->space, .memory = (uintptr_t)memory, .length = size, .iova = iova,
	};

	return ioctl(vfio->iommu, IOAS_MAP, &map) < 0 ? -errno : 0;
}

static void iommufd_unmap(struct litepcie *dev, size_t size, uint64_t iova)
{
	struct vfio *vfio = vfio_of(dev);
	struct ioas_unmap unmap = {
		.size = sizeof(unmap), .id = vfio->space, .iova = iova, .length = size,
	};

	ioctl(vfio->iommu, IOAS_UNMAP, &unmap);
}

const struct vfio_interface vfio_iommufd = {
	.open = iommufd_open,
	.map = iommufd_map,
	.unmap = iommufd_unmap,
};
