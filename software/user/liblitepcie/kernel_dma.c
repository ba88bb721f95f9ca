/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The engine of the "kernel" back end: the rings of LitePCIe's driver, or Lanebox's, mapped.
 *
 * Both put the descriptor table in "loop" mode: once enabled, the card goes round the 256
 * buffers for ever and waits for nobody. Software must stay ahead (h2c) or behind (c2h); dma.c
 * checks that and counts what was missed.
 *
 * The driver's hw_count is loop_status at the last interrupt, and in loop mode the index is that of
 * the last executed buffer, one less than their number. So of h2c every buffer below hw_count has
 * been fetched (what is in flight, at most one buffer's worth, belongs to the one after), and of
 * c2h every buffer below hw_count is in memory (a whole buffer has left the card behind it).
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel.h"

#define PARTS			8u	/* interrupts a round: DMA_BUFFER_PER_IRQ in the driver */
#define INTERRUPT_GRACE_MS	100	/* for one that may be on its way */

/* Rings --------------------------------------------------------------------------------------- */

static uint8_t *map_ring(struct litepcie *dev, uint64_t offset, uint64_t size)
{
	void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, kernel_of(dev)->fd,
			  (off_t)offset);

	if (ring == MAP_FAILED) {
		litepcie_fail(dev, -errno, "%s: the driver's DMA buffers cannot be mapped: %s",
			      dev->name, strerror(errno));
		return NULL;
	}
	return ring;
}

static void unmap_ring(struct litepcie_ring *ring, size_t *bytes)
{
	if (ring->base)
		munmap(ring->base, *bytes);
	ring->base = NULL;
	*bytes = 0;
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

/* Lanebox's driver has a page with its counts, which saves asking. */
static void map_index(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };
	void *page;

	if (ioctl(kernel->fd, LITEPCIE_IOCTL_RING_INFO, &info) < 0)
		return;
	page = mmap(NULL, sizeof(struct litepcie_index), PROT_READ, MAP_SHARED, kernel->fd,
		    (off_t)info.index_offset);
	kernel->shapes = true;
	if (page != MAP_FAILED)
		kernel->index = page;
}

int kernel_dma_map(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	struct litepcie_ioctl_mmap_dma_info rings = { 0 };
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_MMAP_DMA_INFO, &rings, "size of the DMA rings");

	if (rc == 0)
		rc = check_rings(dev, &rings);
	if (rc < 0)
		return rc;
	dev->buffer_size = rings.dma_tx_buf_size;
	dev->buffer_count = (unsigned int)rings.dma_tx_buf_count;
	kernel->h2c_bytes = kernel->c2h_bytes = dev->buffer_size * dev->buffer_count;
	dev->h2c.base = map_ring(dev, rings.dma_tx_buf_offset, kernel->h2c_bytes);
	dev->c2h.base = map_ring(dev, rings.dma_rx_buf_offset, kernel->c2h_bytes);
	map_index(dev);
	return dev->h2c.base && dev->c2h.base ? 0 : -ENOMEM;
}

void kernel_dma_unmap(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);

	unmap_ring(&dev->h2c, &kernel->h2c_bytes);
	unmap_ring(&dev->c2h, &kernel->c2h_bytes);
	if (kernel->index)
		munmap(kernel->index, sizeof(*kernel->index));
}

/* The driver takes a shape from a direction's owner, so it gets it at the start. */
static int kernel_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	if (!kernel_of(dev)->shapes && (size != dev->buffer_size || count != dev->buffer_count))
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: LitePCIe's driver has rings of %u "
				     "buffers of %zu bytes and no others; Lanebox's has any",
				     dev->name, dev->buffer_count, dev->buffer_size);
	kernel_of(dev)->shaped = true;
	dev->buffer_size = size;
	dev->buffer_count = count;
	return 0;
}

/* A direction that was given up has lost its shape: new memory, each time. */
static int shape(struct litepcie *dev, unsigned int way, struct litepcie_ring *ring, size_t *bytes)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = (uint32_t)dev->buffer_size,
		.buffer_count = dev->buffer_count,
		.buffers_per_interrupt = dev->buffer_count / PARTS,
	};
	struct litepcie_ring_info info = { .way = way };
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_RING_SETUP, &setup, "shape of a DMA ring");

	if (rc == 0)
		rc = kernel_ioctl(dev, LITEPCIE_IOCTL_RING_INFO, &info, "shape of a DMA ring");
	if (rc < 0)
		return rc;
	unmap_ring(ring, bytes);
	ring->base = map_ring(dev, info.ring_offset, info.ring_bytes);
	*bytes = info.ring_bytes;
	return ring->base ? 0 : -ENOMEM;
}

static int shape_all(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int rc = 0;

	if (kernel->shaped && dev->h2c.active)
		rc = shape(dev, LITEPCIE_WAY_H2C, &dev->h2c, &kernel->h2c_bytes);
	if (rc == 0 && kernel->shaped && dev->c2h.active)
		rc = shape(dev, LITEPCIE_WAY_C2H, &dev->c2h, &kernel->c2h_bytes);
	return rc;
}

