/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command latency: its options and the printing of its results. latency_measure.c does the
 * measurement.
 */
#include <math.h>

#include "latency.h"

#define DEFAULT_COUNT	200

static void print_row(const struct emit *out, const struct latency_row *row, bool software)
{
	bool valid = !row->reason;

	emit_string(out, "id", "  %-16s ", row->id);
	emit_unsigned(out, "size_bytes", NULL, row->size);
	emit_string(out, "unit", NULL, "ns");
	emit_number(out, "value", NULL, valid ? row->hardware.median : NAN);
	util_emit_reason(out, 19, "no value: ", row->reason);
	if (!valid)
		return;
	emit_number(out, "min_ns", "%8.0f ", row->hardware.min);
	emit_number(out, "median_ns", "%8.0f ", row->hardware.median);
	emit_number(out, "p90_ns", "%8.0f ", row->p90);
	emit_number(out, "p99_ns", "%8.0f ", row->hardware.p99);
	emit_number(out, "p999_ns", "%8.0f", row->p999);
	emit_number(out, "max_ns", NULL, row->hardware.max);
	emit_number(out, "software_ns", software ? "  %8.0f" : NULL, row->software);
	emit_text(out, "\n");
	if (out->json)
		histogram_emit(out, &row->hardware);
}

/* Print as text the histogram of each row that has a value. */
static void print_histograms(const struct emit *out, const struct latency *latency)
{
	for (int i = 0; i < LATENCY_ROWS; i++) {
		const struct latency_row *row = &latency->row[i];

		if (row->reason)
			continue;
		emit_text(out, "  %s\n", row->id);
		histogram_emit(out, &row->hardware);
	}
}

static void print(const struct emit *out, const void *result)
{
	const struct latency *latency = result;
	/*
	 * On a simulated board no row has a software time, since the host's clock does not run with
	 * the board's device time. The column is then left out.
	 */
	bool software = latency->real;

	emit_string(out, NULL, "latency        %s\n", out->util->device);
	emit_unsigned(out, "samples", "  %llu transfers in a row, one at a time\n", latency->count);
	emit_text(out, "  %-16s %8s %8s %8s %8s %8s%s\n", "ns", "min", "median", "p90", "p99",
		  "p99.9", software ? "  software" : "");
	emit_array(out, "rows");
	for (int i = 0; i < LATENCY_ROWS; i++) {
		emit_object(out, NULL);
		print_row(out, &latency->row[i], software);
		emit_object_end(out);
	}
	emit_array_end(out);
	if (!out->json)
		print_histograms(out, latency);
}

static void set_up(struct latency *latency)
{
	static const char *const ends[LATENCY_ENDS] = { "interrupt", "dma" };

	for (int i = 0; i < LATENCY_ROWS; i++) {
		struct latency_row *row = &latency->row[i];

		row->end = i / LATENCY_SIZES;
		row->size = 64u << i % LATENCY_SIZES;
		snprintf(row->id, sizeof(row->id), "%s/%zu", ends[row->end], row->size);
	}
}

static double samples[UTIL_MAX_COUNT], whole[UTIL_MAX_COUNT];
static struct latency latency = { .count = DEFAULT_COUNT, .samples = samples, .whole = whole };

static const struct util_option options[] = {
	{ .name = "count", .letter = 'n', .value = "N", .parse = option_number,
	  .to = &latency.count, .low = 1, .high = UTIL_MAX_COUNT,
	  .rule = OPTION_RANGE,
	  .help = "transfers in each row, 1 to 1000000 (200)" },
	{ 0 },
};

static void measure(struct util *util)
{
	int rc = latency_measure(util, &latency);
	const char *doing = util_interrupted() ? "interrupted" : "latency";

	/* litepcie_why() would still have the sentence of an earlier call. */
	if (rc < 0 && latency.why)
		util_fail(util, "%s: %s", doing, latency.why);
	else
		util_check(util, rc, doing);
}

static int run(struct util *util)
{
	set_up(&latency);
	if (util_open(util))
		measure(util);
	return util_emit(util, util->failed ? NULL : &latency, print);
}

const struct command cmd_latency = {
	.name = "latency",
	.summary = "doorbell to interrupt, and there and back by DMA, one at a time",
	.usage = "[-d DEVICE | -c N] [--json] latency [options]",
	.about =
		"Time single transfers through the card's loopback, one after the other: so many\n"
		"bytes read from host memory, and as many written to it.\n"
		"\n"
		"  interrupt/64 to 4096  from the doorbell to the interrupt that says it is\n"
		"                        done: from the register's write to the message, both\n"
		"                        stamped by the card\n"
		"  dma/64 to 4096        from the doorbell to the last byte written back, at the\n"
		"                        pins\n"
		"\n"
		"First comes a table of sizes by percentile, then a histogram of each. Hardware\n"
		"time is the card's own. Software time, what the host's clock has on top, is a\n"
		"column on a real card only: in simulation the host's clock means nothing. A\n"
		"card that does not stamp its interrupts says so instead.\n",
	.examples = "  litepcie_util -d sim:build/board.sock latency --count 100\n",
	.options = options, .run = run,
};
