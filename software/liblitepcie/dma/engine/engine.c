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

#include <stdlib.h>
#include <string.h>

#include "describe/layout.h"
#include "litepcie_capability.h"

/*
 * Default number of DMA buffers from one interrupt to the next, that of LitePCIe's driver. With a
 * ring of fewer than twice as many buffers the default is half the ring.
 */
#define INTERRUPT_EVERY		LITEPCIE_STOCK_BUFFERS_PER_INTERRUPT
#define COUNTERS_SNAPSHOT	(1u << LITEPCIE_PCIE_COUNTERS_CONTROL_SNAPSHOT_OFFSET)
/* time in ms after which an interrupt that has not come counts as lost */
#define INTERRUPT_GRACE_MS	1000

bool litepcie_runs(const struct litepcie *dev, unsigned int directions)
{
	return (directions & LITEPCIE_H2C && dev->h2c.active) ||
	       (directions & LITEPCIE_C2H && dev->c2h.active);
}

bool litepcie_both_run(const struct litepcie *dev)
{
	return dev->h2c.active && dev->c2h.active;
}

/* The ring of a stream ------------------------------------------------------------------------ */

void litepcie_engine_free(struct litepcie_stream *stream)
{
	stream->dev->backend->channel->free(stream);
	free(stream->asks);
	free(stream->lengths);
	free(stream->wanted);
	stream->asks = NULL;
	stream->lengths = stream->wanted = NULL;
}

int litepcie_engine_setup(struct litepcie_stream *stream)
{
	const struct litepcie_channel *channel = stream->dev->backend->channel;
	unsigned int count = stream->options.buffer_count;
	int rc = channel->setup(stream);

	if (rc < 0)
		return rc;
	stream->asks = calloc(count, sizeof(*stream->asks));
	stream->lengths = calloc(count, sizeof(*stream->lengths));
	stream->wanted = calloc(count, sizeof(*stream->wanted));
	if (stream->asks && stream->lengths && stream->wanted)
		return 0;
	litepcie_engine_free(stream);
	return litepcie_fail_memory("the state of a ring's buffers",
				    count * (sizeof(*stream->asks) + sizeof(*stream->lengths) +
					     sizeof(*stream->wanted)));
}

/* Handing buffers to the card ----------------------------------------------------------------- */

/*
 * Give the card @count more buffers. Unless the stream is silent (no buffer of it asks for an
 * interrupt), every interrupt_every-th buffer asks for an interrupt, and so does buffer number
 * @last (UINT64_MAX: none). The card's descriptor table has room for a descriptor of each buffer of
 * the ring, so the table cannot overflow.
 */
static int post(struct litepcie_stream *stream, uint64_t count, uint64_t last)
{
	uint64_t first = stream->posted;

	if (!count)
		return 0;
	litepcie_asks_set(stream, first, count, last);
	stream->posted = first + count;
	return stream->dev->backend->channel->post(stream, first, count);
}

/*
 * Give the card c2h buffers to fill. @released is the number of buffers that the program has
 * released, so the card gets all buffers with numbers below @released + buffer_count, or below the
 * option limit if that is less.
 */
static int post_c2h(struct litepcie_stream *stream, uint64_t released)
{
	uint64_t end = released + stream->options.buffer_count, limit = stream->options.limit;
	uint64_t last = limit ? limit - 1 : UINT64_MAX;

	if (limit && end > limit)
		end = limit;
	return post(stream, end - stream->posted, last);
}

/*
 * Begin to keep the length of each h2c buffer. This function is called for the first buffer of a
 * run that is sent only in part. All buffers before it count as whole.
 */
static void begin_lengths(struct litepcie_stream *stream)
{
	uint32_t size = (uint32_t)stream->options.buffer_size;

	litepcie_lock(stream->dev);
	for (unsigned int n = 0; n < stream->options.buffer_count; n++)
		stream->lengths[n] = stream->wanted[n] = size;
	stream->arrived = litepcie_count(&stream->hw);
	stream->arrived_bytes = stream->arrived * size;
	stream->uneven = true;
	litepcie_unlock(stream->dev);
}

