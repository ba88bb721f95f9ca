/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The end of h2c: all that was submitted is in the card, and its user's logic has taken it.
 */
#include <errno.h>

#include "engine.h"
#include "ring.h"

#define DRAIN_STEP_MS	8	/* the longest between two looks for the end */
#define H2C_TAKEN	4u	/* of the enable register: nothing waits for the user's logic */

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

/*
 * The last buffer need not raise an interrupt, so the sleeps are short, and longer only as the wait
 * itself is. What the card does until then is no reason to wake up.
 */
static int sleep_for_end(struct litepcie *dev, int64_t deadline, int *step_ms)
{
	unsigned int stops = dev->stops;
	int slice = litepcie_slice(deadline);
	int rc = litepcie_sleep_once(dev, LITEPCIE_H2C, slice < *step_ms ? slice : *step_ms);

	if (*step_ms < DRAIN_STEP_MS)
		*step_ms *= 2;
	return dev->stops == stops ? rc : litepcie_stopped(dev);
}

static int drain(struct litepcie *dev, int timeout_ms)
{
	int64_t deadline = litepcie_deadline(timeout_ms);
	uint64_t wanted = litepcie_count(&dev->h2c.sw) * dev->buffer_size - dev->h2c.spared;
	uint64_t received = 0;
	int rc = litepcie_hand_over(dev, LITEPCIE_H2C), step_ms = 1;

	while (rc >= 0) {
		rc = look_for_bytes(dev, wanted, &received);
		if (rc)
			return rc < 0 ? rc : wait_for_logic(dev, deadline, timeout_ms);
		if (deadline - litepcie_now_ms() <= 0)
			return litepcie_fail(dev, -ETIMEDOUT, "the card received %llu of %llu "
					     "bytes within %d ms", (unsigned long long)received,
					     (unsigned long long)wanted, timeout_ms);
		rc = sleep_for_end(dev, deadline, &step_ms);
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
