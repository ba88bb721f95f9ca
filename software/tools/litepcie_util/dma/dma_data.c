/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Fill DMA buffers with test data and compare them with it. dma_run.h says what each function
 * promises.
 */
#include "dma_run.h"

/*
 * Returns number @index, counted from 0, of the random number generator splitmix64 (S. Vigna,
 * public domain) with @seed. This generator can compute a number without the numbers before it.
 */
static uint64_t random_word(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/*
 * The test data of all DMA buffers, one behind the other, is a sequence of dwords that are counted
 * from 0. Returns the dwords 2 * @index and 2 * @index + 1 of this sequence.
 */
static uint64_t word_of(const struct dma_data *data, uint64_t index)
{
	if (data->random)
		return random_word(data->seed, index);
	return (uint64_t)(uint32_t)(2 * index + 1) << 32 | (uint32_t)(2 * index);
}

void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer)
{
	size_t words = data->size / 8;
	uint64_t *out = buffer;

	for (size_t i = 0; i < words; i++)
		out[i] = word_of(data, number * words + i);
}

static void compare(uint32_t expected, uint32_t got, size_t offset,
		    struct dma_difference *difference)
{
	if (expected == got)
		return;
	if (!difference->dwords++) {
		difference->offset = offset;
		difference->expected = expected;
		difference->got = got;
	}
}

bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    struct dma_difference *difference)
{
	size_t words = data->size / 8;
	const uint64_t *got = buffer;

	difference->dwords = 0;
	for (size_t i = 0; i < words; i++) {
		uint64_t expected = word_of(data, number * words + i);

		if (got[i] == expected)
			continue;
		compare((uint32_t)expected, (uint32_t)got[i], 8 * i, difference);
		compare(expected >> 32, got[i] >> 32, 8 * i + 4, difference);
	}
	return !difference->dwords;
}
