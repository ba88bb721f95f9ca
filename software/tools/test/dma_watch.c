/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test dma_watch.c: which intervals of a run are reported, and when the card's counters are read
 * for them.
 */
#include "dma_counters.h"
#include "../litepcie_util/dma/dma_watch.c"

static unsigned int told;
static double told_from, told_to;

static void tell_test(const struct dma_run *run, const struct dma_watch *watch)
{
	CHECK(run->watch == watch);
	told++;
	told_from = watch->from_s;
	told_to = watch->to_s;
	CHECK_EQUAL(dma_window_cycles(&watch->window), 1000);
	CHECK(watch->window.open);
}

static struct dma_run watched(struct dma_watch *watch)
{
	struct dma_run run = begin(false, true, LONG);

	told = 0;
	*watch = (struct dma_watch) { .every_s = 2, .tell = tell_test };
	run.watch = watch;
	CHECK_EQUAL(dma_watch_begin(&run, 100), 0);
	return run;
}

/* Each reported interval must begin where the one before has ended, also if a report comes late. */
static void each_interval_is_told_once(void)
{
	struct dma_watch watch;
	struct dma_run run = watched(&watch);

	CHECK_EQUAL(dma_watch_step(&run, 101.9), 0);
	CHECK_EQUAL(told, 0);
	CHECK_EQUAL(dma_watch_step(&run, 102.5), 0);
	CHECK(told == 1 && told_from == 0 && told_to == 2.5);
	CHECK_EQUAL(dma_watch_step(&run, 104.25), 0);
	CHECK_EQUAL(told, 1);
	CHECK_EQUAL(dma_watch_step(&run, 104.5), 0);
	CHECK(told == 2 && told_from == 2.5 && told_to == 4.5);
	CHECK_EQUAL(readings, 4);
}

/*
 * The rest of a run must be reported as an interval, unless it is shorter than a tenth of every_s.
 * Without a struct dma_watch nothing is reported.
 */
static void the_last_interval_may_be_short(void)
{
	struct dma_watch watch;
	struct dma_run run = watched(&watch);

	CHECK_EQUAL(dma_watch_end(&run, 100.25), 0);
	CHECK(told == 1 && told_from == 0 && told_to == 0.25);
	CHECK_EQUAL(dma_watch_end(&run, 109), 0);
	CHECK_EQUAL(dma_watch_step(&run, 109), 0);
	CHECK_EQUAL(told, 1);

	run = watched(&watch);
	CHECK_EQUAL(dma_watch_end(&run, 100.125), 0);
	CHECK_EQUAL(told, 0);

	run.watch = NULL;
	CHECK_EQUAL(dma_watch_begin(&run, 0), 0);
	CHECK_EQUAL(dma_watch_step(&run, 9), 0);
	CHECK_EQUAL(dma_watch_end(&run, 9), 0);
	CHECK_EQUAL(told, 0);
}

int main(void)
{
	each_interval_is_told_once();
	the_last_interval_may_be_short();
	return failed_checks != 0;
}
