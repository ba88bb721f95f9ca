/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Compute the median, the 99th percentile and a histogram of samples, with bins of equal width. The
 * samples belong to the caller, and are sorted in place. At least one sample is needed. All samples
 * must be finite, and none is left out as an outlier. No function fails or allocates memory.
 */
#ifndef LITEPCIE_UTIL_HISTOGRAM_H
#define LITEPCIE_UTIL_HISTOGRAM_H

#include <stddef.h>
#include <stdio.h>

#include "emit.h"

#define HISTOGRAM_BINS 10

struct histogram {
	size_t		samples;
	double		median, p99, min, max;	/* p99: the 99th percentile */
	/* number of bins of the histogram in use; 1 if all samples are equal */
	unsigned int	bins;
	/* width of each bin, in the unit of the samples; the first bin begins at @min */
	double		bin_width;
	size_t		count[HISTOGRAM_BINS];	/* number of samples in each bin */
};

/* Fill in @histogram from @count samples (1 or more), and sort @samples in place. */
void histogram_make(struct histogram *histogram, double *samples, size_t count);

/*
 * Print an indented line with a bar for each bin that is not empty. The samples are times in ns.
 * JSON gets the array "histogram", whose elements are objects with "from_ns", "to_ns" and "count",
 * for all bins.
 */
void histogram_emit(const struct emit *out, const struct histogram *histogram);

#endif /* LITEPCIE_UTIL_HISTOGRAM_H */
