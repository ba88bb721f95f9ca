/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Make a run of the DMA (start, buffers, interrupts, stop) on any back end. engine.h says what each
 * function promises.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "ring.h"

/* Default number of DMA buffers from one interrupt to the next; LitePCIe's driver has the same. */
#define INTERRUPT_EVERY		32u
#define COUNTERS_SNAPSHOT	(1u << LITEPCIE_PCIE_COUNTERS_CONTROL_SNAPSHOT_OFFSET)
/* time in ms after which an interrupt that has not come counts as lost */
#define INTERRUPT_GRACE_MS	1000

/* Rings --------------------------------------------------------------------------------------- */

void litepcie_engine_free(struct litepcie *dev)
{
	free(dev->h2c_table.asks);
	free(dev->c2h_table.asks);
	free(dev->lengths);
	free(dev->wanted);
	dev->lengths = dev->wanted = NULL;
	dev->h2c_table = dev->c2h_table = (struct litepcie_table) { 0 };
}

int litepcie_engine_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int rc;

	litepcie_engine_free(dev);
	rc = channel->check ? channel->check(dev) : 0;
	if (rc == 0 && channel->setup)
		rc = channel->setup(dev, size, count);
	if (rc < 0)
		return rc;
	dev->h2c_table.asks = calloc(count, sizeof(bool));
	dev->c2h_table.asks = calloc(count, sizeof(bool));
	dev->lengths = calloc(count, sizeof(*dev->lengths));
	dev->wanted = calloc(count, sizeof(*dev->wanted));
	if (!dev->h2c_table.asks || !dev->c2h_table.asks || !dev->lengths || !dev->wanted) {
		litepcie_engine_free(dev);
		return litepcie_fail(dev, -ENOMEM, "%s", strerror(ENOMEM));
	}
	dev->buffer_size = size;
	dev->buffer_count = count;
	return 0;
}

/*
 * Make the rings if there are none. There are none after a litepcie_ring_setup() that failed: they
 * are then made again in the last shape that worked.
 */
static int ensure_rings(struct litepcie *dev)
{
	if (dev->c2h_table.asks)
		return 0;
	return litepcie_engine_setup(dev, dev->buffer_size, dev->buffer_count);
}

/*
 * Set the counts of the descriptor table to 0, as a flush empties the card's table. The bus address
 * of the ring and the array `asks` stay.
 */
static void reset_table(struct litepcie_table *table, bool silent)
{
	*table = (struct litepcie_table) {
		.asks = table->asks, .iova = table->iova, .silent = silent,
	};
}

/* Buffers ------------------------------------------------------------------------------------- */

/*
 * Give the card @count more buffers. Every interrupt_every-th buffer asks for an interrupt, and so
 * does buffer number @last. The card's table has an entry for each buffer of the ring, so it cannot
 * overflow.
 */
static int post(struct litepcie *dev, struct litepcie_table *table, uint64_t count, uint64_t last)
{
	uint64_t first = table->posted, end = first + count, mask = dev->buffer_count - 1;
	uint64_t every = dev->interrupt_every, next = first + every - 1 - first % every;
	bool *asks = table->asks;

	if (!count)
		return 0;
	for (uint64_t n = first; n < end; n++)
		asks[n & mask] = false;
	if (!table->silent) {
		for (; next < end; next += every)
			asks[next & mask] = true;
		if (last >= first && last < end)
			asks[last & mask] = true;
	}
	table->posted = end;
	return dev->backend->channel->post(dev, table, first, count);
}

/*
 * Give the card c2h buffers until it has a ring's number of them beyond @released, or until the
 * limit of the run.
 */
static int post_c2h(struct litepcie *dev, uint64_t released)
{
	uint64_t end = released + dev->buffer_count, last = UINT64_MAX;

	if (dev->c2h_limit) {
		last = dev->c2h_limit - 1;
		if (end > dev->c2h_limit)
			end = dev->c2h_limit;
	}
	return post(dev, &dev->c2h_table, end - dev->c2h_table.posted, last);
}

/*
 * Start to keep the length of each h2c buffer: this is called for the first buffer of a run that is
 * not sent whole.
 */
static void begin_lengths(struct litepcie *dev)
{
	struct litepcie_table *table = &dev->h2c_table;

	litepcie_lock(dev);
	for (unsigned int n = 0; n < dev->buffer_count; n++)
		dev->lengths[n] = dev->wanted[n] = (uint32_t)dev->buffer_size;
	table->arrived = litepcie_count(&dev->h2c.hw);
	table->arrived_bytes = table->arrived * dev->buffer_size;
	table->lengths = dev->lengths;
	litepcie_unlock(dev, 0);
	dev->h2c.uneven = true;
}

/*
 * Keep the length in bytes of h2c buffer @number. If another thread has stopped the run meanwhile,
 * nothing reads the values that are written by this function.
 */
