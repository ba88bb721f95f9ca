/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The calls that hand out the buffers of the rings: which buffers are filled or free, and waiting
 * for more. litepcie_c2h_peek(), litepcie_c2h_release(), litepcie_h2c_get() and
 * litepcie_h2c_submit() are the fast path. They take no lock and access no card, as long as there
 * are buffers and less than a batch of them to hand over.
 *
 * ring.hw and ring.sw only grow. Their difference says who owns the buffers:
 *   c2h: hw - sw buffers are filled and belong to the user
 *   h2c: sw - hw buffers belong to the card, all others to the user
 */
#include <errno.h>

#include "engine.h"
#include "ring.h"

/* Setup --------------------------------------------------------------------------------------- */

int litepcie_check_idle(struct litepcie *dev)
{
	if (dev->h2c.active || dev->c2h.active)
		return litepcie_fail(dev, -EBUSY, "this handle runs DMA already: stop it first");
	return 0;
}

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

/*
 * Check that rings of @count buffers of @size bytes fit into the memory that litepcie_ring_place()
 * has given to @ring.
 */
static int check_fits(struct litepcie *dev, const struct litepcie_ring *ring, const char *name,
		      size_t size, unsigned int count)
{
	if (!ring->place || size * count <= ring->place_bytes)
		return 0;
	return litepcie_fail(dev, -EINVAL, "%u buffers of %zu bytes: the place that %s has been given "
			     "has %zu bytes; litepcie_ring_place() gives it another", count, size,
			     name, ring->place_bytes);
}

int litepcie_ring_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	int rc = litepcie_check_idle(dev);

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
	rc = check_fits(dev, &dev->h2c, "h2c", size, count);
	if (rc == 0)
		rc = check_fits(dev, &dev->c2h, "c2h", size, count);
	if (rc == 0)
		rc = litepcie_engine_setup(dev, size, count);
	return litepcie_unlock(dev, rc);
}

int litepcie_reset(struct litepcie *dev)
{
	int rc = litepcie_check_idle(dev);

	if (rc == 0 && dev->capture)
		rc = litepcie_fail(dev, -EBUSY, "this handle has a capture open: close it first");
	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	dev->user_enabled = false;
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
	litepcie_count_set(&ring->hw, 0);
	litepcie_count_set(&ring->sw, 0);
	ring->handed = 0;
	ring->uneven = false;
	ring->spared = 0;
	ring->active = active;
}

/*
 * Note that a run has ended: the directions are no longer active. The memory stays mapped, as the
 * program may still look at buffers that were filled.
 */
static void give_up(struct litepcie *dev)
{
	dev->h2c.active = false;
	dev->c2h.active = false;
	dev->stops++;
}

/*
 * Stop all directions. The lock is released while this waits, so a second thread that stops has to
 * wait for the first.
 */
static int stop(struct litepcie *dev)
{
	int rc, error = 0;

	while (dev->stopping)
		pthread_cond_wait(&dev->woken, &dev->lock);
	if (!dev->h2c.active && !dev->c2h.active)
		return 0;
	dev->stopping = true;
	rc = litepcie_engine_stop(dev);
	if (dev->pattern)
		error = litepcie_pattern_set(dev, false);
	if (dev->backend->channel->give)
		dev->backend->channel->give(dev);
	give_up(dev);
	dev->stopping = false;
	pthread_cond_broadcast(&dev->woken);
	return rc < 0 ? rc : error;
}

static int start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int rc;

	dev->stats = (struct litepcie_stats) { .interrupts = -1, .interrupts_expected = -1 };
	dev->batch = config->batch ? config->batch : 1;
	dev->inner = config->loopback;
	reset_ring(&dev->h2c, config->directions & LITEPCIE_H2C);
	reset_ring(&dev->c2h, config->directions & LITEPCIE_C2H);
	litepcie_engine_configure(dev, config);
	rc = channel->take ? channel->take(dev) : 0;
	if (rc < 0) {
		give_up(dev);
		return rc;
	}
	rc = litepcie_pattern_set(dev, config->pattern);
	if (rc == 0)
		rc = litepcie_engine_start(dev, config);
	if (rc < 0)
		stop(dev);
	return rc;
}

static int check_packets(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	if (config->flush_us && !config->packets)
		return litepcie_fail(dev, -EINVAL, "a flush time of %u us without packets: it ends "
				     "buffers early, so it takes packets", config->flush_us);
	if (config->flush_us > LITEPCIE_FLUSH_US_LARGEST)
		return litepcie_fail(dev, -EINVAL, "a flush time of %u us: it must be at most %u",
				     config->flush_us, LITEPCIE_FLUSH_US_LARGEST);
	if (config->packets && !dev->map.notices.control)
		return litepcie_fail(dev, -EOPNOTSUPP, "packets: the card writes no records, so it "
				     "has whole buffers only");
	return 0;
}

static int check_looks(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	if (config->adaptive && !config->poll_us)
		return litepcie_fail(dev, -EINVAL, "adaptive looks without a time between two: set "
				     "poll_us");
	if (config->poll_us && (config->poll_us < LITEPCIE_POLL_US_LEAST ||
				config->poll_us > LITEPCIE_POLL_US_LARGEST))
		return litepcie_fail(dev, -EINVAL, "a look every %u us: it must be from %u to %u",
				     config->poll_us, LITEPCIE_POLL_US_LEAST,
				     LITEPCIE_POLL_US_LARGEST);
	return 0;
}

