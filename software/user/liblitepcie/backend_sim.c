/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The "sim" back end: the board process behind a vfio-user socket, with no machine in between.
 *
 * What a BIOS and an operating system would do for a card is done here: BAR address, maximum sizes,
 * MSI, DMA memory, and only then bus mastering. The board serves one client at a time.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "litepcie_capability.h"
#include "sim.h"

#define DEFAULT_TIMEOUT_S	30
#define DEFAULT_MRRS		512u
#define PREPARED_BYTES		(64u << 20)
#define BAR0_ADDRESS		0xe0000000u
#define BAR_DISTANCE		0x01000000u	/* more than any has */

/* Configuration space (PCI local bus 3.0, 6.1; PCI Express base 4.0, 7.5). */
#define PCI_VENDOR		0x00
#define PCI_COMMAND		0x04
#define PCI_COMMAND_MEMORY	0x2u
#define PCI_COMMAND_MASTER	0x4u
#define PCI_BAR0		0x10
#define PCI_CAPABILITIES	0x34
#define PCI_CAP_MSI		0x05
#define PCI_CAP_PCIE		0x10
#define MSI_CONTROL		0x02
#define MSI_CONTROL_ENABLE	0x1u
#define MSI_CONTROL_64BIT	0x80u
#define MSI_ADDRESS		0x04
#define MSI_DATA		0x08	/* 4 more with a 64-bit address */
#define PCIE_DEVCAP		0x04
#define DEVCAP_EXTENDED_TAGS	(1u << 5)
#define PCIE_DEVCTL		0x08
#define DEVCTL_MPS_SHIFT	5
#define DEVCTL_EXTENDED_TAGS	(1u << 8)
#define DEVCTL_MRRS_SHIFT	12

/* Where x86 hosts take MSIs. The board catches the message and signals the eventfd instead. */
#define MSI_HOST_ADDRESS	0xfee00000u

/* Device string ------------------------------------------------------------------------------- */

static int parse_size(struct litepcie *dev, const char *text, unsigned int *value)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end || number < 128 || number > 4096 || number & (number - 1))
		return litepcie_fail(dev, -EINVAL, "%s in the device string: it must be a power of "
				     "two from 128 to 4096 bytes", text);
	*value = (unsigned int)number;
	return 0;
}

static int parse_timeout(struct litepcie *dev, const char *text, int *value)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*end || end == text || number < 1 || number > INT_MAX)
		return litepcie_fail(dev, -EINVAL, "timeout=%s in the device string: it must be a "
				     "whole number of seconds, 1 or more", text);
	*value = (int)number;
	return 0;
}

/* Cut sim->path at its first comma and take in the options behind it. */
static int parse_options(struct litepcie *dev, int *timeout_s)
{
	struct sim *sim = sim_of(dev);
	char *rest, *option;
	int rc = 0;

	*timeout_s = DEFAULT_TIMEOUT_S;
	strtok_r(sim->path, ",", &rest);
	while (rc == 0 && (option = strtok_r(NULL, ",", &rest))) {
		if (strncmp(option, "mps=", 4) == 0)
			rc = parse_size(dev, option + 4, &sim->mps);
		else if (strncmp(option, "mrrs=", 5) == 0)
			rc = parse_size(dev, option + 5, &sim->mrrs);
		else if (strncmp(option, "timeout=", 8) == 0)
			rc = parse_timeout(dev, option + 8, timeout_s);
		else
			rc = litepcie_fail(dev, -EINVAL, "option %s in the device string: there "
					   "are mps=, mrrs= and timeout=", option);
	}
	return rc;
}

/* Configuration space ------------------------------------------------------------------------- */

static int config_read(struct sim *sim, unsigned int offset, void *data, size_t size)
{
	return vfio_user_read(&sim->vu, VFIO_USER_CONFIG, offset, data, size);
}

static int config_write16(struct sim *sim, unsigned int offset, uint16_t value)
{
	return vfio_user_write(&sim->vu, VFIO_USER_CONFIG, offset, &value, sizeof(value));
}

static int config_write32(struct sim *sim, unsigned int offset, uint32_t value)
{
	return vfio_user_write(&sim->vu, VFIO_USER_CONFIG, offset, &value, sizeof(value));
}

