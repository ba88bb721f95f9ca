/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rings as their user sees them: which buffers are filled, free or lost, and waiting for more.
 *
 * ring.hw and ring.sw only grow. Their difference says everything:
 *   c2h: hw - sw buffers are filled and belong to the user
 *   h2c: sw - hw buffers belong to the card, the rest to the user
 * A free-running card does not respect the second and third line of that contract, so for it both
 * are checked and what went wrong is counted.
 */
#include <errno.h>

#include "backend.h"

/*
 * The driver's count lags behind a free-running card by up to 32 buffers and the time to take an
 * interrupt. A buffer this close to being overwritten is not trusted any more.
 */
#define FREERUN_GUARD	64u

/* Start, stop --------------------------------------------------------------------------------- */

static void reset_ring(struct litepcie_ring *ring, bool active)
{
	ring->hw = 0;
	ring->sw = 0;
	ring->active = active;
}

/* The buffers stay: what has been filled may still be looked at. */
static void give_up(struct litepcie *dev)
{
	dev->h2c.active = false;
	dev->c2h.active = false;
}

int litepcie_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	unsigned int directions = config->directions;
	int rc;

	if (!directions || directions & ~(LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(dev, -EINVAL, "directions 0x%x: choose h2c, c2h or both",
				     directions);
	if (config->loopback && directions != (LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(dev, -EINVAL, "loopback needs both directions");
	if (dev->h2c.active || dev->c2h.active)
		return litepcie_fail(dev, -EBUSY, "this handle runs DMA already: stop it first");

	dev->stats = (struct litepcie_stats) { .interrupts = -1, .interrupts_expected = -1 };
	reset_ring(&dev->h2c, directions & LITEPCIE_H2C);
	reset_ring(&dev->c2h, directions & LITEPCIE_C2H);
	rc = dev->backend->engine->take ? dev->backend->engine->take(dev) : 0;
	if (rc < 0) {
		give_up(dev);
		return rc;
	}
	rc = litepcie_pattern_set(dev, config->pattern);
	if (rc == 0)
		rc = dev->backend->engine->start(dev, config);
	if (rc < 0)
		litepcie_dma_stop(dev);
	return rc;
}

int litepcie_dma_stop(struct litepcie *dev)
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

void litepcie_stats(const struct litepcie *dev, struct litepcie_stats *stats)
{
	*stats = dev->stats;
	stats->h2c_submitted = dev->h2c.sw;
	stats->h2c_done = dev->h2c.hw;
	stats->c2h_done = dev->c2h.hw;
	stats->c2h_released = dev->c2h.sw;
}

bool litepcie_dma_freerunning(const struct litepcie *dev)
{
	return dev->backend->engine->freerunning;
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
	return (directions & LITEPCIE_H2C ? dev->h2c.hw : 0) +
	       (directions & LITEPCIE_C2H ? dev->c2h.hw : 0);
}

/*
 * Sleep first: an interrupt that came earlier is still there, and looking at a card costs it time.
 * The sleep is cut into slices, and the card's count is read after each: an interrupt that was lost
 * costs a slice, not the run.
 */
int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	uint64_t before = finished(dev, directions);
	int rc = check_active(dev, directions);

	while (rc == 0) {
		int64_t left = deadline - litepcie_now_ms();
		int slice = left < LITEPCIE_WAIT_SLICE_MS ? (int)left : LITEPCIE_WAIT_SLICE_MS;
		int woken = dev->backend->engine->wait(dev, directions, slice > 0 ? slice : 0);

		rc = woken < 0 ? woken : dev->backend->engine->poll(dev);
		if (rc == 0 && finished(dev, directions) != before) {
			dev->stats.woken_by_timeout += !woken;
			return 1;
		}
		if (left <= 0)
			break;
	}
	return rc;
}

/* c2h ----------------------------------------------------------------------------------------- */

/* Give up on what a free-running card has overwritten, or soon will have. */
static void skip_lost(struct litepcie *dev)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t resume;

	if (!dev->backend->engine->freerunning || c2h->hw - c2h->sw <= dev->buffer_count - FREERUN_GUARD)
		return;
	resume = c2h->hw - dev->buffer_count / 4;
	dev->stats.c2h_lost += resume - c2h->sw;
	c2h->sw = resume;
}

int litepcie_c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *c2h = &dev->c2h;
	int rc = check_active(dev, LITEPCIE_C2H);

	if (rc == 0 && c2h->hw == c2h->sw && timeout_ms)
		rc = litepcie_dma_wait(dev, LITEPCIE_C2H, timeout_ms);
	if (rc < 0)
		return rc;

	skip_lost(dev);
	*first = c2h->sw;
	return (int)(c2h->hw - c2h->sw);
}

