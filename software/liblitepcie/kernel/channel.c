/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The DMA channel of the "kernel" back end: held runs of Lanebox's driver, in which the card waits
 * for buffers. The ioctl ADVANCE hands over a batch of buffers in one call. Counts and errors are
 * read from the status page, and records of c2h from a mapped ring, without a system call. A card
 * with records writes its counts to the page itself.
 */
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

#include "kernel.h"

/* time in ms from one read of the driver's counts of interrupts to the next */
#define GRACE_STEP_MS	10

/* Counts of finished buffers ------------------------------------------------------------------ */

static int stopped_by(const struct litepcie_stream *stream, int error)
{
	struct litepcie *dev = stream->dev;

	if (error == -ENODEV)
		return litepcie_fail(error, "%s: the card is gone: it was unplugged, removed or "
				     "unbound", dev->name);
	return litepcie_fail(-EIO, "%s: the card was reset while %s ran: stop and start it again",
			     dev->name, stream->name);
}

/*
 * Set the stream's count of finished buffers to @done, the driver's count. Returns -EIO with a
 * sentence if that count cannot be true. If the card writes records of c2h buffers, these are newer
 * than @done and are used instead.
 */
static int advance_to(struct litepcie_stream *stream, uint64_t done)
{
	if (stream->direction == LITEPCIE_C2H && stream->dev->notices.records)
		return litepcie_notices_c2h(stream->dev);
	if (done > stream->posted)
		return litepcie_fail(-EIO, "the driver says the card has finished %llu buffers of "
				     "%s, but it was given %llu", (unsigned long long)done,
				     stream->name, (unsigned long long)stream->posted);
	litepcie_engine_done(stream, done);
	if (done > stream->hw)
		stream->hw = done;
	return 0;
}

static int poll_way(struct litepcie_stream *stream)
{
	const struct litepcie_status *page = kernel_of(stream->dev)->status;
	const struct litepcie_status_way *status = &page->way[kernel_way(stream)];
	uint64_t done = __atomic_load_n(&status->buffers, __ATOMIC_ACQUIRE);
	int error = __atomic_load_n(&status->error, __ATOMIC_ACQUIRE);

	/* the count was read before the state: if the run has ended, the count is not used */
	if (error || __atomic_load_n(&status->run, __ATOMIC_ACQUIRE) != LITEPCIE_RUN_HELD)
		return stopped_by(stream, error);
	return advance_to(stream, done);
}

static int ask_way(struct litepcie_stream *stream)
{
	struct litepcie_counts counts = { .way = kernel_way(stream) };
	int rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_COUNTS, &counts, "DMA counts");

	if (!stream->active)
		return rc;
	/* This ioctl() fails while the card is being reset, and the DMA run has then ended. */
	if (rc == -EIO || rc == -ENODEV)
		return stopped_by(stream, rc);
	if (rc < 0)
		return rc;
	if (counts.error || counts.run != LITEPCIE_RUN_HELD)
		return stopped_by(stream, counts.error);
	return advance_to(stream, counts.hardware);
}

/*
 * Read the counts in memory, or ask the card for them through the driver. If no direction runs,
 * asking only finds out whether the card is there.
 */
int kernel_progress(struct litepcie *dev, enum litepcie_ask ask)
{
	bool card = ask == LITEPCIE_ASK_CARD;
	int (*update)(struct litepcie_stream *stream) = card ? ask_way : poll_way;
	int rc = 0;

	if (dev->h2c.active || (card && !dev->c2h.active))
		rc = update(&dev->h2c);
	if (rc == 0 && dev->c2h.active)
		rc = update(&dev->c2h);
	return rc;
}

/* Interrupts, by the driver's own count ------------------------------------------------------- */

/* Returns the interrupts of the running streams since their start, or -1 if they are unknown. */
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
		litepcie_unlock(dev, 0);
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
	return rc == -EIO || rc == -ENODEV ? stopped_by(stream, rc) : rc;
}

/*
 * Hand @count buffers from number @first on to the driver. The driver makes every
 * interrupt_every-th buffer raise an interrupt, and with the flag LITEPCIE_ADVANCE_NOTIFY also the
 * last buffer of a call.
 */
static int kernel_post(struct litepcie_stream *stream, uint64_t first, uint64_t count)
{
	uint64_t buffers = stream->options.buffer_count, mask = buffers - 1, slot = first & mask;
	uint64_t round = buffers - slot;
	bool notify = stream->asks[(first + count - 1) & mask];
	const uint32_t *lengths = stream->uneven ? stream->lengths : NULL;
	int rc = 0;

	/* @lengths has an entry for each buffer of the ring, so a wrap needs a second call */
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

/*
 * Switch packets on or off in the driver. A driver that does not know the call has packets always
 * off, so its error matters only if the run wants packets.
 */
static int set_packets(const struct litepcie_stream *stream)
{
	bool wanted = stream->options.packets;
	struct litepcie_packets packets = {
		.way = kernel_way(stream), .flags = wanted ? LITEPCIE_PACKETS_ON : 0,
		.flush_us = stream->options.flush_us,
	};
	struct litepcie *dev = stream->dev;

	if (ioctl(kernel_of(dev)->fd, LITEPCIE_IOCTL_PACKETS, &packets) == 0)
		return 0;
	if (!wanted && (errno == ENOTTY || errno == EOPNOTSUPP))
		return 0;
	if (errno == ENOTTY)
		return litepcie_fail(-EOPNOTSUPP, "%s: packets: this driver has whole buffers "
				     "only: load the litepcie.ko that came with this library",
				     dev->name);
	if (errno == EOPNOTSUPP)
		return litepcie_fail(-EOPNOTSUPP, "%s: packets: on this machine the driver cannot "
				     "use the card's records, so it has whole buffers only",
				     dev->name);
	return litepcie_fail_errno(errno, "%s: packets of %s", dev->name, stream->name);
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
	.user_look = kernel_user_look,
};
