/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Samples, put in order: median, percentiles and a histogram of equal bins.
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
	unsigned int	bins;		/* in use; 1 when all samples are equal */
	double		bin_width;	/* the first begins at min */
	size_t		count[HISTOGRAM_BINS];
};

/* Sorts @samples in place; @count is 1 or more. */
void histogram_make(struct histogram *histogram, double *samples, size_t count);

/* A line with a bar for each bin, indented; @unit follows the numbers. */
void histogram_print(const struct histogram *histogram, const char *unit);

/* The array "histogram" of {"from_UNIT", "to_UNIT", "count"}. */
void histogram_json(struct json *json, const struct histogram *histogram, const char *unit);

#endif /* LITEPCIE_UTIL_HISTOGRAM_H */
