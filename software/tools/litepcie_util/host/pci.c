/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find PCI functions in sysfs. pci.h says what each function promises.
 */
#include "pci.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "describe/pci_capability.h"
#include "litepcie_capability.h"

#define DEVICES	"/sys/bus/pci/devices"
#define LITEPCIE_PCI_DEVICE(id)	id

/* Files of sysfs ------------------------------------------------------------------------------ */

/*
 * Make a path by @format and @args, below the folder that the environment variable LITEPCIE_ROOT
 * names, or below the root folder if that is not set. Returns false if the path is too long; errno
 * is then ENAMETOOLONG.
 */
static bool join(char path[PATH_MAX], const char *format, va_list args)
{
	const char *root = getenv("LITEPCIE_ROOT");
	int used = snprintf(path, PATH_MAX, "%s", root ? root : ""), more = -1;

	errno = ENAMETOOLONG;
	if (used >= 0 && used < PATH_MAX)
		more = vsnprintf(path + used, (size_t)(PATH_MAX - used), format, args);
	return more >= 0 && more < PATH_MAX - used;
}

bool pci_path(char path[PATH_MAX], const char *format, ...)
{
	va_list args;
	bool fits;

	va_start(args, format);
	fits = join(path, format, args);
	va_end(args);
	return fits;
}

/* Read the first @size bytes of a file, or all if it has fewer. Returns their number, or -errno. */
static ssize_t read_file(const char *path, void *data, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, data, size);

	if (length < 0)
		length = -errno;
	if (fd >= 0)
		close(fd);
	return length;
}

int pci_read_text(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	ssize_t length = -ENAMETOOLONG;
	va_list args;

	va_start(args, format);
	if (join(path, format, args))
		length = read_file(path, text, size - 1);
	va_end(args);
	text[length < 0 ? 0 : length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return length < 0 ? (int)length : 0;
}

int pci_write_text(const char *text, const char *format, ...)
{
	ssize_t length = (ssize_t)strlen(text), written = -1;
	char path[PATH_MAX];
	va_list args;
	int fd = -1, rc;

	va_start(args, format);
	if (join(path, format, args))
		fd = open(path, O_WRONLY | O_CLOEXEC);
	va_end(args);
	if (fd >= 0)
		written = write(fd, text, (size_t)length);
	rc = written < 0 ? -errno : written == length ? 0 : -EIO;
	if (fd >= 0)
		close(fd);
	return rc;
}

static long read_number(const char *address, const char *name, long otherwise)
{
	char text[32], *end;
	long value;

	if (pci_read_text(text, sizeof(text), DEVICES "/%s/%s", address, name) < 0)
		return otherwise;
	value = strtol(text, &end, 0);
	return end == text ? otherwise : value;
}

/*
 * Write the last part of the target of a symbolic link in sysfs to @text. @text becomes empty if
 * the link does not exist.
 */
__attribute__((format(printf, 3, 4)))
static void read_link(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX] = "";
	va_list args;

	va_start(args, format);
	if (!join(path, format, args) || readlink(path, target, sizeof(target) - 1) < 0)
		target[0] = '\0';
	va_end(args);
	snprintf(text, size, "%.*s", (int)size - 1, *target ? basename(target) : "");
}

/* Config space of a PCI function -------------------------------------------------------------- */

struct config {
	/* number of bytes of config space that could be read; users other than root get 64 */
	size_t	size;
	uint8_t	bytes[4096];
};

/*
 * config16() returns 16 bits of config space, or 0 if they could not be read. config32() takes each
 * half of its 32 bits from config16().
 */
static uint16_t config16(const struct config *config, unsigned int offset)
{
	if (offset + 2 > config->size)
		return 0;
	return (uint16_t)(config->bytes[offset] | config->bytes[offset + 1] << 8);
}

static uint32_t config32(const struct config *config, unsigned int offset)
{
	return config16(config, offset) | (uint32_t)config16(config, offset + 2) << 16;
}

