/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The histogram of times.h. */
#include "times.h"

/*
 * Returns the bucket of a time. Times below TIMES_STEPS ns have a bucket each. A longer time is
 * shifted right until it is below 2 * TIMES_STEPS. Each shift has TIMES_STEPS buckets.
 */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift = 0;

	while (ns >> shift >= 2 * TIMES_STEPS)
		shift++;
	return shift * TIMES_STEPS + (unsigned int)(ns >> shift);
}

/* Returns the longest time in ns of a bucket. */
static uint64_t longest_in(unsigned int bucket)
{
	unsigned int shift = bucket < 2 * TIMES_STEPS ? 0 : bucket / TIMES_STEPS - 1;

	return ((uint64_t)(bucket - shift * TIMES_STEPS) << shift) + ((UINT64_C(1) << shift) - 1);
}

void times_add(struct times *times, uint64_t ns)
{
	times->buckets[bucket_of(ns)]++;
	times->count++;
	if (ns > times->worst_ns)
		times->worst_ns = ns;
}

uint64_t times_part(const struct times *times, unsigned int permille)
{
	uint64_t wanted = (times->count * permille + 999) / 1000, seen = 0;
	unsigned int bucket = 0;

	if (!times->count)
		return 0;
	while ((seen += times->buckets[bucket]) < wanted)
		bucket++;
	return longest_in(bucket) < times->worst_ns ? longest_in(bucket) : times->worst_ns;
}
