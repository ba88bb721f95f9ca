/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Getting hold of a device through VFIO: container, group, device (the type1 interface, which every
 * kernel with VFIO has). Most of what follows is for the user: what is in the way, and what to do.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfio.h"

#define DEVICES		"/sys/bus/pci/devices"
#define TYPE1		VFIO_TYPE1v2_IOMMU

/* Name ---------------------------------------------------------------------------------------- */

static int parse_option(struct litepcie *dev, const char *option)
{
	char *end;

	if (strncmp(option, "channel=", 8) == 0) {
		dev->channel = (unsigned int)strtoul(option + 8, &end, 10);
		if (end != option + 8 && !*end)
			return 0;
	}
	if (strcmp(option, "iommufd") == 0)
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: %s", dev->name,
				     access("/dev/iommu", F_OK) < 0 ?
				     "this kernel has no iommufd for VFIO devices "
				     "(CONFIG_VFIO_DEVICE_CDEV; Debian's have not): leave the option "
				     "out, type1 does the same" :
				     "this library reaches VFIO by type1 only: leave the option out");
	return litepcie_fail(dev, -EINVAL, "option %s in the device string: there is channel=N",
			     option);
}

/* "22:00.0" will do for domain 0. */
static int parse_name(struct litepcie *dev)
{
	unsigned int domain = 0, bus, slot, function;
	char text[64], *rest = NULL, *option, *address;
	int end = 0, rc = 0;

	snprintf(text, sizeof(text), "%s", strchr(dev->name, ':') + 1);
	address = strtok_r(text, ",", &rest);
	if (!address || !((sscanf(address, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function,
				  &end) == 4 && !address[end]) ||
			  (domain = 0, end = 0, sscanf(address, "%2x:%2x.%1x%n", &bus, &slot,
						       &function, &end) == 3 && !address[end])))
		return litepcie_fail(dev, -EINVAL, "%s: the PCI address must be like "
				     "vfio:0000:22:00.0; litepcie_util list shows those of cards",
				     dev->name);
	snprintf(vfio_of(dev)->address, VFIO_ADDRESS, "%04x:%02x:%02x.%x", domain & 0xffff,
		 bus & 0xff, slot & 0x1f, function & 7);
	while (rc == 0 && (option = strtok_r(NULL, ",", &rest)))
		rc = parse_option(dev, option);
	return rc;
}

/* Checks -------------------------------------------------------------------------------------- */

/* The last part of what a link in the device's folder points to; empty: there is no such link. */
static void read_link(const char *address, const char *link, char *name, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, link);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	snprintf(name, size, "%.*s", (int)size - 1,
		 strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

static int check_group(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	char group[32];

	read_link(vfio->address, "iommu_group", group, sizeof(group));
	if (!*group)
		return litepcie_fail(dev, -ENODEV, "%s is in no IOMMU group: without an IOMMU VFIO "
				     "cannot let a program do DMA. Switch it on: VT-d or AMD-Vi in "
				     "the firmware, intel_iommu=on on an Intel kernel's command "
				     "line", vfio->address);
	vfio->group_number = atoi(group);
	return 0;
}

/* The group first: without one a binding is refused, and would be the wrong thing to ask for. */
static int check_sysfs(struct litepcie *dev)
{
	const char *address = vfio_of(dev)->address;
	char path[PATH_MAX], driver[64];
	int rc;

	snprintf(path, sizeof(path), DEVICES "/%s", address);
	if (access(path, F_OK) < 0)
		return litepcie_fail(dev, -ENODEV, "there is no PCI device %s; litepcie_util list "
				     "shows the cards, rescan looks for more", address);
	rc = check_group(dev);
	if (rc < 0)
		return rc;
	read_link(address, "driver", driver, sizeof(driver));
	if (strcmp(driver, "vfio-pci") != 0)
		return litepcie_fail(dev, -ENODEV, "%s is bound to %s, not to vfio-pci: run "
				     "litepcie_util vfio bind %s", address,
				     *driver ? driver : "no driver", address);
	return 0;
}

/* Open ---------------------------------------------------------------------------------------- */

static int open_file(struct litepcie *dev, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), error = errno;

	if (fd >= 0)
		return fd;
	switch (error) {
	case EACCES:
	case EPERM:
		return litepcie_fail(dev, -error, "%s: %s; run as root, or give yourself the file "
				     "(a udev rule, or chown)", path, strerror(error));
	case ENOENT:
		return litepcie_fail(dev, -error, "%s: %s; load the module: modprobe vfio-pci",
				     path, strerror(error));
	case EBUSY:
		return litepcie_fail(dev, -error, "%s: another program has this IOMMU group; let "
				     "it finish first", path);
	default:
		return litepcie_fail(dev, -error, "%s: %s", path, strerror(error));
	}
}

