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

#include <string.h>

/*
 * Returns number @index of the random number generator splitmix64 (S. Vigna, public domain). This
 * generator can compute a number without the numbers before it.
 */
static uint64_t random_word(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer)
{
	size_t words = data->size / 8;
	uint64_t *out = buffer, index = number * words;

	for (size_t i = 0; i < words; i++, index++) {
		if (data->random)
			out[i] = random_word(data->seed, index);
		else
			out[i] = (uint64_t)(uint32_t)(2 * index + 1) << 32 | (uint32_t)(2 * index);
	}
}

static void find_difference(const uint32_t *expected, const uint32_t *got, size_t dwords,
			    struct dma_difference *difference)
{
	difference->dwords = 0;
	for (size_t i = 0; i < dwords; i++) {
		if (expected[i] == got[i])
			continue;
		if (!difference->dwords++) {
			difference->offset = 4 * i;
			difference->expected = expected[i];
			difference->got = got[i];
		}
	}
}

bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    void *scratch, struct dma_difference *difference)
{
	dma_data_fill(data, number, scratch);
	if (memcmp(scratch, buffer, data->size) == 0)
		return true;
	find_difference(scratch, buffer, data->size / 4, difference);
	return false;
}
