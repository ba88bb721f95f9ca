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
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

/* time in ms between two looks at the driver's own counts of interrupts */
#define GRACE_STEP_MS	10

static const char *const names[] = { "h2c", "c2h" };

static struct litepcie_ring *ring_of(struct litepcie *dev, unsigned int way)
{
	return way == LITEPCIE_WAY_H2C ? &dev->h2c : &dev->c2h;
}

/* Counts -------------------------------------------------------------------------------------- */

static int stopped_by(struct litepcie *dev, unsigned int way, int error)
{
	if (error == -ENODEV)
		return litepcie_fail(dev, error, "%s: the card is gone: it was unplugged, removed or "
				     "unbound", dev->name);
	return litepcie_fail(dev, -EIO, "%s: the card was reset while %s ran: stop and start it "
			     "again", dev->name, names[way]);
}

/*
 * Note that the card is done with all buffers below @done of direction @way, and check that the
 * count can be true.
 */
static int advance_to(struct litepcie *dev, unsigned int way, uint64_t done)
{
	struct litepcie_table *table = way == LITEPCIE_WAY_H2C ? &dev->h2c_table : &dev->c2h_table;
	struct litepcie_ring *ring = ring_of(dev, way);

	if (done > table->posted)
		return litepcie_fail(dev, -EIO, "the driver says the card has finished %llu buffers "
				     "of %s, but it was given %llu", (unsigned long long)done,
				     names[way], (unsigned long long)table->posted);
	litepcie_engine_done(dev, table, done);
	if (done > ring->hw)
		ring->hw = done;
	return 0;
}

/*
 * True if the card writes c2h records (a record is its report of a finished buffer). Records are
 * newer than the driver's count, so they are used in place of that count.
 */
static bool has_records(const struct litepcie *dev, unsigned int way)
{
	return way == LITEPCIE_WAY_C2H && dev->notices.records;
}

static int poll_way(struct litepcie *dev, unsigned int way)
{
	const struct litepcie_status_way *status = &kernel_of(dev)->status->way[way];
	uint64_t done = __atomic_load_n(&status->buffers, __ATOMIC_ACQUIRE);
	int error = __atomic_load_n(&status->error, __ATOMIC_ACQUIRE);

	/*
	 * The count was read before the state of the run. So if the run has ended, the count is not
	 * used.
	 */
	if (error || __atomic_load_n(&status->run, __ATOMIC_ACQUIRE) != LITEPCIE_RUN_HELD)
		return stopped_by(dev, way, error);
	return has_records(dev, way) ? litepcie_notices_c2h(dev) : advance_to(dev, way, done);
}

static int kernel_peek(struct litepcie *dev)
{
	int rc = 0;

	if (dev->h2c.active)
		rc = poll_way(dev, LITEPCIE_WAY_H2C);
	if (rc == 0 && dev->c2h.active)
		rc = poll_way(dev, LITEPCIE_WAY_C2H);
	return rc;
}

static int kernel_poll(struct litepcie *dev)
{
	kernel_clear_event(dev);
	return kernel_peek(dev);
}

static int ask_way(struct litepcie *dev, unsigned int way)
{
	struct litepcie_counts counts = { .way = way };
	int rc = kernel_ioctl(dev, LITEPCIE_IOCTL_COUNTS, &counts, "DMA counts");

	if (!ring_of(dev, way)->active)
		return rc;
	/* This ioctl() fails while the card is being reset, and the DMA run has then ended. */
	if (rc == -EIO || rc == -ENODEV)
		return stopped_by(dev, way, rc);
	if (rc < 0)
		return rc;
	if (counts.error || counts.run != LITEPCIE_RUN_HELD)
		return stopped_by(dev, way, counts.error);
	return has_records(dev, way) ? litepcie_notices_c2h(dev) :
				       advance_to(dev, way, counts.hardware);
}

/*
 * Ask the card for its counts, through the driver. If no direction runs, this only finds out
 * whether the card is there.
 */
int kernel_look(struct litepcie *dev)
{
	int rc = 0;

	if (dev->h2c.active || !dev->c2h.active)
		rc = ask_way(dev, LITEPCIE_WAY_H2C);
	if (rc == 0 && dev->c2h.active)
		rc = ask_way(dev, LITEPCIE_WAY_C2H);
	return rc;
}

/* Interrupts, by the driver's own count ------------------------------------------------------- */

