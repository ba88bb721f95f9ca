/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Functions that wait for the card, and that hand over the buffers that are kept back for a batch.
 * If a sleep is for both directions (channel->shared), only one of the waiting threads sleeps, and
 * wakes the others when its sleep has ended.
 */
#include <time.h>

#include "dma/engine/engine.h"

/*
 * After so many waits and checks that needed no sleep (dev->spins counts them) a thread also sleeps
 * for 0 ms. On the back ends sim and vfio such a sleep takes and counts the card's interrupts that
 * have come.
 */
#define SPINS	16u

int litepcie_check_active(struct litepcie *dev, unsigned int directions)
{
	if (directions & LITEPCIE_H2C && !dev->h2c.active)
		return litepcie_fail(-EINVAL, "h2c is not running: start it first");
	if (directions & LITEPCIE_C2H && !dev->c2h.active)
		return litepcie_fail(-EINVAL, "c2h is not running: start it first");
	return 0;
}

/* Returns a number that changes when one of @directions stops. */
static unsigned int stops_of(const struct litepcie *dev, unsigned int directions)
{
	return (directions & LITEPCIE_H2C ? dev->h2c.stops : 0) +
	       (directions & LITEPCIE_C2H ? dev->c2h.stops : 0);
}

static uint64_t finished(const struct litepcie *dev, unsigned int directions)
{
	return (directions & LITEPCIE_H2C ? litepcie_count(&dev->h2c.hw) : 0) +
	       (directions & LITEPCIE_C2H ? litepcie_count(&dev->c2h.hw) : 0);
}

/*
 * Hand over the stream's buffers that are kept back for a batch to the card. If the stream does not
 * run, as after a stop by another thread, nothing is handed over: the stop has emptied the card's
 * descriptor table, which must stay empty until the next start.
 */
static int hand_over(struct litepcie_stream *stream)
{
	uint64_t sw = litepcie_count(&stream->sw);
	int rc;

	if (!stream->active || sw == stream->handed)
		return 0;
	rc = litepcie_engine_hand_over(stream);
	stream->handed = sw;
	stream->dev->stats.batches++;
	return rc;
}

int litepcie_hand_over(struct litepcie *dev, unsigned int directions)
{
	int rc = 0;

	if (directions & LITEPCIE_C2H)
		rc = hand_over(&dev->c2h);
	if (rc == 0 && directions & LITEPCIE_H2C)
		rc = hand_over(&dev->h2c);
	return rc;
}

/*
 * At a wait or a check, hand over the buffers that are kept back for a batch, for each of
 * @directions in which the card has less than half a ring of buffers left. If the card has more, it
 * can make progress without them. In h2c short batches may also cost interrupts: the last buffer of
 * a hand-over of fewer buffers than interrupt_every raises one, unless no buffer of the stream asks
 * for an interrupt (post_h2c() in engine.c).
 */
static int hand_over_early(struct litepcie *dev, unsigned int directions)
{
	unsigned int c2h = dev->c2h.options.buffer_count, h2c = dev->h2c.options.buffer_count;
	unsigned int short_of = 0;

	if (dev->c2h.handed + c2h - litepcie_count(&dev->c2h.hw) < c2h / 2)
		short_of |= LITEPCIE_C2H;
	if (dev->h2c.handed - litepcie_count(&dev->h2c.hw) < h2c / 2)
		short_of |= LITEPCIE_H2C;
	return litepcie_hand_over(dev, directions & short_of);
}

int litepcie_stream_flush(struct litepcie_stream *stream)
{
	int rc = litepcie_check_active(stream->dev, stream->direction);

	if (rc < 0)
		return rc;
	litepcie_lock(stream->dev);
	rc = hand_over(stream);
	litepcie_unlock(stream->dev);
	return rc;
}

/*
 * Wait until the thread that sleeps for all threads has woken, with or without progress, or until
 * another thread has stopped the DMA. Returns 1 then, or 0 after @timeout_ms.
 */
static int follow(struct litepcie *dev, int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += timeout_ms % 1000 * 1000000L;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(&dev->woken, &dev->lock, &until) == 0;
}

/*
 * If a sleep is for both directions (channel->shared) and another thread of this handle sleeps
 * already, wait until that thread has woken and has read the counts, or until a stop has ended.
 * Otherwise sleep, then read the counts. The time limit of either wait is @timeout_ms.
 */
int litepcie_sleep_once(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int woken, rc;

	if (channel->shared && dev->sleeper)
		return follow(dev, timeout_ms);
	dev->sleeper = true;
	woken = litepcie_engine_wait(dev, directions, timeout_ms);
	rc = woken < 0 ? woken : litepcie_engine_progress(dev, LITEPCIE_ASK_MEMORY);
	dev->sleeper = false;
	pthread_cond_broadcast(&dev->woken);
	return rc < 0 ? rc : woken;
}

