/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rings as their user sees them: which buffers are filled and which are free, and waiting for more.
 * peek, release, get and submit are the fast path: without a lock, and without the card for as long
 * as there are buffers and less than a batch to tell it of.
 *
 * ring.hw and ring.sw only grow. Their difference says everything:
 *   c2h: hw - sw buffers are filled and belong to the user
 *   h2c: sw - hw buffers belong to the card, the rest to the user
 */
#include <errno.h>

#include "engine.h"
#include "ring.h"

#define H2C_TAKEN	4u	/* of the enable register: nothing waits for the user's logic */

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
	return litepcie_unlock(dev, litepcie_engine_setup(dev, size, count));
}

int litepcie_reset(struct litepcie *dev)
{
	int rc = check_idle(dev);

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
	ring->spared = 0;
	ring->active = active;
}

/* The buffers stay: what has been filled may still be looked at. */
static void give_up(struct litepcie *dev)
{
	dev->h2c.active = false;
	dev->c2h.active = false;
	dev->stops++;
}

/* The lock is given up on the way: a second thread that stops waits for the first. */
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
	if (rc == 0)
		rc = check_packets(dev, config);
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
	litepcie_notices_errors(dev);
	*stats = dev->stats;
	stats->h2c_submitted = litepcie_count(&dev->h2c.sw);
	stats->h2c_done = litepcie_count(&dev->h2c.hw);
	stats->c2h_done = litepcie_count(&dev->c2h.hw);
	stats->c2h_released = litepcie_count(&dev->c2h.sw);
	litepcie_unlock(dev, 0);
}

int litepcie_dma_fd(struct litepcie *dev)
{
	litepcie_lock(dev);
	dev->watched = true;
	return litepcie_unlock(dev, dev->backend->channel->event_fd(dev));
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

/* c2h ----------------------------------------------------------------------------------------- */

int litepcie_c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	struct litepcie_ring *c2h = &dev->c2h;
	uint64_t hw = litepcie_count(&c2h->hw);
	int rc = 0;

	if (!c2h->active)
		return litepcie_check_active(dev, LITEPCIE_C2H);
	if (hw == c2h->sw && timeout_ms)
		rc = litepcie_wait_beyond(dev, LITEPCIE_C2H, hw, timeout_ms);
	if (rc < 0)
		return rc;
	*first = litepcie_count(&c2h->sw);
	return (int)(litepcie_count(&c2h->hw) - *first);
}

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
	if (h2c->sw - hw == dev->buffer_count && timeout_ms)
		rc = litepcie_wait_beyond(dev, LITEPCIE_H2C, hw, timeout_ms);
	if (rc < 0)
		return rc;
	*first = litepcie_count(&h2c->sw);
	return (int)(dev->buffer_count - (*first - litepcie_count(&h2c->hw)));
}

/* The next @count buffers, with so many bytes each. */
static int submit(struct litepcie *dev, unsigned int count, size_t bytes)
{
	struct litepcie_ring *h2c = &dev->h2c;
	uint64_t first = litepcie_count(&h2c->sw);
	uint64_t free = dev->buffer_count - (first - litepcie_count(&h2c->hw));

	if (!h2c->active)
		return litepcie_check_active(dev, LITEPCIE_H2C);
	if (count > free)
		return litepcie_fail(dev, -EINVAL,
				     "submit of %u h2c buffers: only %llu are free", count,
				     (unsigned long long)free);
	if (dev->h2c_table.lengths || bytes != dev->buffer_size)
		litepcie_engine_h2c_lengths(dev, first, count, bytes);
	litepcie_count_set(&h2c->sw, first + count);
	return first + count - h2c->handed < dev->batch ? 0 : tell(dev, LITEPCIE_H2C);
}

int litepcie_h2c_submit(struct litepcie *dev, unsigned int count)
{
	return submit(dev, count, dev->buffer_size);
}

