/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test dma_data.c: the data of a buffer continues that of the previous buffer, and dma_data_check()
 * reports how many dwords of a buffer are wrong, and the position and the two values of the first
 * one. The argument is the seed, and may be missing.
 */
#include <stdlib.h>

#include <string.h>

#include "../litepcie_util/dma/dma_data.c"
#include "check.h"
#include "seed.h"

#define BYTES	4096u
#define ROUNDS	2000u

static uint32_t buffer[BYTES / 4], scratch[BYTES / 4];

static void the_pattern_counts_dwords(void)
{
	const struct dma_data data = { .size = BYTES };

	dma_data_fill(&data, 0, buffer);
	CHECK_EQUAL(buffer[0], 0);
	CHECK_EQUAL(buffer[1023], 1023);
	dma_data_fill(&data, 5, buffer);
	CHECK_EQUAL(buffer[0], 5 * 1024);
	/* A dword of the pattern has 32 bits, so the pattern begins again after 2^32 dwords. */
	dma_data_fill(&data, (UINT64_C(1) << 32) / 1024, buffer);
	CHECK_EQUAL(buffer[0], 0);
}

/*
 * The random data must be one stream: two buffers of half the size have the data of one whole
 * buffer. Another seed must give other data.
 */
static void random_data_is_one_stream(void)
{
	const struct dma_data whole = { .random = true, .seed = 9, .size = BYTES };
	const struct dma_data half = { .random = true, .seed = 9, .size = BYTES / 2 };
	const struct dma_data other = { .random = true, .seed = 10, .size = BYTES };

	dma_data_fill(&whole, 3, buffer);
	dma_data_fill(&half, 6, scratch);
	dma_data_fill(&half, 7, scratch + BYTES / 8);
	CHECK(memcmp(buffer, scratch, BYTES) == 0);
	dma_data_fill(&other, 3, scratch);
	CHECK(memcmp(buffer, scratch, BYTES) != 0);
}

static void a_difference_is_told_exactly(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		const struct dma_data data = { .random = i % 2, .seed = i, .size = BYTES };
		struct dma_difference found = { .dwords = 99 };
		unsigned int at = (unsigned int)rand() % (BYTES / 4);
		unsigned int last = at + (unsigned int)rand() % (BYTES / 4 - at);
		uint32_t expected, flip = 1u << rand() % 32;

		dma_data_fill(&data, i, buffer);
		CHECK(dma_data_check(&data, i, buffer, &found));
		expected = buffer[at];
		buffer[at] ^= flip;
		if (last != at)
			buffer[last] ^= 1;
		found.dwords = 99;
		CHECK(!dma_data_check(&data, i, buffer, &found));
		CHECK_EQUAL(found.dwords, 1 + (last != at));
		CHECK_EQUAL(found.offset, 4 * at);
		CHECK_EQUAL(found.expected, expected);
		CHECK_EQUAL(found.got, expected ^ flip);
		CHECK(!dma_data_check(&data, i + 1, buffer, &found));
	}
}

int main(int argc, char **argv)
{
	take_seed("dma_data", argc > 1 ? argv[1] : NULL);
	the_pattern_counts_dwords();
	random_data_is_one_stream();
	a_difference_is_told_exactly();
	return failed_checks != 0;
}
