/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rings as their user sees them: which buffers are filled, free or lost, and waiting for more.
 * peek, release, get and submit are the fast path: without a lock, and without the card for as long
 * as there are buffers and less than a batch to tell it of.
 *
 * ring.hw and ring.sw only grow. Their difference says everything:
 *   c2h: hw - sw buffers are filled and belong to the user
 *   h2c: sw - hw buffers belong to the card, the rest to the user
 * A free-running card does not respect the second and third line of that contract, so for it both
 * are checked and what went wrong is counted.
 */
#include <errno.h>
#include <time.h>

#include "backend.h"

/*
 * The driver's count lags behind a free-running card by an eighth of the ring and the time to take
 * an interrupt. A buffer this close to being overwritten is not trusted any more.
 */
static uint64_t freerun_guard(const struct litepcie *dev)
{
	return dev->buffer_count / 4;
}

static uint64_t load(const _Atomic uint64_t *count)
{
	return atomic_load_explicit((_Atomic uint64_t *)count, memory_order_acquire);
}

static void store(_Atomic uint64_t *count, uint64_t value)
{
	atomic_store_explicit(count, value, memory_order_release);
}

/* Setup --------------------------------------------------------------------------------------- */

static int check_idle(struct litepcie *dev)
{
	if (dev->h2c.active || dev->c2h.active)
		return litepcie_fail(dev, -EBUSY, "this handle runs DMA already: stop it first");
	return 0;
}

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

int litepcie_ring_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	int rc = check_idle(dev);

	if (rc < 0)
		return rc;
	if (!power_of_two(size) || size < LITEPCIE_BUFFER_SMALLEST ||
	    size > LITEPCIE_BUFFER_LARGEST)
		return litepcie_fail(dev, -EINVAL, "buffers of %zu bytes: it must be a power of two "
				     "from %u to %u", size, LITEPCIE_BUFFER_SMALLEST,
				     LITEPCIE_BUFFER_LARGEST);
	if (!power_of_two(count) || count < LITEPCIE_BUFFERS_FEWEST ||
	    count > dev->card.table_depth)
		return litepcie_fail(dev, -EINVAL, "%u buffers: it must be a power of two from %u "
				     "to %u, which is what the card has room for", count,
				     LITEPCIE_BUFFERS_FEWEST, dev->card.table_depth);
	litepcie_lock(dev);
	return litepcie_unlock(dev, dev->backend->engine->setup(dev, size, count));
}

int litepcie_reset(struct litepcie *dev)
{
	int rc = check_idle(dev);

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	rc = dev->backend->reset(dev);
	if (rc == 0)
		rc = litepcie_card_check(dev);
	if (rc == 0 && dev->backend->attach)
		rc = dev->backend->attach(dev);
	return litepcie_unlock(dev, rc);
}

/* Start, stop --------------------------------------------------------------------------------- */

static void reset_ring(struct litepcie_ring *ring, bool active)
{
	store(&ring->hw, 0);
	store(&ring->sw, 0);
	ring->handed = 0;
	ring->active = active;
}

/* The buffers stay: what has been filled may still be looked at. */
static void give_up(struct litepcie *dev)
{
	dev->h2c.active = false;
	dev->c2h.active = false;
}

static int stop(struct litepcie *dev)
{
	int rc, error = 0;

	if (!dev->h2c.active && !dev->c2h.active)
		return 0;
	rc = dev->backend->engine->stop(dev);
	if (dev->pattern)
		error = litepcie_pattern_set(dev, false);
	if (dev->backend->engine->give)
		dev->backend->engine->give(dev);
	give_up(dev);
	return rc < 0 ? rc : error;
}

static int start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	const struct litepcie_engine *engine = dev->backend->engine;
	int rc;

	dev->stats = (struct litepcie_stats) { .interrupts = -1, .interrupts_expected = -1 };
	dev->batch = config->batch ? config->batch : 1;
	reset_ring(&dev->h2c, config->directions & LITEPCIE_H2C);
	reset_ring(&dev->c2h, config->directions & LITEPCIE_C2H);
	rc = engine->take ? engine->take(dev) : 0;
	if (rc < 0) {
		give_up(dev);
		return rc;
	}
	rc = litepcie_pattern_set(dev, config->pattern);
	if (rc == 0)
		rc = engine->start(dev, config);
	if (rc < 0)
		stop(dev);
	return rc;
}