/*
 * The length is stored without the lock, so another thread may have stopped the run meanwhile. The
 * next run does not read such a length, since it begins with whole buffers.
 */
void litepcie_engine_h2c_length(struct litepcie_stream *stream, uint64_t number, uint32_t bytes)
{
	if (!stream->uneven)
		begin_lengths(stream);
	stream->wanted[number & (stream->options.buffer_count - 1)] = bytes;
	stream->spared += stream->options.buffer_size - bytes;
}

/*
 * Copy the lengths of h2c buffers @first to @end - 1, which the card gets now, from stream->wanted
 * to stream->lengths. Later buffers at the same places of the ring count as whole until
 * litepcie_engine_h2c_length() sets a length.
 */
static void take_lengths(struct litepcie_stream *stream, uint64_t first, uint64_t end)
{
	uint64_t mask = stream->options.buffer_count - 1;

	for (; first < end; first++) {
		stream->lengths[first & mask] = stream->wanted[first & mask];
		stream->wanted[first & mask] = (uint32_t)stream->options.buffer_size;
	}
}

uint64_t litepcie_engine_h2c_bytes(const struct litepcie_stream *stream, uint64_t first,
				   uint64_t end)
{
	uint64_t bytes = 0;

	if (!stream->uneven)
		return (end - first) * stream->options.buffer_size;
	for (uint64_t n = first; n < end; n++)
		bytes += stream->lengths[n & (stream->options.buffer_count - 1)];
	return bytes;
}

/*
 * Give the card all filled h2c buffers below number @end. If they are fewer than interrupt_every,
 * more may not come for a while. So the last of them asks for an interrupt, unless the stream is
 * silent: no buffer of a silent stream asks for one.
 */
static int post_h2c(struct litepcie_stream *stream, uint64_t end)
{
	uint64_t count = end - stream->posted;

	if (stream->uneven)
		take_lengths(stream, stream->posted, end);
	return post(stream, count, count < stream->interrupt_every ? end - 1 : UINT64_MAX);
}

int litepcie_engine_hand_over(struct litepcie_stream *stream)
{
	return stream->direction == LITEPCIE_C2H ? post_c2h(stream, stream->sw) :
						   post_h2c(stream, stream->sw);
}

/*
 * Ask the card for its progress, if needed, after a sleep without an interrupt or in place of a
 * sleep. A card that writes records reports its progress in memory. So this function reads its
 * registers only when nothing has set dev->silent_ms to 0 for LITEPCIE_WAIT_SLICE_MS, to check that
 * the card is still there. The registers of a card without records are read at once, unless a timer
 * polls the card (poll_us).
 */
static int poll_if_silent(struct litepcie *dev)
{
	int64_t now;

	if (!dev->notices.records)
		return dev->poll_us ? 0 : litepcie_engine_progress(dev, LITEPCIE_ASK_CARD);
	now = litepcie_now_ms();
	if (!dev->silent_ms)
		dev->silent_ms = now;
	if (now - dev->silent_ms < LITEPCIE_WAIT_SLICE_MS)
		return 0;
	dev->silent_ms = now;
	return litepcie_engine_progress(dev, LITEPCIE_ASK_CARD);
}

int litepcie_engine_progress(struct litepcie *dev, enum litepcie_ask ask)
{
	return dev->backend->channel->progress(dev, ask);
}

int litepcie_engine_peek(struct litepcie *dev)
{
	return poll_if_silent(dev) ?: litepcie_engine_progress(dev, LITEPCIE_ASK_MEMORY);
}