int litepcie_c2h_release(struct litepcie *dev, unsigned int count)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t first = c2h->sw;
	int rc = check_active(dev, LITEPCIE_C2H);

	if (rc == 0 && count > c2h->hw - c2h->sw)
		return litepcie_fail(dev, -EINVAL,
				     "release of %u c2h buffers: only %llu are filled", count,
				     (unsigned long long)(c2h->hw - c2h->sw));
	if (rc == 0)
		rc = dev->backend->engine->c2h_release(dev, count);
	if (rc < 0)
		return rc;
	c2h->sw += count;
	if (!dev->backend->engine->freerunning)
		return 0;

	rc = dev->backend->engine->poll(dev);
	if (rc == 0 && c2h->hw - first > dev->buffer_count - FREERUN_GUARD) {
		dev->stats.c2h_lost += count;
		rc = litepcie_fail(dev, -EOVERFLOW, "c2h buffer %llu was %llu buffers behind the "
				   "card, whose ring has %u: it may have been overwritten while "
				   "in use", (unsigned long long)first,
				   (unsigned long long)(c2h->hw - first), dev->buffer_count);
	}
	return rc;
}

/* h2c ----------------------------------------------------------------------------------------- */

/* A free-running card sends what is in the ring, filled or not: get ahead of it again. */
static void skip_late(struct litepcie *dev)
{
	struct litepcie_ring *h2c = &dev->h2c;

	if (!dev->backend->engine->freerunning || h2c->hw <= h2c->sw)
		return;
	dev->stats.h2c_late += h2c->hw + FREERUN_GUARD - h2c->sw;
	h2c->sw = h2c->hw + FREERUN_GUARD;
}

int litepcie_h2c_get(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *h2c = &dev->h2c;
	int rc = check_active(dev, LITEPCIE_H2C);

	if (rc == 0 && h2c->sw - h2c->hw == dev->buffer_count && timeout_ms)
		rc = litepcie_dma_wait(dev, LITEPCIE_H2C, timeout_ms);
	if (rc < 0)
		return rc;

	skip_late(dev);
	*first = h2c->sw;
	return (int)(dev->buffer_count - (h2c->sw - h2c->hw));
}

int litepcie_h2c_submit(struct litepcie *dev, unsigned int count)
{
	struct litepcie_ring *h2c = &dev->h2c;
	int rc = check_active(dev, LITEPCIE_H2C);

	if (rc == 0 && count > dev->buffer_count - (h2c->sw - h2c->hw))
		return litepcie_fail(dev, -EINVAL,
				     "submit of %u h2c buffers: only %llu are free", count,
				     (unsigned long long)(dev->buffer_count - (h2c->sw - h2c->hw)));
	if (rc == 0 && count)
		rc = dev->backend->engine->h2c_submit(dev, count);
	if (rc == 0)
		h2c->sw += count;
	return rc;
}

/*
 * LitePCIe's h2c engine, that of the stock endpoint, calls a buffer done when it has asked for the
 * last byte of it. The data is then still on its way; only the count of bytes received says that
 * it has come, whatever the endpoint.
 */
int litepcie_h2c_drain(struct litepcie *dev, int timeout_ms)
{
	int64_t deadline = litepcie_now_ms() + timeout_ms;
	uint64_t wanted = dev->h2c.sw * dev->buffer_size, received = 0;
	int rc = check_active(dev, LITEPCIE_H2C);

	if (rc == 0 && dev->backend->engine->freerunning)
		return litepcie_fail(dev, -EOPNOTSUPP, "a free-running card never comes to an end");
	while (rc >= 0) {
		int64_t left;

		rc = dev->backend->engine->h2c_received(dev, &received);
		if (rc < 0)
			break;
		if (received >= wanted) {
			rc = dev->backend->engine->poll(dev);	/* for what it counts beside */
			dev->h2c.hw = dev->h2c.sw;
			return rc;
		}
		left = deadline - litepcie_now_ms();
		if (left <= 0)
			return litepcie_fail(dev, -ETIMEDOUT, "the card received %llu of %llu "
					     "bytes within %d ms", (unsigned long long)received,
					     (unsigned long long)wanted, timeout_ms);
		rc = litepcie_dma_wait(dev, LITEPCIE_H2C, 1);
	}
	return rc;
}