void litepcie_engine_h2c_length(struct litepcie *dev, uint64_t number, uint32_t bytes)
{
	if (!dev->h2c.uneven)
		begin_lengths(dev);
	dev->wanted[number & (dev->buffer_count - 1)] = bytes;
	dev->h2c.spared += dev->buffer_size - bytes;
}

/*
 * Move the lengths of h2c buffers @first to @end - 1, which the card gets now, to @lengths. The
 * next buffers at these places count as whole until a new length is set.
 */
static void take_lengths(struct litepcie *dev, uint32_t *lengths, uint64_t first, uint64_t end)
{
	uint64_t mask = dev->buffer_count - 1;

	for (; first < end; first++) {
		lengths[first & mask] = dev->wanted[first & mask];
		dev->wanted[first & mask] = (uint32_t)dev->buffer_size;
	}
}

uint64_t litepcie_engine_h2c_bytes(const struct litepcie *dev, uint64_t first, uint64_t end)
{
	const uint32_t *lengths = dev->h2c_table.lengths;
	uint64_t bytes = 0;

	if (!lengths)
		return (end - first) * dev->buffer_size;
	for (uint64_t n = first; n < end; n++)
		bytes += lengths[n & (dev->buffer_count - 1)];
	return bytes;
}

int litepcie_engine_c2h_release(struct litepcie *dev)
{
	return post_c2h(dev, dev->c2h.sw);
}

/*
 * Give the card all submitted h2c buffers. If there are fewer of them than interrupt_every, they
 * may be the last for a while, so the last of them raises an interrupt.
 */
int litepcie_engine_h2c_submit(struct litepcie *dev)
{
	uint64_t end = dev->h2c.sw, count = end - dev->h2c_table.posted;
	uint64_t last = count < dev->interrupt_every ? end - 1 : UINT64_MAX;
	struct litepcie_table *table = &dev->h2c_table;

	if (table->lengths)
		take_lengths(dev, table->lengths, table->posted, end);
	return post(dev, table, count, last);
}

void litepcie_engine_done(const struct litepcie *dev, struct litepcie_table *table, uint64_t done)
{
	uint64_t mask = dev->buffer_count - 1, asked = 0;

	for (uint64_t n = table->done; n < done; n++)
		asked += table->asks[n & mask];
	table->asked += asked;
	table->done = done;
}

/*
 * Called after a sleep without an interrupt, or in place of a sleep. The poll() that follows finds
 * the progress of a card with records in memory. The card's registers are read only when the card
 * has made no progress for LITEPCIE_WAIT_SLICE_MS, to see whether it is still there.
 */
static int look_if_silent(struct litepcie *dev)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int64_t now;

	if (!channel->look || (dev->poll_us && !dev->notices.records))
		return 0;
	if (!dev->notices.records)
		return channel->look(dev);
	now = litepcie_now_ms();
	if (!dev->silent_ms)
		dev->silent_ms = now;
	if (now - dev->silent_ms < LITEPCIE_WAIT_SLICE_MS)
		return 0;
	dev->silent_ms = now;
	return channel->look(dev);
}

int litepcie_engine_look(struct litepcie *dev)
{
	const struct litepcie_channel *channel = dev->backend->channel;

	return channel->look ? channel->look(dev) : channel->poll(dev);
}

int litepcie_engine_peek(struct litepcie *dev)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int rc = look_if_silent(dev);

	if (rc < 0)
		return rc;
	return channel->peek ? channel->peek(dev) : channel->poll(dev);
}

static int received_bytes(struct litepcie *dev, uint64_t *bytes)
{
	int rc = litepcie_put(dev, dev->map.counters_control, COUNTERS_SNAPSHOT);

	if (rc == 0)
		rc = litepcie_get64(dev, dev->map.streams[STREAM_RC][STREAM_PAYLOAD_BYTES], bytes);
	return rc;
}

int litepcie_engine_received(struct litepcie *dev, uint64_t *bytes)
{
	int rc = received_bytes(dev, bytes);

	*bytes -= dev->received_before;
	return rc;
}

/* Interrupts ---------------------------------------------------------------------------------- */

/*
 * Returns the fewest interrupts that must have come. Two directions may share one interrupt, so the
 * minimum is the larger number of the two directions. If only one direction asks for interrupts,
 * each lost interrupt is noticed.
 */
static int64_t interrupts_due(const struct litepcie *dev)
{
	uint64_t h2c = dev->h2c_table.asked, c2h = dev->c2h_table.asked;

	/*
	 * On a card with records one h2c interrupt may stand for several buffers, so h2c is left
	 * out.
	 */
	return (int64_t)(h2c > c2h && !dev->notices.records ? h2c : c2h);
}

/*
 * Called when a sleep has ended without an interrupt, because its timeout has passed. An interrupt
 * was lost if, since the last interrupt, a descriptor that asks for one has run, and no interrupt
 * comes within INTERRUPT_GRACE_MS. A lost interrupt is counted in stats.interrupts_missed. If an
 * interrupt comes in that time it may be that of the descriptor, and nothing was lost.
 */