int litepcie_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	unsigned int directions = config->directions;
	int rc = check_idle(dev);

	if (!directions || directions & ~(LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(dev, -EINVAL, "directions 0x%x: choose h2c, c2h or both",
				     directions);
	if (config->loopback && directions != (LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(dev, -EINVAL, "loopback needs both directions");
	if (config->batch > dev->buffer_count / 2)
		return litepcie_fail(dev, -EINVAL, "batches of %u buffers: the ring has %u, of "
				     "which half may be held back", config->batch,
				     dev->buffer_count);
	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, start(dev, config));
}

int litepcie_dma_stop(struct litepcie *dev)
{
	litepcie_lock(dev);
	return litepcie_unlock(dev, stop(dev));
}

void litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats)
{
	litepcie_lock(dev);
	*stats = dev->stats;
	stats->h2c_submitted = load(&dev->h2c.sw);
	stats->h2c_done = load(&dev->h2c.hw);
	stats->c2h_done = load(&dev->c2h.hw);
	stats->c2h_released = load(&dev->c2h.sw);
	litepcie_unlock(dev, 0);
}

bool litepcie_dma_freerunning(const struct litepcie *dev)
{
	return dev->backend->engine->freerunning;
}

int litepcie_dma_fd(struct litepcie *dev)
{
	litepcie_lock(dev);
	return litepcie_unlock(dev, dev->backend->engine->event_fd(dev));
}

/* Buffers ------------------------------------------------------------------------------------- */

size_t litepcie_buffer_size(const struct litepcie *dev)
{
	return dev->buffer_size;
}

unsigned int litepcie_buffer_count(const struct litepcie *dev)
{
	return dev->buffer_count;
}

void *litepcie_h2c_buffer(struct litepcie *dev, uint64_t number)
{
	return litepcie_ring_buffer(dev, &dev->h2c, number);
}

void *litepcie_c2h_buffer(struct litepcie *dev, uint64_t number)
{
	return litepcie_ring_buffer(dev, &dev->c2h, number);
}

/* Waiting ------------------------------------------------------------------------------------- */

static int check_active(struct litepcie *dev, unsigned int directions)
{
	if (directions & LITEPCIE_H2C && !dev->h2c.active)
		return litepcie_fail(dev, -EINVAL, "h2c is not running: start it first");
	if (directions & LITEPCIE_C2H && !dev->c2h.active)
		return litepcie_fail(dev, -EINVAL, "c2h is not running: start it first");
	return 0;
}

static uint64_t finished(const struct litepcie *dev, unsigned int directions)
{
	return (directions & LITEPCIE_H2C ? load(&dev->h2c.hw) : 0) +
	       (directions & LITEPCIE_C2H ? load(&dev->c2h.hw) : 0);
}

/* Tell the card of what has been held back. The lock is held. */
static int hand_over(struct litepcie *dev, unsigned int directions)
{
	uint64_t c2h = load(&dev->c2h.sw), h2c = load(&dev->h2c.sw);
	int rc = 0;

	if (directions & LITEPCIE_C2H && c2h != dev->c2h.handed) {
		rc = dev->backend->engine->c2h_release(dev);
		dev->c2h.handed = c2h;
		dev->stats.batches++;
	}
	if (rc == 0 && directions & LITEPCIE_H2C && h2c != dev->h2c.handed) {
		rc = dev->backend->engine->h2c_submit(dev);
		dev->h2c.handed = h2c;
		dev->stats.batches++;
	}
	return rc;
}

/*
 * Before a sleep only what the card would run out of: with half a ring to go on with it makes
 * progress, which ends the sleep. Telling it of less than a batch each time would make every batch
 * a short one, and each end of a short one is an interrupt.
 */
static int hand_over_early(struct litepcie *dev, unsigned int directions)
{
	uint64_t half = dev->buffer_count / 2;
	unsigned int short_of = 0;

	if (dev->c2h.handed + dev->buffer_count - load(&dev->c2h.hw) < half)
		short_of |= LITEPCIE_C2H;
	if (dev->h2c.handed - load(&dev->h2c.hw) < half)
		short_of |= LITEPCIE_H2C;
	return hand_over(dev, directions & short_of);
}

int litepcie_dma_flush(struct litepcie *dev, unsigned int directions)
{
	int rc = check_active(dev, directions);

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, hand_over(dev, directions));
}

