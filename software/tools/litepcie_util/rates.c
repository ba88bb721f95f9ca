/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Measure the rates of DMA runs. rates.h says what each function promises. */
#include "rates.h"

#include <math.h>
#include <string.h>

/*
 * The read completion boundary (RCB) in bytes that is assumed if the real one is not known. PCIe
 * allows 64 and 128 bytes.
 */
#define USUAL_RCB	64u
#define SHORT_TAGS	LITEPCIE_SHORT_READ_TAGS
/*
 * Largest number of DMA runs for one rate. In a single run the software may have been late, which
 * looks like a slow host.
 */
#define TRIES		3u
/*
 * Largest number of further runs in place of runs whose window has no bytes. A program that was not
 * scheduled for a while may miss all of a short run.
 */
#define MISSED		5u
/* longest wait in seconds for the next buffer; a longer wait is a failure of the run */
#define TIMEOUT_S	30

static const char *const ids[RATES_WAYS] = { "c2h", "h2c", "duplex" };

/*
 * Returns how many bytes of host memory the DMA can have requested at a time: MRRS bytes for each
 * tag that it may use, or fewer if the card's capability table says that the DMA has less space for
 * the data.
 */
static double in_flight(const struct rates *rates)
{
	int64_t buffered = util_parameter(rates->util->dev, LITEPCIE_BLOCK_DMA,
					  LITEPCIE_DMA_H2C_BUFFERED);
	double bytes = (double)rates->tags * rates->link.mrrs;

	return buffered > 0 ? fmin(bytes, (double)buffered) : bytes;
}

struct limit_link rates_link(const struct util *util)
{
	return (struct limit_link) {
		.gen = util->conditions.link_gen, .lanes = util->conditions.link_lanes,
		.mps = util->conditions.mps, .mrrs = util->conditions.mrrs,
		.cycle_ns = util_tick_ns(util->dev),
	};
}

void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb)
{
	struct litepcie_card card = { .struct_size = sizeof(card) };

	litepcie_card(util->dev, &card);
	*rates = (struct rates) {
		.util = util, .link = rates_link(util), .tags = card.read_tags,
	};
	if (!extended_tags && rates->tags > SHORT_TAGS)
		rates->tags = SHORT_TAGS;
	rates->reads.straddle = strcmp(card.endpoint, "lanebox") == 0;
	rates->reads.in_flight = in_flight(rates);
	rates->reads.completion = rates->link.mps;
	rates->reads.rcb = rcb ? rcb : USUAL_RCB;
	for (int way = 0; way < RATES_WAYS; way++)
		rates->rate[way].id = ids[way];
}

/*
 * Learn the host's round trip and the size of its completions from the counters of a run of h2c
 * alone. The round trip is that of the first read, which does not queue behind other reads of the
 * run. A value that the counters do not show stays as it was.
 */
static void learn_host(struct rates *rates, const struct litepcie_counters *seen)
{
	const struct litepcie_tlp_stream *rc = &seen->rc;
	double mean = rc->tlps ? (double)rc->payload_bytes / (double)rc->tlps : 0;

	if (rc->tlps && rc->first > seen->rq.first)
		rates->reads.rtt_ns = (double)(rc->first - seen->rq.first) * rates->link.cycle_ns;
	/*
	 * The size of completions is taken as a power of two. A few short completions, such as
	 * those at the borders of pages, make the mean smaller, so 0.25 is added to its logarithm.
	 */
	if (mean >= 64)
		rates->reads.completion = 1u << (unsigned int)floor(log2(mean) + 0.25);
}

static struct limit lower(struct limit one, struct limit other)
{
	return one.value <= other.value ? one : other;
}

static struct limit duplex_limit(const struct rates *rates)
{
	return limit_of(LIMIT_DUPLEX, &rates->link, rates->link.mrrs);
}

/*
 * Returns the limit of the rate at which packets of @size bytes go to the card and come back. A
 * packet that is smaller than MRRS takes a read request of its own, so the number of tags limits
 * the bytes in flight.
 */
static struct limit limit_of_size(const struct rates *rates, size_t size)
{
	struct limit_reads reads = rates->reads;
	double in_flight = (double)rates->tags * (double)size;

	if (reads.in_flight > in_flight)
		reads.in_flight = in_flight;
	if (reads.completion > size)
		reads.completion = (unsigned int)size;
	return lower(limit_of(LIMIT_PACKETS, &rates->link, (unsigned int)size),
		     lower(limit_of_h2c(&rates->link, &reads), duplex_limit(rates)));
}

static struct limit limit_of_way(const struct rates *rates, enum rates_way way)
{
	struct limit h2c = limit_of_h2c(&rates->link, &rates->reads);

	if (way == RATES_C2H)
		return limit_of(LIMIT_C2H, &rates->link, rates->link.mps);
	return way == RATES_H2C ? h2c : lower(h2c, duplex_limit(rates));
}

