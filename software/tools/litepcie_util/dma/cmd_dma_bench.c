/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command dma_bench: measure the rates of DMA of c2h, h2c and both at once (duplex). Print each
 * rate with its limit, and with what holds the rate down: the cause of the limit if the limit is
 * reached, otherwise the host. With --slot, which measures through the user's logic in the card's
 * user slot, it may also be that logic.
 */
#include <stdlib.h>

#include "dma_bench.h"

#define DEFAULT_SIZE	(8u << 20)
#define SWEEP_SIZE	RATES_LEAST_BYTES
/*
 * seconds that dma_bench --interval runs c2h, h2c and duplex each if neither --duration nor --size
 * is given; iperf3 has the same default
 */
#define INTERVAL_RUN_S	10

static struct bench {
	struct rates		rates;
	struct rates_plan	plan;
	bool			sweep;
	bool			slot;
	/* dma_bench --interval: seconds of each interval whose rate is printed; 0: no intervals */
	double			interval_s;
	struct bench_intervals	intervals;
	struct bench_size	size[BENCH_SIZES];
	struct bench_slot	way[RATES_WAYS];
} bench;

/* Printing the rates -------------------------------------------------------------------------- */

/*
 * Print a row for each of c2h, h2c and duplex. If the option --direction names only one of them,
 * the other two have no line in the text, and no value in JSON.
 */
static void print_ways(const struct emit *out, const struct bench *bench)
{
	emit_text(out, "  %-7s  " BENCH_RATE_HEAD "\n", "");
	emit_array(out, "rows");
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &bench->rates.rate[way];

		if (!out->json && bench->plan.ways && !(bench->plan.ways & 1u << way))
			continue;
		emit_object(out, NULL);
		emit_text(out, "  %-7s  ", rate->id);
		bench_emit_rate(out, rate, rate->id, rates_binds(rate));
		emit_object_end(out);
	}
	emit_array_end(out);
}

static void print(const struct emit *out, const void *result)
{
	const struct bench *bench = result;
	const struct rates *rates = &bench->rates;

	emit_text(out, "dma_bench      %s\n", out->util->device);
	emit_text(out, "  Gen%u x%u, MPS %u, MRRS %u\n", rates->link.gen, rates->link.lanes,
		  rates->link.mps, rates->link.mrrs);
	if (rates->reads.rtt_ns > 0)
		emit_text(out, "  host memory answers after %.0f ns, %u bytes at a time\n",
			  rates->reads.rtt_ns, rates->reads.completion);
	emit_unsigned(out, "size_bytes", NULL, bench->plan.bytes);
	emit_unsigned(out, "link_gen", NULL, rates->link.gen);
	emit_unsigned(out, "link_lanes", NULL, rates->link.lanes);
	emit_number(out, "round_trip_ns", NULL, rates->reads.rtt_ns);
	emit_unsigned(out, "completion_bytes", NULL, rates->reads.completion);
	if (bench->interval_s > 0)
		bench_intervals_emit(out, &bench->intervals);
	if (bench->sweep)
		bench_sweep_emit(out, rates, bench->size);
	else if (bench->slot)
		bench_slot_emit(out, bench->way);
	else
		print_ways(out, bench);
}

/* The command dma_bench ----------------------------------------------------------------------- */

/*
 * Refuse options of dma_bench that exclude each other. If neither size nor duration is given, fill
 * in the default of one of them. Returns -1 if the command is to run, otherwise the exit status of
 * the program.
 */
static int complete(struct util *util, struct bench *bench)
{
	struct rates_plan *plan = &bench->plan;

	if (bench->sweep && (bench->interval_s > 0 || plan->run.duration_s > 0 || plan->ways))
		return util_usage(util, "--sweep has only --size beside it: each size goes there "
				  "and back");
	if (bench->slot && (bench->interval_s > 0 || plan->run.duration_s > 0 || bench->sweep))
		return util_usage(util, "--slot has only --size and --direction beside it: its logic "
				  "may move nothing");
	if (bench->interval_s > 0 && plan->run.duration_s <= 0 && !plan->bytes)
		plan->run.duration_s = INTERVAL_RUN_S;
	if (!plan->bytes && plan->run.duration_s <= 0)
		plan->bytes = bench->sweep ? SWEEP_SIZE : DEFAULT_SIZE;
	return -1;
}