/* LitePCIe's engine cuts a length to whole beats. */
int litepcie_h2c_send(struct litepcie *dev, size_t bytes)
{
	unsigned int beat = dev->card.data_width / 8;

	if (!bytes || bytes > dev->buffer_size)
		return litepcie_fail(dev, -EINVAL, "send of %zu bytes: it must be 1 to %zu, all of "
				     "a buffer", bytes, dev->buffer_size);
	if (dev->map.h2c_in_flight && bytes % beat)
		return litepcie_fail(dev, -EINVAL, "send of %zu bytes: the endpoint of this card "
				     "moves whole beats, so it must be a multiple of %u", bytes,
				     beat);
	return submit(dev, 1, bytes);
}

/*
 * Returns 1 when all that was submitted is in the card, 0 when not yet; and bytes that have come.
 *
 * LitePCIe's h2c engine, that of the stock endpoint, calls a buffer done when it has asked for the
 * last byte of it. The data is then still on its way, and only the count of bytes received says that
 * it has come. A card whose buffers are done when their data is there says so in its table.
 */
static int look_for_bytes(struct litepcie *dev, uint64_t wanted, uint64_t *received)
{
	uint64_t end = litepcie_count(&dev->h2c.sw);
	int rc = 0;

	if (dev->map.h2c_in_flight)
		rc = litepcie_engine_received(dev, received);
	/* Also for what it counts beside. */
	if (rc == 0)
		rc = dev->notices.records ? dev->backend->channel->poll(dev) :
					    litepcie_engine_look(dev);
	if (rc < 0)
		return rc;
	if (!dev->map.h2c_in_flight)
		*received = wanted -
			    litepcie_engine_h2c_bytes(dev, litepcie_count(&dev->h2c.hw), end);
	if (*received < wanted)
		return 0;
	dev->h2c_table.arrived = end;
	dev->h2c_table.arrived_bytes = wanted;
	litepcie_count_set(&dev->h2c.hw, end);
	return 1;
}

/* Wait until the user's logic has taken what the card has: a stop would drop it. */
static int wait_for_logic(struct litepcie *dev, int64_t deadline, int timeout_ms)
{
	unsigned int stops = dev->stops;
	uint32_t state = 0;
	int rc = 0;

	while (dev->map.h2c_tells_taken) {
		rc = litepcie_get(dev, dev->map.h2c.enable, &state);
		if (rc < 0 || state & H2C_TAKEN)
			break;
		if (deadline - litepcie_now_ms() <= 0)
			return litepcie_fail(dev, -ETIMEDOUT, "the card has all data, but its logic "
					     "has not taken it within %d ms", timeout_ms);
		rc = litepcie_wait_for(dev, LITEPCIE_H2C, litepcie_count(&dev->h2c.hw), 1);
		if (rc < 0 || dev->stops != stops)
			break;
	}
	return rc < 0 ? rc : 0;
}

static int drain(struct litepcie *dev, int timeout_ms)
{
	int64_t deadline = litepcie_deadline(timeout_ms);
	uint64_t wanted = litepcie_count(&dev->h2c.sw) * dev->buffer_size - dev->h2c.spared;
	uint64_t received = 0;
	int rc = litepcie_hand_over(dev, LITEPCIE_H2C);

	while (rc >= 0) {
		rc = look_for_bytes(dev, wanted, &received);
		if (rc)
			return rc < 0 ? rc : wait_for_logic(dev, deadline, timeout_ms);
		if (deadline - litepcie_now_ms() <= 0)
			return litepcie_fail(dev, -ETIMEDOUT, "the card received %llu of %llu "
					     "bytes within %d ms", (unsigned long long)received,
					     (unsigned long long)wanted, timeout_ms);
		rc = litepcie_wait_for(dev, LITEPCIE_H2C, litepcie_count(&dev->h2c.hw), 1);
	}
	return rc;
}

int litepcie_h2c_drain(struct litepcie *dev, int timeout_ms)
{
	int rc = litepcie_check_active(dev, LITEPCIE_H2C);

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, drain(dev, timeout_ms));
}