void rates_of_stretch(struct rates *rates, enum rates_way way, const struct dma_run *run,
		      const struct dma_window *window, struct rate *rate)
{
	uint64_t h2c = dma_window_h2c_bytes(window), c2h = 0;

	if (way != RATES_H2C)
		c2h = dma_window_c2h_bytes(run, window);
	if (way == RATES_H2C)
		learn_host(rates, &window->to);
	*rate = (struct rate) {
		.id = ids[way], .valid = true,
		.bytes = way == RATES_C2H || (way == RATES_DUPLEX && c2h < h2c) ? c2h : h2c,
		.cycles = dma_window_cycles(window),
		.rq_stalls = window->to.rq.stalls - window->from.rq.stalls,
		.limit = run->packet ? limit_of_size(rates, run->packet) :
					limit_of_way(rates, way),
	};
	if (rate->cycles)
		rate->gb_per_s = (double)rate->bytes /
				 ((double)rate->cycles * rates->link.cycle_ns);
}

static void measure(struct rates *rates, enum rates_way way, const struct rates_plan *plan,
		    struct rate *rate)
{
	struct util *util = rates->util;
	struct dma_run run = plan->run;
	size_t each = run.packet ?: run.buffer_size ?: LITEPCIE_BUFFER_SIZE;
	uint64_t buffers = plan->bytes ? plan->bytes / each : DMA_NO_END;
	int rc = litepcie_counters_clear(util->dev);

	util_check(util, rc, "clearing the counters");
	if (rc < 0)
		return;
	run.util = util;
	run.timeout_s = TIMEOUT_S;
	run.h2c = (struct dma_direction) { .active = way != RATES_C2H, .target = buffers };
	run.c2h = (struct dma_direction) { .active = way != RATES_H2C, .target = buffers };
	/*
	 * A duplex run is a loopback run, so that both directions move the same data. Two
	 * directions without loopback could end at different times.
	 */
	run.loopback = way == RATES_DUPLEX;
	run.data = (struct dma_data) { .random = run.loopback, .seed = 1 };
	dma_run(&run);
	if (!run.started || !run.window.closed || !dma_window_cycles(&run.window))
		return;
	rates_of_stretch(rates, way, &run, &run.window, rate);
	rate->valid = !util->failed;
}

/*
 * Returns true if no other run is to be made after the run that measured @rate: @rate has reached
 * its limit or is not valid, a failure was noted, Ctrl-C came, or the user asked for a duration or
 * for reports in intervals.
 */
static bool settled(const struct util *util, const struct rates_plan *plan,
		    const struct rate *rate)
{
	return util->failed || util_interrupted() || !rate->valid || plan->run.watch ||
	       plan->run.duration_s > 0 || rates_binds(rate) != LIMIT_BY_HOST;
}

/* Returns true if the window of a run of a given size, which measured @rate, has no bytes. */
static bool is_missed(const struct util *util, const struct rates_plan *plan,
		      const struct rate *rate)
{
	return plan->bytes && rate->valid && !rate->bytes && !util->failed && !util_interrupted();
}

/*
 * Measure c2h, h2c or duplex, as @way says, by runs until settled() returns true, but by at most
 * TRIES, without those that is_missed() leaves out. The fastest run counts, since a program that
 * was not scheduled for a while during a run makes the host look slow.
 */
void rates_measure_way(struct rates *rates, enum rates_way way, const struct rates_plan *plan,
		       struct rate *rate)
{
	unsigned int missed = 0;

	for (unsigned int i = 0; i < TRIES; i++) {
		struct rate tried = { .id = ids[way] };

		do
			measure(rates, way, plan, &tried);
		while (is_missed(rates->util, plan, &tried) && missed++ < MISSED);
		if (i == 0 || (tried.valid && (!rate->valid || tried.gb_per_s > rate->gb_per_s)))
			*rate = tried;
		if (settled(rates->util, plan, &tried))
			break;
	}
	rate->valid = rate->valid && !rates->util->failed;
}

void rates_measure(struct rates *rates, const struct rates_plan *plan)
{
	struct util *util = rates->util;

	for (int way = 0; way < RATES_WAYS && !util->failed && !util_interrupted(); way++)
		if (!plan->ways || plan->ways & 1u << way)
			rates_measure_way(rates, (enum rates_way)way, plan, &rates->rate[way]);
	/* A Ctrl-C in dma_run() is a failure already. One at another time becomes a failure here. */
	if (util_interrupted() && !util->failed)
		util_fail(util, "interrupted");
}

void rates_learn_host(struct rates *rates)
{
	const struct rates_plan plan = { .ways = 1u << RATES_H2C, .bytes = RATES_LEAST_BYTES };

	rates_measure(rates, &plan);
}

enum limit_binds rates_binds(const struct rate *rate)
{
	bool reads = rate->limit.binds == LIMIT_BY_READS;
	double least = reads ? RATES_READS_REACHED : RATES_REACHED;

	return rate->gb_per_s >= least * rate->limit.value ? rate->limit.binds : LIMIT_BY_HOST;
}
