/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test histogram.c: known samples must give known statistics and bins. For random samples the
 * counts of the bins must add up to the number of samples. The argument is the seed, and may be
 * missing.
 */
#include <math.h>

#include "../litepcie_util/histogram.c"
#include "../litepcie_util/emit.c"
#include "check.h"
#include "seed.h"

#define ROUNDS	500u

static void known_samples_have_known_values(void)
{
	double four[] = { 4, 1, 3, 2 }, hundred[101], one[] = { 7 };
	struct histogram h;

	histogram_make(&h, four, 4);
	CHECK_EQUAL(h.samples, 4);
	CHECK(h.min == 1 && h.max == 4 && h.median == 2.5 && h.p99 == 3);
	CHECK(four[0] == 1 && four[3] == 4);
	for (int i = 0; i <= 100; i++)
		hundred[i] = 100 - i;
	histogram_make(&h, hundred, 101);
	CHECK(h.median == 50 && h.p99 == 99 && h.bin_width == 10);
	CHECK_EQUAL(h.bins, HISTOGRAM_BINS);
	CHECK_EQUAL(h.count[0], 10);
	/* The largest sample is on the upper edge of the last bin, and is counted in that bin. */
	CHECK_EQUAL(h.count[9], 11);
	histogram_make(&h, one, 1);
	CHECK(h.median == 7 && h.p99 == 7 && h.min == 7 && h.max == 7);
	CHECK_EQUAL(h.bins, 1);
	CHECK_EQUAL(h.count[0], 1);
}

static void each_sample_is_in_one_bin(void)
{
	static double samples[257];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t count = 1 + (size_t)rand() % 257, sum = 0, below = 0;
		double scale = pow(10, rand() % 12 - 3);
		struct histogram h;

		for (size_t i = 0; i < count; i++)
			samples[i] = rand() % 1000 * scale;
		histogram_make(&h, samples, count);
		for (unsigned int bin = 0; bin < h.bins; bin++)
			sum += h.count[bin];
		CHECK_EQUAL(sum, count);
		for (size_t i = 0; i < count; i++)
			below += samples[i] < h.median;
		CHECK(below <= count / 2);
		CHECK(h.min <= h.median && h.median <= h.max && h.p99 <= h.max);
	}
}

int main(int argc, char **argv)
{
	take_seed("histogram", argc > 1 ? argv[1] : NULL);
	known_samples_have_known_values();
	each_sample_is_in_one_bin();
	return failed_checks != 0;
}
