/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Compute statistics of samples. histogram.h says what each function promises. */
#include "histogram.h"

#include <stdlib.h>
#include <string.h>

#define BAR_LENGTH 40

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void fill_bins(struct histogram *h, const double *samples)
{
	memset(h->count, 0, sizeof(h->count));
	h->bins = h->max > h->min ? HISTOGRAM_BINS : 1;
	h->bin_width = (h->max - h->min) / h->bins;
	for (size_t i = 0; i < h->samples; i++) {
		unsigned int bin = 0;

		if (h->bins > 1)
			bin = (unsigned int)((samples[i] - h->min) / h->bin_width);
		/*
		 * The largest sample lies on the upper edge of the last bin, so for it the division
		 * may give the number of a bin behind the last one. Such a sample is counted in the
		 * last bin.
		 */
		if (bin >= h->bins)
			bin = h->bins - 1;
		h->count[bin]++;
	}
}

void histogram_make(struct histogram *h, double *samples, size_t count)
{
	qsort(samples, count, sizeof(samples[0]), compare);
	h->samples = count;
	h->min = samples[0];
	h->max = samples[count - 1];
	h->median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
	h->p99 = samples[(count - 1) * 99 / 100];
	fill_bins(h, samples);
}

void histogram_emit(const struct emit *out, const struct histogram *h)
{
	emit_array(out, "histogram");
	for (unsigned int i = 0; i < h->bins; i++) {
		double from = h->min + i * h->bin_width, to = h->min + (i + 1) * h->bin_width;
		int length = (int)(h->count[i] * BAR_LENGTH / h->samples);

		if (h->count[i])
			emit_text(out, "      %8.1f - %-8.1f ns %6zu %.*s\n", from, to, h->count[i],
				  length ? length : 1, "########################################");
		emit_object(out, NULL);
		emit_number(out, "from_ns", NULL, from);
		emit_number(out, "to_ns", NULL, to);
		emit_unsigned(out, "count", NULL, h->count[i]);
		emit_object_end(out);
	}
	emit_array_end(out);
}
