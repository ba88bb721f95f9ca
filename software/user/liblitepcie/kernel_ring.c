/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The driver's rings: who has them, their shape, and their memory in this process.
 *
 * Behind Lanebox's driver a ring belongs to the program that has its direction, so it is mapped at
 * each start and never before: another program may have rings of any shape there, or in its own
 * memory. A handle that is only open looks at registers. LitePCIe's driver has two rings for all,
 * which stay where they are; they are mapped once.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kernel.h"

/* Memory -------------------------------------------------------------------------------------- */

static void unmap_ring(struct litepcie_ring *ring)
{
	litepcie_ring_drop(ring->memory);
	ring->memory = NULL;
	ring->base = NULL;
}

static int map_ring(struct litepcie *dev, struct litepcie_ring *ring, uint64_t offset,
		    uint64_t size)
{
	void *base;

	unmap_ring(ring);
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, kernel_of(dev)->fd,
		    (off_t)offset);
	if (base == MAP_FAILED)
		return litepcie_fail(dev, -errno, "%s: the driver's DMA buffers cannot be mapped: "
				     "%s", dev->name, strerror(errno));
	ring->memory = litepcie_memory_new(dev, base, size);
	if (!ring->memory)
		return -ENOMEM;
	ring->base = base;
	return 0;
}

static int check_rings(struct litepcie *dev, const struct litepcie_ioctl_mmap_dma_info *rings)
{
	if (rings->dma_tx_buf_size == rings->dma_rx_buf_size &&
	    rings->dma_tx_buf_count == rings->dma_rx_buf_count &&
	    rings->dma_tx_buf_size && rings->dma_tx_buf_count >= LITEPCIE_BUFFERS_FEWEST)
		return 0;
	return litepcie_fail(dev, -EPROTO, "%s: rings of %llu x %llu (h2c) and %llu x %llu bytes "
			     "(c2h); they must be equal, of %u buffers or more", dev->name,
			     (unsigned long long)rings->dma_tx_buf_count,
			     (unsigned long long)rings->dma_tx_buf_size,
			     (unsigned long long)rings->dma_rx_buf_count,
			     (unsigned long long)rings->dma_rx_buf_size, LITEPCIE_BUFFERS_FEWEST);
}

static int map_stock_rings(struct litepcie *dev, const struct litepcie_ioctl_mmap_dma_info *rings)
{
	uint64_t bytes = rings->dma_tx_buf_size * rings->dma_tx_buf_count;
	int rc = check_rings(dev, rings);

	if (rc < 0)
		return rc;
	dev->buffer_size = rings->dma_tx_buf_size;
	dev->buffer_count = (unsigned int)rings->dma_tx_buf_count;
	rc = map_ring(dev, &dev->h2c, rings->dma_tx_buf_offset, bytes);
	return rc < 0 ? rc : map_ring(dev, &dev->c2h, rings->dma_rx_buf_offset, bytes);
}

/* Lanebox's driver has a page with its counts, which saves asking. */
static void map_index(struct litepcie *dev, uint64_t offset)
{
	struct kernel *kernel = kernel_of(dev);
	void *page = mmap(NULL, sizeof(struct litepcie_index), PROT_READ, MAP_SHARED, kernel->fd,
			  (off_t)offset);

	if (page != MAP_FAILED)
		kernel->index = page;
}

int kernel_dma_map(struct litepcie *dev)
{
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };
	struct litepcie_ioctl_mmap_dma_info rings = { 0 };
	struct kernel *kernel = kernel_of(dev);
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_MMAP_DMA_INFO, &rings, "size of the DMA rings");

	if (rc < 0)
		return rc;
	rc = ioctl(kernel->fd, LITEPCIE_IOCTL_RING_INFO, &info);
	kernel->shapes = rc == 0 || errno != ENOTTY;
	if (!kernel->shapes)
		return map_stock_rings(dev, &rings);
	if (rc == 0)
		map_index(dev, info.index_offset);
	return 0;
}

void kernel_dma_unmap(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);

	unmap_ring(&dev->h2c);
	unmap_ring(&dev->c2h);
	if (kernel->index)
		munmap(kernel->index, sizeof(*kernel->index));
}