int litepcie_stopped(void)
{
	return litepcie_fail(-ECANCELED, "another thread stopped the DMA while this one waited for "
			     "it");
}

/*
 * Before the first sleep of a wait, check the counts in memory, if the card writes records of its
 * progress there and the channel is `shared` (backend.h): progress then makes the sleep needless.
 * When SPINS waits have needed no sleep (dev->spins counts them), the thread sleeps for 0 ms all
 * the same, since a sleep counts interrupts and notices that the kernel wants the card back. After
 * litepcie_dma_fd() the check is left out, so that litepcie_dma_wait() sleeps, which clears the
 * descriptor.
 */
static int spin(struct litepcie *dev, unsigned int directions, uint64_t before)
{
	bool memory = dev->notices.records && dev->backend->channel->shared;
	int rc = memory && !dev->watched ? litepcie_engine_progress(dev, LITEPCIE_ASK_MEMORY) : 0;

	if (rc == 0 && finished(dev, directions) != before && ++dev->spins % SPINS == 0)
		rc = litepcie_sleep_once(dev, directions, 0);
	return rc;
}

/*
 * Wait until the number of finished buffers of @directions, added up, differs from @before. The
 * thread sleeps before it reads a register of the card: an interrupt that came earlier ends the
 * sleep at once, and a register read costs the card time. The sleep is cut into slices of
 * LITEPCIE_WAIT_SLICE_MS, and the card's counts are read after each slice. So a stop by another
 * thread is noticed within one slice as a rule. If an interrupt is lost in a run without polling,
 * the wait may take one slice and INTERRUPT_GRACE_MS (engine.c) longer. The caller holds the lock.
 */
int litepcie_wait_for(struct litepcie *dev, unsigned int directions, uint64_t before,
		      int timeout_ms)
{
	int64_t deadline = litepcie_deadline(timeout_ms);
	unsigned int stops = stops_of(dev, directions);
	int rc = litepcie_check_active(dev, directions) ?: hand_over_early(dev, directions) ?:
		 spin(dev, directions, before);

	if (stops_of(dev, directions) != stops)
		return litepcie_stopped();
	while (rc >= 0) {
		int slice = litepcie_slice(deadline);

		if (finished(dev, directions) != before)
			return 1;
		rc = litepcie_sleep_once(dev, directions, slice);
		if (stops_of(dev, directions) != stops)
			return litepcie_stopped();
		if (rc >= 0 && finished(dev, directions) != before) {
			dev->stats.woken_by_timeout += !rc && !dev->poll_us;
			return 1;
		}
		if (!slice)
			break;
	}
	return rc < 0 ? rc : 0;
}

int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc;

	if (!directions || directions & ~(LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(-EINVAL, "directions %#x: they must be LITEPCIE_H2C, "
				     "LITEPCIE_C2H or both", directions);
	litepcie_lock(dev);
	rc = litepcie_wait_for(dev, directions, finished(dev, directions), timeout_ms);
	litepcie_unlock(dev);
	return rc;
}

/*
 * Check the card's progress once, for litepcie_wait_beyond() with a timeout of 0. After
 * litepcie_dma_fd() the check never sleeps, so it does not clear the descriptor of that call: the
 * check may also find progress of the other direction, which the program has not seen yet. Returns
 * -errno, or 0 or 1, which say nothing about progress. The caller holds the lock.
 */
static int poll_once(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	unsigned int stops = stream->stops, direction = stream->direction;
	int rc = litepcie_check_active(dev, direction) ?: hand_over_early(dev, direction) ?:
		 litepcie_engine_peek(dev);

	if (rc == 0 && !dev->watched && ++dev->spins % SPINS == 0)
		rc = litepcie_sleep_once(dev, direction, 0);
	return stream->stops == stops ? rc : litepcie_stopped();
}

/*
 * Wait up to @timeout_ms until the card has finished more than @known buffers of @stream, or check
 * once if @timeout_ms is 0. @known is the count that the caller has seen last, so buffers that were
 * finished since then end the wait at once.
 */
int litepcie_wait_beyond(struct litepcie_stream *stream, uint64_t known, int timeout_ms)
{
	struct litepcie *dev = stream->dev;
	int rc;

	litepcie_lock(dev);
	if (timeout_ms)
		rc = litepcie_wait_for(dev, stream->direction, known, timeout_ms);
	else
		rc = poll_once(stream);
	litepcie_unlock(dev);
	return rc;
}