/* Walk the list of capabilities, which lie in the 192 bytes behind the header, 4-byte aligned. */
static int find_capabilities(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint8_t entry[2] = { 0 }, next;
	int rc = config_read(sim, PCI_CAPABILITIES, &next, sizeof(next));

	for (int left = 48; rc == 0 && next >= 0x40 && left; left--) {
		next &= 0xfc;
		rc = config_read(sim, next, entry, sizeof(entry));
		if (entry[0] == PCI_CAP_MSI)
			sim->msi_cap = next;
		else if (entry[0] == PCI_CAP_PCIE)
			sim->pcie_cap = next;
		next = entry[1];
	}
	if (rc == 0 && (!sim->msi_cap || !sim->pcie_cap))
		return litepcie_fail(dev, -EPROTO, "%s: the device has no %s capability, so it is "
				     "not a Lanebox board",
				     sim->path, sim->msi_cap ? "PCI Express" : "MSI");
	return rc;
}

/* A size of 128 << n bytes is written as n. */
static unsigned int size_code(unsigned int bytes)
{
	unsigned int code = 0;

	while (128u << code < bytes)
		code++;
	return code;
}

static int set_device_control(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint32_t capabilities;
	uint16_t control;
	unsigned int largest;
	int rc = config_read(sim, sim->pcie_cap + PCIE_DEVCAP, &capabilities, sizeof(capabilities));

	if (rc == 0)
		rc = config_read(sim, sim->pcie_cap + PCIE_DEVCTL, &control, sizeof(control));
	if (rc < 0)
		return rc;
	largest = 128u << (capabilities & 7);
	if (!sim->mps)
		sim->mps = largest;
	if (!sim->mrrs)
		sim->mrrs = DEFAULT_MRRS;
	if (sim->mps > largest)
		return litepcie_fail(dev, -EINVAL, "mps=%u: the board advertises %u bytes; start "
				     "it with --mps %u for more", sim->mps, largest, sim->mps);
	control &= (uint16_t)~(7u << DEVCTL_MPS_SHIFT | 7u << DEVCTL_MRRS_SHIFT);
	control |= (uint16_t)(size_code(sim->mps) << DEVCTL_MPS_SHIFT);
	control |= (uint16_t)(size_code(sim->mrrs) << DEVCTL_MRRS_SHIFT);
	if (capabilities & DEVCAP_EXTENDED_TAGS)	/* as a kernel does */
		control |= DEVCTL_EXTENDED_TAGS;
	return config_write16(sim, sim->pcie_cap + PCIE_DEVCTL, control);
}

static int enable_msi(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	unsigned int cap = sim->msi_cap;
	uint16_t control;
	int rc = config_read(sim, cap + MSI_CONTROL, &control, sizeof(control));
	bool wide = control & MSI_CONTROL_64BIT;

	if (rc == 0)
		rc = vfio_user_set_msi(&sim->vu, sim->msi);
	if (rc == 0)
		rc = config_write32(sim, cap + MSI_ADDRESS, MSI_HOST_ADDRESS);
	if (rc == 0 && wide)
		rc = config_write32(sim, cap + MSI_ADDRESS + 4, 0);
	if (rc == 0)
		rc = config_write16(sim, cap + MSI_DATA + (wide ? 4 : 0), 0);
	if (rc == 0)
		rc = config_write16(sim, cap + MSI_CONTROL, control | MSI_CONTROL_ENABLE);
	return rc;
}

/* Bring-up ------------------------------------------------------------------------------------ */

