/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Times of many writes, as a histogram of fixed size. Its percentiles are at most 1/TIMES_STEPS
 * above the exact ones. The longest time is exact.
 */
#ifndef LANEBOX_CAPTURE_TIMES_H
#define LANEBOX_CAPTURE_TIMES_H

#include <stdint.h>

#define TIMES_STEPS	64u	/* number of buckets in each doubling of the time */
#define TIMES_BUCKETS	(59 * TIMES_STEPS)

struct times {
	uint64_t	count;		/* number of times in the histogram */
	uint64_t	worst_ns;
	uint64_t	buckets[TIMES_BUCKETS];
};

void times_add(struct times *times, uint64_t ns);

/*
 * Returns a time in ns than which @permille of 1000 times are not longer, or 0 if the histogram is
 * empty.
 */
uint64_t times_part(const struct times *times, unsigned int permille);

#endif /* LANEBOX_CAPTURE_TIMES_H */