/* Event --------------------------------------------------------------------------------------- */

static int watch(struct litepcie *dev, unsigned int way, int fd)
{
	struct litepcie_event event = { .way = way, .fd = fd };

	return kernel_ioctl(dev, LITEPCIE_IOCTL_EVENT, &event, "DMA event");
}

static int kernel_event_fd(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int rc = 0;

	if (!kernel->shapes)
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: LitePCIe's driver signals no event: "
				     "use litepcie_dma_wait(), or Lanebox's driver", dev->name);
	if (!dev->h2c.active && !dev->c2h.active)
		return litepcie_fail(dev, -EINVAL, "no direction is running: start it first");
	if (kernel->event < 0)
		kernel->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kernel->event < 0)
		return litepcie_fail(dev, -errno, "eventfd: %s", strerror(errno));
	if (dev->h2c.active)
		rc = watch(dev, LITEPCIE_WAY_H2C, kernel->event);
	if (rc == 0 && dev->c2h.active)
		rc = watch(dev, LITEPCIE_WAY_C2H, kernel->event);
	return rc < 0 ? rc : kernel->event;
}

/* Whoever looks at the counts has heard. */
static void clear_event(const struct kernel *kernel)
{
	uint64_t count;

	if (kernel->event >= 0 && read(kernel->event, &count, sizeof(count)) < 0)
		return;	/* there was none */
}

/* Start, stop --------------------------------------------------------------------------------- */

static int kernel_give(struct litepcie *dev)
{
	struct litepcie_ioctl_lock unlock = {
		.dma_reader_release = dev->h2c.active, .dma_writer_release = dev->c2h.active,
	};

	return kernel_ioctl(dev, LITEPCIE_IOCTL_LOCK, &unlock, "DMA unlock");
}

static int kernel_take(struct litepcie *dev)
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
		return litepcie_fail(dev, -EBUSY,
				     "%s: another process runs %s; let it finish first", dev->name,
				     lock.dma_reader_status ? "c2h" : "h2c");
	}
	rc = shape_all(dev);
	if (rc < 0)
		kernel_give(dev);
	return rc;
}

static int set_direction(struct litepcie *dev, unsigned long request, bool enable)
{
	struct litepcie_ioctl_dma_writer direction = { .enable = enable };

	return kernel_ioctl(dev, request, &direction, enable ? "DMA start" : "DMA stop");
}

static int set_loopback(struct litepcie *dev, bool enable)
{
	struct litepcie_ioctl_dma loopback = { .loopback_enable = enable };

	return kernel_ioctl(dev, LITEPCIE_IOCTL_DMA, &loopback, "DMA loopback");
}

static int kernel_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	struct kernel *kernel = kernel_of(dev);
	int rc;

	kernel->h2c_enabled = false;
	kernel->interrupts_before = procfs_interrupts();
	rc = set_loopback(dev, config->loopback);
	if (rc == 0 && dev->c2h.active)
		rc = set_direction(dev, LITEPCIE_IOCTL_DMA_WRITER, true);
	return rc;
}

static int kernel_stop(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int64_t now = procfs_interrupts();
	int rc = 0;

	if (now >= 0 && kernel->interrupts_before >= 0)
		dev->stats.interrupts = now - kernel->interrupts_before;
	if (dev->h2c.active && kernel->h2c_enabled)
		rc = set_direction(dev, LITEPCIE_IOCTL_DMA_READER, false);
	if (dev->c2h.active && rc == 0)
		rc = set_direction(dev, LITEPCIE_IOCTL_DMA_WRITER, false);
	return rc < 0 ? rc : set_loopback(dev, false);
}

/* Counts -------------------------------------------------------------------------------------- */

/* The driver's counts come with the ioctl that also enables: the state is repeated as it is. */
static int read_count(struct litepcie *dev, unsigned long request, bool enabled, uint64_t *count)
{
	struct litepcie_ioctl_dma_writer direction = { .enable = enabled };
	const struct litepcie_index *index = kernel_of(dev)->index;
	unsigned int way = request == LITEPCIE_IOCTL_DMA_READER ? LITEPCIE_WAY_H2C :
								  LITEPCIE_WAY_C2H;
	int rc;

	if (index && __atomic_load_n(&index->way[way].running, __ATOMIC_ACQUIRE)) {
		*count = __atomic_load_n(&index->way[way].hardware, __ATOMIC_ACQUIRE);
		return 0;
	}
	rc = kernel_ioctl(dev, request, &direction, "DMA counts");

	if (rc == 0)
		*count = (uint64_t)direction.hw_count;
	return rc;
}

static void advance(struct litepcie_ring *ring, uint64_t count)
{
	if (count > ring->hw)
		ring->hw = count;
}

