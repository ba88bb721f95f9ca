/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The "kernel" back end: LitePCIe's stock driver behind /dev/litepcieN.
 *
 * Registers go through the driver, which is sure to have the right card. Where the BAR can be
 * mapped through sysfs, MMIO goes that way, in accesses of 4 and 8 bytes and without a system call
 * for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel.h"
#include "registers.h"

int kernel_ioctl(struct litepcie *dev, unsigned long request, void *arg, const char *doing)
{
	if (ioctl(kernel_of(dev)->fd, request, arg) == 0)
		return 0;
	if (errno == ENOTTY)
		return litepcie_fail(dev, -EPROTO, "%s: %s: not a device of the LitePCIe driver",
				     dev->name, doing);
	return litepcie_fail(dev, -errno, "%s: %s: %s", dev->name, doing, strerror(errno));
}

/* Open, close --------------------------------------------------------------------------------- */

static int open_advice(struct litepcie *dev)
{
	int error = errno;

	if (error == ENOENT)
		return litepcie_fail(dev, -error, "%s: no such device; load the driver (insmod "
				     "litepcie.ko), or name a simulated board as sim:SOCKET",
				     dev->name);
	if (error == EACCES)
		return litepcie_fail(dev, -error, "%s: %s; run as root, or change the mode of the "
				     "device file", dev->name, strerror(error));
	return litepcie_fail(dev, -error, "%s: %s", dev->name, strerror(error));
}

static int open_device(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	struct stat st;

	kernel->fd = open(dev->name, O_RDWR | O_CLOEXEC);
	if (kernel->fd < 0)
		return open_advice(dev);
	if (fstat(kernel->fd, &st) < 0 || !S_ISCHR(st.st_mode))
		return litepcie_fail(dev, -ENODEV, "%s: not a device file; the LitePCIe driver "
				     "makes /dev/litepcie0, and sim:SOCKET names a simulated board",
				     dev->name);
	sysfs_map_bar(kernel, minor(st.st_rdev));
	/* The driver knows no bounds of its own: those of the gateware are kept here. */
	dev->bar_size = kernel->bar ? (uint32_t)kernel->bar_bytes : REG_MEMORY0 + MEMORY0_SIZE;
	return kernel_dma_map(dev);
}

static void kernel_close(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);

	kernel_dma_unmap(dev);
	if (kernel->bar)
		munmap(kernel->bar, kernel->bar_bytes);
	if (kernel->fd >= 0)
		close(kernel->fd);
	free(kernel);
}

static int kernel_open(struct litepcie *dev)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	int rc;

	if (!kernel)
		return -ENOMEM;
	dev->priv = kernel;
	kernel->fd = -1;
	rc = open_device(dev);
	if (rc < 0)
		kernel_close(dev);
	return rc;
}

/* MMIO ---------------------------------------------------------------------------------------- */

static int access_register(struct litepcie *dev, uint32_t offset, uint32_t *value, bool write)
{
	struct litepcie_ioctl_reg reg = {
		.addr = offset + CSR_BASE, .val = write ? *value : 0, .is_write = write,
	};
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_REG, &reg, "register access");

	*value = reg.val;
	return rc;
}

static int kernel_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	return access_register(dev, offset, value, false);
}

static int kernel_writel(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	return access_register(dev, offset, &value, true);
}

static int refuse_wide(struct litepcie *dev)
{
	return litepcie_fail(dev, -EOPNOTSUPP, "the driver makes 4-byte accesses only, and %s",
			     kernel_of(dev)->bar_why);
}

/* Volatile accesses of the exact width: the compiler may neither split nor join them. */
static int kernel_mmio_read(struct litepcie *dev, uint32_t offset, size_t size, uint64_t *value)
{
	uint8_t *bar = kernel_of(dev)->bar;
	uint32_t word = 0;
	int rc;

	if (bar && size == 8) {
		*value = *(volatile uint64_t *)(bar + offset);
		return 0;
	}
	if (bar) {
		*value = *(volatile uint32_t *)(bar + offset);
		return 0;
	}
	if (size == 8)
		return refuse_wide(dev);
	rc = access_register(dev, offset, &word, false);
	*value = word;
	return rc;
}

static int kernel_mmio_write(struct litepcie *dev, uint32_t offset, size_t size, size_t stride,
			     const uint64_t *values, size_t count)
{
	uint8_t *bar = kernel_of(dev)->bar;
	int rc = 0;

	if (!bar && size == 8)
		return refuse_wide(dev);
	for (size_t i = 0; rc == 0 && i < count; i++, offset += (uint32_t)stride) {
		uint32_t word = (uint32_t)values[i];

		if (bar && size == 8)
			*(volatile uint64_t *)(bar + offset) = values[i];
		else if (bar)
			*(volatile uint32_t *)(bar + offset) = word;
		else
			rc = access_register(dev, offset, &word, true);
	}
	return rc;
}

static const char *kernel_mmio_path(const struct litepcie *dev)
{
	return kernel_of(dev)->bar ? "bar" : "ioctl";
}

const struct litepcie_backend litepcie_kernel_backend = {
	.name = "kernel",
	.freerunning = true,
	.open = kernel_open,
	.close = kernel_close,
	.readl = kernel_readl,
	.writel = kernel_writel,
	.mmio_read = kernel_mmio_read,
	.mmio_write = kernel_mmio_write,
	.mmio_path = kernel_mmio_path,
	.dma_take = kernel_dma_take,
	.dma_give = kernel_dma_give,
	.dma_start = kernel_dma_start,
	.dma_stop = kernel_dma_stop,
	.dma_poll = kernel_dma_poll,
	.dma_wait = kernel_dma_wait,
	.c2h_release = kernel_c2h_release,
	.h2c_submit = kernel_h2c_submit,
};
