/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The model of stream_random.c: the state that each direction must have after each call. Also the
 * functions for random choices, below() and one_in().
 */
#ifndef LITEPCIE_TEST_RANDOM_MODEL_H
#define LITEPCIE_TEST_RANDOM_MODEL_H

#include "engine_card.h"

/*
 * The state that one direction must have. All counts of buffers begin at @first, which is 0 or just
 * below 2^32 (see move_counts()).
 */
struct model {
	bool		runs;
	uint64_t	first;		/* number at which the counts of the run began */
	uint64_t	acquired, released, handed, posted;
	uint64_t	executed;	/* number of buffers that the card has executed */
	uint64_t	known;		/* number of executed buffers that the library knows of */
	uint64_t	seen;		/* number of known buffers whose data has arrived */
	uint64_t	limit, spared;
	uint64_t	errors;
	unsigned int	batch, every;
	bool		packets;
	uint32_t	bytes[COUNT], flags[COUNT];
	bool		asks[COUNT];
	/*
	 * number of buffers that the card will execute in the library's next sleep that is longer
	 * than 0 ms
	 */
	unsigned int	planned;
	/* true: the card will raise no interrupt for the buffers that @planned counts */
	bool		lost;
};

static struct model models[2];
static bool records;	/* true: the card writes records and status lines */
/* number of interrupts that the card has raised since the first of the streams was started */
static uint64_t interrupts;

#define MODEL(way)	(&models[way])

static inline struct litepcie_stream *stream_of(unsigned int way)
{
	return way ? &dev.c2h : &dev.h2c;
}

static inline unsigned int below(unsigned int limit)
{
	return (unsigned int)rand() % limit;
}

static inline bool one_in(unsigned int n)
{
	return !below(n);
}

static inline void model_look(void)
{
	for (unsigned int way = 0; way < 2; way++) {
		struct model *m = MODEL(way);
		uint64_t before = m->known;

		if (!m->runs)
			continue;
		m->known = m->seen = m->executed;
		/*
		 * On a card without records the register counts a c2h buffer before its data has
		 * arrived. The library believes the last buffer only after a second read, which it
		 * makes if the buffer asks for an interrupt or no buffer is left.
		 */
		if (way && !records && m->known != before && m->known != m->posted &&
		    !m->asks[(m->known - 1) % COUNT])
			m->seen--;
	}
}

/*
 * Give the card of the model the buffers below @end, and none beyond the stream's limit. Note which
 * of them ask for an interrupt.
 */
static inline void model_post(unsigned int way, uint64_t end)
{
	struct model *m = MODEL(way);
	uint64_t count;

	if (m->limit && end > m->limit)
		end = m->limit;
	count = end - m->posted;
	for (; m->posted < end; m->posted++)
		m->asks[m->posted % COUNT] = m->posted % m->every == m->every - 1 ||
			(way ? m->posted + 1 == m->limit :
			       count < m->every && m->posted + 1 == end);
}

static inline void model_hand_over(unsigned int way)
{
	struct model *m = MODEL(way);

	if (!m->runs || m->released == m->handed)
		return;
	model_post(way, m->released + (way ? COUNT : 0));
	m->handed = m->released;
}

static inline void model_hand_over_early(unsigned int way)
{
	struct model *m = MODEL(way);

	if (m->handed + (way ? COUNT : 0) - m->seen < COUNT / 2)
		model_hand_over(way);
}

static inline uint64_t model_available(unsigned int way)
{
	return MODEL(way)->seen + (way ? 0 : COUNT) - MODEL(way)->acquired;
}

static inline uint64_t model_seen(unsigned int directions)
{
	return (directions & LITEPCIE_H2C ? models[0].seen : 0) +
	       (directions & LITEPCIE_C2H ? models[1].seen : 0);
}

static inline void model_release(unsigned int way, uint64_t count)
{
	MODEL(way)->released += count;
	if (MODEL(way)->released - MODEL(way)->handed >= MODEL(way)->batch)
		model_hand_over(way);
}

static inline bool quiet(void)
{
	return models[0].executed == models[0].seen && models[1].executed == models[1].seen;
}

static inline int expected_wait(unsigned int directions)
{
	return (directions & LITEPCIE_H2C && !models[0].runs) ||
	       (directions & LITEPCIE_C2H && !models[1].runs) ? -EINVAL : 0;
}

#endif /* LITEPCIE_TEST_RANDOM_MODEL_H */