static void read_express(const char *address, struct pci_express *express)
{
	struct config config = { 0 };
	uint16_t control, status;
	uint32_t possible;
	char path[PATH_MAX];
	unsigned int at;
	ssize_t length;

	if (!pci_path(path, DEVICES "/%s/config", address))
		return;
	length = read_file(path, config.bytes, sizeof(config.bytes));
	config.size = length > 0 ? (size_t)length : 0;
	at = litepcie_pci_capability(config.bytes, config.size, PCI_CAP_ID_EXP);
	if (!at || at + PCI_EXP_LNKSTA + 2 > config.size)
		return;
	control = config16(&config, at + PCI_EXP_DEVCTL);
	possible = config32(&config, at + PCI_EXP_LNKCAP);
	status = config16(&config, at + PCI_EXP_LNKSTA);
	express->known = true;
	express->mps_supported = 128u << (config32(&config, at + PCI_EXP_DEVCAP) &
					  PCI_EXP_DEVCAP_PAYLOAD);
	express->mps = 128u << ((control & PCI_EXP_DEVCTL_PAYLOAD) >> 5);
	express->mrrs = 128u << ((control & PCI_EXP_DEVCTL_READRQ) >> 12);
	express->relaxed_ordering = control & PCI_EXP_DEVCTL_RELAX_EN;
	express->extended_tags = control & PCI_EXP_DEVCTL_EXT_TAG;
	express->rcb = config16(&config, at + PCI_EXP_LNKCTL) & PCI_EXP_LNKCTL_RCB ? 128 : 64;
	express->gen = status & PCI_EXP_LNKSTA_CLS;
	express->lanes = (status & PCI_EXP_LNKSTA_NLW) >> PCI_EXP_LNKSTA_NLW_SHIFT;
	express->gen_possible = possible & PCI_EXP_LNKCAP_SLS;
	express->lanes_possible = (possible & PCI_EXP_LNKCAP_MLW) >> 4;
}

/* PCI functions ------------------------------------------------------------------------------- */

int pci_load(struct pci_function *function, const char *address)
{
	char group[16], name[PCI_ADDRESS];

	snprintf(name, sizeof(name), "%s", address);
	*function = (struct pci_function) { .numa = -1, .iommu_group = -1 };
	memcpy(function->address, name, sizeof(name));
	function->vendor = (unsigned int)read_number(name, "vendor", 0);
	function->device = (unsigned int)read_number(name, "device", 0);
	if (!function->vendor)
		return -ENOENT;
	function->numa = (int)read_number(name, "numa_node", -1);
	read_link(function->driver, sizeof(function->driver), DEVICES "/%s/driver", name);
	read_link(group, sizeof(group), DEVICES "/%s/iommu_group", name);
	if (*group)
		function->iommu_group = atoi(group);
	read_express(name, &function->express);
	return 0;
}

bool pci_parse_address(const char *text, char address[PCI_ADDRESS])
{
	bool domain = strchr(text, ':') != strrchr(text, ':');
	unsigned int number[4];
	char full[32];
	int used = 0;

	snprintf(full, sizeof(full), "%s%s", domain ? "" : "0000:", text);
	if (sscanf(full, "%4x:%2x:%2x.%1u%n", &number[0], &number[1], &number[2], &number[3],
		   &used) != 4 || full[used] || number[2] > 31 || number[3] > 7)
		return false;
	snprintf(address, PCI_ADDRESS, "%04x:%02x:%02x.%u", number[0] & 0xffff, number[1] & 0xff,
		 number[2], number[3]);
	return true;
}

bool pci_is_card(const struct pci_function *function)
{
	static const uint16_t devices[] = LITEPCIE_PCI_DEVICES;

	for (unsigned int n = 0; n < LITEPCIE_PCI_DEVICE_COUNT; n++)
		if (function->vendor == LITEPCIE_PCI_VENDOR && function->device == devices[n])
			return true;
	return false;
}

int pci_each(void (*visit)(void *context, const char *address), void *context)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count;

	if (!pci_path(path, DEVICES))
		return -ENAMETOOLONG;
	count = scandir(path, &entries, NULL, alphasort);
	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		visit(context, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

int pci_parent(const char *address, char parent[PCI_ADDRESS])
{
	char path[PATH_MAX], *real = NULL;
	bool found;

	if (pci_path(path, DEVICES "/%s", address))
		real = realpath(path, NULL);
	if (!real)
		return -errno;
	found = pci_parse_address(basename(dirname(real)), parent);
	free(real);
	return found ? 0 : -ENOENT;
}

int pci_of_device(const char *device, char address[PCI_ADDRESS])
{
	const char *name = strrchr(device, '/');
	char text[32] = "";

	if (strncmp(device, "vfio:", 5) == 0)
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(device + 5, ","), device + 5);
	else if (name && strncmp(device, "sim:", 4) != 0)
		read_link(text, sizeof(text), "/sys/class/litepcie/%s/device", name + 1);
	return pci_parse_address(text, address) ? 0 : -ENOENT;
}
