/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command mmio_bench: its options and the printing of its results. mmio_measure.c does the
 * measurement.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "litepcie_capability.h"
#include "mmio_bench.h"
#include "mmio_ways.h"

#define DEFAULT_COUNT	256
#define MAX_COUNT	1000000

static const char *const target_names[] = { "memory0", "scratch", "time" };

/* Output -------------------------------------------------------------------------------------- */

static double megabytes_per_s(const struct mmio_row *row)
{
	return row->ns.median > 0 ? (double)row->size * 1000 / row->ns.median : 0;
}

static void print_row(const struct mmio_row *row)
{
	if (!row->valid) {
		printf("  %-13s no value: ", row->id);
		util_fill(26, 18, row->reason);
		return;
	}
	printf("  %-13s %8.1f %8.1f %8.1f %8.1f", row->id, row->ns.median, row->ns.p99,
	       row->ns.min, row->ns.max);
	if (row->write)
		printf(" %9.1f", megabytes_per_s(row));
	putchar('\n');
	histogram_print(&row->ns, "ns");
}

struct result {
	struct mmio_bench	bench;
	struct mmio_ways	ways;
};

static void print_text(const struct util *util, const void *data)
{
	const struct result *result = data;
	const struct mmio_bench *bench = &result->bench;

	printf("mmio_bench     %s\n  %s by %s, %zu samples in a row, device time\n", util->device,
	       target_names[bench->target], bench->path, bench->count);
	if (isnan(bench->clock_ns))
		puts("  clock         " MMIO_CUT_SHORT);
	else
		printf("  clock         %6.1f ns round trip of its own register\n", bench->clock_ns);
	if (!bench->all)
		printf("  %-13s %8s %8s %8s %8s %9s\n", "ns", "median", "p99", "min", "max", "MB/s");
	for (size_t i = 0; !bench->all && i < MMIO_ROWS; i++)
		print_row(&bench->rows[i]);
	if (bench->all)
		mmio_ways_print(&result->ways);
}

static void print_row_json(struct json *json, const struct mmio_row *row)
{
	json_begin_object(json, NULL);
	json_string(json, "id", row->id);
	json_string(json, "op", row->write ? "write" : "read");
	json_unsigned(json, "size_bytes", row->size);
	json_string(json, "unit", row->write ? "MB/s" : "ns");
	if (!row->valid) {
		json_null(json, "value");
		json_string(json, "reason", row->reason);
	} else {
		json_number(json, "value", row->write ? megabytes_per_s(row) : row->ns.median);
		json_null(json, "reason");
		json_number(json, "median_ns", row->ns.median);
		json_number(json, "p99_ns", row->ns.p99);
		json_number(json, "min_ns", row->ns.min);
		json_number(json, "max_ns", row->ns.max);
		json_unsigned(json, "samples", row->ns.samples);
		if (row->write)
			json_number(json, "mb_per_s", megabytes_per_s(row));
		histogram_json(json, &row->ns, "ns");
	}
	json_end_object(json);
}

static void print_json(struct json *json, const void *data)
{
	const struct result *result = data;
	const struct mmio_bench *bench = &result->bench;

	json_string(json, "target", target_names[bench->target]);
	json_string(json, "mmio_path", bench->path);
	json_number(json, "clock_round_trip_ns", bench->clock_ns);
	json_unsigned(json, "writes_per_sample", MMIO_BURST);
	json_begin_array(json, "rows");
	for (size_t i = 0; !bench->all && i < MMIO_ROWS; i++)
		print_row_json(json, &bench->rows[i]);
	if (bench->all)
		mmio_ways_json(json, &result->ways);
	json_end_array(json);
}

/* Command ------------------------------------------------------------------------------------- */

/*
 * Find the offsets in BAR0 of the clock and of the register to measure. If one of them is missing,
 * nothing can be measured. Returns 0 or -errno.
 */
static int find_places(struct litepcie *dev, struct mmio_bench *bench)
{
	struct litepcie_register clock = { .struct_size = sizeof(clock) };
	struct litepcie_register scratch = { .struct_size = sizeof(scratch) };
	struct litepcie_block memory = { .struct_size = sizeof(memory) };
	int rc = litepcie_register_find(dev, "device_time_low", &clock);

	if (rc == 0)
		rc = litepcie_register_find(dev, "ctrl_scratch", &scratch);
	if (rc == 0)
		rc = litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, 0, &memory);
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
		mmio_refuse(&bench->rows[i], MMIO_CUT_SHORT);
	}
}

static int measure(struct util *util, struct result *result)
{
	struct mmio_bench *bench = &result->bench;
	int rc = find_places(util->dev, bench);

	bench->tick_ns = util_tick_ns(util->dev);
	if (rc == 0)
		rc = mmio_measure(util->dev, bench);
	if (rc == 0 && bench->all) {
		result->ways.bench = bench;
		result->ways.link = (struct limit_link) {
			.gen = util->conditions.link_gen, .lanes = util->conditions.link_lanes,
			.mps = util->conditions.mps, .mrrs = util->conditions.mrrs,
			.cycle_ns = bench->tick_ns,
		};
		rc = mmio_ways_measure(util->dev, &result->ways);
	}
	return rc;
}

static struct result result;
static uint64_t count = DEFAULT_COUNT;

static const struct util_option options[] = {
	{ .name = "all", .letter = 'a', .to = &result.bench.all,
	  .help = "every way of access, in the card's largest memory" },
	{ .name = "count", .letter = 'n', .value = "N", .parse = option_number, .to = &count,
	  .low = 1, .high = MAX_COUNT, .rule = "it must be a number from 1 to 1000000",
	  .help = "samples in each row, 1 to 1000000 (256); a sample is one read, or 64 writes back "
		  "to back" },
	{ .name = "target", .letter = 't', .value = "NAME", .parse = option_choice,
	  .to = &result.bench.target, .choices = "memory0 scratch time",
	  .rule = "there are memory0, scratch and time",
	  .help = "memory0 (default; what is overwritten is restored), scratch or time" },
	{ 0 },
};

static int run(struct util *util, int argc, char **argv)
{
	struct mmio_bench *bench = &result.bench;
	int rc;

	(void)argc;
	(void)argv;
	bench->count = count;
	set_up(bench);
	bench->samples = calloc(bench->count, sizeof(bench->samples[0]));
	if (!bench->samples)
		util_fail(util, "no memory for %zu samples; ask for fewer with --count",
			  bench->count);
	if (!bench->samples || !util_open(util)) {
		free(bench->samples);
		return util_finish(util, NULL, print_text, print_json);
	}
	snprintf(bench->path, sizeof(bench->path), "%s", litepcie_mmio_path(util->dev));
	rc = measure(util, &result);
	if (rc == -EINTR && util_interrupted())
		util_fail(util, "interrupted; what was overwritten is restored");
	else
		util_check(util, rc, "MMIO");
	free(bench->samples);
	return util_finish(util, &result, print_text, print_json);
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
		"writes) and what binds, or the reason why it cannot be done here: a system call\n"
		"for each access, mapped loads and stores of 4 and 8 bytes, single accesses up\n"
		"to 64 bytes (vector instructions, or one TLP of a simulated host),\n"
		"write-combined stores, memcpy, several threads.\n",
	.options = options,
	.examples =
		"example:\n"
		"  litepcie_util -d sim:build/board.sock mmio_bench --count 1000\n",
	.run = run,
};
