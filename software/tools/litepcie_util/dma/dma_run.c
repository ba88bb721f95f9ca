/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The loop of a DMA run: fill h2c buffers and compare c2h buffers. When no buffer is ready, wait
 * for the card.
 */
#include <errno.h>
#include <stdlib.h>

#include "dma_run.h"
#include "progress.h"

/* longest wait for the card in ms, before the clock and Ctrl-C are checked again */
#define WAIT_MS		500

/* Filling h2c buffers ------------------------------------------------------------------------- */

/*
 * Returns the number of buffers of a direction to fill or to compare now. The result is 0 until a
 * whole batch is @available, since whole batches keep the interrupts at regular distances.
 */
static uint64_t count_of(const struct dma_run *run, const struct dma_direction *direction,
			 int available)
{
	uint64_t left = direction->target - direction->done;
	uint64_t batch = run->batch - direction->done % run->batch;

	if (left < batch)
		batch = left;
	return (uint64_t)available < batch ? 0 : batch;
}

/*
 * Hand the @count oldest filled h2c buffers to the card, whole or with one packet in each. Returns
 * 0 or -errno.
 */
static int send(const struct dma_run *run, uint64_t count)
{
	struct litepcie_stream *h2c = run->streams.h2c;
	int rc = 0;

	if (!run->packet)
		return count ? litepcie_stream_release(h2c, (unsigned int)count) : 0;
	for (uint64_t i = 0; rc == 0 && i < count; i++)
		rc = litepcie_stream_send(h2c, run->packet);
	return rc;
}

/*
 * Fill the free h2c buffers with test data and submit them. Returns the number of buffers
 * submitted, or -errno.
 */
static int fill(struct dma_run *run)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	int rc = litepcie_stream_ready(run->streams.h2c, 0);
	uint64_t count;

	if (rc <= 0)
		return rc;
	count = count_of(run, &run->h2c, rc);
	for (uint64_t i = 0; rc > 0 && i < count; i++) {
		rc = litepcie_stream_acquire(run->streams.h2c, &buffer, 0);
		if (rc > 0)
			dma_data_fill(&run->data, buffer.sequence, buffer.data);
	}
	if (rc > 0)
		rc = send(run, count);
	if (rc < 0)
		return rc;
	run->h2c.done += count;
	return (int)count;
}

/* Checking c2h buffers ------------------------------------------------------------------------ */

struct batch {
	uint64_t		wrong_buffers, wrong_dwords;
	uint64_t		first_wrong;
	struct dma_difference	first;
};

static void check_buffer(struct dma_run *run, const struct litepcie_buffer *buffer,
			 struct batch *batch)
{
	struct dma_difference difference;

	if (dma_data_check(&run->data, buffer->sequence, buffer->data, run->scratch, &difference))
		return;
	if (!batch->wrong_buffers++) {
		batch->first_wrong = buffer->sequence;
		batch->first = difference;
	}
	batch->wrong_dwords += difference.dwords;
}

/* Compare the length of a received packet with the length sent. Returns 0, or -EBADMSG. */
static int check_length(const struct dma_run *run, const struct litepcie_buffer *buffer)
{
	if (!run->packet || buffer->bytes == run->packet)
		return 0;
	util_fail(run->util, "packet %llu came back with %zu bytes, and %zu were sent",
		  (unsigned long long)buffer->sequence, buffer->bytes, run->packet);
	return -EBADMSG;
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

/*
 * Compare the filled c2h buffers and release them. Returns the number of buffers taken, or -errno.
 */
static int check(struct dma_run *run)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct batch batch = { 0 };
	int rc = litepcie_stream_ready(run->streams.c2h, 0);
	uint64_t count;

	if (rc <= 0)
		return rc;
	count = count_of(run, &run->c2h, rc);
	for (uint64_t i = 0; rc >= 0 && i < count; i++) {
		rc = litepcie_stream_acquire(run->streams.c2h, &buffer, 0);
		if (rc > 0) {
			check_buffer(run, &buffer, &batch);
			rc = check_length(run, &buffer);
		}
	}
	if (rc >= 0 && count)
		rc = litepcie_stream_release(run->streams.c2h, (unsigned int)count);
	if (rc < 0)
		return rc;
	add_batch(run, &batch, count);
	run->c2h.done += count;
	return (int)count;
}

