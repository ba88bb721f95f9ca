/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test rates.c: which runs are made for a rate, how often, and which of them counts. The test has
 * stand-ins for the card and for a run.
 */
#include <errno.h>

#include "../litepcie_util/rates.c"
/*
 * rates.c and limits.c each have a function named lower(), so that of limits.c gets another name
 * here.
 */
#define lower	lower_by_wire
#include "../litepcie_util/dma/limits.c"
#undef lower
#include "check.h"

#define CYCLES	1000u
#define STEP_NS	4u

static struct util util = {
	.conditions = { .link_gen = 3, .link_lanes = 8, .mps = 256, .mrrs = 512 },
};
static struct rates rates;

/* rate in GB/s of each run, by the run's number modulo 8 */
static double speeds[8];
/* number of the run that fails, from 1; 0: none */
static unsigned int fails;
/* the runs that were made, by the run's number modulo 8, and their number */
static struct dma_run runs[8];
static unsigned int made;

/* Stand-ins for the library and for the other sources of the utility --------------------------- */

int litepcie_counters_clear(struct litepcie *dev)
{
	(void)dev;
	return 0;
}

int litepcie_card(const struct litepcie *dev, struct litepcie_card *card)
{
	(void)dev;
	card->read_tags = 64;
	strcpy(card->endpoint, "lanebox");
	return 0;
}

int64_t util_parameter(struct litepcie *dev, unsigned int type, unsigned int number)
{
	(void)dev, (void)type, (void)number;
	return -1;
}

double util_tick_ns(const struct litepcie *dev)
{
	(void)dev;
	return STEP_NS;
}

void util_check(struct util *noted, int rc, const char *doing)
{
	(void)doing;
	noted->failed += rc < 0;
}

void util_fail(struct util *noted, const char *format, ...)
{
	(void)format;
	noted->failed++;
}

bool util_interrupted(void) { return false; }

void dma_run(struct dma_run *run)
{
	double bytes = speeds[made % 8] * CYCLES * STEP_NS;

	runs[made++ % 8] = *run;
	util.failed += made == fails;
	run->started = run->window.open = run->window.closed = true;
	run->window.to.time = CYCLES;
	run->window.to.rc.payload_bytes = run->window.to.rq.payload_bytes = (uint64_t)bytes;
}

uint64_t dma_window_cycles(const struct dma_window *window) { return window->to.time; }

uint64_t dma_window_h2c_bytes(const struct dma_window *window)
{
	return window->to.rc.payload_bytes;
}

uint64_t dma_window_c2h_bytes(const struct dma_run *run, const struct dma_window *window)
{
	(void)run;
	return window->to.rq.payload_bytes;
}

/* Tests ---------------------------------------------------------------------------------------- */

static struct rate measured(const struct rates_plan *plan, enum rates_way way, double first,
			    double second, double third)
{
	struct rate rate = { .valid = true, .gb_per_s = 99 };

	made = 0;
	util.failed = 0;
	speeds[0] = first;
	speeds[1] = second;
	speeds[2] = third;
	rates_prepare(&util, &rates, true, 0);
	rates_measure_way(&rates, way, plan, &rate);
	return rate;
}

/*
 * If a run of a given size reaches no limit, it must be repeated, up to three runs in all, of which
 * the best counts.
 */
static void the_best_of_a_few_runs_counts(void)
{
	const struct rates_plan plan = { .bytes = RATES_LEAST_BYTES };
	static const double tried[][3] = { { 3, 5, 4 }, { 5, 4, 3 }, { 3, 4, 5 } };
	struct rate rate;

	for (size_t i = 0; i < 3; i++) {
		rate = measured(&plan, RATES_C2H, tried[i][0], tried[i][1], tried[i][2]);
		CHECK(rate.valid && rate.gb_per_s == 5 && rate.bytes == 5 * CYCLES * STEP_NS);
		CHECK_EQUAL(made, 3);
		CHECK(strcmp(rate.id, "c2h") == 0);
	}
	/* The second run reaches its limit, so no third run may be made. */
	rate = measured(&plan, RATES_C2H, 3, 9, 4);
	CHECK(rate.valid && rate.gb_per_s == 9 && made == 2);
}

