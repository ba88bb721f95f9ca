/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The steps of stream_random.c that move buffers or wait for them. Each makes one call of the
 * library and compares its result with the model's.
 */
#ifndef LITEPCIE_TEST_RANDOM_CALLS_H
#define LITEPCIE_TEST_RANDOM_CALLS_H

#include "random_card.h"

#define LONG_MS		1000	/* time-out in ms of a call that is expected to end long before */

/*
 * Choose the time-out of a call that waits for @directions. The time-out is long only if the card
 * will end the call: the card has finished further buffers, or will do so in the library's sleep.
 */
static inline int choose_timeout(unsigned int directions)
{
	bool fresh = !quiet();

	for (unsigned int way = 0; way < 2; way++) {
		struct model *m = MODEL(way);
		uint64_t left = m->posted - m->executed;

		if (!(directions & (way ? LITEPCIE_C2H : LITEPCIE_H2C)))
			continue;
		if (m->executed != m->seen)
			return one_in(2) ? LONG_MS : 0;
		if (fresh || !left || one_in(3))
			continue;
		m->planned = 1 + below((unsigned int)left);
		m->lost = one_in(4);
		return LONG_MS;
	}
	return fresh || card.raised || one_in(2) ? 0 : 1;
}

static inline void begin_call(void)
{
	for (unsigned int way = 0; way < 2; way++)
		before_call.known[way] = MODEL(way)->known;
	before_call.missed = dev.stats.interrupts_missed;
	before_call.slept = before_call.came = before_call.timed = false;
}

/*
 * Check that the last call, with the time-out @timeout_ms, has counted one interrupt as missed if
 * the time-out was LONG_MS, the first sleep was longer than 0 ms and ended without an interrupt,
 * and a buffer that the call found finished asks for an interrupt. Otherwise it must have counted
 * none.
 */
static inline void check_missed(int timeout_ms)
{
	bool asked = false;

	for (unsigned int way = 0; way < 2; way++)
		for (uint64_t n = before_call.known[way]; n < MODEL(way)->known; n++)
			asked |= MODEL(way)->asks[n % COUNT];
	CHECK_EQUAL(dev.stats.interrupts_missed - before_call.missed,
		    timeout_ms == LONG_MS && before_call.timed && !before_call.came && asked);
}

/*
 * Update the model for a wait that has ended: let it read the card's counts once, and once more
 * unless an interrupt has ended the wait's first sleep and, with a @timeout_ms other than 0, the
 * first read has found progress.
 */
static inline void model_waited(unsigned int directions, int timeout_ms)
{
	uint64_t before = model_seen(directions);

	model_look();
	if (!before_call.came || (timeout_ms && model_seen(directions) == before))
		model_look();
	check_missed(timeout_ms);
}

static inline void step_wait(unsigned int unused)
{
	unsigned int directions = 1 + below(3);
	int expected = expected_wait(directions), timeout_ms, rc;
	uint64_t before = model_seen(directions);

	(void)unused;
	if (expected < 0) {
		CHECK_EQUAL(litepcie_dma_wait(&dev, directions, 0), expected);
		return;
	}
	for (unsigned int way = 0; way < 2; way++)
		if (directions & (way ? LITEPCIE_C2H : LITEPCIE_H2C))
			model_hand_over_early(way);
	timeout_ms = choose_timeout(directions);
	begin_call();
	rc = litepcie_dma_wait(&dev, directions, timeout_ms);
	model_waited(directions, timeout_ms);
	CHECK_EQUAL(rc, model_seen(directions) != before);
}

/*
 * Make the model ready for a call of litepcie_stream_ready() or litepcie_stream_acquire(). Returns
 * the time-out for the call.
 */
static inline int model_want(unsigned int way)
{
	int timeout_ms = 0;

	begin_call();
	if (!MODEL(way)->runs || model_available(way))
		return (int)below(2);
	model_hand_over_early(way);
	timeout_ms = choose_timeout(stream_of(way)->direction);
	begin_call();
	return timeout_ms;
}

/*
 * Update the model for what a call of litepcie_stream_ready() or litepcie_stream_acquire() has
 * learned of the card's progress. Returns the number of buffers that can be acquired then,
 * including a buffer that this call itself has acquired.
 */
