/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the histogram of write times of lanebox-capture disk (times.c) against a sorted array of the
 * same times. The argument is the seed of the random times.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "../../lanebox_capture/disk/times.c"

#define TIMES	5000u

static uint64_t all[TIMES];
static struct times times;

static int by_size(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/*
 * The times have from 1 to 63 bits. A part of the histogram must be the exact one or up to
 * 1/TIMES_STEPS above it.
 */
static void parts_are_those_of_the_sorted_times(unsigned int seed)
{
	static const unsigned int parts[] = { 1, 500, 990, 999, 1000 };

	srandom(seed);
	for (unsigned int n = 0; n < TIMES; n++) {
		uint64_t value = (uint64_t)random() << 32 | (uint64_t)random();

		all[n] = value >> (1 + random() % 62);
		times_add(&times, all[n]);
	}
	qsort(all, TIMES, sizeof(all[0]), by_size);
	for (unsigned int n = 0; n < sizeof(parts) / sizeof(parts[0]); n++) {
		uint64_t exact = all[(TIMES * parts[n] + 999) / 1000 - 1];
		uint64_t found = times_part(&times, parts[n]);

		CHECK(found >= exact && found - exact <= exact / TIMES_STEPS);
	}
	CHECK_EQUAL(times_part(&times, 1000), all[TIMES - 1]);
	CHECK_EQUAL(times.worst_ns, all[TIMES - 1]);
	CHECK_EQUAL(times.count, TIMES);
}

static void few_times_have_parts(void)
{
	memset(&times, 0, sizeof(times));
	CHECK_EQUAL(times_part(&times, 500), 0);
	times_add(&times, 1000000);
	CHECK_EQUAL(times_part(&times, 1), 1000000);
	times_add(&times, UINT64_MAX);
	CHECK(times_part(&times, 500) >= 1000000 && times_part(&times, 500) < 1020000);
	CHECK_EQUAL(times_part(&times, 999), UINT64_MAX);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	parts_are_those_of_the_sorted_times((unsigned int)atoi(argv[1]));
	few_times_have_parts();
	return failed_checks != 0;
}
