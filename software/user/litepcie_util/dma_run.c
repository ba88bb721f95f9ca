/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The engine of dma_test: one loop that fills h2c buffers, checks c2h buffers and, when there is
 * nothing to do, waits for the card.
 */
#include <errno.h>
#include <stdlib.h>

#include "dma_run.h"
#include "progress.h"

#define WAIT_MS		500	/* between two looks at the clock and at Ctrl-C */

/* h2c ----------------------------------------------------------------------------------------- */

/* Buffers to fill now. Whole batches keep the interrupts at their regular distance. */
static uint64_t fill_count(const struct dma_run *run, uint64_t first, uint64_t available)
{
	uint64_t left = run->h2c.target - first, batch = DMA_BATCH - first % DMA_BATCH;

	if (left < batch)
		batch = left;
	return available < batch ? 0 : batch;
}

/* Returns the number of buffers submitted, or -errno. */
static int fill(struct dma_run *run)
{
	struct litepcie *dev = run->util->dev;
	uint64_t first, count;
	int rc = litepcie_h2c_get(dev, &first, 0);

	if (rc <= 0)
		return rc;
	count = fill_count(run, first, (uint64_t)rc);
	for (uint64_t i = 0; i < count; i++)
		dma_data_fill(&run->data, first + i, litepcie_h2c_buffer(dev, first + i));
	rc = count ? litepcie_h2c_submit(dev, (unsigned int)count) : 0;
	if (rc < 0)
		return rc;
	run->h2c.done = first + count;
	return (int)count;
}

/* c2h ----------------------------------------------------------------------------------------- */

struct batch {
	uint64_t		wrong_buffers, wrong_dwords;
	uint64_t		first_wrong;
	struct dma_difference	first;
};

static void check_buffer(struct dma_run *run, uint64_t number, struct batch *batch)
{
	const void *buffer = litepcie_c2h_buffer(run->util->dev, number);
	struct dma_difference difference;

	if (dma_data_check(&run->data, number, buffer, run->scratch, &difference))
		return;
	if (!batch->wrong_buffers++) {
		batch->first_wrong = number;
		batch->first = difference;
	}
	batch->wrong_dwords += difference.dwords;
}

static void add_batch(struct dma_run *run, const struct batch *batch, uint64_t count)
{
	run->compared += count;
	run->wrong_buffers += batch->wrong_buffers;
	run->wrong_dwords += batch->wrong_dwords;
	if (batch->wrong_buffers && !run->mismatched) {
		run->mismatched = true;
		run->first_wrong = batch->first_wrong;
		run->first = batch->first;
	}
}

/* Buffers to check now; whole batches, again. */
static uint64_t check_count(const struct dma_run *run, uint64_t first, uint64_t available)
{
	uint64_t left = run->c2h.target > first ? run->c2h.target - first : 0;
	uint64_t batch = DMA_BATCH - first % DMA_BATCH;

	if (left < batch)
		batch = left;
	return available < batch ? 0 : batch;
}

/* Returns the number of buffers taken, or -errno. */
static int check(struct dma_run *run)
{
	struct litepcie *dev = run->util->dev;
	struct batch batch = { 0 };
	uint64_t first, count;
	int rc = litepcie_c2h_peek(dev, &first, 0);

	if (rc <= 0)
		return rc;
	count = check_count(run, first, (uint64_t)rc);
	for (uint64_t i = 0; i < count; i++)
		check_buffer(run, first + i, &batch);
	rc = count ? litepcie_c2h_release(dev, (unsigned int)count) : 0;
	if (rc < 0)
		return rc;
	add_batch(run, &batch, count);
	run->c2h.done = first + count;
	return (int)count;
}

/* Loop ---------------------------------------------------------------------------------------- */

/* All but the last buffer, which is never reported as fetched before the drain. */
static bool h2c_fetched(const struct dma_run *run)
{
	struct litepcie_stats stats;

	litepcie_stats(run->util->dev, &stats);
	return run->h2c.done >= run->h2c.target && stats.h2c_done + 1 >= run->h2c.target;
}

/* In loopback what has come back has been fetched. */
static bool h2c_finished(const struct dma_run *run)
{
	return !dma_h2c_by_pattern(run) || h2c_fetched(run);
}

/* The duration is over: what has been started is finished, no more is begun. */
static void set_end(struct dma_run *run)
{
	if (run->h2c.active && run->h2c.target > run->h2c.done)
		run->h2c.target = run->h2c.done;
	if (run->c2h.active && run->c2h.target > run->c2h.done)
		run->c2h.target = run->loopback ? run->h2c.done : run->c2h.done;
}

static void report_stall(struct dma_run *run)
{
	struct litepcie_stats stats;

	litepcie_stats(run->util->dev, &stats);
	util_fail(run->util, "the card finished no buffer for %d s (h2c: %llu sent, %llu fetched; "
		  "c2h: %llu filled); give more time with --timeout, or see the board's statistics",
		  run->timeout_s, (unsigned long long)stats.h2c_submitted,
		  (unsigned long long)stats.h2c_done, (unsigned long long)stats.c2h_done);
}