static int kernel_poll(struct litepcie *dev)
{
	uint64_t count;
	int rc = 0;

	clear_event(kernel_of(dev));
	if (dev->h2c.active && kernel_of(dev)->h2c_enabled) {
		rc = read_count(dev, LITEPCIE_IOCTL_DMA_READER, true, &count);
		if (rc == 0)
			advance(&dev->h2c, count);
	}
	if (rc == 0 && dev->c2h.active) {
		rc = read_count(dev, LITEPCIE_IOCTL_DMA_WRITER, true, &count);
		if (rc == 0)
			advance(&dev->c2h, count);
	}
	return rc;
}

/*
 * The card's own count in loop mode: index and rounds, 24 bits of buffers, carried on from what is
 * known. Used only when the driver's count stands still.
 */
static int read_card(struct litepcie *dev, const struct litepcie_dma_registers *registers,
		     uint64_t known, uint64_t *count)
{
	uint64_t low, period = (uint64_t)dev->buffer_count << 16;
	uint32_t status = 0;
	int rc = litepcie_get(dev, registers->loop_status, &status);

	low = (uint64_t)(status >> 16) * dev->buffer_count + (status & 0xffff);
	*count = known - known % period + low;
	if (*count < known)
		*count += period;
	return rc;
}

/* Interrupts ---------------------------------------------------------------------------------- */

/*
 * The driver wakes a reader when hw_count - sw_count > 2 and a writer when sw_count - hw_count is
 * less than half the ring, and uses sw_count for nothing else that is used here. So it is set such
 * that both mean news: more than what is known now. The true count would spin: the ring is writable
 * for as long as half of it is free.
 */
static int ask_for_news(struct litepcie *dev, unsigned int directions)
{
	struct litepcie_ioctl_mmap_dma_update c2h = { .sw_count = (int64_t)dev->c2h.hw };
	struct litepcie_ioctl_mmap_dma_update h2c = {
		.sw_count = (int64_t)dev->h2c.hw + dev->buffer_count / 2,
	};
	int rc = 0;

	if (directions & LITEPCIE_C2H)
		rc = kernel_ioctl(dev, LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE, &c2h, "DMA software count");
	if (rc == 0 && directions & LITEPCIE_H2C)
		rc = kernel_ioctl(dev, LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE, &h2c, "DMA software count");
	return rc;
}

static int sleep_for_news(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	struct pollfd fd = {
		.fd = kernel_of(dev)->fd,
		.events = (directions & LITEPCIE_C2H ? POLLIN : 0) |
			  (directions & LITEPCIE_H2C ? POLLOUT : 0),
	};
	int rc, error;

	litepcie_unlock(dev, 0);
	rc = poll(&fd, 1, timeout_ms);
	error = errno;
	litepcie_lock(dev);
	if (rc < 0)
		return litepcie_fail(dev, -error, "the wait for an interrupt: %s", strerror(error));
	return rc;
}

/*
 * No wake-up within the time. If the card has passed a buffer that raises an interrupt, and none
 * comes in a while more, it was lost: go on with the card's count, and tell.
 */
static int look_for_lost(struct litepcie *dev, unsigned int direction, struct litepcie_ring *ring,
			 const struct litepcie_dma_registers *registers)
{
	uint64_t count = 0;
	int rc = read_card(dev, registers, ring->hw, &count);

	if (rc < 0 || count - ring->hw <= dev->buffer_count / PARTS)
		return rc;
	rc = sleep_for_news(dev, direction, INTERRUPT_GRACE_MS);
	if (rc)
		return rc;
	dev->stats.interrupts_missed++;
	advance(ring, count);
	return 0;
}

static int kernel_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc;

	if (!kernel_of(dev)->h2c_enabled)
		directions &= ~LITEPCIE_H2C;
	rc = ask_for_news(dev, directions);
	if (rc == 0)
		rc = sleep_for_news(dev, directions, timeout_ms);
	if (rc == 0 && directions & LITEPCIE_C2H)
		rc = look_for_lost(dev, LITEPCIE_C2H, &dev->c2h, &dev->map.c2h);
	if (rc == 0 && directions & LITEPCIE_H2C)
		rc = look_for_lost(dev, LITEPCIE_H2C, &dev->h2c, &dev->map.h2c);
	return rc;
}

/* Ring ---------------------------------------------------------------------------------------- */

/* Nobody need be told: the card goes round in any case. */
static int kernel_c2h_release(struct litepcie *dev)
{
	(void)dev;
	return 0;
}

static int kernel_h2c_submit(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int rc = 0;

	if (!kernel->h2c_enabled)
		rc = set_direction(dev, LITEPCIE_IOCTL_DMA_READER, true);
	if (rc == 0)
		kernel->h2c_enabled = true;
	return rc;
}

const struct litepcie_engine litepcie_kernel_engine = {
	.freerunning = true,
	.take = kernel_take,
	.give = kernel_give,
	.start = kernel_start,
	.stop = kernel_stop,
	.poll = kernel_poll,
	.wait = kernel_wait,
	.c2h_release = kernel_c2h_release,
	.h2c_submit = kernel_h2c_submit,
	.setup = kernel_setup,
	.event_fd = kernel_event_fd,
};
