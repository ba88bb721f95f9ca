/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Median, 99th percentile and a histogram with bins of equal width.
 */
#ifndef LITEPCIE_UTIL_HISTOGRAM_H
#define LITEPCIE_UTIL_HISTOGRAM_H

#include <stddef.h>
#include <stdio.h>

#include "json.h"

#define HISTOGRAM_BINS 10

struct histogram {
	size_t		samples;
	double		median, p99, min, max;
	unsigned int	bins;		/* number of bins in use; 1 if all samples are equal */
	double		bin_width;	/* width of each bin; the first bin begins at min */
	size_t		count[HISTOGRAM_BINS];
};

/* Fill in @histogram. Sorts @samples in place; @count is 1 or more. */
void histogram_make(struct histogram *histogram, double *samples, size_t count);

/*
 * Print an indented line with a bar for each bin that is not empty. @unit is printed behind the
 * numbers.
 */
void histogram_print(const struct histogram *histogram, const char *unit);

/* Write the array "histogram", whose elements are {"from_UNIT", "to_UNIT", "count"}. */
void histogram_json(struct json *json, const struct histogram *histogram, const char *unit);

#endif /* LITEPCIE_UTIL_HISTOGRAM_H */
