/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test dma_window.c: at which moments of a run the card's counters are read, and what is computed
 * from two readings.
 */
#include "dma_counters.h"

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

int main(void)
{
	a_long_run_is_measured_in_its_steady_state();
	a_direction_alone_has_its_window();
	a_run_without_an_end_is_measured_to_its_end();
	a_short_run_is_measured_as_a_whole();
	records_and_lines_are_no_data();
	return failed_checks != 0;
}