static inline uint64_t model_wanted(unsigned int way, int timeout_ms)
{
	if (model_available(way))
		return model_available(way);
	if (timeout_ms) {
		model_waited(stream_of(way)->direction, timeout_ms);
	} else {
		model_look();
		model_look();
	}
	return model_available(way);
}

static inline void step_ready(unsigned int way)
{
	int timeout_ms = model_want(way), rc = litepcie_stream_ready(stream_of(way), timeout_ms);

	CHECK_EQUAL(rc, MODEL(way)->runs ? (int)model_wanted(way, timeout_ms) : -EINVAL);
}

static inline void check_buffer(unsigned int way, const struct litepcie_buffer *buffer)
{
	const struct model *m = MODEL(way);
	uint64_t slot = m->acquired % COUNT;
	bool recorded = way && records;

	CHECK_EQUAL(buffer->sequence, m->acquired);
	CHECK(buffer->data == (uint8_t *)stream_of(way)->memory->base + slot * SIZE);
	CHECK_EQUAL(buffer->bytes, recorded ? m->bytes[slot] : SIZE);
	CHECK_EQUAL(buffer->flags, recorded ? m->flags[slot] : 0);
}

static inline void step_acquire(unsigned int way)
{
	struct litepcie_buffer buffer = { .struct_size = one_in(16) ? 0 : sizeof(buffer) };
	bool sized = buffer.struct_size;
	struct model *m = MODEL(way);
	int timeout_ms = model_want(way);
	int rc = litepcie_stream_acquire(stream_of(way), &buffer, timeout_ms);

	if (!m->runs) {
		CHECK_EQUAL(rc, -EINVAL);
	} else if (!model_wanted(way, timeout_ms)) {
		CHECK_EQUAL(rc, 0);
	} else if (!sized) {
		CHECK_EQUAL(rc, -EINVAL);
	} else {
		CHECK_EQUAL(rc, 1);
		check_buffer(way, &buffer);
		m->acquired++;
	}
}

static inline void step_release(unsigned int way)
{
	struct model *m = MODEL(way);
	uint64_t held = m->acquired - m->released;
	unsigned int count = below((unsigned int)held + 2);
	int expected = m->runs && count <= held ? 0 : -EINVAL;

	for (uint64_t n = 0; !way && n < count && !expected; n++)
		m->bytes[(m->released + n) % COUNT] = SIZE;
	if (!expected)
		model_release(way, count);
	CHECK_EQUAL(litepcie_stream_release(stream_of(way), count), expected);
}

static inline void step_send(unsigned int way)
{
	struct model *m = MODEL(way);
	uint32_t bytes = one_in(4) ? SIZE + below(2) : below(SIZE);
	bool refused = way || !bytes || bytes > SIZE || !m->runs || m->acquired == m->released;

	if (!refused) {
		m->bytes[m->released % COUNT] = bytes;
		m->spared += SIZE - bytes;
		model_release(way, 1);
	}
	CHECK_EQUAL(litepcie_stream_send(stream_of(way), bytes), refused ? -EINVAL : 0);
}

static inline void step_flush(unsigned int way)
{
	model_hand_over(way);
	CHECK_EQUAL(litepcie_stream_flush(stream_of(way)), MODEL(way)->runs ? 0 : -EINVAL);
}

static inline void step_drain(unsigned int way)
{
	struct model *m = MODEL(way);
	uint64_t wanted, received;
	bool planned;
	char text[96];

	if (way || !m->runs) {
		CHECK_EQUAL(litepcie_stream_drain(stream_of(way), 0), -EINVAL);
		return;
	}
	model_hand_over(way);
	m->planned = m->executed < m->posted && one_in(2) ?
		     (unsigned int)(m->posted - m->executed) : 0;
	m->lost = false;
	planned = m->planned;
	wanted = received = m->released * SIZE - m->spared;
	for (uint64_t n = m->executed; n < m->released; n++)
		received -= m->bytes[n % COUNT];
	CHECK_EQUAL(litepcie_stream_drain(stream_of(way), planned ? LONG_MS : 0),
		    m->executed == m->released ? 0 : -ETIMEDOUT);
	snprintf(text, sizeof(text), "received %llu of %llu bytes", (unsigned long long)received,
		 (unsigned long long)wanted);
	CHECK(m->executed == m->released || says(text));
	model_look();
	if (planned)
		model_look();
}

#endif /* LITEPCIE_TEST_RANDOM_CALLS_H */
