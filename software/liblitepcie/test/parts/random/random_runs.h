/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The steps of stream_random.c that begin and end runs, and what the card does meanwhile: it
 * executes descriptors, or reports counts and lengths that cannot be true.
 */
#ifndef LITEPCIE_TEST_RANDOM_RUNS_H
#define LITEPCIE_TEST_RANDOM_RUNS_H

#include "random_calls.h"

/*
 * Let the counts of a run that has just begun be those of a run that has moved nearly 2^32 buffers,
 * so the card's 32-bit register for its count wraps soon.
 */
static inline void move_counts(unsigned int way)
{
	uint64_t by = (UINT64_C(1) << 32) - 16 - 48 * (uint64_t)below(4);
	struct litepcie_stream *stream = stream_of(way);
	struct model *m = MODEL(way);

	stream->hw += by;
	stream->sw += by;
	stream->acquired += by;
	stream->handed += by;
	stream->posted += by;
	stream->done += by;
	m->first = m->acquired = m->released = m->handed = m->executed = m->known = m->seen = by;
	m->posted += by;
	m->spared = 0;
	card.word[(bases[way] + STATUS) / 4] = (uint32_t)by;
	if (m->limit)
		stream->options.limit = m->limit += by;
}

static inline void step_start(unsigned int way)
{
	static const unsigned int every[] = { 0, 1, 2, 3, 4, 6, 8, 16 };
	struct model *m = MODEL(way);
	struct run_config config = {
		.interrupt_every = every[below(8)], .batch = below(COUNT / 2 + 1),
		.c2h_limit = way && one_in(3) ? 1 + below(3 * COUNT) : 0,
		.packets = records && one_in(2),
	};

	if (m->runs) {
		CHECK_EQUAL(litepcie_stream_start(stream_of(way)), -EBUSY);
		CHECK_EQUAL(litepcie_reset(&dev), -EBUSY);
		return;
	}
	CHECK_EQUAL(run_open(&dev, stream_of(way)->direction, &config), 0);
	if (!MODEL(!way)->runs)
		interrupts = MODEL(!way)->errors = 0;
	*m = (struct model) {
		.runs = true, .limit = config.c2h_limit, .batch = config.batch ? config.batch : 1,
		.every = config.interrupt_every ? config.interrupt_every : COUNT / 2,
		.packets = config.packets,
	};
	card.pushed[way] = 0;
	card.word[(bases[way] + STATUS) / 4] = 0;
	if (way)
		model_post(way, COUNT);
	CHECK_EQUAL(litepcie_stream_start(stream_of(way)), 0);
	CHECK(!card.late);
	if (one_in(2))
		move_counts(way);
}

static inline void step_stop(unsigned int way)
{
	/*
	 * A step of this kind stops the stream in one of eight cases on average, so that a run
	 * lasts for several rounds of the ring.
	 */
	if (!one_in(8))
		return;
	CHECK_EQUAL(litepcie_stream_stop(stream_of(way)), 0);
	MODEL(way)->runs = false;
	if (!MODEL(!way)->runs)
		CHECK_EQUAL(card.raised, 0);
}

/*
 * Both streams are stopped while litepcie_dma_wait() sleeps, as another thread could do. The wait
 * must return -ECANCELED.
 */
static inline void step_stop_in_wait(unsigned int way)
{
	if (!one_in(8) || !MODEL(way)->runs || !quiet() || card.raised)
		return;
	model_hand_over_early(way);
	card.stops = 1;
	CHECK_EQUAL(litepcie_dma_wait(&dev, stream_of(way)->direction, LONG_MS), -ECANCELED);
	models[0].runs = models[1].runs = false;
}

static inline void step_execute(unsigned int way)
{
	execute(way, 1 + below(COUNT), one_in(8));
	if (records && MODEL(way)->runs && one_in(4)) {
		MODEL(way)->errors += below(3);
		line(lines[way])->errors = MODEL(way)->errors;
	}
}

/*
 * If the card reports a count that cannot be true, a wait must return -EIO. If then up to
 * LITEPCIE_READS - 1 reads of the register with the count fail with all ones, a wait must not fail:
 * the library makes such a read again.
 */
static inline void step_untrue(unsigned int way)
{
	struct model *m = MODEL(way);
	uint32_t *status = &card.word[(bases[way] + STATUS) / 4];
	uint64_t untrue;

	if (!m->runs || !quiet())
		return;
	model_hand_over_early(way);
	untrue = m->posted + 1 + below(2);
	if (way && records && m->executed < m->posted && one_in(2))
		untrue = m->executed + 1;	/* the last buffer counted has no record */
	if (records)
		line(lines[way])->buffers = untrue;
	else
		*status = (uint32_t)untrue;
	CHECK_EQUAL(litepcie_dma_wait(&dev, stream_of(way)->direction, 0), -EIO);
	if (records)
		line(lines[way])->buffers = m->executed;
	*status = (uint32_t)m->executed;
	card.blocked = bases[way] + STATUS;
	card.given_up = 1 + below(LITEPCIE_READS - 1);
	CHECK_EQUAL(litepcie_dma_wait(&dev, stream_of(way)->direction, 0), 0);
	card.given_up = 0;
}

/*
 * If the record of a c2h buffer says more bytes than the buffer has, litepcie_stream_acquire()
 * returns -EIO and does not acquire the buffer.
 */
static inline void step_long_record(unsigned int unused)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct model *m = MODEL(1);

	(void)unused;
	if (!records || !m->runs || m->seen == m->acquired)
		return;
	entry(m->acquired)->bytes = SIZE + 1;
	CHECK_EQUAL(litepcie_stream_acquire(&dev.c2h, &buffer, 0), -EIO);
	entry(m->acquired)->bytes = m->bytes[m->acquired % COUNT];
}

#endif /* LITEPCIE_TEST_RANDOM_RUNS_H */