/* Directions whose progress would let the loop go on. */
static unsigned int waiting_for(const struct dma_run *run)
{
	unsigned int directions = 0;

	if (run->c2h.active && run->c2h.done < run->c2h.target)
		directions |= LITEPCIE_C2H;
	if (!h2c_finished(run))
		directions |= LITEPCIE_H2C;
	return directions;
}

/* Returns 1 for progress, 0 for none yet, or -errno. */
static int wait_for_card(struct dma_run *run, double *idle_since)
{
	int rc = litepcie_dma_wait(run->util->dev, waiting_for(run), WAIT_MS);

	if (rc == -EINTR && !util_interrupted())
		rc = 0;
	if (rc > 0)
		*idle_since = progress_now();
	if (rc == 0 && progress_now() - *idle_since > run->timeout_s) {
		report_stall(run);
		return -ETIMEDOUT;
	}
	return rc;
}

static double mib_done(const struct dma_run *run, uint64_t buffers)
{
	return buffers == DMA_NO_END ? 0 : (double)buffers * (double)run->data.size / (1 << 20);
}

/* Handle what is there, both ways. Returns the number of buffers, or -errno. */
static int step(struct dma_run *run)
{
	int filled = 0, checked = 0;

	if (run->h2c.active && run->h2c.done < run->h2c.target)
		filled = fill(run);
	if (filled >= 0 && run->c2h.active && run->c2h.done < run->c2h.target)
		checked = check(run);
	return filled < 0 ? filled : checked < 0 ? checked : filled + checked;
}

static int loop(struct dma_run *run)
{
	const struct dma_direction *way = run->c2h.active ? &run->c2h : &run->h2c;
	double start = progress_now(), idle_since = start;
	struct progress progress;
	int rc = 0;

	progress_begin(&progress, run->util->command, "MiB", mib_done(run, way->target),
		       run->duration_s);

	while (rc >= 0) {
		if (run->duration_s > 0 && progress_now() - start >= run->duration_s) {
			rc = dma_window_end(run);
			set_end(run);
		}
		if (rc < 0 || util_interrupted() ||
		    (h2c_finished(run) && (!run->c2h.active || run->c2h.done >= run->c2h.target)))
			break;
		rc = step(run);
		if (rc == 0)
			rc = wait_for_card(run, &idle_since);
		if (rc >= 0)
			rc = dma_window_step(run);
		progress_show(&progress, mib_done(run, way->done));
	}
	progress_end(&progress);
	return rc;
}

/* Ends ---------------------------------------------------------------------------------------- */

static int start(struct dma_run *run)
{
	struct litepcie *dev = run->util->dev;
	struct litepcie_dma_config config = {
		.directions = (run->h2c.active ? LITEPCIE_H2C : 0) |
			      (run->c2h.active ? LITEPCIE_C2H : 0),
		.loopback = run->loopback && !run->util->stock.external,
		.pattern = !run->loopback,
		.c2h_limit = run->c2h.target == DMA_NO_END ? 0 : run->c2h.target,
	};
	int rc = dma_window_begin(run);

	if (rc == 0)
		rc = litepcie_dma_start(dev, &config);
	run->started = rc == 0;
	return rc;
}

/* After the last submit the card still has to fetch and to check: wait for its own word. */
static int finish_h2c(struct dma_run *run)
{
	struct litepcie *dev = run->util->dev;
	double deadline = progress_now() + run->timeout_s;
	int rc = litepcie_h2c_drain(dev, run->timeout_s * 1000);

	while (rc == 0 && dma_h2c_by_pattern(run)) {
		rc = litepcie_pattern(dev, &run->pattern);
		if (run->pattern.beats >= dma_target_beats(run) || progress_now() > deadline)
			break;
	}
	return rc;
}

void dma_run(struct dma_run *run)
{
	struct util *util = run->util;
	double begin = progress_now();
	int rc, stopped;

	run->data.size = litepcie_buffer_size(util->dev);
	run->scratch = malloc(run->data.size);
	rc = run->scratch ? start(run) : -ENOMEM;
	if (rc == 0)
		rc = loop(run);
	if (rc >= 0 && !util_interrupted() && run->h2c.active)
		rc = finish_h2c(run);
	if (rc >= 0)
		rc = dma_window_end(run);
	stopped = litepcie_dma_stop(util->dev);
	litepcie_stats(util->dev, &run->stats);
	run->wall_s = progress_now() - begin;

	if (util_interrupted())
		util_fail(util, "interrupted after %llu buffers compared",
			  (unsigned long long)run->compared);
	else if (rc != -ETIMEDOUT || !util->failed)	/* a stall has its sentence already */
		util_check(util, rc, "DMA");
	if (rc >= 0)
		util_check(util, stopped, "stopping the DMA");
	if (rc >= 0 && !util_interrupted())
		dma_judge(run);
	free(run->scratch);
}
