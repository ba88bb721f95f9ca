/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The engine of the "kernel" back end: runs over the rings of LitePCIe's driver, or Lanebox's.
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
#include <unistd.h>

#include "kernel.h"

#define INTERRUPT_GRACE_MS	100	/* for one that may be on its way */

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
	kernel->counts = sysfs_interrupts(dev) >= 0 ? sysfs_interrupts : procfs_interrupts;
	kernel->interrupts_before = kernel->counts(dev);
	rc = set_loopback(dev, config->loopback);
	if (rc == 0 && dev->c2h.active)
		rc = set_direction(dev, LITEPCIE_IOCTL_DMA_WRITER, true);
	return rc;
}

static int kernel_stop(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int64_t before = kernel->interrupts_before, now;
	int rc = 0;

	if (before >= 0) {	/* else it was not started, or cannot be known */
		now = kernel->counts(dev);
		dev->stats.interrupts = now >= 0 ? now - before : -1;
	}
	kernel->interrupts_before = -1;
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
 * known. Used only when the driver's count stands still. A card that is gone reads all ones, whose
 * index lies outside of every ring.
 */
static int read_card(struct litepcie *dev, const struct litepcie_dma_registers *registers,
		     uint64_t known, uint64_t *count)
{
	uint64_t low, period = (uint64_t)dev->buffer_count << 16;
	uint32_t status = 0;
	int rc = litepcie_get(dev, registers->loop_status, &status);

	if (rc < 0)
		return rc;
	if ((status & 0xffff) >= dev->buffer_count)
		return litepcie_fail(dev, -EIO, "the card says it is at buffer %u of a ring of %u "
				     "(loop_status 0x%08x); it is gone, or has lost its state",
				     status & 0xffff, dev->buffer_count, status);
	low = (uint64_t)(status >> 16) * dev->buffer_count + (status & 0xffff);
	*count = known - known % period + low;
	if (*count < known)
		*count += period;
	return 0;
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
	unsigned int stops = dev->stops;
	uint64_t count = 0;
	int rc = read_card(dev, registers, ring->hw, &count);

	if (rc < 0 || count - ring->hw <= dev->buffer_count / KERNEL_PARTS)
		return rc;
	rc = sleep_for_news(dev, direction, INTERRUPT_GRACE_MS);
	if (rc || dev->stops != stops)
		return rc;
	dev->stats.interrupts_missed++;
	advance(ring, count);
	return 0;
}

static int kernel_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	unsigned int stops = dev->stops;
	int rc;

	if (!kernel_of(dev)->h2c_enabled)
		directions &= ~LITEPCIE_H2C;
	rc = ask_for_news(dev, directions);
	if (rc == 0)
		rc = sleep_for_news(dev, directions, timeout_ms);
	/* Of a direction that was stopped meanwhile the card's count says nothing. */
	if (rc == 0 && dev->stops == stops && directions & LITEPCIE_C2H)
		rc = look_for_lost(dev, LITEPCIE_C2H, &dev->c2h, &dev->map.c2h);
	if (rc == 0 && dev->stops == stops && directions & LITEPCIE_H2C)
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
