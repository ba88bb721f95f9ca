/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* See rates.h for the promises. */
#include "rates.h"

#include <math.h>
#include <string.h>

#include "litepcie_capability.h"

#define USUAL_RCB	64u	/* 128 is rare */
#define SHORT_TAGS	32u	/* without extended tags */
#define TRIES		3u	/* runs of one direction, where software may have been late */

static const char *const ids[RATES_WAYS] = { "c2h", "h2c", "duplex" };

/* Reads that the DMA itself keeps in flight: it calls a buffer done with its last request. */
static double in_flight(struct util *util, const struct rates *rates)
{
	struct litepcie_block dma;
	double bytes = (double)rates->tags * rates->link.mrrs;

	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_DMA, 0, &dma) == 0 &&
	    dma.parameters > LITEPCIE_DMA_H2C_BUFFERED &&
	    dma.parameter[LITEPCIE_DMA_H2C_BUFFERED] &&
	    dma.parameter[LITEPCIE_DMA_H2C_BUFFERED] < bytes)
		bytes = dma.parameter[LITEPCIE_DMA_H2C_BUFFERED];
	return bytes;
}

void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb)
{
	struct litepcie_card card;

	litepcie_card(util->dev, &card);
	*rates = (struct rates) {
		.link = {
			.gen = util->conditions.link_gen, .lanes = util->conditions.link_lanes,
			.mps = util->conditions.mps, .mrrs = util->conditions.mrrs,
			.cycle_ns = card.tick_ps / 1e3,
		},
		.tags = card.read_tags,
	};
	if (!extended_tags && rates->tags > SHORT_TAGS)
		rates->tags = SHORT_TAGS;
	rates->reads.straddle = strcmp(card.endpoint, "lanebox") == 0;
	rates->reads.in_flight = in_flight(util, rates);
	rates->reads.completion = rates->link.mps;
	rates->reads.rcb = rcb ? rcb : USUAL_RCB;
	for (int way = 0; way < RATES_WAYS; way++)
		rates->rate[way].id = ids[way];
}

/* The first read of a run meets an idle host: what it takes is the round trip. */
static void learn_host(struct rates *rates, const struct dma_window *window)
{
	const struct litepcie_stream *rc = &window->to.rc;
	double mean = rc->tlps ? (double)rc->payload_bytes / (double)rc->tlps : 0;

	if (rc->tlps && rc->first > window->to.rq.first)
		rates->reads.rtt_ns = (double)(rc->first - window->to.rq.first) *
				rates->link.cycle_ns;
	/* A few short ones at the borders of pages must not count as the host's habit. */
	if (mean >= 64)
		rates->reads.completion = 1u << (unsigned int)floor(log2(mean) + 0.25);
}

static struct limit limit_of(const struct rates *rates, enum rates_way way)
{
	struct limit h2c = limit_of_h2c(&rates->link, &rates->reads), duplex;

	if (way == RATES_C2H)
		return limit_of_c2h(&rates->link);
	if (way == RATES_H2C)
		return h2c;
	duplex = limit_of_duplex(&rates->link);
	return h2c.value < duplex.value ? h2c : duplex;
}

static void measure(struct util *util, struct rates *rates, enum rates_way way, uint64_t bytes,
		    int timeout_s)
{
	uint64_t buffers = bytes / litepcie_buffer_size(util->dev);
	struct dma_run run = {
		/* Both at once by loopback: else the faster one ends first. */
		.util = util, .timeout_s = timeout_s, .loopback = way == RATES_DUPLEX,
		.data = { .random = way == RATES_DUPLEX, .seed = 1 },
		.h2c = { .active = way != RATES_C2H, .target = buffers },
		.c2h = { .active = way != RATES_H2C, .target = buffers },
	};
	struct rate *rate = &rates->rate[way];
	uint64_t moved;
	int rc = litepcie_counters_clear(util->dev);

	util_check(util, rc, "clearing the counters");
	if (rc < 0)
		return;
	dma_run(&run);
	if (!run.started || !run.window.closed || !dma_window_cycles(&run.window))
		return;
	if (way == RATES_H2C)
		learn_host(rates, &run.window);
	moved = way == RATES_C2H ? dma_window_c2h_bytes(&run) :
				   dma_window_h2c_bytes(&run.window);
	if (way == RATES_DUPLEX && dma_window_c2h_bytes(&run) < moved)
		moved = dma_window_c2h_bytes(&run);
	rate->valid = !util->failed;
	rate->cycles = dma_window_cycles(&run.window);
	rate->gb_per_s = (double)moved / ((double)rate->cycles * rates->link.cycle_ns);
	rate->rq_stalls = run.window.to.rq.stalls - run.window.from.rq.stalls;
	rate->limit = limit_of(rates, way);
}

/* Nothing to gain from another run: a limit was reached, or there is no more to learn. */
static bool settled(const struct util *util, const struct rate *rate)
{
	return util->failed || util_interrupted() || !rate->valid ||
	       strcmp(rates_binds(rate), "host") != 0;
}

/*
 * Software that was not scheduled for a while looks like a slow host. A slow host is slow again;
 * so the best of a few runs counts.
 */
static void measure_steady(struct util *util, struct rates *rates, enum rates_way way,
			   uint64_t bytes, int timeout_s)
{
	struct rate *rate = &rates->rate[way], best = *rate;

	for (unsigned int i = 0; i < TRIES; i++) {
		*rate = (struct rate) { .id = best.id };
		measure(util, rates, way, bytes, timeout_s);
		if (i == 0 || (rate->valid && (!best.valid || rate->gb_per_s > best.gb_per_s)))
			best = *rate;
		if (settled(util, rate))
			break;
	}
	*rate = best;
	rate->valid = rate->valid && !util->failed;
}

void rates_measure(struct util *util, struct rates *rates, uint64_t bytes, int timeout_s)
{
	for (int way = 0; way < RATES_WAYS && !util->failed && !util_interrupted(); way++)
		measure_steady(util, rates, (enum rates_way)way, bytes, timeout_s);
	if (util_interrupted() && !util->failed)	/* between two runs, which tell it themselves */
		util_fail(util, "interrupted");
}

const char *rates_binds(const struct rate *rate)
{
	bool reads = strcmp(rate->limit.binds, "reads in flight") == 0;
	double least = reads ? RATES_READS_REACHED : RATES_REACHED;

	return rate->gb_per_s >= least * rate->limit.value ? rate->limit.binds : "host";
}