/* A run whose window has no bytes must be repeated, five times in all, and does not count. */
static void a_run_that_was_missed_is_repeated(void)
{
	const struct rates_plan plan = { .bytes = RATES_LEAST_BYTES };
	struct rate rate = measured(&plan, RATES_C2H, 0, 3, 9);

	CHECK(rate.valid && rate.gb_per_s == 9 && made == 3);
	for (size_t i = 0; i < 8; i++)
		speeds[i] = 0;
	rate = measured(&plan, RATES_C2H, 0, 0, 0);
	CHECK(rate.valid && rate.gb_per_s == 0 && made == 3 + 5);
}

static void a_run_that_fails_is_the_last(void)
{
	const struct rates_plan plan = { .bytes = RATES_LEAST_BYTES };
	struct rate rate;

	fails = 2;
	rate = measured(&plan, RATES_H2C, 3, 4, 5);
	CHECK(!rate.valid && made == 2);
	fails = 0;
}

static void a_run_of_a_given_duration_is_made_once(void)
{
	const struct rates_plan plan = { .run = { .duration_s = 5 } };

	CHECK(measured(&plan, RATES_H2C, 3, 4, 5).gb_per_s == 3);
	CHECK_EQUAL(made, 1);
	CHECK(runs[0].duration_s == 5 && runs[0].h2c.target == DMA_NO_END);
}

/*
 * A duplex run must go through the loopback with random data. A run of one direction must use the
 * card's pattern.
 */
static void each_way_has_its_run(void)
{
	const struct rates_plan plan = { .bytes = RATES_LEAST_BYTES };
	const struct rates_plan packets = {
		.bytes = RATES_LEAST_BYTES,
		.run = { .packet = 256, .buffer_size = 4096, .buffer_count = 64 },
	};

	for (int way = 0; way < RATES_WAYS; way++) {
		const struct dma_run *run = &runs[0];

		measured(&plan, (enum rates_way)way, 9, 9, 9);
		CHECK(run->util == &util && run->timeout_s == 30 && !run->packet);
		CHECK(run->h2c.active == (way != RATES_C2H) && run->c2h.active == (way != RATES_H2C));
		CHECK(run->loopback == (way == RATES_DUPLEX));
		CHECK(run->data.random == (way == RATES_DUPLEX));
		CHECK_EQUAL(run->h2c.target, RATES_LEAST_BYTES / LITEPCIE_BUFFER_SIZE);
		CHECK_EQUAL(run->c2h.target, RATES_LEAST_BYTES / LITEPCIE_BUFFER_SIZE);
	}
	measured(&packets, RATES_DUPLEX, 9, 9, 9);
	CHECK(runs[0].packet == 256 && runs[0].buffer_size == 4096 && runs[0].buffer_count == 64);
	CHECK_EQUAL(runs[0].h2c.target, RATES_LEAST_BYTES / 256);
}

static void only_the_ways_of_a_plan_are_measured(void)
{
	const struct rates_plan all = { .bytes = RATES_LEAST_BYTES };
	const struct rates_plan two = {
		.bytes = RATES_LEAST_BYTES, .ways = 1u << RATES_H2C | 1u << RATES_DUPLEX,
	};

	for (size_t i = 0; i < 8; i++)
		speeds[i] = 9;
	made = 0;
	rates_prepare(&util, &rates, true, 0);
	rates_measure(&rates, &two);
	CHECK_EQUAL(made, 2);
	CHECK(!rates.rate[RATES_C2H].valid && rates.rate[RATES_H2C].valid);
	made = 0;
	rates_prepare(&util, &rates, true, 0);
	rates_measure(&rates, &all);
	CHECK_EQUAL(made, RATES_WAYS);
	for (int way = 0; way < RATES_WAYS; way++)
		CHECK(rates.rate[way].valid);
}

int main(void)
{
	the_best_of_a_few_runs_counts();
	a_run_that_was_missed_is_repeated();
	a_run_that_fails_is_the_last();
	a_run_of_a_given_duration_is_made_once();
	each_way_has_its_run();
	only_the_ways_of_a_plan_are_measured();
	return failed_checks != 0;
}