/* Another thread sleeps for all; it tells when it has news. Returns 1 then, 0 after @timeout_ms. */
static int follow(struct litepcie *dev, int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += timeout_ms % 1000 * 1000000L;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(&dev->woken, &dev->lock, &until) == 0;
}

/* Sleep once, then look at the card. Returns 1: an interrupt came, 0: the time is over. */
static int sleep_once(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	const struct litepcie_engine *engine = dev->backend->engine;
	int woken, rc;

	if (engine->shared && dev->sleeper)
		return follow(dev, timeout_ms);
	dev->sleeper = true;
	woken = engine->wait(dev, directions, timeout_ms);
	rc = woken < 0 ? woken : engine->poll(dev);
	dev->sleeper = false;
	pthread_cond_broadcast(&dev->woken);
	return rc < 0 ? rc : woken;
}

/*
 * Sleep first: an interrupt that came earlier is still there, and looking at a card costs it time.
 * The sleep is cut into slices, and the card's count is read after each: an interrupt that was lost
 * costs a slice, not the run. The lock is held.
 */
static int wait_for(struct litepcie *dev, unsigned int directions, uint64_t before, int timeout_ms)
{
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	int rc = hand_over_early(dev, directions);

	while (rc >= 0) {
		int64_t left = deadline - litepcie_now_ms();
		int slice = left < LITEPCIE_WAIT_SLICE_MS ? (int)left : LITEPCIE_WAIT_SLICE_MS;

		if (finished(dev, directions) != before)
			return 1;
		rc = sleep_once(dev, directions, slice > 0 ? slice : 0);
		if (rc >= 0 && finished(dev, directions) != before) {
			dev->stats.woken_by_timeout += !rc;
			return 1;
		}
		if (left <= 0)
			break;
	}
	return rc < 0 ? rc : 0;
}

int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc = check_active(dev, directions);

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, wait_for(dev, directions, finished(dev, directions),
					     timeout_ms));
}

/* For one direction that has nothing to offer: what came since that was found is news, too. */
static int wait_beyond(struct litepcie *dev, unsigned int direction, uint64_t known,
		       int timeout_ms)
{
	litepcie_lock(dev);
	return litepcie_unlock(dev, wait_for(dev, direction, known, timeout_ms));
}

/* c2h ----------------------------------------------------------------------------------------- */

/* Give up on what a free-running card has overwritten, or soon will have. */
static void skip_lost(struct litepcie *dev)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t hw = load(&c2h->hw), sw = load(&c2h->sw), resume;

	if (hw - sw <= dev->buffer_count - freerun_guard(dev))
		return;
	resume = hw - dev->buffer_count / 4;
	dev->stats.c2h_lost += resume - sw;
	store(&c2h->sw, resume);
}

int litepcie_c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t hw = load(&c2h->hw);
	int rc = 0;

	if (!c2h->active)
		return check_active(dev, LITEPCIE_C2H);
	if (hw == c2h->sw && timeout_ms)
		rc = wait_beyond(dev, LITEPCIE_C2H, hw, timeout_ms);
	if (rc < 0)
		return rc;
	if (dev->backend->engine->freerunning)
		skip_lost(dev);
	*first = load(&c2h->sw);
	return (int)(load(&c2h->hw) - *first);
}

/* What was just given back may have been overwritten while it was in use. */
static int check_overrun(struct litepcie *dev, uint64_t first, unsigned int count)
{
	uint64_t behind;
	int rc = dev->backend->engine->poll(dev);

	behind = load(&dev->c2h.hw) - first;
	if (rc < 0 || behind <= dev->buffer_count - freerun_guard(dev))
		return rc;
	dev->stats.c2h_lost += count;
	return litepcie_fail(dev, -EOVERFLOW, "c2h buffer %llu was %llu buffers behind the card, "
			     "whose ring has %u: it may have been overwritten while in use",
			     (unsigned long long)first, (unsigned long long)behind,
			     dev->buffer_count);
}

static int tell(struct litepcie *dev, unsigned int direction)
{
	litepcie_lock(dev);
	return litepcie_unlock(dev, hand_over(dev, direction));
}

