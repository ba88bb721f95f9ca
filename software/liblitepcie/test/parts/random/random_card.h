/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The card of stream_random.c: the stand-in of engine_card.h, which here also checks each
 * descriptor that it gets against the model, and executes random numbers of descriptors.
 */
#ifndef LITEPCIE_TEST_RANDOM_CARD_H
#define LITEPCIE_TEST_RANDOM_CARD_H

#include "random_model.h"

static const unsigned int bases[] = { H2C, C2H }, lines[] = { LINE_H2C, LINE_C2H };

/* Check the length, flags and address of a descriptor that the library gives the card. */
static inline void check_descriptor(unsigned int way)
{
	const struct model *m = MODEL(way);
	unsigned int base = bases[way], slot = card.pushed[way] % COUNT;
	uint64_t ring = IOVA + (way ? LITEPCIE_MEMORY_C2H : LITEPCIE_MEMORY_H2C) * 0x1000000ull;
	uint32_t value = card.word[(base + VALUE) / 4];
	uint32_t flags = (m->packets ? 0 : LITEPCIE_DESCRIPTOR_LAST_DISABLE) |
			 (m->asks[slot] ? 0 : LITEPCIE_DESCRIPTOR_IRQ_DISABLE);

	CHECK(m->first + card.pushed[way] < m->posted);
	CHECK_EQUAL(value, flags | (way ? SIZE : m->bytes[slot]));
	CHECK_EQUAL((uint64_t)card.word[(base + PUSH) / 4] << 32 | card.word[(base + VALUE) / 4 + 1],
		    ring + slot * SIZE);
}

static inline int random_post(struct litepcie *ours, const struct litepcie_post *posts,
			      size_t count, enum litepcie_post_by by)
{
	for (size_t i = 0; i < count; i++) {
		for (unsigned int way = 0; way < 2; way++) {
			if (posts[i].offset != bases[way] + PUSH)
				continue;
			card.word[posts[i].offset / 4] = (uint32_t)posts[i].value;
			check_descriptor(way);
		}
		fake_post(ours, &posts[i], 1, by);
	}
	return 0;
}

static inline void tell_line(unsigned int way)
{
	line(lines[way])->errors = MODEL(way)->errors;
	line(lines[way])->buffers = MODEL(way)->executed;
}

/*
 * Let the card execute @count descriptors of direction @way (0: h2c, 1: c2h), or all that it has if
 * these are fewer. If @lost is true, it raises no interrupt. If the direction does not run, nothing
 * happens.
 */
static inline void execute(unsigned int way, unsigned int count, bool lost)
{
	struct model *m = MODEL(way);

	if (!m->runs)
		return;
	for (; count && m->executed < m->posted; count--) {
		uint32_t slot = m->executed % COUNT;

		if (way && records) {
			m->flags[slot] = m->packets ? below(8) : 0;
			m->bytes[slot] = m->packets ? below(SIZE + 1) : SIZE;
			put_record(m->executed, m->bytes[slot], m->flags[slot]);
		}
		m->executed++;
		if (m->asks[slot] && !lost) {
			card.raised++;
			interrupts++;
		}
	}
	if (records && (!way || !one_in(3)))
		tell_line(way);
	card.word[(bases[way] + STATUS) / 4] = (uint32_t)m->executed;
}

/*
 * State before a call of the library that may sleep: `known` of each direction's model, and the
 * library's count of missed interrupts. Also whether the call has slept, and of its first sleep,
 * whether an interrupt came and whether it was longer than 0 ms.
 */
static struct {
	uint64_t	known[2];
	uint64_t	missed;
	bool		slept, came, timed;
} before_call;

static inline int random_sleep(struct litepcie *ours, int timeout_ms)
{
	int rc;

	for (unsigned int way = 0; way < 2 && timeout_ms; way++) {
		if (MODEL(way)->planned)
			execute(way, MODEL(way)->planned, MODEL(way)->lost);
		MODEL(way)->planned = 0;
	}
	rc = fake_sleep(ours, timeout_ms);
	if (!before_call.slept) {
		before_call.came = rc > 0;
		before_call.timed = timeout_ms > 0;
	}
	before_call.slept = true;
	return rc;
}

#endif /* LITEPCIE_TEST_RANDOM_CARD_H */
