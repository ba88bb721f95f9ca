/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The engine of table.c: interrupts, and what comes before and after a run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "litepcie_capability.h"
#include "table.h"

#define DEFAULT_INTERRUPT_EVERY	32u	/* buffers, as the kernel driver */
#define COUNTERS_SNAPSHOT	(1u << LITEPCIE_PCIE_COUNTERS_CONTROL_SNAPSHOT_OFFSET)
#define INTERRUPT_GRACE_MS	500	/* for an interrupt that is due */

/*
 * A direction comes to rest when its last read has ended, also one that nobody answers. Each look
 * is a read of a register, which takes at least IDLE_LOOK_NS of device time: together they outlast
 * the card's longest read.
 */
#define IDLE_LOOK_NS		400u
#define IDLE_READS		(LITEPCIE_LONGEST_READ_US * 1000u / IDLE_LOOK_NS)

/* Device time after which reads that were issued have come back, or never will. */
#define SETTLE_READS		64
#define READS_SETTLE_PS		16000000u

/* Setup --------------------------------------------------------------------------------------- */

int litepcie_table_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	struct litepcie_memory *memory = NULL;
	uint64_t iova = 0;
	int rc;

	litepcie_table_free(dev);
	rc = dev->backend->memory(dev, 2 * size * count, &memory, &iova);
	if (rc < 0)
		return rc;
	dev->h2c_table.asks = calloc(count, sizeof(bool));
	dev->c2h_table.asks = calloc(count, sizeof(bool));
	if (!dev->h2c_table.asks || !dev->c2h_table.asks)
		return litepcie_fail(dev, -ENOMEM, "%s", strerror(ENOMEM));
	dev->buffer_size = size;
	dev->buffer_count = count;
	dev->h2c.memory = dev->c2h.memory = memory;
	dev->h2c.base = memory->base;
	dev->c2h.base = dev->h2c.base + size * count;
	dev->h2c_table.iova = iova;
	dev->c2h_table.iova = iova + size * count;
	return 0;
}

void litepcie_table_free(struct litepcie *dev)
{
	free(dev->h2c_table.asks);
	free(dev->c2h_table.asks);
	dev->h2c_table = dev->c2h_table = (struct litepcie_table) { 0 };
	dev->h2c.base = dev->c2h.base = NULL;
	dev->h2c.memory = dev->c2h.memory = NULL;
}

/* Interrupts ---------------------------------------------------------------------------------- */

/*
 * Two directions may share one message, so of both only the larger number must have come. Where one
 * speaks for both, or runs alone, every single interrupt that is lost is noticed.
 */
static int64_t interrupts_due(const struct litepcie *dev)
{
	uint64_t h2c = dev->h2c_table.asked, c2h = dev->c2h_table.asked;

	return (int64_t)(h2c > c2h ? h2c : c2h);
}

/*
 * The time was over. If a descriptor that asks for an interrupt has run since the last one, and
 * nothing comes in a while more, that interrupt was lost, also where messages may be shared.
 */
static int look_for_lost(struct litepcie *dev)
{
	uint64_t asked = dev->h2c_table.asked + dev->c2h_table.asked;
	unsigned int stops = dev->stops;
	int rc = litepcie_table_poll(dev);

	if (rc < 0 || dev->h2c_table.asked + dev->c2h_table.asked == asked)
		return rc;
	rc = dev->backend->sleep(dev, INTERRUPT_GRACE_MS);
	if (rc == 0 && dev->stops == stops)
		dev->stats.interrupts_missed++;
	return rc;
}

static uint32_t own_causes(const struct litepcie *dev)
{
	return dev->map.h2c_cause | dev->map.c2h_cause;
}

/* What has happened since it was asked last is cleared first: what happens then raises a message. */
static int table_user_look(struct litepcie *dev)
{
	uint32_t raised = 0;
	int rc = litepcie_get(dev, dev->map.irq_vector, &raised);

	raised &= dev->map.user_cause;
	if (rc < 0 || !raised)
		return rc;
	dev->user_raised = true;
	return litepcie_put(dev, dev->map.irq_clear, raised);
}

/*
 * The DMA's bits of the vector register tell nothing new; they are cleared to say no nonsense, and
 * that goes with the look at the card which follows.
 */
