/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Use sysfs: find the PCI device behind a device file, read numbers, such as the interrupts that
 * Lanebox's driver counts, and the driver's version, map BAR0 for LitePCIe's driver, and reset the
 * card.
 *
 * With Lanebox's driver the device file's entry in sysfs has a link to the PCI device. LitePCIe's
 * driver makes no such link. If that driver is bound to a single card, all its device files belong
 * to that card. If it is bound to several, the PCI device behind a device file is not known.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

#define CLASS_DIRECTORY		"/sys/class/litepcie"
#define DRIVER_DIRECTORY	"/sys/bus/pci/drivers/litepcie"

static int follow_link(unsigned int minor, char *address, size_t size)
{
	char path[64], target[256];
	ssize_t length;

	snprintf(path, sizeof(path), CLASS_DIRECTORY "/litepcie%u/device", minor);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return 0;
	target[length] = '\0';
	snprintf(address, size, "%.32s", strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	return 1;
}

static int find_address(struct litepcie *dev, char *address, size_t size)
{
	glob_t cards = { 0 };
	size_t count;

	if (follow_link(kernel_of(dev)->minor, address, size))
		return 1;
	/* the other entries of the driver's sysfs folder (bind, module, ...) have no colon */
	glob(DRIVER_DIRECTORY "/*:*", 0, NULL, &cards);
	count = cards.gl_pathc;
	if (count == 1)
		snprintf(address, size, "%.32s", strrchr(cards.gl_pathv[0], '/') + 1);
	else if (count)
		snprintf(dev->bar_why, sizeof(dev->bar_why), "%s: %zu cards are bound to the "
			 "driver, which does not say which of them this is", DRIVER_DIRECTORY,
			 count);
	else
		snprintf(dev->bar_why, sizeof(dev->bar_why), "%s: no card is bound to the driver",
			 DRIVER_DIRECTORY);
	globfree(&cards);
	return count == 1;
}

/*
 * Returns a text that says what the errno @error of open() or mmap() of the sysfs file resource0
 * means, and what the user can do.
 */
static const char *mapping_advice(int error)
{
	switch (error) {
	case EINVAL:
		return "the kernel keeps the BAR of a bound driver to itself "
		       "(CONFIG_IO_STRICT_DEVMEM); boot with iomem=relaxed";
	case EPERM:
		return "the kernel is locked down; boot without Secure Boot's lockdown";
	case EACCES:
		return "only root may open it; run as root";
	default:
		return "see the error";
	}
}

void sysfs_map_bar(struct litepcie *dev)
{
	char address[64], path[192];
	struct stat st;
	void *bar = MAP_FAILED;
	int fd;

	if (!find_address(dev, address, sizeof(address)))
		return;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", address);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0)
		bar = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bar == MAP_FAILED) {
		int error = errno;

		snprintf(dev->bar_why, sizeof(dev->bar_why),
			 "%s cannot be mapped (%s): %s", path, strerror(error),
			 mapping_advice(error));
	} else {
		dev->bar[0] = (struct litepcie_window) {
			.base = bar, .size = (size_t)st.st_size,
		};
	}
	if (fd >= 0)
		close(fd);
}

int sysfs_reset(struct litepcie *dev)
{
	char address[64], path[192];
	int fd, rc;

	if (!find_address(dev, address, sizeof(address)))
		return litepcie_fail(-ENODEV, "%s: %s", dev->name, dev->bar_why);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", address);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	rc = fd >= 0 && write(fd, "1", 1) == 1 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	if (rc == -ENOENT)
		return litepcie_fail(-EOPNOTSUPP, "%s: the kernel knows no way to reset %s",
				     dev->name, address);
	return rc < 0 ? litepcie_fail(rc, "%s: %s%s", path, strerror(-rc),
				      rc == -EACCES ? "; run as root" : "") : 0;
}

int64_t sysfs_number(unsigned int minor, const char *name)
{
	long long number = -1;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), CLASS_DIRECTORY "/litepcie%u/%s", minor, name);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%lld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

void sysfs_driver_version(char *text, size_t size)
{
	FILE *file = fopen("/sys/module/litepcie/version", "re");

	*text = '\0';
	if (!file)
		return;
	if (!fgets(text, (int)size, file))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

int64_t sysfs_interrupts(const struct litepcie_stream *stream)
{
	char name[32];

	snprintf(name, sizeof(name), "%s_interrupts", stream->name);
	return sysfs_number(kernel_of(stream->dev)->minor, name);
}
