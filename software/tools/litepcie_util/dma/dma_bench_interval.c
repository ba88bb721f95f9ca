/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * dma_bench --interval: print the rate of each interval of a run. The host's clock decides when an
 * interval ends. The rate is computed from the card's own time, since the device time of a
 * simulated card runs far slower than the host's clock.
 */
#include <stdlib.h>

#include "dma_bench.h"

static bool keep(struct bench_intervals *intervals, const struct bench_interval *entry)
{
	struct bench_interval *more = realloc(intervals->entry,
					      (intervals->count + 1) * sizeof(*more));

	if (!more)
		return false;
	intervals->entry = more;
	more[intervals->count++] = *entry;
	return true;
}

static void print_interval(const struct rates *rates, const struct bench_interval *entry)
{
	const struct rate *rate = &entry->rate;
	double card_ms = (double)rate->cycles * rates->link.cycle_ns / 1e6;

	printf("  %-6s %5.1f-%-5.1f %9.3f %8.1f %7.2f %7.2f %8.3f  %s\n", rate->id, entry->from_s,
	       entry->to_s, card_ms, (double)rate->bytes / 1e6, rate->gb_per_s,
	       rate->limit.value, rate->gb_per_s / rate->limit.value,
	       limit_name(rates_binds(rate)));
	fflush(stdout);
}

/* Returns which measurement @run is (c2h, h2c or duplex), by its active directions. */
static enum rates_way way_of(const struct dma_run *run)
{
	if (!run->h2c.active)
		return RATES_C2H;
	return run->c2h.active ? RATES_DUPLEX : RATES_H2C;
}

void bench_interval_tell(const struct dma_run *run, const struct dma_watch *watch)
{
	struct bench_intervals *intervals = watch->context;
	struct bench_interval entry = { .from_s = watch->from_s, .to_s = watch->to_s };

	rates_of_stretch(intervals->rates, way_of(run), run, &watch->window, &entry.rate);
	if (!keep(intervals, &entry))
		util_fail(run->util, "no memory for %zu intervals; ask for longer ones",
			  intervals->count + 1);
	if (intervals->print && intervals->count == 1)
		printf("  %-6s %11s %8s %8s %7s %7s %8s  %s\n", "", "seconds  ", "card's ms", "MB",
		       "GB/s", "limit", "reached", "binds");
	if (intervals->print)
		print_interval(intervals->rates, &entry);
}

void bench_intervals_emit(const struct emit *out, const struct bench_intervals *intervals)
{
	if (!out->json)
		return;	/* bench_interval_tell() has already printed the lines of text */
	emit_array(out, "intervals");
	for (size_t i = 0; i < intervals->count; i++) {
		const struct bench_interval *entry = &intervals->entry[i];

		emit_object(out, NULL);
		emit_number(out, "from_s", NULL, entry->from_s);
		emit_number(out, "to_s", NULL, entry->to_s);
		bench_emit_rate(out, &entry->rate, entry->rate.id,
				rates_binds(&entry->rate));
		emit_object_end(out);
	}
	emit_array_end(out);
}
