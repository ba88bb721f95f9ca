/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Start and stop runs of the DMA by the card's descriptor table, and take the card's interrupts.
 * Every function is called with the handle's lock held. An error is -errno with a sentence.
 */
#include "litepcie_capability.h"
#include "table.h"

/*
 * h2c comes to rest when its last read of host memory has ended, by a completion or by a timeout.
 * Each check for rest is a register read. If it takes IDLE_LOOK_NS, IDLE_READS checks take
 * LITEPCIE_LONGEST_READ_US, the longest time of such a read.
 */
#define IDLE_LOOK_NS		400u
#define IDLE_READS		(LITEPCIE_LONGEST_READ_US * 1000u / IDLE_LOOK_NS)

/* Interrupts of the card ---------------------------------------------------------------------- */

/*
 * If the interrupt cause of the user's logic is set, set dev->user_raised and clear the cause. The
 * last register read returns only after the card has cleared the cause. So an interrupt that the
 * logic raises after this function has returned sets the cause again.
 */
static int user_poll(struct litepcie *dev)
{
	uint32_t raised = 0, enabled;
	int rc = litepcie_get(dev, dev->map.irq_vector, &raised);

	raised &= dev->map.user_cause;
	if (rc < 0 || !raised)
		return rc;
	dev->user_raised = true;
	rc = litepcie_put(dev, dev->map.irq_clear, raised);
	return rc < 0 ? rc : litepcie_get(dev, dev->map.irq_enable, &enabled);
}

static int user_enable(struct litepcie *dev, bool on)
{
	uint32_t cause = dev->map.user_cause;
	/* forget an interrupt of the user's logic that was raised before this call */
	int rc = litepcie_put(dev, dev->map.irq_clear, cause) ?:
		 litepcie_change(dev, dev->map.irq_enable, cause, on ? cause : 0);

	dev->user_enabled = rc == 0 && on;
	return rc;
}

/*
 * Sleep until an interrupt, at most @timeout_ms. Returns 1 after an interrupt, 0 when the time is
 * over or the timer has fired by which the card is polled, or -errno: -ENODEV when the kernel wants
 * the card back.
 */
static int table_sleep(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc = dev->backend->sleep(dev, timeout_ms), wanted;

	/* dev->interrupt is for both directions, so either of them wakes this thread */
	(void)directions;
	if (rc == 0)
		rc = litepcie_polling_tick(dev);
	wanted = rc < 0 ? rc : litepcie_check_wanted(dev);
	return wanted < 0 ? wanted : rc;
}

/*
 * After an interrupt: clear the DMA's interrupt causes, so that the register irq_vector does not
 * show old ones, and begin polling in adaptive mode. The causes are not read first, since the
 * card's counts tell its progress. The "sim" back end keeps this write back until its next message
 * or sleep (LITEPCIE_POST_LATER). If the interrupt of the user's logic is on, also check whether it
 * has come.
 */
static int table_woken(struct litepcie *dev)
{
	struct litepcie_post clear;
	int rc;

	litepcie_post_add(&clear, dev->map.irq_clear, litepcie_table_causes(dev));
	rc = dev->backend->post(dev, &clear, 1, LITEPCIE_POST_LATER) ?: litepcie_polling_begin(dev);
	return rc == 0 && dev->user_enabled ? user_poll(dev) : rc;
}

/* Start and stop of a stream ------------------------------------------------------------------ */

/*
 * Disable a direction. The card finishes the requests that it has begun. The function waits until
 * the direction is at rest, for IDLE_READS register reads at most, and then empties its descriptor
 * table. Returns -ETIMEDOUT if the direction is still not at rest: the card may then still use the
 * ring.
 */
static int disable(struct litepcie *dev, const struct litepcie_dma_registers *registers)
{
	uint32_t state = 0;
	int rc = litepcie_put(dev, registers->enable, 0);

	for (unsigned int i = 0; rc == 0 && i < IDLE_READS; i++) {
		rc = litepcie_get(dev, registers->enable, &state);
		if (rc == 0 && litepcie_says(state, LITEPCIE_DMA_ENABLE_IDLE))
			break;
	}
	rc = rc ?: litepcie_put(dev, registers->flush, 1) ?: litepcie_put(dev, registers->loop, 0);
	if (rc == 0 && !litepcie_says(state, LITEPCIE_DMA_ENABLE_IDLE))
		return litepcie_fail(-ETIMEDOUT, "the DMA does not come to rest (enable register 0x%x); "
				     "start the board again", state);
	return rc;
}