static int open_container(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	vfio->container = open_file(dev, "/dev/vfio/vfio");
	if (vfio->container < 0)
		return vfio->container;
	if (ioctl(vfio->container, VFIO_GET_API_VERSION) != VFIO_API_VERSION)
		return litepcie_fail(dev, -EPROTO, "/dev/vfio/vfio speaks another version of VFIO "
				     "than %d", VFIO_API_VERSION);
	if (ioctl(vfio->container, VFIO_CHECK_EXTENSION, TYPE1) != 1)
		return litepcie_fail(dev, -EOPNOTSUPP, "this kernel's VFIO has no type1 IOMMU: "
				     "modprobe vfio_iommu_type1");
	return 0;
}

/* The devices that stand in the way of a group, separated by spaces. */
static void list_others(const struct vfio *vfio, char *names, size_t size)
{
	char path[PATH_MAX], driver[64];
	struct dirent *entry;
	size_t used = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/sys/kernel/iommu_groups/%d/devices", vfio->group_number);
	folder = opendir(path);
	*names = '\0';
	while (folder && (entry = readdir(folder)) && used + 64 < size) {
		read_link(entry->d_name, "driver", driver, sizeof(driver));
		if (strchr(entry->d_name, ':') && *driver && strcmp(driver, "vfio-pci") != 0 &&
		    strcmp(driver, "pcieport") != 0)
			used += (size_t)snprintf(names + used, size - used, " %.20s (%.30s)",
						 entry->d_name, driver);
	}
	if (folder)
		closedir(folder);
}

static int join_group(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[64], others[160];

	snprintf(path, sizeof(path), "/dev/vfio/%d", vfio->group_number);
	vfio->group = open_file(dev, path);
	if (vfio->group < 0)
		return vfio->group;
	if (ioctl(vfio->group, VFIO_GROUP_GET_STATUS, &status) < 0)
		return litepcie_fail(dev, -errno, "%s: %s", path, strerror(errno));
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		list_others(vfio, others, sizeof(others));
		return litepcie_fail(dev, -EPERM, "IOMMU group %d is not viable: drivers of the "
				     "host have devices in it:%s. Unbind them, or put the card "
				     "into another slot", vfio->group_number, others);
	}
	if (ioctl(vfio->group, VFIO_GROUP_SET_CONTAINER, &vfio->container) < 0 ||
	    ioctl(vfio->container, VFIO_SET_IOMMU, TYPE1) < 0)
		return litepcie_fail(dev, -errno, "IOMMU group %d: %s%s", vfio->group_number,
				     strerror(errno), errno == EPERM ?
				     "; does the machine remap interrupts? If it cannot: module "
				     "parameter allow_unsafe_interrupts of vfio_iommu_type1" : "");
	return 0;
}

/* vfio-pci wakes a device that sleeps; one that stays in D3cold, or is unplugged, reads all ones. */
static int check_power(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	char path[PATH_MAX], state[32] = "unknown";
	uint32_t id = UINT32_MAX;
	FILE *file;

	if (pread(vfio->device, &id, sizeof(id), (off_t)vfio->config) == sizeof(id) &&
	    id != UINT32_MAX)
		return 0;
	snprintf(path, sizeof(path), DEVICES "/%s/power_state", vfio->address);
	file = fopen(path, "re");
	if (file && !fgets(state, sizeof(state), file))
		strcpy(state, "unknown");
	if (file)
		fclose(file);
	state[strcspn(state, "\n")] = '\0';
	return litepcie_fail(dev, -EIO, "%s: configuration space reads all ones, the power state "
			     "is %s: the card sleeps (D3cold) or is gone. Write on to its "
			     "power/control, or litepcie_util rescan", vfio->address, state);
}

static int open_device(struct litepcie *dev)
{
	struct vfio_region_info config = {
		.argsz = sizeof(config), .index = VFIO_PCI_CONFIG_REGION_INDEX,
	};
	struct vfio *vfio = vfio_of(dev);

	vfio->device = ioctl(vfio->group, VFIO_GROUP_GET_DEVICE_FD, vfio->address);
	if (vfio->device < 0)
		return litepcie_fail(dev, -errno, "%s: VFIO does not hand it out: %s",
				     vfio->address, strerror(errno));
	if (ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &config) < 0)
		return litepcie_fail(dev, -errno, "%s: %s", vfio->address, strerror(errno));
	vfio->config = config.offset;
	return check_power(dev);
}

int vfio_open_device(struct litepcie *dev)
{
	int rc = parse_name(dev);

	if (rc == 0)
		rc = check_sysfs(dev);
	if (rc == 0)
		rc = open_container(dev);
	if (rc == 0)
		rc = join_group(dev);
	return rc < 0 ? rc : open_device(dev);
}

void vfio_close_device(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	const int fds[] = { vfio->device, vfio->group, vfio->container };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
