/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command dma_test: its options and the printing of its results. dma_run.c moves the data and
 * compares it.
 */
#include <inttypes.h>
#include <math.h>

#include "dma_run.h"

#define DEFAULT_SIZE		(16u << 20)
#define DEFAULT_TIMEOUT_S	30

enum direction { LOOPBACK, C2H, H2C, BOTH };

static const char *const directions[] = { "loopback", "c2h", "h2c", "both" };

static struct result {
	unsigned int	direction;	/* option --direction, a value of enum direction */
	/*
	 * bytes to move in each direction, rounded up to whole buffers by set_targets(); 0: no
	 * limit, the duration ends the run
	 */
	uint64_t	size;
	struct dma_run	run;
} result = { .run = { .timeout_s = DEFAULT_TIMEOUT_S, .data.seed = 1 } };

/* Printing the results ------------------------------------------------------------------------ */

static double bytes_per_cycle(const struct dma_window *window, uint64_t bytes)
{
	uint64_t cycles = dma_window_cycles(window);

	return window->closed && cycles ? (double)bytes / (double)cycles : NAN;
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

/*
 * Print the values of one direction, @name, that dma_test prints for c2h and h2c alike. @bytes is
 * the amount of data in bytes that was moved in the measured window, @moved the amount in the whole
 * run, and @checked the amount that was compared.
 */
static void print_rates(const struct emit *out, const struct dma_run *run, const char *name,
			uint64_t bytes, uint64_t moved, uint64_t checked)
{
	double per_cycle = bytes_per_cycle(&run->window, bytes);
	double gb_per_s = per_cycle / util_tick_ns(out->util->dev);

	if (isfinite(per_cycle))
		emit_text(out, "  %s  %6.2f GB/s  %6.2f B/cycle", name, gb_per_s, per_cycle);
	else
		emit_text(out, "  %s       - GB/s       - B/cycle", name);
	emit_text(out, "  %8.1f MiB moved  %8.1f MiB compared\n", mib(moved), mib(checked));
	emit_number(out, "gb_per_s", NULL, gb_per_s);
	emit_number(out, "bytes_per_cycle", NULL, per_cycle);
	emit_unsigned(out, "window_bytes", NULL, run->window.closed ? bytes : 0);
	emit_unsigned(out, "moved_bytes", NULL, moved);
	emit_unsigned(out, "compared_bytes", NULL, checked);
}

static void print_c2h(const struct emit *out, const struct dma_run *run)
{
	if (!emit_object_if(out, "c2h", run->c2h.active))
		return;
	print_rates(out, run, "c2h", dma_window_c2h_bytes(run, &run->window),
		    run->stats.c2h_done * run->data.size, run->compared * run->data.size);
	emit_unsigned(out, "wrong_buffers", NULL, run->wrong_buffers);
	emit_unsigned(out, "wrong_dwords", NULL, run->wrong_dwords);
	emit_object_end(out);
}

static void print_h2c(const struct emit *out, const struct dma_run *run)
{
	if (!emit_object_if(out, "h2c", run->h2c.active))
		return;
	print_rates(out, run, "h2c", dma_window_h2c_bytes(&run->window),
		    run->stats.h2c_done * run->data.size, h2c_checked(run));
	emit_unsigned(out, "wrong_beats", NULL, run->pattern.errors);
	emit_object_end(out);
}

static void print_stream(const struct emit *out, const char *name,
			 const struct litepcie_tlp_stream *from,
			 const struct litepcie_tlp_stream *to)
{
	emit_object(out, name);
	emit_unsigned(out, "beats", NULL, to->beats - from->beats);
	emit_unsigned(out, "stall_cycles", NULL, to->stalls - from->stalls);
	emit_unsigned(out, "tlps", NULL, to->tlps - from->tlps);
	emit_unsigned(out, "payload_bytes", NULL, to->payload_bytes - from->payload_bytes);
	emit_object_end(out);
}

static void print_window(const struct emit *out, const struct dma_window *window)
{
	const struct litepcie_counters *from = &window->from, *to = &window->to;
	uint64_t cycles = dma_window_cycles(window);

	if (!window->closed)
		emit_text(out, "  nothing was measured\n");
	else if (window->open)
		emit_text(out, "  measured in the steady state, after %" PRIu64 " buffers: %" PRIu64
			  " cycles\n", window->skip, cycles);
	else
		emit_text(out, "  measured over the whole run, start and end included: %" PRIu64
			  " cycles\n", cycles);
	if (!emit_object_if(out, "window", window->closed))
		return;
	emit_bool(out, "whole_run", !window->open);
	emit_unsigned(out, "skipped_buffers", NULL, window->open ? window->skip : 0);
	emit_unsigned(out, "cycles", NULL, cycles);
	print_stream(out, "cq", &from->cq, &to->cq);
	print_stream(out, "cc", &from->cc, &to->cc);
	print_stream(out, "rq", &from->rq, &to->rq);
	print_stream(out, "rc", &from->rc, &to->rc);
	emit_object_end(out);
}

/*
 * Write to JSON where the first wrong data is, or null if no data is wrong. If the host has found
 * wrong data in c2h or loopback, that is the position. Otherwise it is the position of the first
 * error that the card's pattern checker has found in h2c. The checker does not report the expected
 * and the wrong data, so both values are null then.
 */
static void print_mismatch(const struct emit *out, const struct dma_run *run)
{
	uint64_t byte = run->pattern.first_error * DMA_BEAT_BYTES;
	bool data = run->wrong_buffers;

	if (!emit_object_if(out, "first_mismatch", data || run->pattern.errors))
		return;
	emit_string(out, "direction", NULL, run->loopback ? "loopback" : data ? "c2h" : "h2c");
	emit_unsigned(out, "buffer", NULL, data ? run->first_wrong : byte / run->data.size);
	emit_unsigned(out, "offset_bytes", NULL, data ? run->first.offset : byte % run->data.size);
	emit_known(out, "expected", data ? (int64_t)run->first.expected : -1);
	emit_known(out, "got", data ? (int64_t)run->first.got : -1);
	emit_object_end(out);
}

static void print(const struct emit *out, const void *data)
{
	const struct result *result = data;
	const struct dma_run *run = &result->run;
	const char *direction = directions[result->direction];

	if (!run->started && !out->json)
		return;
	emit_text(out, "dma_test       %s, %s, MPS %u, MRRS %u\n", out->util->device, direction,
		  out->util->conditions.mps, out->util->conditions.mrrs);
	emit_string(out, "direction", NULL, direction);
	emit_unsigned(out, "size_bytes", NULL, result->size);
	emit_number(out, "duration_s", NULL, run->duration_s);
	emit_unsigned(out, "seed", NULL, run->data.seed);
	emit_unsigned(out, "buffer_bytes", NULL, run->data.size);
	print_c2h(out, run);
	print_h2c(out, run);
	print_window(out, &run->window);
	emit_text(out, "  %" PRIu64 " wrong c2h buffers, %u wrong h2c beats\n",
		  run->wrong_buffers, run->pattern.errors);
	print_mismatch(out, run);
	if (run->stats.interrupts >= 0)
		emit_text(out, "  %" PRId64 " interrupts\n", run->stats.interrupts);
	emit_known(out, "interrupts", run->stats.interrupts);
	emit_known(out, "interrupts_expected", run->stats.interrupts_expected);
	emit_unsigned(out, "interrupts_missed", NULL, run->stats.interrupts_missed);
	emit_unsigned(out, "woken_by_timeout", NULL, run->stats.woken_by_timeout);
	emit_number(out, "wall_s", NULL, run->wall_s);
}

/* The command dma_test ------------------------------------------------------------------------ */

/*
 * Set how many buffers each direction moves: the size in whole buffers, rounded up, or no limit
 * (DMA_NO_END) if only a duration is given. If neither is given, the size is DEFAULT_SIZE.
 * result.size, which the JSON output shows, becomes the rounded size.
 */
static void set_targets(void)
{
	uint64_t buffers = DMA_NO_END;

	if (!result.size && result.run.duration_s <= 0)
		result.size = DEFAULT_SIZE;
	if (result.size) {
		buffers = (result.size + LITEPCIE_BUFFER_SIZE - 1) / LITEPCIE_BUFFER_SIZE;
		result.size = buffers * LITEPCIE_BUFFER_SIZE;
	}
	result.run.h2c.target = buffers;
	result.run.c2h.target = buffers;
}

static const struct util_option options[] = {
	{ .name = "direction", .letter = 'D', .value = "WAY", .parse = option_choice,
	  .to = &result.direction, .choices = "loopback c2h h2c both",
	  .rule = "there are loopback, c2h, h2c and both",
	  .help = "loopback  random data to the card and back (default)\n"
		  "c2h       the card's pattern to the host, compared there\n"
		  "h2c       the host's pattern to the card, compared there\n"
		  "both      c2h and h2c at the same time" },
	{ .name = "size", .letter = 's', .value = "BYTES", .parse = option_size,
	  .to = &result.size,
	  .rule = "it must be a number of bytes, with K, M or G for more",
	  .help = "each way; K, M and G may follow; rounded up to whole buffers of 8 KiB (16M, or "
		  "no end with --duration)" },
	{ .name = "duration", .letter = 't', .value = "S", .parse = option_seconds,
	  .to = &result.run.duration_s, .rule = OPTION_SECONDS,
	  .help = "end after S seconds of the host's clock, or at the size" },
	{ .name = "seed", .value = "N", .parse = option_number, .to = &result.run.data.seed,
	  .rule = "it must be a number", .help = "of the random data (1)" },
	{ .name = "timeout", .value = "S", .parse = option_number32,
	  .to = &result.run.timeout_s, .low = 1, .high = UTIL_MAX_SECONDS,
	  .rule = "it must be a number of seconds from %llu to %llu",
	  .help = "give up when the card finishes no buffer for S seconds (30)" },
	{ 0 },
};

static int run(struct util *util)
{
	struct dma_run *run = &result.run;

	run->util = util;
	run->loopback = run->data.random = result.direction == LOOPBACK;
	run->h2c.active = result.direction != C2H;
	run->c2h.active = result.direction != H2C;
	if (run->duration_s <= 0)
		run->duration_s = util->stock.duration_s;
	if (!util_open(util))
		return util_emit(util, NULL, print);
	if (!util->conditions.msi)
		util_fail(util, "the host has not enabled MSI for the card, so DMA cannot be "
			  "followed; load the driver again and see the kernel's messages");
	set_targets();
	if (!util->failed)
		dma_run(run);
	return util_emit(util, &result, print);
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
	.examples =
		"  litepcie_util dma_test --size 64M\n"
		"  litepcie_util --json dma_test --direction both --duration 5\n",
	.options = options, .run = run,
};
