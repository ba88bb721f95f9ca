/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the device, check that VFIO can open it, and choose the kernel's interface (iommufd or
 * type1). An error is -errno with a sentence that tells the user which condition is missing, and
 * how to meet it.
 */
#include <ctype.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vfio.h"

/* The name of the device ---------------------------------------------------------------------- */

/*
 * Parse "channel=" and a decimal number of up to three digits. Returns false for any other text.
 */
static bool parse_channel(const char *option, unsigned int *channel)
{
	const char *digits = option + strlen("channel=");
	char *end;

	if (strncmp(option, "channel=", strlen("channel=")) != 0 || !isdigit((uint8_t)*digits))
		return false;
	*channel = (unsigned int)strtoul(digits, &end, 10);
	return !*end && end - digits <= 3;
}

static int parse_option(struct litepcie *dev, const char *option)
{
	if (strcmp(option, "type1") == 0)
		vfio_of(dev)->interface = &vfio_type1;
	else if (strcmp(option, "iommufd") == 0)
		vfio_of(dev)->interface = &vfio_iommufd;
	else if (!parse_channel(option, &dev->channel))
		return litepcie_fail(-EINVAL, "option %s in the device string: there are "
				     "channel=N, type1 and iommufd", option);
	return 0;
}

/*
 * Parse a PCI address and write it to vfio->address in the form of sysfs. The domain may be left
 * out: "22:00.0" is in domain 0000. Returns false for a text that is no PCI address.
 */
static bool parse_address(struct litepcie *dev, const char *text)
{
	unsigned int domain, bus, slot, function;
	int end = 0;

	if (sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4) {
		domain = 0;
		end = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3)
			return false;
	}
	if (text[end] || slot > 0x1f || function > 7)
		return false;
	snprintf(vfio_of(dev)->address, VFIO_ADDRESS, "%04x:%02x:%02x.%x", domain & 0xffff,
		 bus & 0xff, slot, function);
	return true;
}

/* Parse "vfio:ADDRESS" and the options behind it. Returns -EINVAL for any other text. */
static int parse_name(struct litepcie *dev)
{
	const char *behind = strchr(dev->name, ':') + 1;
	char text[64], *rest = NULL, *option, *address;
	int rc = 0;

	if (strlen(behind) >= sizeof(text))
		return litepcie_fail(-EINVAL, "%s: an address and its options have %zu characters "
				     "at most", dev->name, sizeof(text) - 1);
	snprintf(text, sizeof(text), "%s", behind);
	address = strtok_r(text, ",", &rest);
	if (!address || !parse_address(dev, address))
		return litepcie_fail(-EINVAL, "%s: the PCI address must be like vfio:0000:22:00.0; "
				     "litepcie_util list shows those of cards", dev->name);
	while (rc == 0 && (option = strtok_r(NULL, ",", &rest)))
		rc = parse_option(dev, option);
	return rc;
}

/* Checks of the device before it is opened ---------------------------------------------------- */

/* Set vfio->group_number. Returns -ENODEV if the device is in no IOMMU group. */
static int check_group(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	char group[32];

	vfio_read_link(vfio->address, "iommu_group", group, sizeof(group));
	if (!*group)
		return litepcie_fail(-ENODEV, "%s is in no IOMMU group: without an IOMMU VFIO "
				     "cannot let a program do DMA. Switch it on: VT-d or AMD-Vi in "
				     "the firmware, intel_iommu=on on an Intel kernel's command "
				     "line", vfio->address);
	vfio->group_number = atoi(group);
	return 0;
}

/*
 * Check the device in sysfs. Returns -ENODEV if there is no such PCI device, if it is in no IOMMU
 * group, or if its driver is not vfio-pci. The IOMMU group is checked before the driver: without a
 * group the advice to bind the card to vfio-pci would not help.
 */
