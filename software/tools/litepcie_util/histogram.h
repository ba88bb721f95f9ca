/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Compute the median, the 99th percentile, the least and the largest value and a histogram of
 * samples. All bins of the histogram have the same width. The samples belong to the caller, and are
 * sorted in place. At least one sample is needed. All samples must be finite, and none is left out
 * as an outlier.
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
	/* number of bins in use: HISTOGRAM_BINS, or 1 if all samples are equal */
	unsigned int	bins;
	/*
	 * width of each bin, in the unit of the samples; 0 if all samples are equal. The first bin
	 * begins at @min.
	 */
	double		bin_width;
	size_t		count[HISTOGRAM_BINS];	/* number of samples in each bin in use */
};

/* Fill in @histogram from @count samples (1 or more), and sort @samples in place. */
void histogram_make(struct histogram *histogram, double *samples, size_t count);

/*
 * Print a histogram of times in ns. The text gets an indented line with a bar for each bin that is
 * not empty. JSON gets the array "histogram" with an object for each bin in use, also for empty
 * ones. The object has the keys "from_ns", "to_ns" and "count".
 */
void histogram_emit(const struct emit *out, const struct histogram *histogram);

#endif /* LITEPCIE_UTIL_HISTOGRAM_H */