int litepcie_c2h_release(struct litepcie *dev, unsigned int count)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t first = load(&c2h->sw), filled = load(&c2h->hw) - first;

	if (!c2h->active)
		return check_active(dev, LITEPCIE_C2H);
	if (count > filled)
		return litepcie_fail(dev, -EINVAL,
				     "release of %u c2h buffers: only %llu are filled", count,
				     (unsigned long long)filled);
	store(&c2h->sw, first + count);
	if (dev->backend->engine->freerunning) {
		litepcie_lock(dev);
		return litepcie_unlock(dev, check_overrun(dev, first, count));
	}
	return first + count - c2h->handed < dev->batch ? 0 : tell(dev, LITEPCIE_C2H);
}

/* h2c ----------------------------------------------------------------------------------------- */

/* A free-running card sends what is in the ring, filled or not: get ahead of it again. */
static void skip_late(struct litepcie *dev)
{
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t hw = load(&h2c->hw), sw = load(&h2c->sw);

	if (hw <= sw)
		return;
	dev->stats.h2c_late += hw + freerun_guard(dev) - sw;
	store(&h2c->sw, hw + freerun_guard(dev));
}

int litepcie_h2c_get(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t hw = load(&h2c->hw);
	int rc = 0;

	if (!h2c->active)
		return check_active(dev, LITEPCIE_H2C);
	if (h2c->sw - hw == dev->buffer_count && timeout_ms)
		rc = wait_beyond(dev, LITEPCIE_H2C, hw, timeout_ms);
	if (rc < 0)
		return rc;
	if (dev->backend->engine->freerunning)
		skip_late(dev);
	*first = load(&h2c->sw);
	return (int)(dev->buffer_count - (*first - load(&h2c->hw)));
}

int litepcie_h2c_submit(struct litepcie *dev, unsigned int count)
{
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t first = load(&h2c->sw), free = dev->buffer_count - (first - load(&h2c->hw));

	if (!h2c->active)
		return check_active(dev, LITEPCIE_H2C);
	if (count > free)
		return litepcie_fail(dev, -EINVAL,
				     "submit of %u h2c buffers: only %llu are free", count,
				     (unsigned long long)free);
	store(&h2c->sw, first + count);
	return first + count - h2c->handed < dev->batch ? 0 : tell(dev, LITEPCIE_H2C);
}

/* Returns 1 when all of @wanted bytes are in the card, 0 when not yet. */
static int look_for_bytes(struct litepcie *dev, uint64_t wanted, uint64_t *received)
{
	int rc = dev->backend->engine->h2c_received(dev, received);

	if (rc < 0 || *received < wanted)
		return rc;
	rc = dev->backend->engine->poll(dev);	/* for what it counts beside */
	store(&dev->h2c.hw, load(&dev->h2c.sw));
	return rc < 0 ? rc : 1;
}

/*
 * LitePCIe's h2c engine, that of the stock endpoint, calls a buffer done when it has asked for the
 * last byte of it. The data is then still on its way; only the count of bytes received says that
 * it has come, whatever the endpoint.
 */
static int drain(struct litepcie *dev, int timeout_ms)
{
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	uint64_t wanted = load(&dev->h2c.sw) * dev->buffer_size, received = 0;
	int rc = hand_over(dev, LITEPCIE_H2C);

	while (rc >= 0) {
		rc = look_for_bytes(dev, wanted, &received);
		if (rc)
			return rc < 0 ? rc : 0;
		if (deadline - litepcie_now_ms() <= 0)
			return litepcie_fail(dev, -ETIMEDOUT, "the card received %llu of %llu "
					     "bytes within %d ms", (unsigned long long)received,
					     (unsigned long long)wanted, timeout_ms);
		rc = wait_for(dev, LITEPCIE_H2C, load(&dev->h2c.hw), 1);
	}
	return rc;
}

int litepcie_h2c_drain(struct litepcie *dev, int timeout_ms)
{
	int rc = check_active(dev, LITEPCIE_H2C);

	if (rc < 0)
		return rc;
	if (dev->backend->engine->freerunning)
		return litepcie_fail(dev, -EOPNOTSUPP, "a free-running card never comes to an end");
	litepcie_lock(dev);
	return litepcie_unlock(dev, drain(dev, timeout_ms));
}