static int check_sysfs(struct litepcie *dev)
{
	const char *address = vfio_of(dev)->address;
	char path[PATH_MAX], driver[64];
	int rc;

	snprintf(path, sizeof(path), VFIO_DEVICES "/%s", address);
	if (access(path, F_OK) < 0)
		return litepcie_fail(-ENODEV, "there is no PCI device %s; litepcie_util list shows "
				     "the cards, rescan looks for more", address);
	rc = check_group(dev);
	if (rc < 0)
		return rc;
	vfio_read_link(address, "driver", driver, sizeof(driver));
	if (strcmp(driver, "vfio-pci") != 0)
		return litepcie_fail(-ENODEV, "%s is bound to %s, not to vfio-pci: run "
				     "litepcie_util vfio bind %s", address,
				     *driver ? driver : "no driver", address);
	return 0;
}

/* Choice of the kernel's interface ------------------------------------------------------------ */

/* Find the device's own file, /dev/vfio/devices/vfioN. If there is none, vfio->file is empty. */
static void find_file(struct vfio *vfio)
{
	char pattern[PATH_MAX];
	glob_t files;

	snprintf(pattern, sizeof(pattern), VFIO_DEVICES "/%s/vfio-dev/vfio[0-9]*", vfio->address);
	if (glob(pattern, 0, NULL, &files) != 0)
		return;
	snprintf(vfio->file, sizeof(vfio->file), "/dev/vfio/devices/%.32s",
		 strrchr(files.gl_pathv[0], '/') + 1);
	globfree(&files);
}

/*
 * Choose the kernel's interface: the one in the device string, else iommufd if the user may open
 * /dev/iommu and the device's own file, else type1. Returns -EOPNOTSUPP if the string asks for
 * iommufd and the device has no file of its own.
 */
static int choose_interface(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	find_file(vfio);
	if (!vfio->interface)
		vfio->interface = access("/dev/iommu", R_OK | W_OK) == 0 &&
				  access(vfio->file, R_OK | W_OK) == 0 ?
				  &vfio_iommufd : &vfio_type1;
	if (vfio->interface == &vfio_iommufd && access(vfio->file, F_OK) < 0)
		return litepcie_fail(-EOPNOTSUPP, "%s: this kernel has no iommufd for VFIO devices "
				     "(CONFIG_VFIO_DEVICE_CDEV; Debian's have not): leave the "
				     "option out, type1 does the same", dev->name);
	return 0;
}

/* Opening the device -------------------------------------------------------------------------- */

/*
 * True if the card answers. The class and revision are read, which no card has as all ones. Vendor
 * and device ID cannot be used, since vfio-pci answers reads of those itself.
 */
bool vfio_answers(const struct vfio *vfio)
{
	off_t place = (off_t)vfio->config + PCI_CLASS_REVISION;
	uint32_t value;

	return pread(vfio->device, &value, sizeof(value), place) == sizeof(value) &&
	       value != UINT32_MAX;
}

/*
 * Check that the card has power. vfio-pci wakes a device that sleeps. A device that stays in
 * D3cold, or is unplugged, reads as all ones, and the function returns -EIO.
 */
static int check_power(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	char path[PATH_MAX], state[32] = "unknown";
	FILE *file;

	if (vfio_answers(vfio))
		return 0;
	snprintf(path, sizeof(path), VFIO_DEVICES "/%s/power_state", vfio->address);
	file = fopen(path, "re");
	if (file && !fgets(state, sizeof(state), file))
		strcpy(state, "unknown");
	if (file)
		fclose(file);
	state[strcspn(state, "\n")] = '\0';
	return litepcie_fail(-EIO, "%s: configuration space reads all ones, the power state is %s: "
			     "the card sleeps (D3cold) or is gone. Write on to its power/control, "
			     "or litepcie_util rescan", vfio->address, state);
}

/* Find configuration space in the file of the device, and check that the card answers there. */
static int read_config(struct litepcie *dev)
{
	struct vfio_region_info config = {
		.argsz = sizeof(config), .index = VFIO_PCI_CONFIG_REGION_INDEX,
	};
	struct vfio *vfio = vfio_of(dev);

	if (ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &config) < 0)
		return litepcie_fail_errno(errno, "%s", vfio->address);
	vfio->config = config.offset;
	return check_power(dev);
}

int vfio_open_device(struct litepcie *dev)
{
	return parse_name(dev) ?: check_sysfs(dev) ?: choose_interface(dev) ?:
	       vfio_of(dev)->interface->open(dev) ?: read_config(dev);
}

void vfio_close_device(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);
	const int fds[] = { vfio->device, vfio->group, vfio->iommu };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
