/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test dma_window.c and dma_watch.c: at which moments of a run the card's counters are read, and
 * what is computed from two readings. The test has stand-ins for the library's functions.
 */
#include "../litepcie_util/dma/dma_window.c"
#include "../litepcie_util/dma/dma_watch.c"
#include "check.h"

#define RING	256u
#define LONG	(4 * RING)

static struct util util;
static struct litepcie_stats stats;
static bool has_records;
/*
 * number of readings of the card's counters since begin(); in reading n each count that the test
 * uses is n times a constant
 */
static unsigned int readings;
static unsigned int told;
static double told_from, told_to;

int litepcie_counters(struct litepcie *dev, struct litepcie_counters *counters)
{
	(void)dev;
	CHECK_EQUAL(counters->struct_size, sizeof(*counters));
	readings++;
	counters->time = 1000 * readings;
	counters->rq.payload_bytes = 500000 * readings;
	counters->rc.payload_bytes = 3000 * readings;
	return 0;
}

int litepcie_stats(struct litepcie *dev, struct litepcie_stats *found)
{
	(void)dev;
	*found = stats;
	return 0;
}

bool util_has_block(struct litepcie *dev, unsigned int type)
{
	(void)dev;
	CHECK_EQUAL(type, LITEPCIE_BLOCK_RECORDS);
	return has_records;
}

static struct dma_run begin(bool h2c, bool c2h, uint64_t target)
{
	struct dma_run run = {
		.util = &util, .buffer_count = RING, .data.size = 8192,
		.h2c = { .active = h2c, .target = target },
		.c2h = { .active = c2h, .target = target },
	};

	stats = (struct litepcie_stats) { 0 };
	readings = told = 0;
	CHECK_EQUAL(dma_window_begin(&run), 0);
	CHECK_EQUAL(readings, 1);
	return run;
}

/*
 * Call dma_window_step() when the card has finished @h2c and @c2h buffers. Returns how often the
 * call has read the counters.
 */
static unsigned int step(struct dma_run *run, uint64_t h2c, uint64_t c2h)
{
	unsigned int before = readings;

	stats.h2c_done = h2c;
	stats.c2h_done = c2h;
	CHECK_EQUAL(dma_window_step(run), 0);
	return readings - before;
}

/* Tests of the window -------------------------------------------------------------------------- */

/*
 * The window, in which the rate of a long run is measured, must open when the slower direction has
 * finished a ring of buffers. It must close when the faster direction is half a ring before its
 * target.
 */
static void a_long_run_is_measured_in_its_steady_state(void)
{
	struct dma_run run = begin(true, true, LONG);

	CHECK_EQUAL(step(&run, LONG, RING - 1), 0);
	CHECK_EQUAL(step(&run, RING - 1, RING), 0);
	CHECK(!run.window.open);
	CHECK_EQUAL(step(&run, RING + 7, RING), 1);
	CHECK(run.window.open && !run.window.closed && run.window.from.time == 2000);
	CHECK_EQUAL(step(&run, LONG - RING / 2 - 1, RING), 0);
	CHECK_EQUAL(step(&run, LONG - RING / 2, RING), 1);
	CHECK(run.window.closed && run.window.to.time == 3000);
	CHECK_EQUAL(step(&run, LONG, LONG), 0);
	CHECK_EQUAL(dma_window_end(&run), 0);
	CHECK_EQUAL(readings, 3);
	CHECK_EQUAL(dma_window_cycles(&run.window), 1000);
	CHECK_EQUAL(dma_window_h2c_bytes(&run.window), 3000);
}

/* If only one direction runs, the buffers of the other must neither open nor close the window. */
static void a_direction_alone_has_its_window(void)
{
	for (int c2h = 0; c2h < 2; c2h++) {
		struct dma_run run = begin(!c2h, c2h, LONG);

		CHECK_EQUAL(step(&run, c2h ? LONG : RING - 1, c2h ? RING - 1 : LONG), 0);
		CHECK_EQUAL(step(&run, c2h ? 0 : RING, c2h ? RING : 0), 1);
		CHECK_EQUAL(step(&run, c2h ? LONG : RING, c2h ? RING : LONG), 0);
		CHECK_EQUAL(step(&run, c2h ? 0 : LONG, c2h ? LONG : 0), 1);
		CHECK(run.window.closed);
	}
}

static void a_run_without_an_end_is_measured_to_its_end(void)
{
	struct dma_run run = begin(false, true, DMA_NO_END);

	CHECK_EQUAL(step(&run, 0, RING), 1);
	CHECK_EQUAL(step(&run, 0, 1000 * RING), 0);
	CHECK_EQUAL(dma_window_end(&run), 0);
	CHECK(run.window.open && run.window.closed);
	CHECK_EQUAL(readings, 3);
}

static void a_short_run_is_measured_as_a_whole(void)
{
	struct dma_run run = begin(true, true, 2 * RING - 1);

	CHECK_EQUAL(step(&run, RING, RING), 0);
	CHECK_EQUAL(step(&run, 2 * RING - 1, 2 * RING - 1), 0);
	CHECK_EQUAL(dma_window_end(&run), 0);
	CHECK_EQUAL(dma_window_end(&run), 0);
	CHECK(!run.window.open && run.window.closed && readings == 2);
	CHECK(run.window.from.time == 1000 && run.window.to.time == 2000);
}

/*
 * If the window is a part of the run and the card writes records, the bytes of records and status
 * lines must be subtracted from those that the card has written. On a card without records all
 * bytes are c2h data.
 */
static void records_and_lines_are_no_data(void)
{
	const uint64_t lines = 1000 / LITEPCIE_STATUS_LINE_CYCLES + 1;

	for (uint64_t directions = 1; directions <= 2; directions++) {
		struct dma_run run = begin(directions == 2, true, LONG);
		uint64_t data = 500000 - directions * lines * LITEPCIE_STATUS_LINE_SIZE;

		CHECK_EQUAL(step(&run, RING, RING), 1);
		CHECK_EQUAL(dma_window_end(&run), 0);
		has_records = false;
		CHECK_EQUAL(dma_window_c2h_bytes(&run, &run.window), 500000);
		has_records = true;
		CHECK_EQUAL(dma_window_c2h_bytes(&run, &run.window),
			    data * 8192 / (8192 + LITEPCIE_RECORD_SIZE));
		/*
		 * Fewer bytes than those of the most status lines that can have been written are
		 * 0 bytes of c2h data.
		 */
		run.window.to.rq.payload_bytes = run.window.from.rq.payload_bytes + 8;
		CHECK_EQUAL(dma_window_c2h_bytes(&run, &run.window), 0);
		/*
		 * If the window is the whole run, and the card has records, the bytes of c2h data
		 * are those of the c2h buffers that are done.
		 */
		run.window.open = false;
		run.stats.c2h_done = 7;
		CHECK_EQUAL(dma_window_c2h_bytes(&run, &run.window), 7 * 8192);
	}
}

/* Tests of the reports of a run ---------------------------------------------------------------- */

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
	a_long_run_is_measured_in_its_steady_state();
	a_direction_alone_has_its_window();
	a_run_without_an_end_is_measured_to_its_end();
	a_short_run_is_measured_as_a_whole();
	records_and_lines_are_no_data();
	each_interval_is_told_once();
	the_last_interval_may_be_short();
	return failed_checks != 0;
}
