/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The "kernel" back end: it reaches a card through /dev/litepcieN of Lanebox's driver. With
 * LitePCIe's driver only BAR0 can be reached, and no stream can be opened.
 *
 * The library's own register accesses, and those of litepcie_readl() and the calls next to it, are
 * ioctl()s of the driver, so they reach the opened card for certain. litepcie_bar_read(),
 * litepcie_bar_write() and litepcie_bar_write_burst() use the mapping of the BAR without a system
 * call for each access. If the mapping of BAR0 does not allow the access, an access of 4 bytes is
 * an ioctl(), and any other is refused.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel.h"

/* Opening and closing the card ---------------------------------------------------------------- */

static int open_advice(struct litepcie *dev)
{
	int error = errno;

	if (error == ENOENT)
		return litepcie_fail(-error, "%s: no such device; load the driver (insmod "
				     "litepcie.ko), or name a simulated board as sim:SOCKET",
				     dev->name);
	if (error == EACCES)
		return litepcie_fail(-error, "%s: %s; run as root, or change the mode of the "
				     "device file", dev->name, strerror(error));
	return litepcie_fail_errno(error, "%s", dev->name);
}

static int open_device(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	struct stat st;

	kernel->fd = open(dev->name, O_RDWR | O_CLOEXEC);
	if (kernel->fd < 0)
		return open_advice(dev);
	if (fstat(kernel->fd, &st) < 0 || !S_ISCHR(st.st_mode))
		return litepcie_fail(-ENODEV, "%s: not a device file; the LitePCIe driver makes "
				     "/dev/litepcie0, and sim:SOCKET names a simulated board",
				     dev->name);
	kernel->minor = minor(st.st_rdev);
	kernel_map_bars(dev);
	dev->mmio_path = dev->bar[0].base ? "bar" : "ioctl";
	return kernel_dma_map(dev);
}

static void kernel_close(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);

	kernel_dma_unmap(dev);
	kernel_unmap_bars(dev);
	if (kernel->event >= 0)
		close(kernel->event);
	if (kernel->user >= 0)
		close(kernel->user);
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
	kernel->fd = kernel->event = kernel->user = -1;
	kernel->interrupts_before[LITEPCIE_WAY_H2C] = -1;
	kernel->interrupts_before[LITEPCIE_WAY_C2H] = -1;
	rc = open_device(dev);
	if (rc < 0)
		kernel_close(dev);
	return rc;
}

/* Register and BAR accesses ------------------------------------------------------------------ */

static int access_register(struct litepcie *dev, uint32_t offset, uint32_t *value, bool write)
{
	struct litepcie_ioctl_reg reg = {
		.addr = offset, .val = write ? *value : 0, .is_write = write,
	};
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_REG, &reg, "register access");

	*value = reg.val;
	return rc;
}

static int kernel_read_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = access_register(dev, offset + 4 * (uint32_t)i, &words[i], false);
	return rc;
}

static int refuse(struct litepcie *dev)
{
	return litepcie_fail(-EOPNOTSUPP, "the driver makes 4-byte accesses to BAR0 only, and %s",
			     dev->bar_why);
}

static int kernel_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset,
			    const void *data, size_t size)
{
	uint32_t word;

	if (kernel_bar_writable(dev, bar, offset))
		return litepcie_store(litepcie_bar_place(dev, bar, offset), data, size);
	if (bar || size != 4)
		return refuse(dev);
	memcpy(&word, data, sizeof(word));
	return access_register(dev, (uint32_t)offset, &word, true);
}

/*
 * Write registers of BAR0. With LITEPCIE_POST_PROGRAM the writes are stores to the mapping, if the
 * page is mapped for writing. All other writes are ioctl()s, at which Lanebox's driver checks
 * whether this user may write to the register.
 */
static int kernel_post(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		       enum litepcie_post_by by)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		uint32_t value = (uint32_t)posts[i].value;

		if (by == LITEPCIE_POST_PROGRAM)
			rc = kernel_bar_write(dev, 0, posts[i].offset, &posts[i].value, posts[i].size);
		else
			rc = access_register(dev, (uint32_t)posts[i].offset, &value, true);
	}
	return rc;
}

static int kernel_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			   size_t size)
{
	uint32_t word = 0;
	int rc;

	if (bar || size != 4)
		return refuse(dev);
	rc = access_register(dev, (uint32_t)offset, &word, false);
	memcpy(data, &word, sizeof(word));
	return rc;
}

const struct litepcie_backend litepcie_kernel_backend = {
	.name = "kernel",
	.channel = &litepcie_kernel_channel,
	.open = kernel_open,
	.close = kernel_close,
	.read_words = kernel_read_words,
	.post = kernel_post,
	.bar_read = kernel_bar_read,
	.bar_write = kernel_bar_write,
	.reset = sysfs_reset,
	.capture = &litepcie_kernel_capture,
	.sleep = kernel_sleep,
	.merges = true,
};
