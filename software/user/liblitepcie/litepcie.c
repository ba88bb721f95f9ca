/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The handle: opening, errors, and single accesses to BAR0. What the registers mean is in card.c,
 * the DMA in dma.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "registers.h"

#define SIM_PREFIX	"sim:"

int litepcie_fail(struct litepcie *dev, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(dev->why, sizeof(dev->why), format, args);
	va_end(args);
	return error;
}

int64_t litepcie_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Device -------------------------------------------------------------------------------------- */

/* A card that has gone, or is being reset, reads all ones: no text begins with such a character. */
static int check_alive(struct litepcie *dev)
{
	uint32_t word;
	int rc = litepcie_readl(dev, REG_IDENTIFIER, &word);

	if (rc == 0 && word == UINT32_MAX)
		return litepcie_fail(dev, -EIO, "%s: the identifier reads all ones: the card does "
				     "not answer; reset it, or start the board again", dev->name);
	return rc;
}

static int open_backend(struct litepcie *dev)
{
	int rc;

	if (strncmp(dev->name, SIM_PREFIX, strlen(SIM_PREFIX)) == 0)
		dev->backend = &litepcie_sim_backend;
	else
		dev->backend = &litepcie_kernel_backend;

	rc = dev->backend->open(dev);
	if (rc < 0)
		return rc;
	rc = check_alive(dev);
	if (rc < 0)
		dev->backend->close(dev);
	return rc;
}

static void free_handle(struct litepcie *dev)
{
	free(dev->name);
	free(dev);
}

int litepcie_open(struct litepcie **result, const char *name, char *why)
{
	struct litepcie *dev = calloc(1, sizeof(*dev));
	int rc = -ENOMEM;

	*result = NULL;
	if (dev)
		dev->name = strdup(name);
	if (dev && dev->name)
		rc = open_backend(dev);
	if (rc == 0) {
		*result = dev;
		return 0;
	}

	if (why)
		snprintf(why, LITEPCIE_WHY_SIZE, "%s",
			 dev && dev->why[0] ? dev->why : litepcie_strerror(rc));
	if (dev)
		free_handle(dev);
	return rc;
}

void litepcie_close(struct litepcie *dev)
{
	if (!dev)
		return;
	litepcie_dma_stop(dev);
	dev->backend->close(dev);
	free_handle(dev);
}

const char *litepcie_name(const struct litepcie *dev)
{
	return dev->name;
}

const char *litepcie_backend(const struct litepcie *dev)
{
	return dev->backend->name;
}

/* Errors -------------------------------------------------------------------------------------- */

const char *litepcie_why(const struct litepcie *dev)
{
	return dev->why;
}

const char *litepcie_strerror(int error)
{
	switch (abs(error)) {
	case ENODEV:
		return "the card is gone";
	case EIO:
		return "the card does not answer, or answers with all ones";
	case ETIMEDOUT:
		return "nothing came in time";
	case EBUSY:
		return "this DMA direction belongs to somebody else";
	case EPROTO:
		return "the peer does not speak the protocol";
	case EOPNOTSUPP:
		return "this back end cannot make this access";
	case EOVERFLOW:
		return "the card was faster than the software: data may be overwritten";
	default:
		return strerror(abs(error));
	}
}

/* Accesses ------------------------------------------------------------------------------------ */

static int check_access(struct litepcie *dev, uint32_t offset, size_t size, size_t reach)
{
	if (size != 4 && size != 8)
		return litepcie_fail(dev, -EINVAL, "an access of %zu bytes: it must be 4 or 8",
				     size);
	if (offset % size || reach % size)
		return litepcie_fail(dev, -EINVAL, "an access of %zu bytes at BAR0 + 0x%zx is not "
				     "aligned", size, offset + (reach % size));
	if (reach > dev->bar_size || offset + reach > dev->bar_size)
		return litepcie_fail(dev, -EINVAL, "%zu bytes at BAR0 + 0x%x lie beyond its end at "
				     "0x%x", reach, offset, dev->bar_size);
	return 0;
}

int litepcie_mmio_read(struct litepcie *dev, uint32_t offset, size_t size, uint64_t *value)
{
	int rc = check_access(dev, offset, size, size);

	return rc < 0 ? rc : dev->backend->mmio_read(dev, offset, size, value);
}

int litepcie_mmio_write_burst(struct litepcie *dev, uint32_t offset, size_t size, size_t stride,
			      const uint64_t *values, size_t count)
{
	int rc;

	if (!count)
		return 0;
	if (count > dev->bar_size || stride > dev->bar_size)
		return litepcie_fail(dev, -EINVAL, "%zu writes 0x%zx bytes apart do not fit into "
				     "BAR0, which has 0x%x", count, stride, dev->bar_size);
	rc = check_access(dev, offset, size, stride * (count - 1) + size);
	return rc < 0 ? rc : dev->backend->mmio_write(dev, offset, size, stride, values, count);
}

int litepcie_mmio_write(struct litepcie *dev, uint32_t offset, size_t size, uint64_t value)
{
	return litepcie_mmio_write_burst(dev, offset, size, 0, &value, 1);
}

const char *litepcie_mmio_path(const struct litepcie *dev)
{
	return dev->backend->mmio_path(dev);
}

int litepcie_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	int rc = check_access(dev, offset, 4, 4);

	return rc < 0 ? rc : dev->backend->readl(dev, offset, value);
}

int litepcie_writel(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	int rc = check_access(dev, offset, 4, 4);

	return rc < 0 ? rc : dev->backend->writel(dev, offset, value);
}

/* LiteX puts the upper half first. A count that carries between the two reads is read again. */
int litepcie_readq(struct litepcie *dev, uint32_t offset, uint64_t *value)
{
	uint32_t before, high, low;
	int rc = litepcie_readl(dev, offset, &high);

	do {
		before = high;
		if (rc == 0)
			rc = litepcie_readl(dev, offset + 4, &low);
		if (rc == 0)
			rc = litepcie_readl(dev, offset, &high);
	} while (rc == 0 && high != before);
	if (rc == 0)
		*value = (uint64_t)high << 32 | low;
	return rc;
}