/* Shape --------------------------------------------------------------------------------------- */

/* The driver takes a shape from a direction's owner, so it gets it at the start. */
int kernel_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	if (!kernel_of(dev)->shapes && (size != dev->buffer_size || count != dev->buffer_count))
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: LitePCIe's driver has rings of %u "
				     "buffers of %zu bytes and no others; Lanebox's has any",
				     dev->name, dev->buffer_count, dev->buffer_size);
	dev->buffer_size = size;
	dev->buffer_count = count;
	return 0;
}

static bool has_shape(const struct litepcie *dev, const struct litepcie_ring_setup *setup)
{
	return setup->buffer_size == dev->buffer_size && setup->buffer_count == dev->buffer_count &&
	       setup->buffers_per_interrupt == dev->buffer_count / KERNEL_PARTS &&
	       setup->mode == LITEPCIE_MODE_INTERRUPT && !setup->flags;
}

static int set_shape(struct litepcie *dev, unsigned int way)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = (uint32_t)dev->buffer_size,
		.buffer_count = dev->buffer_count,
		.buffers_per_interrupt = dev->buffer_count / KERNEL_PARTS,
	};

	return kernel_ioctl(dev, LITEPCIE_IOCTL_RING_SETUP, &setup, "shape of a DMA ring");
}

/*
 * The ring of a direction that has just become this handle's. The program that had it before may
 * have left another one than was there when this handle ran the last time.
 */
static int prepare(struct litepcie *dev, unsigned int way, struct litepcie_ring *ring)
{
	struct litepcie_ring_info info = { .way = way };
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_RING_INFO, &info, "shape of a DMA ring");

	if (rc == 0 && !has_shape(dev, &info.setup)) {
		rc = set_shape(dev, way);
		info = (struct litepcie_ring_info) { .way = way };
		if (rc == 0)
			rc = kernel_ioctl(dev, LITEPCIE_IOCTL_RING_INFO, &info, "shape of a DMA ring");
	}
	return rc < 0 ? rc : map_ring(dev, ring, info.ring_offset, info.ring_bytes);
}

static int prepare_all(struct litepcie *dev)
{
	int rc = 0;

	if (!kernel_of(dev)->shapes)
		return 0;
	if (dev->h2c.active)
		rc = prepare(dev, LITEPCIE_WAY_H2C, &dev->h2c);
	if (rc == 0 && dev->c2h.active)
		rc = prepare(dev, LITEPCIE_WAY_C2H, &dev->c2h);
	return rc;
}

/* Take, give ---------------------------------------------------------------------------------- */

int kernel_give(struct litepcie *dev)
{
	struct litepcie_ioctl_lock unlock = {
		.dma_reader_release = dev->h2c.active, .dma_writer_release = dev->c2h.active,
	};

	return kernel_ioctl(dev, LITEPCIE_IOCTL_LOCK, &unlock, "DMA unlock");
}

static int busy(struct litepcie *dev, const char *direction)
{
	char users[LITEPCIE_WHY_SIZE / 2];

	kernel_users(dev, users, sizeof(users));
	return litepcie_fail(dev, -EBUSY, "%s: %s is in use; the device is open in %s: let it finish "
			     "first", dev->name, direction, users);
}

int kernel_take(struct litepcie *dev)
{
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = dev->h2c.active, .dma_writer_request = dev->c2h.active,
	};
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_LOCK, &lock, "DMA lock");

	if (rc < 0)
		return rc;
	if ((dev->h2c.active && !lock.dma_reader_status) ||
	    (dev->c2h.active && !lock.dma_writer_status)) {
		/* Give back the one that was taken, and only that: it is this user's. */
		struct litepcie_ioctl_lock release = {
			.dma_reader_release = dev->h2c.active && lock.dma_reader_status,
			.dma_writer_release = dev->c2h.active && lock.dma_writer_status,
		};

		kernel_ioctl(dev, LITEPCIE_IOCTL_LOCK, &release, "DMA unlock");
		return busy(dev, dev->h2c.active && !lock.dma_reader_status ? "h2c" : "c2h");
	}
	rc = prepare_all(dev);
	if (rc < 0)
		kernel_give(dev);
	return rc;
}