static int check_device(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint64_t size = 0;
	uint32_t id = 0;
	int rc = vfio_user_check_device(&sim->vu);

	if (rc == 0)
		rc = vfio_user_region_size(&sim->vu, VFIO_USER_BAR0, &size);
	if (rc == 0)
		rc = config_read(sim, PCI_VENDOR, &id, sizeof(id));
	if (rc < 0)
		return rc;
	if (id == UINT32_MAX)
		return litepcie_fail(dev, -EIO, "%s: configuration space reads all ones: there is "
				     "no card behind the socket", sim->path);
	if (size < LITEPCIE_CAP_OFFSET + LITEPCIE_CAP_SIZE || size > UINT32_MAX)
		return litepcie_fail(dev, -EPROTO, "%s: device %04x:%04x has a BAR0 of %llu bytes, "
				     "too small for Lanebox's gateware",
				     sim->path, id & 0xffff,
				     id >> 16, (unsigned long long)size);
	dev->bar_size[0] = size;
	for (uint32_t bar = 1; rc == 0 && bar < LITEPCIE_BARS; bar++)
		rc = vfio_user_region_size(&sim->vu, bar, &dev->bar_size[bar]);
	return rc < 0 ? rc : find_capabilities(dev);
}

static void free_memory(struct sim *sim)
{
	if (sim->memory)
		munmap(sim->memory, sim->memory_size);
	sim->memory = NULL;
}

static int no_memory(struct litepcie *dev, size_t size)
{
	return litepcie_fail(dev, -errno, "%zu bytes of DMA memory: %s", size, strerror(errno));
}

/*
 * Memory that a card can reach is there: without this each page would be found at its first use, in
 * the middle of a run. A ring of very many pages gets them as it goes.
 */
static int sim_memory(struct litepcie *dev, size_t size, uint8_t **base, uint64_t *iova)
{
	struct sim *sim = sim_of(dev);
	int fd = memfd_create("litepcie", MFD_CLOEXEC), rc = vfio_user_unmap(&sim->vu);
	int populate = size <= PREPARED_BYTES ? MAP_POPULATE : 0;
	void *memory = MAP_FAILED;

	free_memory(sim);
	if (rc == 0 && fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | populate, fd, 0);
	if (rc == 0 && memory == MAP_FAILED)
		rc = no_memory(dev, size);
	if (rc == 0) {
		sim->memory = *base = memory;
		sim->memory_size = size;
		*iova = SIM_IOVA;
		rc = vfio_user_map(&sim->vu, fd, memory, SIM_IOVA, size);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* As after power-on: the host gives it a place and its sizes, and memory space, no more. */
static int bring_up(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	uint32_t address = BAR0_ADDRESS;
	int rc = check_device(dev);

	if (rc == 0)
		rc = config_write16(sim, PCI_COMMAND, 0);
	for (unsigned int bar = 0; rc == 0 && bar < LITEPCIE_BARS; bar++) {
		if (!dev->bar_size[bar])
			continue;
		rc = config_write32(sim, PCI_BAR0 + 4 * bar, address);
		address += BAR_DISTANCE;
	}
	if (rc == 0)
		rc = set_device_control(dev);
	return rc < 0 ? rc : config_write16(sim, PCI_COMMAND, PCI_COMMAND_MEMORY);
}

/* Without bus mastering the card is made quiet, whoever had it before. */
static int sim_attach(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);
	int rc = litepcie_table_quiesce(dev);

	if (rc == 0)
		rc = enable_msi(dev);
	if (rc == 0 && !sim->memory)
		rc = litepcie_table_setup(dev, dev->buffer_size, dev->buffer_count);
	if (rc == 0)
		rc = config_write16(sim, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	return rc;
}

static int sim_reset(struct litepcie *dev)
{
	int rc = vfio_user_reset(&sim_of(dev)->vu);

	return rc < 0 ? rc : bring_up(dev);
}

/* Works on whatever has been set up; a board that has gone needs no good-bye. */
static void sim_close(struct litepcie *dev)
{
	struct sim *sim = sim_of(dev);

	if (sim->vu.fd >= 0 && sim->msi_cap) {
		if (dev->map.irq_enable)
			litepcie_put(dev, dev->map.irq_enable, 0);
		config_write16(sim, PCI_COMMAND, 0);
		config_write16(sim, sim->msi_cap + MSI_CONTROL, 0);
		vfio_user_set_msi(&sim->vu, -1);
		vfio_user_unmap(&sim->vu);
	}
	vfio_user_disconnect(&sim->vu);
	litepcie_table_free(dev);
	free_memory(sim);
	if (sim->msi >= 0)
		close(sim->msi);
	free(sim->path);
	free(sim);
}

static int sim_open(struct litepcie *dev)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	int timeout_s, rc;

	if (!sim)
		return -ENOMEM;
	dev->priv = sim;
	sim->vu.fd = -1;
	sim->msi = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sim->path = strdup(strchr(dev->name, ':') + 1);
	rc = sim->path && sim->msi >= 0 ? parse_options(dev, &timeout_s) : -ENOMEM;
	if (rc == 0)
		rc = vfio_user_connect(&sim->vu, sim->path, timeout_s);
	if (rc == 0)
		rc = bring_up(dev);
	if (rc < 0)
		sim_close(dev);
	return rc;
}

/* Accesses ------------------------------------------------------------------------------------ */

static int sim_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	return vfio_user_read(&sim_of(dev)->vu, VFIO_USER_BAR0, offset, value, sizeof(*value));
}

