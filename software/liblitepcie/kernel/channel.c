/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The DMA channel of the "kernel" back end: held runs of Lanebox's driver, in which the card waits
 * for buffers. An ioctl ADVANCE hands over any number of buffers. counts.c reads what the card has
 * done with them.
 */
#include <stdio.h>
#include <time.h>

#include "kernel.h"

/* time in ms from one read of the driver's counts of interrupts to the next, in kernel_sleep() */
#define GRACE_STEP_MS	10

/* Interrupts, by the driver's own count ------------------------------------------------------- */

/*
 * Returns the number of interrupts of the running streams since their starts, or -1 if the driver
 * does not tell their number.
 */
static int64_t interrupts(struct litepcie *dev)
{
	struct litepcie_stream *const streams[] = { &dev->h2c, &dev->c2h };
	int64_t all = 0;

	for (unsigned int i = 0; i < 2; i++) {
		int64_t before = kernel_of(dev)->interrupts_before[kernel_way(streams[i])];
		int64_t now = streams[i]->active ? sysfs_interrupts(streams[i]) : 0;

		if (streams[i]->active && (before < 0 || now < 0))
			return -1;
		all += streams[i]->active ? now - before : 0;
	}
	return all;
}

static bool count_interrupts(struct litepcie *dev)
{
	int64_t before = dev->stats.interrupts, now = interrupts(dev);

	if (now < 0 || !litepcie_runs(dev, LITEPCIE_H2C | LITEPCIE_C2H))
		return false;
	dev->stats.interrupts = kernel_of(dev)->interrupts_ended + now;
	return dev->stats.interrupts > before;
}

int kernel_sleep(struct litepcie *dev, int timeout_ms)
{
	const struct timespec step = { .tv_nsec = GRACE_STEP_MS * 1000000L };
	int64_t deadline = litepcie_deadline(timeout_ms);

	while (!count_interrupts(dev)) {
		if (litepcie_now_ms() >= deadline)
			return 0;
		litepcie_unlock(dev);
		nanosleep(&step, NULL);
		litepcie_lock(dev);
	}
	return 1;
}

/* Handing buffers to the driver --------------------------------------------------------------- */

static int advance(const struct litepcie_stream *stream, uint64_t count, const uint32_t *lengths,
		   bool notify)
{
	struct litepcie_advance advance = {
		.way = kernel_way(stream), .count = (uint32_t)count,
		.lengths = (uintptr_t)lengths, .flags = notify ? LITEPCIE_ADVANCE_NOTIFY : 0,
	};
	char doing[32];
	int rc;

	snprintf(doing, sizeof(doing), "%s buffers", stream->name);
	rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_ADVANCE, &advance, doing);
	return rc == -EIO || rc == -ENODEV ? kernel_stopped_by(stream, rc) : rc;
}

/*
 * Hand @count buffers from number @first on to the driver. The driver itself makes every
 * interrupt_every-th buffer raise an interrupt, and the last buffer of an ioctl ADVANCE that has
 * the flag LITEPCIE_ADVANCE_NOTIFY. In poll mode (poll_us without adaptive) no buffer raises one.
 */
static int kernel_post(struct litepcie_stream *stream, uint64_t first, uint64_t count)
{
	uint64_t buffers = stream->options.buffer_count, mask = buffers - 1, slot = first & mask;
	uint64_t round = buffers - slot;
	bool notify = stream->asks[(first + count - 1) & mask];
	const uint32_t *lengths = stream->uneven ? stream->lengths : NULL;
	int rc = 0;

	/*
	 * stream->lengths has an entry for each buffer of the ring. If the buffers go on at the
	 * beginning of the ring, so do their lengths, which takes a second ioctl ADVANCE.
	 */
	if (lengths && count > round) {
		rc = advance(stream, round, lengths + slot, false);
		count -= round;
		slot = 0;
	}
	return rc < 0 ? rc : advance(stream, count, lengths ? lengths + slot : NULL, notify);
}

/* Start and stop of a stream ------------------------------------------------------------------ */

/*
 * The ring is made at each start, and not at the open: until the start another program may use the
 * direction with a ring of another size.
 */
static int kernel_setup(struct litepcie_stream *stream)
{
	return kernel_check_held(stream->dev);
}

static int set_loopback(struct litepcie *dev, bool enable)
{
	struct litepcie_ioctl_dma loopback = { .loopback_enable = enable };

	return kernel_ioctl(dev, LITEPCIE_IOCTL_DMA, &loopback, "DMA loopback");
}

/* Switch packets on or off in the driver for this run. Without this feature they are always off. */
static int set_packets(const struct litepcie_stream *stream)
{
	struct litepcie_packets packets = {
		.way = kernel_way(stream),
		.flags = stream->options.packets ? LITEPCIE_PACKETS_ON : 0,
		.flush_us = stream->options.flush_us,
	};

	if (!(stream->dev->able & LITEPCIE_HAS_PACKETS))
		return 0;
	return kernel_ioctl(stream->dev, LITEPCIE_IOCTL_PACKETS, &packets, "packets of a stream");
}

static int kernel_start(struct litepcie_stream *stream)
{
	struct kernel *kernel = kernel_of(stream->dev);
	int64_t before = sysfs_interrupts(stream);
	int rc = set_packets(stream);

	kernel->interrupts_before[kernel_way(stream)] = before;
	if (litepcie_both_run(stream->dev))
		return rc;
	kernel->interrupts_ended = 0;
	stream->dev->stats.interrupts = before < 0 ? -1 : 0;
	return rc < 0 ? rc : set_loopback(stream->dev, stream->options.loopback);
}

/*
 * Start the run. c2h was already started by the first ioctl ADVANCE, which gave the card buffers.
 * An ADVANCE without buffers starts h2c.
 */
static int kernel_run(struct litepcie_stream *stream)
{
	return stream->direction == LITEPCIE_H2C ? advance(stream, 0, NULL, false) : 0;
}

/* Stop one stream. If the other stream does not run, switch the loopback off, too. */
static int kernel_stop(struct litepcie_stream *stream)
{
	struct kernel *kernel = kernel_of(stream->dev);
	struct litepcie_ioctl_dma_writer direction = { .enable = 0 };
	bool last = !litepcie_both_run(stream->dev), h2c = stream->direction == LITEPCIE_H2C;
	int64_t *before = &kernel->interrupts_before[kernel_way(stream)];
	int64_t now = *before < 0 ? -1 : sysfs_interrupts(stream);
	int rc, loopback;

	if (now >= 0)
		kernel->interrupts_ended += now - *before;
	*before = -1;
	rc = kernel_ioctl(stream->dev,
			  h2c ? LITEPCIE_IOCTL_DMA_READER : LITEPCIE_IOCTL_DMA_WRITER, &direction,
			  "DMA stop");
	if (rc == -EIO)
		rc = litepcie_fail(-ETIMEDOUT, "%s: %s does not come to rest, or the card is being "
				   "reset: stop it again after the reset", stream->dev->name,
				   stream->name);
	loopback = last ? set_loopback(stream->dev, false) : 0;
	return rc < 0 ? rc : loopback;
}

const struct litepcie_channel litepcie_kernel_channel = {
	.own = kernel_own,
	.setup = kernel_setup,
	.free = kernel_free,
	.start = kernel_start,
	.run = kernel_run,
	.stop = kernel_stop,
	.post = kernel_post,
	.progress = kernel_progress,
	.sleep = kernel_wait,
	.event_fd = kernel_event_fd,
	.export = kernel_export,
	.user_enable = kernel_user_enable,
	.user_poll = kernel_user_poll,
};