static int look_for_lost(struct litepcie *dev)
{
	unsigned int stops = dev->stops;
	int rc, came = dev->backend->sleep(dev, 0);
	uint64_t asked = dev->h2c_table.asked + dev->c2h_table.asked;

	rc = came < 0 ? came : litepcie_engine_look(dev);
	if (rc < 0)
		return rc;
	if (came || dev->h2c_table.asked + dev->c2h_table.asked == asked)
		return came;
	rc = dev->backend->sleep(dev, INTERRUPT_GRACE_MS);
	if (rc == 0 && dev->stops == stops)
		dev->stats.interrupts_missed++;
	return rc;
}

int litepcie_engine_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int error = 0, rc = channel->sleep(dev, directions, timeout_ms);

	if (rc == 0 && !dev->poll_us &&
	    timeout_ms >= (dev->notices.records ? LITEPCIE_WAIT_SLICE_MS : 1))
		rc = look_for_lost(dev);
	else if (rc == 0)
		rc = look_if_silent(dev);
	if (rc > 0 && channel->woken)
		error = channel->woken(dev);
	return error < 0 ? error : rc;
}

/*
 * True if each interrupt of this run can be counted. Two interrupts that are due within the time of
 * one message merge, and the card then sends fewer than were asked for. On a card with records that
 * happens for h2c, for packets, and if each buffer of c2h asks for an interrupt. look_for_lost()
 * finds a lost interrupt in these runs.
 */
static bool interrupts_can_be_counted(const struct litepcie *dev)
{
	if (dev->backend->merges || dev->adaptive)
		return false;
	return !dev->notices.records ||
	       (dev->c2h.active && !dev->packets && dev->interrupt_every > 1);
}

/*
 * Wait for the interrupts that are on their way at the end of a run. Those that have not come
 * within INTERRUPT_GRACE_MS count as lost.
 */
static int settle_interrupts(struct litepcie *dev)
{
	int64_t due = interrupts_due(dev), deadline = litepcie_deadline(INTERRUPT_GRACE_MS);
	int rc = dev->backend->sleep(dev, 0);

	if (!interrupts_can_be_counted(dev)) {
		dev->stats.interrupts_expected = -1;
		return rc < 0 ? rc : 0;
	}
	while (rc >= 0 && dev->stats.interrupts < due) {
		/*
		 * The wait is cut into slices: another waiting thread may take the interrupt and
		 * count it.
		 */
		int slice = litepcie_slice(deadline);

		if (!slice)
			break;
		rc = dev->backend->sleep(dev, slice);
	}
	dev->stats.interrupts_expected = due;
	if (due - dev->stats.interrupts > (int64_t)dev->stats.interrupts_missed)
		dev->stats.interrupts_missed = (uint64_t)(due - dev->stats.interrupts);
	return rc < 0 ? rc : 0;
}

/* Start, stop --------------------------------------------------------------------------------- */

/*
 * Take over the settings of a run. By default an interrupt comes at least twice a round of the
 * ring: if it came once, the ring would run empty before the interrupt.
 */
void litepcie_engine_configure(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	unsigned int count = dev->buffer_count, every = config->interrupt_every;

	/*
	 * In adaptive mode a buffer that is done while interrupts are off raises none, so every
	 * buffer asks for an interrupt.
	 */
	if (config->adaptive)
		every = 1;
	if (!every)
		every = count / 2 < INTERRUPT_EVERY ? count / 2 : INTERRUPT_EVERY;
	dev->interrupt_every = every < count ? every : count;
	dev->c2h_limit = config->c2h_limit;
	dev->packets = config->packets;
	dev->flush_us = config->flush_us;
	dev->poll_us = config->poll_us;
	dev->adaptive = config->adaptive;
	dev->silent_ms = 0;
	dev->watched = false;
}

/* Start the DMA run. The card is at rest: litepcie_open() has stopped it, and so has each stop. */
int litepcie_engine_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	bool silent = dev->poll_us && !dev->adaptive;
	int rc = ensure_rings(dev);

	if (rc < 0)
		return rc;
	reset_table(&dev->h2c_table, silent || (config->loopback && channel->shared));
	reset_table(&dev->c2h_table, silent);
	if (dev->map.h2c_in_flight)
		rc = received_bytes(dev, &dev->received_before);
	if (rc == 0)
		rc = channel->start(dev, config->loopback);
	if (rc == 0 && dev->c2h.active)
		rc = post_c2h(dev, 0);
	return rc < 0 ? rc : channel->run(dev);
}

/*
 * Stop the run. A card that has gone needs no stop. The call that noticed that it has gone has
 * returned the error.
 */
int litepcie_engine_stop(struct litepcie *dev)
{
	int settled, rc;

	if (dev->backend->gone && dev->backend->gone(dev))
		return 0;
	settled = settle_interrupts(dev);
	reset_table(&dev->h2c_table, false);
	reset_table(&dev->c2h_table, false);
	litepcie_notices_errors(dev);
	rc = dev->backend->channel->stop(dev);
	litepcie_notices_errors(dev);
	return settled < 0 ? settled : rc;
}
