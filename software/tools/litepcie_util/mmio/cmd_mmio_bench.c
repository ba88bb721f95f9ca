/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command mmio_bench: its options, and the printing of the rows that mmio_measure.c measures.
 * mmio_ways.c measures and prints the rows of the option --all.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "mmio_bench.h"
#include "rates.h"

#define DEFAULT_COUNT	256

static const char *const target_names[] = { "memory0", "scratch", "time" };

/* Printing the measured accesses -------------------------------------------------------------- */

struct result {
	struct mmio_bench	bench;
	struct mmio_ways	ways;
};

static void print_row(const struct emit *out, const struct mmio_row *row)
{
	bool valid = !*row->reason;
	double value = row->ns.median;

	if (row->write)
		value = value > 0 ? (double)row->size * 1000 / value : 0;
	emit_string(out, "id", "  %-13s ", row->id);
	emit_string(out, "op", NULL, row->write ? "write" : "read");
	emit_unsigned(out, "size_bytes", NULL, row->size);
	emit_string(out, "unit", NULL, row->write ? "MB/s" : "ns");
	emit_number(out, "value", NULL, valid ? value : NAN);
	util_emit_reason(out, 16, "no value: ", row->reason);
	if (!valid)
		return;
	emit_number(out, "median_ns", "%8.1f ", row->ns.median);
	emit_number(out, "p99_ns", "%8.1f ", row->ns.p99);
	emit_number(out, "min_ns", "%8.1f ", row->ns.min);
	emit_number(out, "max_ns", "%8.1f", row->ns.max);
	emit_unsigned(out, "samples", NULL, row->ns.samples);
	if (row->write)
		emit_number(out, "mb_per_s", " %9.1f", value);
	emit_text(out, "\n");
	histogram_emit(out, &row->ns);
}

static void print_rows(const struct emit *out, const struct mmio_bench *bench)
{
	emit_text(out, "  %-13s %8s %8s %8s %8s %9s\n", "ns", "median", "p99", "min", "max",
		  "MB/s");
	for (size_t i = 0; i < MMIO_ROWS; i++) {
		emit_object(out, NULL);
		print_row(out, &bench->rows[i]);
		emit_object_end(out);
	}
}

static void print(const struct emit *out, const void *data)
{
	const struct result *result = data;
	const struct mmio_bench *bench = &result->bench;

	emit_string(out, NULL, "mmio_bench     %s\n", out->util->device);
	emit_string(out, "target", "  %s ", target_names[bench->target]);
	emit_string(out, "mmio_path", "by %s, ", litepcie_mmio_path(out->util->dev));
	emit_unsigned(out, NULL, "%llu samples in a row, device time\n", bench->count);
	emit_number(out, "clock_round_trip_ns", "  clock         %6.1f ns round trip of its own "
		    "register\n", bench->clock_ns);
	if (isnan(bench->clock_ns))
		emit_text(out, "  clock         " MMIO_CUT_SHORT "\n");
	emit_unsigned(out, "writes_per_sample", NULL, MMIO_BURST);
	emit_array(out, "rows");
	if (bench->all)
		mmio_ways_emit(out, &result->ways);
	else
		print_rows(out, bench);
	emit_array_end(out);
}

/* The command mmio_bench ---------------------------------------------------------------------- */

/*
 * Find the offsets in BAR0 of the card's clock and of the target, which is memory 0, the scratch
 * register or the clock. A card that lacks one of the three gives an error, whatever the target is.
 * Returns 0 or -errno.
 */
static int find_places(struct mmio_bench *bench)
{
	struct litepcie_register clock = { .struct_size = sizeof(clock) };
	struct litepcie_register scratch = { .struct_size = sizeof(scratch) };
	struct litepcie_block memory = { .struct_size = sizeof(memory) };
	int rc = litepcie_register_find(bench->dev, "device_time_low", &clock) ?:
		 litepcie_register_find(bench->dev, "ctrl_scratch", &scratch) ?:
		 litepcie_block_find(bench->dev, LITEPCIE_BLOCK_MEMORY, 0, &memory);

	if (rc < 0)
		return rc;
	bench->clock = clock.offset;
	bench->offset = bench->target == MMIO_MEMORY0 ? memory.offset :
			bench->target == MMIO_SCRATCH ? scratch.offset : clock.offset;
	return 0;
}

static void set_up(struct mmio_bench *bench)
{
	static const char *const ids[] = {
		"mmio_read/4", "mmio_read/8", "mmio_write/4", "mmio_write/8",
	};

	bench->spread = bench->target == MMIO_MEMORY0;
	bench->clock_ns = NAN;
	for (size_t i = 0; i < MMIO_ROWS; i++) {
		bench->rows[i].id = ids[i];
		bench->rows[i].write = i >= 2;
		bench->rows[i].size = i % 2 ? 8 : 4;
		strcpy(bench->rows[i].reason, MMIO_CUT_SHORT);
	}
}

static double samples[UTIL_MAX_COUNT];
static struct result result = { .bench = { .count = DEFAULT_COUNT, .samples = samples } };

static const struct util_option options[] = {
	{ .name = "all", .letter = 'a', .to = &result.bench.all,
	  .help = "every way of access, in the card's memory beyond BAR0" },
	{ .name = "count", .letter = 'n', .value = "N", .parse = option_number,
	  .to = &result.bench.count, .low = 1, .high = UTIL_MAX_COUNT,
	  .rule = OPTION_RANGE,
	  .help = "samples in each row, 1 to 1000000 (256); a sample is one read, or 64 writes "
		  "back to back" },
	{ .name = "target", .letter = 't', .value = "NAME", .parse = option_choice,
	  .to = &result.bench.target, .choices = "memory0 scratch time",
	  .rule = "there are memory0, scratch and time",
	  .help = "memory0 (default; what is overwritten is restored), scratch or time" },
	{ 0 },
};

static int run(struct util *util)
{
	struct mmio_bench *bench = &result.bench;
	int rc;

	set_up(bench);
	if (!util_open(util))
		return util_emit(util, NULL, print);
	bench->dev = util->dev;
	bench->tick_ns = util_tick_ns(util->dev);
	result.ways.bench = bench;
	result.ways.link = rates_link(util);
	rc = find_places(bench) ?: mmio_measure(bench);
	if (rc == 0 && bench->all)
		rc = mmio_ways_measure(&result.ways);
	if (rc == -EINTR && util_interrupted())
		util_fail(util, "interrupted; what was overwritten is restored");
	else
		util_check(util, rc, "MMIO");
	return util_emit(util, &result, print);
}

const struct command cmd_mmio_bench = {
	.name = "mmio_bench",
	.summary = "latency of reads and rate of writes to BAR0",
	.usage = "[-d DEVICE | -c N] [--json] mmio_bench [options]",
	.about =
		"Measure single reads and bursts of posted writes of 4 and 8 bytes, by the\n"
		"card's own clock, with a histogram of each. A size that the card answers\n"
		"wrongly gets no value but the reason; that does not fail the command.\n"
		"\n"
		"With --all every way in which software reaches a card's memory, each with its\n"
		"rate, its limit (what is in flight over the round trip; link and interface for\n"
		"writes) and what binds, or the reason why it cannot be done here: a call of the\n"
		"library for each 4 bytes (a system call if the BAR is not mapped), mapped loads\n"
		"and stores of 4 and 8 bytes, single accesses up to 64 bytes (vector\n"
		"instructions, or one TLP of a simulated host), write-combined stores, memcpy,\n"
		"several threads.\n",
	.examples = "  litepcie_util -d sim:build/board.sock mmio_bench --count 1000\n",
	.options = options, .run = run,
};