static int clear_own(struct litepcie *dev)
{
	if (dev->backend->defer)
		return dev->backend->defer(dev, dev->map.irq_clear, own_causes(dev));
	return litepcie_put(dev, dev->map.irq_clear, own_causes(dev));
}

/* Whoever waits for data goes no further with a card that must be given back. */
static int sleep_or_leave(struct litepcie *dev, int timeout_ms)
{
	int rc = dev->backend->sleep(dev, timeout_ms), asked = 0;

	if (rc >= 0 && dev->backend->asked_back)
		asked = dev->backend->asked_back(dev);
	return asked < 0 ? asked : rc;
}

static int table_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc = sleep_or_leave(dev, timeout_ms);

	(void)directions;
	if (rc == 0)
		rc = look_for_lost(dev);
	if (rc > 0) {
		int error = clear_own(dev);

		if (error == 0 && dev->user_enabled)
			error = table_user_look(dev);
		if (error < 0)
			return error;
	}
	return rc;
}

/*
 * Take in what came; what has not after the grace is lost. Where messages merge, fewer than were sent
 * prove nothing, and only look_for_lost() tells.
 */
static int settle_interrupts(struct litepcie *dev)
{
	int64_t due = interrupts_due(dev), deadline = litepcie_deadline(INTERRUPT_GRACE_MS);
	int rc = dev->backend->sleep(dev, 0);

	if (dev->backend->merges) {
		dev->stats.interrupts_expected = -1;
		return rc < 0 ? rc : 0;
	}
	while (rc >= 0 && dev->stats.interrupts < due) {
		/* In slices: another thread that waits may take the interrupt, and count it. */
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

/* A direction that is disabled finishes what it has begun; at rest it forgets everything. */
static int disable(struct litepcie *dev, const struct litepcie_dma_registers *registers)
{
	uint32_t state = 0;
	int rc = litepcie_put(dev, registers->enable, 0);

	for (unsigned int i = 0; rc == 0 && i < IDLE_READS; i++) {
		rc = litepcie_get(dev, registers->enable, &state);
		if (rc == 0 && state & DMA_IDLE)
			break;
	}
	if (rc == 0)
		rc = litepcie_put(dev, registers->flush, 1);
	if (rc == 0)
		rc = litepcie_put(dev, registers->loop, 0);
	if (rc == 0 && !(state & DMA_IDLE))
		return litepcie_fail(dev, -EIO, "the DMA does not come to rest (enable register "
				     "0x%x); start the board again", state);
	return rc;
}

/*
 * The stock endpoint's engine would take answers to reads of an earlier run for data of the next:
 * let them come first. A card whose time stands still is dead, and no reason to stay.
 */
static int let_reads_settle(struct litepcie *dev)
{
	uint64_t settled = READS_SETTLE_PS / dev->card.tick_ps, start = 0, now;
	int rc = litepcie_time_read(dev, &start);

	now = start;
	for (int i = 0; rc == 0 && i < SETTLE_READS && now - start < settled; i++)
		rc = litepcie_time_read(dev, &now);
	return rc;
}

/* The user's own interrupt is not ours to switch. */
static int enable_interrupts(struct litepcie *dev, uint32_t mask)
{
	uint32_t enabled;
	int rc = litepcie_get(dev, dev->map.irq_enable, &enabled);

	enabled = (enabled & ~own_causes(dev)) | mask;
	return rc < 0 ? rc : litepcie_put(dev, dev->map.irq_enable, enabled);
}

int litepcie_table_quiesce(struct litepcie *dev)
{
	int rc = disable(dev, &dev->map.h2c);

	if (rc == 0)
		rc = disable(dev, &dev->map.c2h);
	if (rc == 0)
		rc = litepcie_put(dev, dev->map.loopback, 0);
	if (rc == 0)
		rc = enable_interrupts(dev, 0);
	return rc;
}

static int received_bytes(struct litepcie *dev, uint64_t *bytes)
{
	uint32_t high, low;
	int rc = litepcie_put(dev, dev->map.counters_control, COUNTERS_SNAPSHOT);

	if (rc == 0)
		rc = litepcie_get(dev, dev->map.streams[STREAM_RC][STREAM_PAYLOAD_BYTES], &high);
	if (rc == 0)
		rc = litepcie_get(dev, dev->map.streams[STREAM_RC][STREAM_PAYLOAD_BYTES] + 4, &low);
	if (rc == 0)
		*bytes = (uint64_t)high << 32 | low;
	return rc;
}

static int h2c_received(struct litepcie *dev, uint64_t *bytes)
{
	int rc = received_bytes(dev, bytes);

	*bytes -= dev->received_before;
	return rc;
}

/* Clear what an earlier run left in the eventfd, so that counts are this run's own. */
static int start_interrupts(struct litepcie *dev, unsigned int directions)
{
	uint32_t mask = (directions & LITEPCIE_H2C ? dev->map.h2c_cause : 0) |
			(directions & LITEPCIE_C2H ? dev->map.c2h_cause : 0);
	int rc = dev->backend->sleep(dev, 0);

	dev->stats.interrupts = 0;
	dev->stats.interrupts_expected = 0;
	if (rc >= 0)
		rc = litepcie_put(dev, dev->map.irq_clear, own_causes(dev));
	if (rc == 0)
		rc = enable_interrupts(dev, mask);
	return rc;
}

/* Empty, as after a flush; the ring's memory and the room for `asks` stay. */
static void reset_table(struct litepcie_table *table, bool silent)
{
	*table = (struct litepcie_table) {
		.asks = table->asks, .iova = table->iova, .silent = silent,
	};
}

/* A litepcie_ring_setup() that failed has left no rings: they are made in the last shape again. */
static int ensure_rings(struct litepcie *dev)
{
	return dev->h2c.memory ? 0 : litepcie_table_setup(dev, dev->buffer_size, dev->buffer_count);
}

/* The card is quiet since it was opened, or since the last stop. */
static int table_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	int rc = ensure_rings(dev);

	if (rc < 0)
		return rc;
	reset_table(&dev->h2c_table, config->loopback);
	reset_table(&dev->c2h_table, false);
	dev->c2h_limit = config->c2h_limit;
	dev->interrupt_every = config->interrupt_every ? config->interrupt_every :
							 DEFAULT_INTERRUPT_EVERY;
	rc = received_bytes(dev, &dev->received_before);
	if (rc == 0)
		rc = start_interrupts(dev, config->directions);
	if (rc == 0)
		rc = litepcie_put(dev, dev->map.loopback, config->loopback);
	if (rc == 0 && dev->c2h.active)
		rc = litepcie_table_post_c2h(dev, 0);
	if (rc == 0 && dev->c2h.active)
		rc = litepcie_put(dev, dev->map.c2h.enable, DMA_ENABLE);
	if (rc == 0 && dev->h2c.active)
		rc = litepcie_put(dev, dev->map.h2c.enable, DMA_ENABLE);
	return rc;
}

/* A card that has gone said so already, and whatever it still had to do has ended with it. */
static int table_stop(struct litepcie *dev)
{
	bool in_flight = dev->h2c.active && dev->h2c.hw != dev->h2c.sw;
	int settled, rc;

	if (dev->backend->gone(dev))
		return 0;
	settled = settle_interrupts(dev);
	reset_table(&dev->h2c_table, false);
	reset_table(&dev->c2h_table, false);
	rc = litepcie_table_quiesce(dev);
	if (rc == 0 && in_flight && dev->map.h2c_in_flight)
		rc = let_reads_settle(dev);
	return settled < 0 ? settled : rc;
}

static int table_user_enable(struct litepcie *dev, bool on)
{
	uint32_t cause = dev->map.user_cause, enabled;
	int rc = litepcie_get(dev, dev->map.irq_enable, &enabled);

	/* What was raised before is not meant. */
	if (rc == 0)
		rc = litepcie_put(dev, dev->map.irq_clear, cause);
	if (rc == 0)
		rc = litepcie_put(dev, dev->map.irq_enable, on ? enabled | cause : enabled & ~cause);
	dev->user_enabled = rc == 0 && on;
	return rc;
}

static int table_event_fd(struct litepcie *dev)
{
	return dev->backend->event_fd(dev);
}

const struct litepcie_engine litepcie_table_engine = {
	.shared = true,
	.start = table_start,
	.stop = table_stop,
	.poll = litepcie_table_poll,
	.wait = table_wait,
	.c2h_release = litepcie_table_c2h_release,
	.h2c_submit = litepcie_table_h2c_submit,
	.h2c_received = h2c_received,
	.setup = litepcie_table_setup,
	.event_fd = table_event_fd,
	.user_enable = table_user_enable,
	.user_look = table_user_look,
};
