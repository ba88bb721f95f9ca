/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * dma_bench: the rate in each direction, its limit, and what binds.
 */
#include <getopt.h>
#include <math.h>

#include "rates.h"

#define DEFAULT_SIZE	(8u << 20)
#define LEAST_SIZE	(4u << 20)	/* two rings: below, no steady state is measured */
#define TIMEOUT_S	30

struct bench {
	struct rates	rates;
	uint64_t	size;
};

static void print_text(const struct util *util, const void *result)
{
	const struct bench *bench = result;
	const struct rates *rates = &bench->rates;

	printf("dma_bench      %s, Gen%u x%u, MPS %u, MRRS %u\n", util->device, rates->link.gen,
	       rates->link.lanes, rates->link.mps, rates->link.mrrs);
	printf("             measured   limit         ratio  binds\n");
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &rates->rate[way];

		if (rate->valid)
			printf("  %-9s  %8.2f  %6.2f  GB/s  %6.3f  %s\n", rate->id, rate->gb_per_s,
			       rate->limit.value, rate->gb_per_s / rate->limit.value,
			       rates_binds(rate));
		else
			printf("  %-9s         -       -  GB/s       -\n", rate->id);
	}
	printf("  host memory answers after %.0f ns, %u bytes at a time\n", rates->reads.rtt_ns,
	       rates->reads.completion);
}

static void print_rate(struct json *json, const struct rate *rate)
{
	json_begin_object(json, NULL);
	json_string(json, "id", rate->id);
	json_number(json, "value", rate->valid ? rate->gb_per_s : NAN);
	json_string(json, "unit", "GB/s");
	json_number(json, "limit", rate->valid ? rate->limit.value : NAN);
	json_number(json, "ratio", rate->valid ? rate->gb_per_s / rate->limit.value : NAN);
	json_string(json, "binds", rate->valid ? rates_binds(rate) : NULL);
	json_unsigned(json, "cycles", rate->cycles);
	json_unsigned(json, "stall_cycles", rate->rq_stalls);
	json_end_object(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct bench *bench = result;

	json_unsigned(json, "size_bytes", bench->size);
	json_unsigned(json, "link_gen", bench->rates.link.gen);
	json_unsigned(json, "link_lanes", bench->rates.link.lanes);
	json_number(json, "round_trip_ns", bench->rates.reads.rtt_ns);
	json_unsigned(json, "completion_bytes", bench->rates.reads.completion);
	json_begin_array(json, "rows");
	for (int way = 0; way < RATES_WAYS; way++)
		print_rate(json, &bench->rates.rate[way]);
	json_end_array(json);
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct bench bench = { .size = DEFAULT_SIZE };
	int option;

	while ((option = getopt_long(argc, argv, ":s:h", options, NULL)) != -1) {
		if (option == 'h')
			return util_help(&cmd_dma_bench);
		if (option != 's')
			return util_bad_option(util, option, argv[optind - 1]);
		if (!util_parse_size(optarg, &bench.size) || bench.size < LEAST_SIZE)
			return util_usage(util, "--size %s: it must be 4M or more, or nothing "
					  "steady is measured", optarg);
	}
	if (optind < argc)
		return util_usage(util, "%s: dma_bench takes no argument", argv[optind]);
	if (!util_open(util))
		return util_finish(util, NULL, print_text, print_json);
	rates_prepare(util, &bench.rates, true, 0);
	rates_measure(util, &bench.rates, bench.size, TIMEOUT_S);
	return util_finish(util, &bench, print_text, print_json);
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] dma_bench [options]\n"
	"\n"
	"Measure the DMA's steady rate from the card (c2h), to the card (h2c) and both ways at\n"
	"once (duplex, each way), by the card's own counters. Beside each stands what the link,\n"
	"the card's interface and the host's round trip allow, and which of them binds: wire,\n"
	"interface, reads in flight; or host, when none of them is reached. All data is compared.\n"
	"\n"
	"options:\n"
	"  -s, --size BYTES  each way and run; K, M and G may follow; 4M or more (8M)\n"
	"\n"
	"example:\n"
	"  litepcie_util -d sim:build/board.sock,mps=128 dma_bench\n";

const struct command cmd_dma_bench = {
	.name = "dma_bench",
	.summary = "the DMA's rate each way, its limit, and what binds",
	.help = help,
	.run = run,
};