static int received_bytes(struct litepcie *dev, uint64_t *bytes)
{
	return litepcie_put(dev, dev->map.counters_control, COUNTERS_SNAPSHOT) ?:
	       litepcie_get64(dev, dev->map.streams[STREAM_RC][STREAM_PAYLOAD_BYTES], bytes);
}

int litepcie_engine_received(struct litepcie *dev, uint64_t *bytes)
{
	int rc = received_bytes(dev, bytes);

	*bytes -= dev->h2c.received_before;
	return rc;
}

/* Waits for interrupts, and counts of them ---------------------------------------------------- */

/*
 * Returns the least number of interrupts that the card must have sent for the executed descriptors
 * that asked for one. One interrupt may stand for both directions, so the result is the larger of
 * the two directions' numbers of such descriptors. On a card with records (reports of its progress
 * in host memory) only c2h counts, since one h2c interrupt may stand for several buffers.
 */
static int64_t interrupts_due(const struct litepcie *dev)
{
	uint64_t h2c = dev->h2c.asked, c2h = dev->c2h.asked;

	return (int64_t)(h2c > c2h && !dev->notices.records ? h2c : c2h);
}

/*
 * Look for a lost interrupt, when a sleep has ended by its timeout. An interrupt that has come
 * meanwhile ends the search. The card is asked for its progress. If a further descriptor that asks
 * for an interrupt is now known to have run, wait up to INTERRUPT_GRACE_MS for its interrupt, in
 * slices, since another thread may stop the run. If no interrupt comes, one was lost and is counted
 * in stats.interrupts_missed. An interrupt in that time may be that of the descriptor, so nothing
 * is counted then, nor after a stop. Returns 1 if an interrupt came, 0 if none came, or -errno.
 */
static int look_for_lost(struct litepcie *dev)
{
	unsigned int stops = dev->h2c.stops + dev->c2h.stops;
	int rc, came = dev->backend->sleep(dev, 0);
	uint64_t asked = dev->h2c.asked + dev->c2h.asked;

	rc = came < 0 ? came : litepcie_engine_progress(dev, LITEPCIE_ASK_CARD);
	if (rc < 0)
		return rc;
	if (came || dev->h2c.asked + dev->c2h.asked == asked)
		return came;
	for (int waited = 0; rc == 0 && waited < INTERRUPT_GRACE_MS &&
			     dev->h2c.stops + dev->c2h.stops == stops;
	     waited += LITEPCIE_WAIT_SLICE_MS)
		rc = dev->backend->sleep(dev, LITEPCIE_WAIT_SLICE_MS);
	if (rc == 0 && dev->h2c.stops + dev->c2h.stops == stops)
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
		rc = poll_if_silent(dev);
	if (rc > 0 && channel->woken)
		error = channel->woken(dev);
	return error < 0 ? error : rc;
}

/*
 * True if the interrupts of a stream can be counted exactly. They cannot in adaptive mode, nor if
 * the back end merges interrupts (VFIO and kernel). Two interrupts that are due within the time of
 * one message merge, and the card then sends fewer than were asked for. On a card with records
 * (reports of its progress in host memory) that may happen in h2c, and in c2h with packets or with
 * an interrupt for each buffer.
 */
static bool interrupts_can_be_counted(const struct litepcie_stream *stream)
{
	const struct litepcie *dev = stream->dev;

	if (dev->backend->merges || dev->adaptive)
		return false;
	return !dev->notices.records ||
	       (stream->direction == LITEPCIE_C2H && !stream->options.packets &&
		stream->interrupt_every > 1);
}

/*
 * At the end of a run whose interrupts can be counted, wait for those that are still on their way.
 * Those that have not come within INTERRUPT_GRACE_MS count as lost. Both streams share the counts,
 * which begin when the first of them starts. While the other stream runs and the program has called
 * litepcie_dma_fd(), the function does nothing: an interrupt that it took could be that of the
 * other stream, and poll() on the program's descriptor would miss it.
 */