static int check_config(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	unsigned int directions = config->directions;
	int rc = litepcie_check_idle(dev);

	if (!directions || directions & ~(LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(dev, -EINVAL, "directions 0x%x: choose h2c, c2h or both",
				     directions);
	if (config->loopback && directions != (LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(dev, -EINVAL, "loopback needs both directions");
	if (config->batch > dev->buffer_count / 2)
		return litepcie_fail(dev, -EINVAL, "batches of %u buffers: the ring has %u, of "
				     "which half may be held back", config->batch,
				     dev->buffer_count);
	if (rc == 0)
		rc = check_packets(dev, config);
	if (rc == 0)
		rc = check_looks(dev, config);
	return rc;
}

int litepcie_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	struct litepcie_dma_config wanted;
	int rc = litepcie_struct_in(dev, &wanted, sizeof(wanted), config, "litepcie_dma_config");

	if (rc == 0)
		rc = check_config(dev, &wanted);
	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, start(dev, &wanted));
}

int litepcie_dma_stop(struct litepcie *dev)
{
	litepcie_lock(dev);
	return litepcie_unlock(dev, stop(dev));
}

int litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats)
{
	struct litepcie_stats found;

	litepcie_lock(dev);
	litepcie_notices_errors(dev);
	found = dev->stats;
	found.h2c_submitted = litepcie_count(&dev->h2c.sw);
	found.h2c_done = litepcie_count(&dev->h2c.hw);
	found.c2h_done = litepcie_count(&dev->c2h.hw);
	found.c2h_released = litepcie_count(&dev->c2h.sw);
	litepcie_unlock(dev, 0);
	return litepcie_struct_out(dev, stats, &found, sizeof(found), "litepcie_stats");
}

int litepcie_dma_fd(struct litepcie *dev)
{
	litepcie_lock(dev);
	dev->watched = true;
	return litepcie_unlock(dev, dev->backend->channel->event_fd(dev));
}

/* Buffers of both directions ------------------------------------------------------------------ */

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

/* c2h ----------------------------------------------------------------------------------------- */

int litepcie_c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t hw = litepcie_count(&c2h->hw);
	int rc = 0;

	if (!c2h->active)
		return litepcie_check_active(dev, LITEPCIE_C2H);
	if (hw == c2h->sw)
		rc = litepcie_wait_beyond(dev, LITEPCIE_C2H, hw, timeout_ms);
	if (rc < 0)
		return rc;
	*first = litepcie_count(&c2h->sw);
	return (int)(litepcie_count(&c2h->hw) - *first);
}

/*
 * Tell the card of the buffers that @direction has to hand over. The function is not inlined: else
 * a submit or release that only counts buffers would save CPU registers for nothing.
 */
__attribute__((noinline))
static int tell(struct litepcie *dev, unsigned int direction)
{
	litepcie_lock(dev);
	return litepcie_unlock(dev, litepcie_hand_over(dev, direction));
}

int litepcie_c2h_release(struct litepcie *dev, unsigned int count)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t first = litepcie_count(&c2h->sw), filled = litepcie_count(&c2h->hw) - first;

	if (!c2h->active)
		return litepcie_check_active(dev, LITEPCIE_C2H);
	if (count > filled)
		return litepcie_fail(dev, -EINVAL,
				     "release of %u c2h buffers: only %llu are filled", count,
				     (unsigned long long)filled);
	litepcie_count_set(&c2h->sw, first + count);
	return first + count - c2h->handed < dev->batch ? 0 : tell(dev, LITEPCIE_C2H);
}

/* h2c ----------------------------------------------------------------------------------------- */

int litepcie_h2c_get(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t hw = litepcie_count(&h2c->hw);
	int rc = 0;

	if (!h2c->active)
		return litepcie_check_active(dev, LITEPCIE_H2C);
	if (h2c->sw - hw == dev->buffer_count)
		rc = litepcie_wait_beyond(dev, LITEPCIE_H2C, hw, timeout_ms);
	if (rc < 0)
		return rc;
	*first = litepcie_count(&h2c->sw);
	return (int)(dev->buffer_count - (*first - litepcie_count(&h2c->hw)));
}

int litepcie_h2c_submit(struct litepcie *dev, unsigned int count)
{
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t first = litepcie_count(&h2c->sw), end = first + count;
	uint64_t taken = end - litepcie_count(&h2c->hw);

	if (!h2c->active)
		return litepcie_check_active(dev, LITEPCIE_H2C);
	if (taken > dev->buffer_count)
		return litepcie_fail(dev, -EINVAL,
				     "submit of %u h2c buffers: only %llu are free", count,
				     (unsigned long long)(dev->buffer_count + count - taken));
	litepcie_count_set(&h2c->sw, end);
	return end - h2c->handed < dev->batch ? 0 : tell(dev, LITEPCIE_H2C);
}

/*
 * LitePCIe's engine cuts a length to whole beats, so a card with that engine is given only lengths
 * that are a multiple of a beat.
 */
int litepcie_h2c_send(struct litepcie *dev, size_t bytes)
{
	unsigned int beat = dev->card.data_width / 8;
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t first = litepcie_count(&h2c->sw);

	if (!bytes || bytes > dev->buffer_size)
		return litepcie_fail(dev, -EINVAL, "send of %zu bytes: it must be 1 to %zu, all of "
				     "a buffer", bytes, dev->buffer_size);
	if (dev->map.h2c_in_flight && bytes % beat)
		return litepcie_fail(dev, -EINVAL, "send of %zu bytes: the endpoint of this card "
				     "moves whole beats, so it must be a multiple of %u", bytes,
				     beat);
	if (!h2c->active)
		return litepcie_check_active(dev, LITEPCIE_H2C);
	if (first - litepcie_count(&h2c->hw) == dev->buffer_count)
		return litepcie_fail(dev, -EINVAL, "send of %zu bytes: no h2c buffer is free",
				     bytes);
	if (bytes != dev->buffer_size)
		litepcie_engine_h2c_length(dev, first, (uint32_t)bytes);
	return litepcie_h2c_submit(dev, 1);
}