static void measure(struct util *util, struct bench *bench)
{
	struct dma_watch watch = {
		.every_s = bench->interval_s, .tell = bench_interval_tell,
		.context = &bench->intervals,
	};

	bench->intervals.rates = &bench->rates;
	bench->intervals.print = !util->json;
	if (bench->interval_s > 0)
		bench->plan.run.watch = &watch;
	rates_prepare(util, &bench->rates, true, 0);
	if (bench->sweep)
		bench_sweep(&bench->rates, bench->plan.bytes, bench->size);
	else if (bench->slot)
		bench_slot(&bench->rates, &bench->plan, bench->way);
	else
		rates_measure(&bench->rates, &bench->plan);
	bench->plan.run.watch = NULL;
}

static bool parse_way(const struct util_option *option, const char *text)
{
	unsigned int *ways = option->to;
	bool known = option_choice(option, text);

	*ways = 1u << *ways;
	return known;
}

static const struct util_option options[] = {
	{ .name = "size", .letter = 's', .value = "BYTES", .parse = option_size,
	  .to = &bench.plan.bytes, .low = RATES_LEAST_BYTES,
	  .rule = "it must be 4M or more, or nothing steady is measured",
	  .help = "each way and run; K, M and G may follow; 4M or more (8M; 4M for each size of "
		  "--sweep)" },
	{ .name = "direction", .letter = 'D', .value = "WAY", .parse = parse_way,
	  .to = &bench.plan.ways, .choices = "c2h h2c duplex",
	  .rule = "there are c2h, h2c and duplex", .help = "c2h, h2c or duplex alone" },
	{ .name = "duration", .letter = 't', .value = "S", .parse = option_seconds,
	  .to = &bench.plan.run.duration_s, .rule = OPTION_SECONDS,
	  .help = "run each way for S seconds of the host's clock" },
	{ .name = "interval", .letter = 'i', .value = "S", .parse = option_seconds,
	  .to = &bench.interval_s, .rule = OPTION_SECONDS,
	  .help = "a line every S seconds, by the host's clock; the rate in it is by the card's. "
		  "Each way runs for 10 seconds unless --duration or --size says otherwise" },
	{ .name = "sweep", .to = &bench.sweep,
	  .help = "transfers of 64 bytes to 64 KiB, there and back through the card's loopback. "
		  "Those of less than 4 KiB are packets, which takes a card with records" },
	{ .name = "slot", .to = &bench.slot,
	  .help = "through the logic in the user slot: what binds may be the slot itself. It gets "
		  "old data of the rings, and none is compared" },
	{ 0 },
};

static int run(struct util *util)
{
	int status = complete(util, &bench);

	if (status >= 0)
		return status;
	if (!util_open(util))
		return util_emit(util, NULL, print);
	measure(util, &bench);
	status = util_emit(util, &bench, print);
	free(bench.intervals.entry);
	return status;
}

const struct command cmd_dma_bench = {
	.name = "dma_bench",
	.summary = "the DMA's rate each way, its limit, and what binds",
	.usage = "[-d DEVICE | -c N] [--json] dma_bench [options]",
	.about =
		"Measure the DMA's steady rate from the card (c2h), to the card (h2c) and both\n"
		"ways at once (duplex, each way), by the card's own counters. Beside each stands\n"
		"what the link, the card's interface and the host's round trip allow, the share\n"
		"of it that was reached, and which of them binds: wire, interface, reads in\n"
		"flight; or host, when none of them is reached. All data is compared, except\n"
		"with --slot.\n",
	.examples =
		"  litepcie_util -d sim:build/board.sock,mps=128 dma_bench\n"
		"  litepcie_util dma_bench --direction c2h --duration 5 --interval 1\n"
		"  litepcie_util --json dma_bench --sweep > sweep.json\n",
	.options = options, .run = run,
};
