/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Explain why a program cannot open a device of vfio-pci: drivers of the host have other devices of
 * its IOMMU group, or a file in /dev cannot be opened. An error is -errno with a sentence, which
 * for the usual causes tells the user what to do.
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vfio.h"

void vfio_read_link(const char *address, const char *link, char *name, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), VFIO_DEVICES "/%s/%s", address, link);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	snprintf(name, size, "%.*s", (int)size - 1,
		 strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

/*
 * List the devices because of which VFIO cannot use the IOMMU group, with their drivers, and with a
 * space before each. Devices without a driver are left out, and those with the driver vfio-pci,
 * pci-stub or (PCI bridges) pcieport. A list that is too long for @size is cut.
 */
static void list_others(const struct vfio *vfio, char *names, size_t size)
{
	char pattern[64], driver[64];
	size_t used = 0;
	glob_t devices;

	snprintf(pattern, sizeof(pattern), "/sys/kernel/iommu_groups/%d/devices/*:*",
		 vfio->group_number);
	*names = '\0';
	if (glob(pattern, 0, NULL, &devices) != 0)
		return;
	for (size_t i = 0; i < devices.gl_pathc && used + 64 < size; i++) {
		const char *address = strrchr(devices.gl_pathv[i], '/') + 1;

		vfio_read_link(address, "driver", driver, sizeof(driver));
		if (*driver && strcmp(driver, "vfio-pci") != 0 &&
		    strcmp(driver, "pcieport") != 0 && strcmp(driver, "pci-stub") != 0)
			used += (size_t)snprintf(names + used, size - used, " %.20s (%.30s)",
						 address, driver);
	}
	globfree(&devices);
}

int vfio_check_viable(struct litepcie *dev, bool said)
{
	char others[160];

	list_others(vfio_of(dev), others, sizeof(others));
	if (!said && !*others)
		return 0;
	return litepcie_fail(-EPERM, "IOMMU group %d is not viable: drivers of the host have "
			     "devices in it:%s. Unbind them, or put the card into another slot",
			     vfio_of(dev)->group_number, others);
}

int vfio_open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), error = errno;

	if (fd >= 0)
		return fd;
	switch (error) {
	case EACCES:
	case EPERM:
		return litepcie_fail(-error, "%s: %s; run as root, or give yourself the file (a "
				     "udev rule, or chown)", path, strerror(error));
	case ENOENT:
		return litepcie_fail(-error, "%s: %s; load the module: modprobe vfio-pci", path,
				     strerror(error));
	case EBUSY:
		return litepcie_fail(-error, "%s: another program has this IOMMU group; let it "
				     "finish first", path);
	default:
		return litepcie_fail_errno(error, "%s", path);
	}
}
