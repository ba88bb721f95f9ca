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

#include "../engine_card.h"

/*
 * The state that one direction must have. Its counts of buffers begin at @first, which is 0 or just
 * below 2^32: move_counts() in random_runs.h sets it.
 */
struct model {
	bool		runs;
	uint64_t	first;		/* number at which the counts of the run began */
	uint64_t	acquired, released, handed, posted;
	/* number of buffers whose descriptors the card has executed */
	uint64_t	executed;
	uint64_t	known;		/* number of executed buffers that the library knows of */
	/*
	 * number of buffers that the library counts as finished, so that the program may use them
	 */
	uint64_t	seen;
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
/*
 * number of interrupts that the card has raised since a stream was last started while the other
 * stream was stopped
 */
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
		 * On a card without records the register may count a c2h buffer before its data has
		 * arrived. So the library believes the last counted buffer only after a second read
		 * of the register. It makes this read at once if that buffer asks for an interrupt,
		 * or if the card has executed all descriptors that it was given.
		 */
		if (way && !records && m->known != before && m->known != m->posted &&
		    !m->asks[(m->known - 1) % COUNT])
			m->seen--;
	}
}

/*
 * Give the card of the model the buffers below number @end, and none beyond the stream's limit.
 * Note in `asks` which of them ask for an interrupt.
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