/* The loop of a run --------------------------------------------------------------------------- */

/*
 * Returns true if the card has fetched all h2c buffers but the last. The last buffer is reported
 * only after litepcie_stream_drain(), so the loop does not wait for it.
 */
static bool h2c_fetched(const struct dma_run *run)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	litepcie_stats(run->util->dev, &stats);
	return run->h2c.done >= run->h2c.target && stats.h2c_done + 1 >= run->h2c.target;
}

/*
 * Returns true if the loop need not wait for h2c any more. In loopback that is always so: a buffer
 * that has come back as c2h has been fetched before.
 */
static bool h2c_finished(const struct dma_run *run)
{
	return !dma_h2c_by_pattern(run) || h2c_fetched(run);
}

/*
 * End the run after its duration: the loop still finishes buffers that it has submitted, and
 * submits no more.
 */
static void set_end(struct dma_run *run)
{
	if (run->h2c.active && run->h2c.target > run->h2c.done)
		run->h2c.target = run->h2c.done;
	if (run->c2h.active && run->c2h.target > run->c2h.done)
		run->c2h.target = run->loopback ? run->h2c.done : run->c2h.done;
}

static void report_stall(struct dma_run *run)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	char why[LITEPCIE_WHY_SIZE];

	litepcie_stats(run->util->dev, &stats);
	litepcie_diagnose(run->util->dev, LITEPCIE_H2C | LITEPCIE_C2H, why, sizeof(why));
	util_fail(run->util, "the card finished no buffer for %d s (h2c: %llu sent, %llu fetched; "
		  "c2h: %llu filled); give more time with --timeout. %s",
		  run->timeout_s, (unsigned long long)stats.h2c_submitted,
		  (unsigned long long)stats.h2c_done, (unsigned long long)stats.c2h_done, why);
}

/*
 * Returns the directions (LITEPCIE_H2C, LITEPCIE_C2H) in which the loop has to wait for the card.
 */
static unsigned int waiting_for(const struct dma_run *run)
{
	unsigned int directions = 0;

	if (run->c2h.active && run->c2h.done < run->c2h.target)
		directions |= LITEPCIE_C2H;
	if (!h2c_finished(run))
		directions |= LITEPCIE_H2C;
	return directions;
}

/*
 * Wait up to WAIT_MS for the card to finish buffers. Returns a positive number if the card has
 * finished buffers, 0 if it has not, or -errno. @idle_since is the time of the last progress.
 */
static int wait_for_card(struct dma_run *run, double *idle_since)
{
	int rc = litepcie_dma_wait(run->util->dev, waiting_for(run), WAIT_MS);

	if (rc == -EINTR && !util_interrupted())
		rc = 0;
	if (rc > 0)
		*idle_since = util_now();
	if (rc == 0 && util_now() - *idle_since > run->timeout_s) {
		report_stall(run);
		return -ETIMEDOUT;
	}
	return rc;
}

static double mib_done(const struct dma_run *run, uint64_t buffers)
{
	return buffers == DMA_NO_END ? 0 : (double)buffers * (double)run->data.size / (1 << 20);
}