static int sim_read_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count)
{
	int rc = 0;

	while (rc == 0 && count) {
		size_t n = count < VFIO_USER_READS ? count : VFIO_USER_READS;

		rc = vfio_user_read_words(&sim_of(dev)->vu, VFIO_USER_BAR0, offset, words, n);
		offset += 4 * (uint32_t)n;
		words += n;
		count -= n;
	}
	return rc;
}

static int sim_post(struct litepcie *dev, const struct litepcie_post *posts, size_t count)
{
	return vfio_user_post(&sim_of(dev)->vu, posts, count);
}

static int sim_defer(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	return vfio_user_hold(&sim_of(dev)->vu, &(struct litepcie_post) { offset, 4, value });
}

static int sim_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size)
{
	return vfio_user_read(&sim_of(dev)->vu, VFIO_USER_BAR0 + bar, offset, data, size);
}

static int sim_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size)
{
	return vfio_user_write(&sim_of(dev)->vu, VFIO_USER_BAR0 + bar, offset, data, size);
}

static const char *sim_mmio_path(const struct litepcie *dev)
{
	return sim_of(dev)->vu.write_multi ? "vfio-user" : "vfio-user, one write in a message";
}

/* Interrupts ---------------------------------------------------------------------------------- */

static bool sim_gone(const struct litepcie *dev)
{
	return sim_of(dev)->vu.fd < 0;
}

static int sim_event_fd(const struct litepcie *dev)
{
	return sim_of(dev)->msi;
}

/* Sleep until the eventfd counts: 1, or the time is over: 0. What the board asks is answered. */
static int sim_sleep(struct litepcie *dev, int timeout_ms)
{
	struct sim *sim = sim_of(dev);
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	struct pollfd fds[2] = {
		{ .fd = sim->msi, .events = POLLIN },
		{ .fd = sim->vu.fd, .events = POLLIN },
	};
	uint64_t count;
	int rc = vfio_user_flush(&sim->vu), error;

	if (rc < 0)
		return rc;
	do {
		int64_t left = deadline - litepcie_now_ms();

		litepcie_unlock(dev, 0);
		rc = poll(fds, 2, left > 0 ? (int)left : 0);
		error = errno;
		litepcie_lock(dev);
		if (rc < 0)
			return litepcie_fail(dev, -error, "the wait for an interrupt: %s",
					     strerror(error));
		if (read(sim->msi, &count, sizeof(count)) == sizeof(count)) {
			dev->stats.interrupts += (int64_t)count;
			return 1;
		}
		/* What woke this one may have been another thread's answer, which is taken. */
		if (sim->vu.fd < 0 ||
		    (poll(&fds[1], 1, 0) > 0 && vfio_user_serve(&sim->vu) < 0))
			return -ENODEV;
	} while (rc > 0);
	return 0;
}

const struct litepcie_backend litepcie_sim_backend = {
	.name = "sim",
	.engine = &litepcie_table_engine,
	.open = sim_open,
	.attach = sim_attach,
	.close = sim_close,
	.readl = sim_readl,
	.read_words = sim_read_words,
	.defer = sim_defer,
	.post = sim_post,
	.bar_read = sim_bar_read,
	.bar_write = sim_bar_write,
	.mmio_path = sim_mmio_path,
	.serial = true,
	.reset = sim_reset,
	.memory = sim_memory,
	.event_fd = sim_event_fd,
	.sleep = sim_sleep,
	.gone = sim_gone,
};