static int settle_interrupts(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	int64_t due = interrupts_due(dev), deadline = litepcie_deadline(INTERRUPT_GRACE_MS);
	int rc;

	if (dev->watched && litepcie_both_run(dev))
		return 0;
	rc = dev->backend->sleep(dev, 0);
	if (!interrupts_can_be_counted(stream)) {
		if (!dev->counted)
			dev->stats.interrupts_expected = -1;
		return rc < 0 ? rc : 0;
	}
	while (rc >= 0 && dev->stats.interrupts < due) {
		/*
		 * The wait is cut into slices, since another waiting thread may take the interrupt
		 * and count it.
		 */
		int slice = litepcie_slice(deadline);

		if (!slice)
			break;
		rc = dev->backend->sleep(dev, slice);
	}
	dev->counted = true;
	if (due > dev->stats.interrupts_expected)
		dev->stats.interrupts_expected = due;
	if (due - dev->stats.interrupts > (int64_t)dev->stats.interrupts_missed)
		dev->stats.interrupts_missed = (uint64_t)(due - dev->stats.interrupts);
	return rc < 0 ? rc : 0;
}

/* Start and stop of a stream's run ------------------------------------------------------------ */

/*
 * Set the members of the stream and the handle that follow from the options. By default a buffer
 * asks for an interrupt at least twice per round of the ring. With one per round the card would
 * have used up all buffers before the interrupt.
 */
void litepcie_engine_configure(struct litepcie_stream *stream)
{
	const struct litepcie_stream_options *options = &stream->options;
	unsigned int count = options->buffer_count, every = options->interrupt_every;
	struct litepcie *dev = stream->dev;

	/*
	 * In adaptive mode a buffer that is done while interrupts are off raises none. So every
	 * buffer asks for one, and the first buffer that is done with interrupts on begins polling.
	 */
	if (options->adaptive)
		every = 1;
	if (!every)
		every = count / 2 < INTERRUPT_EVERY ? count / 2 : INTERRUPT_EVERY;
	stream->interrupt_every = every < count ? every : count;
	stream->ahead = stream->direction == LITEPCIE_H2C ? count : 0;
	stream->posted = stream->done = stream->asked = 0;
	stream->arrived = stream->arrived_bytes = 0;
	stream->uneven = false;
	stream->silent = (options->poll_us && !options->adaptive) ||
			 (stream->direction == LITEPCIE_H2C && options->loopback &&
			  dev->backend->channel->shared);
	dev->silent_ms = 0;
	if (litepcie_runs(dev, LITEPCIE_H2C | LITEPCIE_C2H))
		return;
	dev->h2c.asked = dev->c2h.asked = 0;
	dev->poll_us = options->poll_us;
	dev->adaptive = options->adaptive;
	dev->watched = dev->counted = false;
}

/*
 * Start the stream. The direction is expected to be at rest: the attach() of the back end or the
 * driver has stopped it, and so has the last stop, unless that stop has returned an error.
 */
int litepcie_engine_start(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	const struct litepcie_channel *channel = dev->backend->channel;
	int rc = 0;

	if (stream->direction == LITEPCIE_H2C && dev->map.h2c_in_flight)
		rc = received_bytes(dev, &stream->received_before);
	rc = rc ?: channel->start(stream);
	if (rc == 0 && stream->direction == LITEPCIE_C2H)
		rc = post_c2h(stream, 0);
	return rc ?: channel->run(stream);
}

/*
 * Stop the stream. If the back end (sim or vfio) knows already that the card is gone, nothing is
 * done, and the result is 0: the call that noticed the loss has returned the error.
 */
int litepcie_engine_stop(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	int settled, rc;

	if (dev->backend->state && dev->backend->state(dev) > 0)
		return 0;
	settled = settle_interrupts(stream);
	litepcie_notices_errors(dev);
	rc = dev->backend->channel->stop(stream);
	litepcie_notices_errors(dev);
	return settled < 0 ? settled : rc;
}