static bool count_interrupts(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int64_t before = dev->stats.interrupts, now = sysfs_interrupts(dev);

	if (kernel->interrupts_before < 0 || now < 0)
		/* no DMA run has started, or the driver does not count the interrupts of the run */
		return false;
	dev->stats.interrupts = now - kernel->interrupts_before;
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

/* Buffers ------------------------------------------------------------------------------------- */

static int advance(struct litepcie *dev, unsigned int way, uint64_t count, const uint32_t *lengths,
		   bool notify)
{
	struct litepcie_advance advance = {
		.way = way, .count = (uint32_t)count, .lengths = (uintptr_t)lengths,
		.flags = notify ? LITEPCIE_ADVANCE_NOTIFY : 0,
	};
	char doing[32];
	int rc;

	snprintf(doing, sizeof(doing), "%s buffers", names[way]);
	rc = kernel_ioctl(dev, LITEPCIE_IOCTL_ADVANCE, &advance, doing);
	return rc == -EIO || rc == -ENODEV ? stopped_by(dev, way, rc) : rc;
}

/*
 * Hand @count buffers from number @first on to the driver. The driver makes every
 * interrupt_every-th buffer raise an interrupt, and also the last buffer of a call if it is told
 * to.
 */
static int kernel_post(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
		       uint64_t count)
{
	unsigned int way = table == &dev->h2c_table ? LITEPCIE_WAY_H2C : LITEPCIE_WAY_C2H;
	uint64_t mask = dev->buffer_count - 1, slot = first & mask, round = dev->buffer_count - slot;
	bool notify = table->asks[(first + count - 1) & mask];
	const uint32_t *lengths = table->lengths;
	int rc = 0;

	/*
	 * The array of lengths goes by place in the ring, so the buffers behind the ring's end need
	 * a second call.
	 */
	if (lengths && count > round) {
		rc = advance(dev, way, round, lengths + slot, false);
		count -= round;
		slot = 0;
	}
	return rc < 0 ? rc : advance(dev, way, count, lengths ? lengths + slot : NULL, notify);
}

/* Start, stop --------------------------------------------------------------------------------- */

static int set_loopback(struct litepcie *dev, bool enable)
{
	struct litepcie_ioctl_dma loopback = { .loopback_enable = enable };

	return kernel_ioctl(dev, LITEPCIE_IOCTL_DMA, &loopback, "DMA loopback");
}

/*
 * Switch packets on or off in the driver. A driver that does not know the call has packets always
 * off, so its error matters only if the run wants packets.
 */
static int set_packets(struct litepcie *dev, unsigned int way)
{
	struct litepcie_packets packets = {
		.way = way, .flags = dev->packets ? LITEPCIE_PACKETS_ON : 0,
		.flush_us = way == LITEPCIE_WAY_C2H ? dev->flush_us : 0,
	};

	if (ioctl(kernel_of(dev)->fd, LITEPCIE_IOCTL_PACKETS, &packets) == 0)
		return 0;
	if (!dev->packets && (errno == ENOTTY || errno == EOPNOTSUPP))
		return 0;
	if (errno == ENOTTY)
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: packets: this driver has whole buffers "
				     "only: load the litepcie.ko that came with this library",
				     dev->name);
	if (errno == EOPNOTSUPP)
		return litepcie_fail(dev, -EOPNOTSUPP, "%s: packets: on this machine the driver "
				     "cannot use the card's records, so it has whole buffers only",
				     dev->name);
	return litepcie_fail(dev, -errno, "%s: packets of %s: %s", dev->name, names[way],
			     strerror(errno));
}

static int kernel_start(struct litepcie *dev, bool loopback)
{
	int rc = dev->h2c.active ? set_packets(dev, LITEPCIE_WAY_H2C) : 0;

	if (rc == 0 && dev->c2h.active)
		rc = set_packets(dev, LITEPCIE_WAY_C2H);
	kernel_of(dev)->interrupts_before = sysfs_interrupts(dev);
	dev->stats.interrupts = kernel_of(dev)->interrupts_before < 0 ? -1 : 0;
	return rc < 0 ? rc : set_loopback(dev, loopback);
}

/*
 * Start the run. c2h was already started by the first ADVANCE with its buffers. An ADVANCE without
 * buffers starts h2c.
 */
static int kernel_run(struct litepcie *dev)
{
	return dev->h2c.active ? advance(dev, LITEPCIE_WAY_H2C, 0, NULL, false) : 0;
}

static int stop_direction(struct litepcie *dev, unsigned long request)
{
	struct litepcie_ioctl_dma_writer direction = { .enable = 0 };

	return kernel_ioctl(dev, request, &direction, "DMA stop");
}

/* Stop both DMA directions. If one does not stop, the other is stopped all the same. */
static int kernel_stop(struct litepcie *dev)
{
	int h2c = 0, c2h = 0, loopback;

	kernel_of(dev)->interrupts_before = -1;
	if (dev->h2c.active)
		h2c = stop_direction(dev, LITEPCIE_IOCTL_DMA_READER);
	if (dev->c2h.active)
		c2h = stop_direction(dev, LITEPCIE_IOCTL_DMA_WRITER);
	loopback = set_loopback(dev, false);
	return h2c < 0 ? h2c : c2h < 0 ? c2h : loopback;
}

const struct litepcie_channel litepcie_kernel_channel = {
	.take = kernel_take,
	.give = kernel_give,
	.check = kernel_check_held,
	.able = kernel_able,
	.start = kernel_start,
	.run = kernel_run,
	.stop = kernel_stop,
	.post = kernel_post,
	.poll = kernel_poll,
	.look = kernel_look,
	.peek = kernel_peek,
	.sleep = kernel_wait,
	.event_fd = kernel_event_fd,
	.export = kernel_export,
	.user_enable = kernel_user_enable,
	.user_look = kernel_user_look,
};