/*
 * LitePCIe's engine would take completions of this run's reads for data of the next run. So wait
 * for LITEPCIE_SETTLE_US of device time, in which these completions have come. The device time is
 * read LITEPCIE_SETTLE_READS times at most, in case that time stands still.
 */
static int let_reads_settle(struct litepcie *dev)
{
	uint64_t settled = LITEPCIE_SETTLE_US * 1000000u / dev->card.tick_ps, start = 0, now;
	int rc = litepcie_time_read(dev, &start);

	now = start;
	for (int i = 0; rc == 0 && i < LITEPCIE_SETTLE_READS && now - start < settled; i++)
		rc = litepcie_time_read(dev, &now);
	return rc;
}

static uint32_t cause_of(const struct litepcie_stream *stream)
{
	const struct litepcie_map *map = &stream->dev->map;

	return stream->direction == LITEPCIE_H2C ? map->h2c_cause : map->c2h_cause;
}

/*
 * litepcie_table_quiesce() is called when no stream is active, so litepcie_table_notices_set()
 * switches off all records and status lines.
 */
int litepcie_table_quiesce(struct litepcie *dev)
{
	return disable(dev, &dev->map.h2c) ?: disable(dev, &dev->map.c2h) ?:
	       litepcie_put(dev, dev->map.loopback, 0) ?: litepcie_table_notices_set(dev) ?:
	       litepcie_change(dev, dev->map.irq_enable, litepcie_table_causes(dev), 0) ?:
	       litepcie_capture_quiesce(dev);
}

/*
 * Clear the stream's interrupt cause in the card, and switch its interrupt on, unless the card is
 * polled. @first: the other stream does not run. Then interrupts of an earlier run are taken from
 * the back end's descriptors, and the counts begin at 0, so that only interrupts of this run are
 * counted. If the other stream runs, no interrupt is taken: both streams share the counts, and an
 * interrupt that has come may be that of the other stream.
 */
static int start_interrupts(struct litepcie_stream *stream, bool first)
{
	struct litepcie *dev = stream->dev;
	int rc = first ? dev->backend->sleep(dev, 0) : 0;

	if (first) {
		dev->stats.interrupts = 0;
		dev->stats.interrupts_expected = 0;
	}
	return rc < 0 ? rc : litepcie_put(dev, dev->map.irq_clear, cause_of(stream)) ?:
			     litepcie_table_interrupts(dev);
}

/*
 * Get a stream that is marked as active ready for a run: set up polling or interrupts, the records,
 * and the loopback. Settings that both streams share are made only if the other stream does not
 * run.
 */
static int table_start(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	bool first = !litepcie_both_run(dev);
	int rc = first ? litepcie_polling_start(dev) : 0;

	rc = rc ?: start_interrupts(stream, first) ?: litepcie_table_notices_start(stream);
	return rc || !first ? rc : litepcie_put(dev, dev->map.loopback, stream->options.loopback);
}

static int table_run(struct litepcie_stream *stream)
{
	return litepcie_put(stream->dev, stream->registers->enable, LITEPCIE_DMA_ENABLE_RUN);
}

/*
 * Stop one stream. If the other stream does not run, stop polling and the loopback, too. The stream
 * is marked as not active even after an error.
 */
static int table_stop(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	bool in_flight = stream->direction == LITEPCIE_H2C && stream->hw != stream->sw;
	bool last = !litepcie_both_run(dev);
	int rc = last ? litepcie_polling_stop(dev) : 0;

	rc = rc ?: disable(dev, stream->registers);
	if (rc == 0 && last)
		rc = litepcie_put(dev, dev->map.loopback, 0);
	/*
	 * Once the direction is at rest, the card writes no further status line of this stream. The
	 * error count of the line is read before stream->active is cleared, since
	 * litepcie_notices_errors() reads only the lines of active streams.
	 */
	litepcie_notices_errors(dev);
	stream->active = false;
	rc = rc ?: litepcie_table_notices_set(dev) ?: litepcie_table_interrupts(dev);
	if (rc == 0 && in_flight && dev->map.h2c_in_flight)
		rc = let_reads_settle(dev);
	return rc;
}

static int table_event_fd(struct litepcie *dev)
{
	return dev->poll_us ? dev->news : dev->interrupt;
}

const struct litepcie_channel litepcie_table_channel = {
	.setup = litepcie_table_setup,
	.free = litepcie_table_free,
	.start = table_start,
	.run = table_run,
	.stop = table_stop,
	.post = litepcie_table_post,
	.progress = litepcie_table_progress,
	.sleep = table_sleep,
	.woken = table_woken,
	.shared = true,
	.event_fd = table_event_fd,
	.export = litepcie_table_export,
	.user_enable = user_enable,
	.user_poll = user_poll,
};
