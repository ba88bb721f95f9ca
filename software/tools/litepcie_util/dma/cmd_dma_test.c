/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command dma_test: its options and the printing of its results. dma_run.c moves the data and
 * compares it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dma_run.h"

#define DEFAULT_SIZE		(16u << 20)
#define DEFAULT_TIMEOUT_S	30
#define MAX_SECONDS		1000000

enum direction { LOOPBACK, C2H, H2C, BOTH };

static const char *const directions[] = { "loopback", "c2h", "h2c", "both" };

struct options {
	unsigned int	direction;	/* a value of enum direction */
	/* number of bytes to move in each direction; 0: the command line does not say it */
	uint64_t	size;
	/* duration of the run in seconds; 0: the command line does not say it */
	double		duration_s;
	uint64_t	seed;
	uint64_t	timeout_s;
};

struct result {
	struct options	options;
	struct dma_run	run;
};

/* Output as text ------------------------------------------------------------------------------ */

static double bytes_per_cycle(const struct dma_window *window, uint64_t bytes)
{
	uint64_t cycles = dma_window_cycles(window);

	return window->closed && cycles ? (double)bytes / (double)cycles : NAN;
}

static double gb_per_s(const struct dma_run *run, uint64_t bytes)
{
	return bytes_per_cycle(&run->window, bytes) / util_tick_ns(run->util->dev);
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static uint64_t h2c_checked(const struct dma_run *run)
{
	return run->loopback ? run->compared * run->data.size :
			       run->pattern.beats * DMA_BEAT_BYTES;
}

static void print_direction(const struct dma_run *run, const char *name, uint64_t window_bytes,
			    uint64_t moved, uint64_t checked)
{
	if (run->window.closed)
		printf("  %s  %6.2f GB/s  %6.2f B/cycle", name,
		       gb_per_s(run, window_bytes),
		       bytes_per_cycle(&run->window, window_bytes));
	else
		printf("  %s       - GB/s       - B/cycle", name);
	printf("  %8.1f MiB moved  %8.1f MiB compared\n", mib(moved), mib(checked));
}

static void print_window(const struct dma_window *window)
{
	if (!window->closed)
		printf("  nothing was measured\n");
	else if (window->whole)
		printf("  measured over the whole run, start and end included: %llu cycles\n",
		       (unsigned long long)dma_window_cycles(window));
	else
		printf("  measured in the steady state, after %llu buffers: %llu cycles\n",
		       (unsigned long long)window->skip,
		       (unsigned long long)dma_window_cycles(window));
}

static void print_text(const struct util *util, const void *data)
{
	const struct result *result = data;
	const struct dma_run *run = &result->run;

	if (!run->started)
		return;
	printf("dma_test       %s, %s, MPS %u, MRRS %u\n", util->device, directions[result->options.direction],
	       util->conditions.mps, util->conditions.mrrs);
	if (run->c2h.active)
		print_direction(run, "c2h", dma_window_c2h_bytes(run, &run->window),
				run->stats.c2h_done * run->data.size,
				run->compared * run->data.size);
	if (run->h2c.active)
		print_direction(run, "h2c", dma_window_h2c_bytes(&run->window),
				run->stats.h2c_done * run->data.size, h2c_checked(run));
	print_window(&run->window);
	printf("  %llu wrong c2h buffers, %u wrong h2c beats\n",
	       (unsigned long long)run->wrong_buffers, run->pattern.errors);
	if (run->stats.interrupts >= 0)
		printf("  %lld interrupts\n", (long long)run->stats.interrupts);
}

/* Output as JSON ------------------------------------------------------------------------------ */

static void json_known(struct json *json, const char *key, int64_t value)
{
	if (value < 0)
		json_null(json, key);
	else
		json_unsigned(json, key, (uint64_t)value);
}

static void print_rates(struct json *json, const struct dma_run *run, uint64_t bytes)
{
	json_number(json, "gb_per_s", gb_per_s(run, bytes));
	json_number(json, "bytes_per_cycle", bytes_per_cycle(&run->window, bytes));
	json_unsigned(json, "window_bytes", run->window.closed ? bytes : 0);
}

static void print_c2h_json(struct json *json, const struct dma_run *run)
{
	if (!run->c2h.active) {
		json_null(json, "c2h");
		return;
	}
	json_begin_object(json, "c2h");
	print_rates(json, run, dma_window_c2h_bytes(run, &run->window));
	json_unsigned(json, "moved_bytes", run->stats.c2h_done * run->data.size);
	json_unsigned(json, "compared_bytes", run->compared * run->data.size);
	json_unsigned(json, "wrong_buffers", run->wrong_buffers);
	json_unsigned(json, "wrong_dwords", run->wrong_dwords);
	json_end_object(json);
}

static void print_h2c_json(struct json *json, const struct dma_run *run)
{
	if (!run->h2c.active) {
		json_null(json, "h2c");
		return;
	}
	json_begin_object(json, "h2c");
	print_rates(json, run, dma_window_h2c_bytes(&run->window));
	json_unsigned(json, "moved_bytes", run->stats.h2c_done * run->data.size);
	json_unsigned(json, "compared_bytes", h2c_checked(run));
	json_unsigned(json, "wrong_beats", run->pattern.errors);
	json_end_object(json);
}

static void print_stream(struct json *json, const char *name, const struct litepcie_tlp_stream *from,
			 const struct litepcie_tlp_stream *to)
{
	json_begin_object(json, name);
	json_unsigned(json, "beats", to->beats - from->beats);
	json_unsigned(json, "stall_cycles", to->stalls - from->stalls);
	json_unsigned(json, "tlps", to->tlps - from->tlps);
	json_unsigned(json, "payload_bytes", to->payload_bytes - from->payload_bytes);
	json_end_object(json);
}

static void print_window_json(struct json *json, const struct dma_window *window)
{
	if (!window->closed) {
		json_null(json, "window");
		return;
	}
	json_begin_object(json, "window");
	json_unsigned(json, "cycles", dma_window_cycles(window));
	json_bool(json, "whole_run", window->whole);
	json_unsigned(json, "skipped_buffers", window->whole ? 0 : window->skip);
	print_stream(json, "cq", &window->from.cq, &window->to.cq);
	print_stream(json, "cc", &window->from.cc, &window->to.cc);
	print_stream(json, "rq", &window->from.rq, &window->to.rq);
	print_stream(json, "rc", &window->from.rc, &window->to.rc);
	json_end_object(json);
}

static void print_mismatch(struct json *json, const struct dma_run *run)
{
	uint64_t byte = run->pattern.first_error * DMA_BEAT_BYTES;

	if (!run->mismatched && !run->pattern.errors) {
		json_null(json, "first_mismatch");
		return;
	}
	json_begin_object(json, "first_mismatch");
	json_string(json, "direction",
		    run->loopback ? "loopback" : run->mismatched ? "c2h" : "h2c");
	json_unsigned(json, "buffer", run->mismatched ? run->first_wrong : byte / run->data.size);
	json_unsigned(json, "offset_bytes",
		      run->mismatched ? run->first.offset : byte % run->data.size);
	if (run->mismatched) {
		json_unsigned(json, "expected", run->first.expected);
		json_unsigned(json, "got", run->first.got);
	} else {
		/* in h2c the card's checker tells only where the error is, not the wrong data */
		json_null(json, "expected");
		json_null(json, "got");
	}
	json_end_object(json);
}

static void print_json(struct json *json, const void *data)
{
	const struct result *result = data;
	const struct dma_run *run = &result->run;

	json_string(json, "direction", directions[result->options.direction]);
	json_unsigned(json, "size_bytes", result->options.size);
	json_number(json, "duration_s", result->options.duration_s);
	json_unsigned(json, "seed", run->data.seed);
	json_unsigned(json, "buffer_bytes", run->data.size);
	print_c2h_json(json, run);
	print_h2c_json(json, run);
	print_window_json(json, &run->window);
	print_mismatch(json, run);
	json_known(json, "interrupts", run->stats.interrupts);
	json_known(json, "interrupts_expected", run->stats.interrupts_expected);
	json_unsigned(json, "interrupts_missed", run->stats.interrupts_missed);
	json_unsigned(json, "woken_by_timeout", run->stats.woken_by_timeout);
	json_number(json, "wall_s", run->wall_s);
}

/* Command ------------------------------------------------------------------------------------- */

static void set_direction(struct dma_run *run, unsigned int direction)
{
	run->loopback = direction == LOOPBACK;
	run->h2c.active = direction != C2H;
	run->c2h.active = direction != H2C;
}

/*
 * Set the number of buffers of each direction. The card moves whole buffers only, so the size is
 * rounded up. The output of dma_test gives the rounded size.
 */
static void set_targets(struct result *result, size_t buffer_size)
{
	struct options *options = &result->options;
	uint64_t buffers = DMA_NO_END;

	if (!options->size && options->duration_s <= 0)
		options->size = DEFAULT_SIZE;
	if (options->size) {
		buffers = (options->size + buffer_size - 1) / buffer_size;
		options->size = buffers * buffer_size;
	}
	result->run.h2c.target = buffers;
	result->run.c2h.target = buffers;
}

static struct result result = { .options = { .seed = 1, .timeout_s = DEFAULT_TIMEOUT_S } };

static const struct util_option options[] = {
	{ .name = "direction", .letter = 'D', .value = "WAY", .parse = option_choice,
	  .to = &result.options.direction, .choices = "loopback c2h h2c both",
	  .rule = "there are loopback, c2h, h2c and both",
	  .help = "loopback  random data to the card and back (default)\n"
		  "c2h       the card's pattern to the host, compared there\n"
		  "h2c       the host's pattern to the card, compared there\n"
		  "both      c2h and h2c at the same time" },
	{ .name = "size", .letter = 's', .value = "BYTES", .parse = option_size,
	  .to = &result.options.size,
	  .rule = "it must be a number of bytes, with K, M or G for more",
	  .help = "each way; K, M and G may follow; rounded up to whole buffers of 8 KiB (16M, or "
		  "no end with --duration)" },
	{ .name = "duration", .letter = 't', .value = "S", .parse = option_seconds,
	  .to = &result.options.duration_s, .rule = OPTION_SECONDS,
	  .help = "end after S seconds of the host's clock, or at the size" },
	{ .name = "seed", .value = "N", .parse = option_number, .to = &result.options.seed,
	  .rule = "it must be a number", .help = "of the random data (1)" },
	{ .name = "timeout", .value = "S", .parse = option_number,
	  .to = &result.options.timeout_s, .low = 1, .high = MAX_SECONDS,
	  .rule = "it must be a number of seconds from 1 to 1000000",
	  .help = "give up when the card finishes no buffer for S seconds (30)" },
	{ 0 },
};

static int run(struct util *util, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	result.run.util = util;
	set_direction(&result.run, result.options.direction);
	if (result.options.duration_s <= 0)
		result.options.duration_s = util->stock.duration_s;
	if (!util_open(util))
		return util_finish(util, NULL, print_text, print_json);
	if (!util->conditions.msi)
		util_fail(util, "the host has not enabled MSI for the card, so DMA cannot be "
			  "followed; load the driver again and see the kernel's messages");
	result.run.data.random = result.run.loopback;
	result.run.data.seed = result.options.seed;
	result.run.duration_s = result.options.duration_s;
	result.run.timeout_s = (int)result.options.timeout_s;
	set_targets(&result, litepcie_buffer_size(util->dev));
	if (!util->failed)
		dma_run(&result.run);
	return util_finish(util, &result, print_text, print_json);
}

const struct command cmd_dma_test = {
	.name = "dma_test",
	.summary = "move data by DMA, compare it and measure the rate",
	.usage = "[-d DEVICE | -c N] [--json] dma_test [options]",
	.about =
		"Move data between host and card and compare all of it, from the first buffer\n"
		"on. The rate is taken by the card's own counters and clock, in the steady state\n"
		"if the run has 512 buffers or more (4 MiB), else over the whole run. Ctrl-C\n"
		"stops the card and ends with 1.\n",
	.options = options,
	.examples =
		"examples:\n"
		"  litepcie_util dma_test --size 64M\n"
		"  litepcie_util --json dma_test --direction both --duration 5\n",
	.run = run,
};