/* Handle the DMA buffers that are ready in both directions. Returns their number, or -errno. */
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
	double start = util_now(), idle_since = start;
	struct progress progress;
	int rc = dma_watch_begin(run, start);

	progress_begin(&progress, run->util->command, "MiB", mib_done(run, way->target),
		       run->duration_s);

	while (rc >= 0) {
		if (run->duration_s > 0 && util_now() - start >= run->duration_s) {
			rc = dma_watch_end(run, util_now());
			if (rc == 0)
				rc = dma_window_end(run);
			set_end(run);
		}
		if (rc < 0 || util_interrupted() ||
		    (h2c_finished(run) && (!run->c2h.active || run->c2h.done >= run->c2h.target)))
			break;
		rc = step(run);
		if (rc > 0)
			idle_since = util_now();
		if (rc == 0)
			rc = wait_for_card(run, &idle_since);
		if (rc >= 0)
			rc = dma_window_step(run);
		if (rc >= 0)
			rc = dma_watch_step(run, util_now());
		if (!run->watch)
			progress_show(&progress, mib_done(run, way->done));
	}
	progress_end(&progress);
	return rc < 0 || util_interrupted() ? rc : dma_watch_end(run, util_now());
}

/* Start and end of a run ---------------------------------------------------------------------- */

static int start(struct dma_run *run)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.buffer_size = run->buffer_size,
		.buffer_count = run->buffer_count,
		.loopback = run->loopback && !run->util->stock.external,
		.pattern = !run->loopback,
		.packets = run->packet > 0,
		.batch = run->packet ? run->batch : 0,
		.limit = run->c2h.target == DMA_NO_END ? 0 : run->c2h.target,
	};
	int rc = dma_window_begin(run);

	if (rc == 0)
		rc = streams_start(run->util->dev, dma_directions(run), &options, &run->streams);
	run->started = rc == 0;
	return rc;
}

/*
 * Wait until the card has fetched the last h2c buffer and its pattern checker has counted the last
 * beat.
 */
static int finish_h2c(struct dma_run *run)
{
	struct litepcie *dev = run->util->dev;
	double deadline = util_now() + run->timeout_s;
	int rc = litepcie_stream_drain(run->streams.h2c, run->timeout_s * 1000);

	while (rc == 0 && dma_h2c_by_pattern(run)) {
		run->pattern.struct_size = sizeof(run->pattern);
		rc = litepcie_pattern(dev, &run->pattern);
		if (run->pattern.beats >= dma_target_beats(run) || util_now() > deadline)
			break;
	}
	return rc;
}

void dma_run(struct dma_run *run)
{
	struct util *util = run->util;
	double begin = util_now();
	int rc, stopped;

	if (!run->buffer_size)
		run->buffer_size = LITEPCIE_BUFFER_SIZE;
	if (!run->buffer_count)
		run->buffer_count = LITEPCIE_BUFFER_COUNT;
	run->data.size = run->packet ? run->packet : run->buffer_size;
	run->batch = run->buffer_count / 2;
	if (run->batch > DMA_BATCH)
		run->batch = DMA_BATCH;
	run->scratch = malloc(run->data.size);
	rc = run->scratch ? start(run) : -ENOMEM;
	if (rc == 0)
		rc = loop(run);
	if (rc >= 0 && !util_interrupted() && run->h2c.active)
		rc = finish_h2c(run);
	if (rc >= 0)
		rc = dma_window_end(run);
	/*
	 * The failure is noted before the streams are stopped: a stop that fails would replace the
	 * sentence of litepcie_why(). report_stall() and check_length() have already noted
	 * -ETIMEDOUT and -EBADMSG.
	 */
	if (!util_interrupted() && ((rc != -ETIMEDOUT && rc != -EBADMSG) || !util->failed))
		util_check(util, rc, "DMA");
	stopped = streams_stop(&run->streams);
	run->stats.struct_size = sizeof(run->stats);
	litepcie_stats(util->dev, &run->stats);
	run->wall_s = util_now() - begin;

	if (util_interrupted())
		util_fail(util, "interrupted after %llu buffers compared",
			  (unsigned long long)run->compared);
	if (rc >= 0)
		util_check(util, stopped, "stopping the DMA");
	if (rc >= 0 && !util_interrupted())
		dma_judge(run);
	free(run->scratch);
}
