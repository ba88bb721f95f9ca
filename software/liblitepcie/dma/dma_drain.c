/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * litepcie_stream_drain(): wait until all released h2c data is in the card and, on a card that
 * reports it, until the user's logic has taken the data. All functions of this file but that one
 * are called with the handle's lock held. An error is -errno with a sentence.
 */
#include "dma/engine/engine.h"
#include "litepcie_capability.h"

/* longest time limit in ms of a sleep between two checks whether all h2c data is in the card */
#define DRAIN_STEP_MS	8

/*
 * Returns 1 when all released h2c data is in the card, else 0, or -errno. @wanted is the number of
 * bytes of that data since the start; *@received gets how many of them have come to the card.
 *
 * LitePCIe's h2c engine counts a buffer as done when it has requested the last byte. The data may
 * then still be on its way, and only the card's count of received bytes shows that it has come. The
 * capability table says whether a card counts in this way (h2c_in_flight).
 */
static int look_for_bytes(struct litepcie *dev, uint64_t wanted, uint64_t *received)
{
	uint64_t end = litepcie_count(&dev->h2c.sw);
	int rc = 0;

	if (dev->map.h2c_in_flight)
		rc = litepcie_engine_received(dev, received);
	/* This check of the card's progress also updates h2c.hw, the count of finished buffers. */
	if (rc == 0)
		rc = litepcie_engine_progress(dev, dev->notices.records ? LITEPCIE_ASK_MEMORY :
									  LITEPCIE_ASK_CARD);
	if (rc < 0)
		return rc;
	if (!dev->map.h2c_in_flight)
		*received = wanted -
			    litepcie_engine_h2c_bytes(&dev->h2c, litepcie_count(&dev->h2c.hw), end);
	if (*received < wanted)
		return 0;
	dev->h2c.arrived = end;
	dev->h2c.arrived_bytes = wanted;
	litepcie_count_set(&dev->h2c.hw, end);
	return 1;
}

/*
 * Wait until the user's logic has taken the h2c data in the card, since a stop of the stream drops
 * data that was not taken. Returns 0 then. A card without map.h2c_tells_taken does not report it:
 * the function then returns 0 at once. Returns -ETIMEDOUT at @deadline, or -ECANCELED after a stop
 * by another thread. @timeout_ms is only for the sentence of an error.
 */
static int wait_for_logic(struct litepcie *dev, int64_t deadline, int timeout_ms)
{
	unsigned int stops = dev->h2c.stops;
	char why[LITEPCIE_WHY_SIZE];
	uint32_t state = 0;
	int rc = 0;

	while (dev->map.h2c_tells_taken) {
		rc = litepcie_get(dev, dev->map.h2c.enable, &state);
		if (rc < 0 || litepcie_says(state, LITEPCIE_DMA_ENABLE_TAKEN))
			break;
		if (deadline - litepcie_now_ms() <= 0) {
			litepcie_diagnose_held(dev, LITEPCIE_H2C, why, sizeof(why));
			return litepcie_fail(-ETIMEDOUT, "the card has all data, but its logic has "
					     "not taken it within %d ms. %s", timeout_ms, why);
		}
		rc = litepcie_wait_for(dev, LITEPCIE_H2C, litepcie_count(&dev->h2c.hw), 1);
		if (rc < 0 || dev->h2c.stops != stops)
			break;
	}
	return rc < 0 ? rc : 0;
}

/*
 * Sleep before the next check for the end of a drain. The card may raise no interrupt for the last
 * buffer, so the sleeps are short. *@step_ms doubles up to DRAIN_STEP_MS, so that a long wait makes
 * few checks. Returns -ECANCELED if another thread has stopped the stream.
 */
static int sleep_for_end(struct litepcie *dev, int64_t deadline, int *step_ms)
{
	unsigned int stops = dev->h2c.stops;
	int slice = litepcie_slice(deadline);
	int rc = litepcie_sleep_once(dev, LITEPCIE_H2C, slice < *step_ms ? slice : *step_ms);

	if (*step_ms < DRAIN_STEP_MS)
		*step_ms *= 2;
	return dev->h2c.stops == stops ? rc : litepcie_stopped();
}

/*
 * Hand over the h2c buffers that are kept back for a batch. Wait until all released h2c data is in
 * the card and, if the card reports it, until the user's logic has taken all of it. After
 * @timeout_ms (negative: never) the function returns -ETIMEDOUT with a sentence that says what is
 * missing.
 */
static int drain(struct litepcie *dev, int timeout_ms)
{
	int64_t deadline = litepcie_deadline(timeout_ms);
	uint64_t wanted = litepcie_count(&dev->h2c.sw) * dev->h2c.options.buffer_size -
			  dev->h2c.spared;
	uint64_t received = 0;
	char why[LITEPCIE_WHY_SIZE];
	int rc = litepcie_hand_over(dev, LITEPCIE_H2C), step_ms = 1;

	while (rc >= 0) {
		rc = look_for_bytes(dev, wanted, &received);
		if (rc)
			return rc < 0 ? rc : wait_for_logic(dev, deadline, timeout_ms);
		if (deadline - litepcie_now_ms() <= 0) {
			litepcie_diagnose_held(dev, LITEPCIE_H2C, why, sizeof(why));
			return litepcie_fail(-ETIMEDOUT, "the card received %llu of %llu bytes "
					     "within %d ms. %s", (unsigned long long)received,
					     (unsigned long long)wanted, timeout_ms, why);
		}
		rc = sleep_for_end(dev, deadline, &step_ms);
	}
	return rc;
}

int litepcie_stream_drain(struct litepcie_stream *stream, int timeout_ms)
{
	struct litepcie *dev = stream->dev;
	int rc;

	/*
	 * The lock is held from the check that h2c runs until the drain has noted the number of
	 * stops. If another thread stopped h2c in between, the drain would not notice that stop,
	 * and would wait until @timeout_ms for data that never leaves.
	 */
	litepcie_lock(dev);
	rc = litepcie_check_active(dev, LITEPCIE_H2C);
	if (rc == 0 && stream->direction != LITEPCIE_H2C)
		rc = litepcie_fail(-EINVAL, "drain of c2h: only h2c drains");
	if (rc == 0)
		rc = drain(dev, timeout_ms);
	litepcie_unlock(dev);
	return rc;
}
