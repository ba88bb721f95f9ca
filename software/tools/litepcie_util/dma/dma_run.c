/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Make a DMA run: start the streams, fill h2c buffers and compare c2h buffers in a loop, and stop
 * the streams. When no batch of buffers is ready, the loop waits for the card.
 */
#include <errno.h>
#include <time.h>

#include "dma_run.h"
#include "progress.h"

/* timeout in ms of a wait for the card, after which the duration and Ctrl-C are checked again */
#define WAIT_MS		500
/* time in ns between two reads of the pattern checker's count at the end of a run */
#define PATTERN_NAP_NS	1000000L

/* Filling and checking buffers ---------------------------------------------------------------- */

/*
 * Returns the number of buffers of a direction to fill or to compare now. The result is 0 while
 * fewer buffers are @available than a batch has, or than are left up to the target if these are
 * fewer.
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

static int fill(struct dma_run *run, const struct litepcie_buffer *buffer)
{
	dma_data_fill(&run->data, buffer->sequence, buffer->data);
	return 0;
}

/*
 * Compare a c2h buffer with the test data that belongs to the buffer's number in the run. Wrong
 * data is counted in @run, and the result is still 0. If packets are sent, and the buffer's packet
 * has another length than the one sent, a failure is noted, and the result is -EBADMSG.
 */
static int check(struct dma_run *run, const struct litepcie_buffer *buffer)
{
	struct dma_difference difference;

	if (run->packet && buffer->bytes != run->packet) {
		util_fail(run->util, "packet %llu came back with %zu bytes, and %zu were sent",
			  (unsigned long long)buffer->sequence, buffer->bytes, run->packet);
		return -EBADMSG;
	}
	run->compared++;
	if (dma_data_check(&run->data, buffer->sequence, buffer->data, &difference))
		return 0;
	if (!run->wrong_buffers++) {
		run->first_wrong = buffer->sequence;
		run->first = difference;
	}
	run->wrong_dwords += difference.dwords;
	return 0;
}

/*
 * Give the @count oldest acquired buffers back to the card: whole if @packet is 0, otherwise with a
 * packet of @packet bytes in each. Returns 0 or -errno.
 */
static int hand_on(struct litepcie_stream *stream, uint64_t count, size_t packet)
{
	int rc = 0;

	if (!packet)
		return litepcie_stream_release(stream, (unsigned int)count);
	for (uint64_t i = 0; rc == 0 && i < count; i++)
		rc = litepcie_stream_send(stream, packet);
	return rc;
}

/*
 * If a batch of buffers of @direction is ready, fill (h2c) or compare (c2h) the buffers, and give
 * them back to the card. Returns the number of buffers, or -errno.
 */
static int pass(struct dma_run *run, struct dma_direction *direction)
{
	bool sends = direction == &run->h2c;
	struct litepcie_stream *stream = sends ? run->streams.h2c : run->streams.c2h;
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	uint64_t count;
	int rc;

	if (!direction->active || direction->done >= direction->target)
		return 0;
	rc = litepcie_stream_ready(stream, 0);
	count = rc > 0 ? count_of(run, direction, rc) : 0;
	for (uint64_t i = 0; rc >= 0 && i < count; i++) {
		rc = litepcie_stream_acquire(stream, &buffer, 0);
		if (rc > 0)
			rc = sends ? fill(run, &buffer) : check(run, &buffer);
	}
	if (rc >= 0 && count)
		rc = hand_on(stream, count, sends ? run->packet : 0);
	if (rc < 0)
		return rc;
	direction->done += count;
	return (int)count;
}

/* The loop of a run --------------------------------------------------------------------------- */

/*
 * Returns true if the loop need not wait for h2c any more, since all buffers are submitted and the
 * card has fetched all but the last. The last one does not count, since a card with LitePCIe's
 * endpoint in place of Lanebox's reports it only in litepcie_stream_drain(). If h2c is not active,
 * or in loopback, the result is always true: a buffer that has come back as c2h has been fetched
 * before.
 */
static bool h2c_finished(const struct dma_run *run)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	if (!dma_h2c_by_pattern(run))
		return true;
	litepcie_stats(run->util->dev, &stats);
	return run->h2c.done >= run->h2c.target && stats.h2c_done + 1 >= run->h2c.target;
}

/*
 * End the run after its duration: the loop submits no more h2c buffers and, without loopback,
 * compares no more c2h buffers. The run still waits until the card has fetched the h2c buffers
 * that are submitted, and in loopback until they have come back.
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
	util_fail(run->util, "the card finished no buffer for %u s (h2c: %llu sent, %llu fetched; "
		  "c2h: %llu filled); give more time with --timeout. %s",
		  run->timeout_s, (unsigned long long)stats.h2c_submitted,
		  (unsigned long long)stats.h2c_done, (unsigned long long)stats.c2h_done, why);
}

/*
 * Returns a sum of the directions, LITEPCIE_H2C and LITEPCIE_C2H, in which the loop has to wait for
 * the card.
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
 * Wait for the card to finish buffers, with a timeout of WAIT_MS. Returns a positive number if the
 * card has finished buffers, 0 if it has not, or -errno. *@idle_since is the time, from util_now(),
 * at which buffers last moved. If no buffer has moved for more than run->timeout_s seconds, the
 * stall is noted, and the result is -ETIMEDOUT.
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

/*
 * Fill or compare the batches of DMA buffers that are ready in the two directions. Returns the
 * number of buffers, or -errno.
 */
static int step(struct dma_run *run)
{
	int filled = pass(run, &run->h2c), checked;

	if (filled < 0)
		return filled;
	checked = pass(run, &run->c2h);
	return checked < 0 ? checked : filled + checked;
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
			rc = dma_watch_end(run, util_now()) ?: dma_window_end(run);
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
			rc = dma_window_step(run) ?: dma_watch_step(run, util_now());
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
		.buffer_size = run->buffer_size, .buffer_count = run->buffer_count,
		.loopback = run->loopback && !run->util->stock.external,
		.pattern = !run->loopback,
		.packets = run->packet > 0, .batch = run->packet ? run->batch : 0,
		.limit = run->c2h.target == DMA_NO_END ? 0 : run->c2h.target,
	};
	int rc = dma_window_begin(run) ?:
		 streams_start(run->util->dev, dma_directions(run), &options, &run->streams);

	run->started = rc == 0;
	return rc;
}

/*
 * Wait until the card has received all h2c data and, unless the run is a loopback, until the card's
 * pattern checker has counted the last beat. Ctrl-C ends the second wait. Returns 0 or -errno. If
 * the checker has not counted all beats within run->timeout_s, the result is 0, and dma_judge()
 * notes the missing beats.
 */
static int finish_h2c(struct dma_run *run)
{
	const struct timespec nap = { .tv_nsec = PATTERN_NAP_NS };
	struct litepcie *dev = run->util->dev;
	double deadline = util_now() + run->timeout_s;
	int rc = litepcie_stream_drain(run->streams.h2c, (int)run->timeout_s * 1000);

	while (rc == 0 && dma_h2c_by_pattern(run)) {
		run->pattern.struct_size = sizeof(run->pattern);
		rc = litepcie_pattern(dev, &run->pattern);
		if (run->pattern.beats >= dma_target_beats(run) || util_now() > deadline ||
		    util_interrupted())
			break;
		nanosleep(&nap, NULL);
	}
	return rc;
}

void dma_run(struct dma_run *run)
{
	struct util *util = run->util;
	double begin = util_now();
	int rc, stopped;

	run->buffer_size = run->buffer_size ?: LITEPCIE_BUFFER_SIZE;
	run->buffer_count = run->buffer_count ?: LITEPCIE_BUFFER_COUNT;
	run->data.size = run->packet ?: run->buffer_size;
	run->batch = run->buffer_count / 2;
	if (run->batch > DMA_BATCH)
		run->batch = DMA_BATCH;
	rc = start(run);
	if (rc == 0)
		rc = loop(run);
	if (rc >= 0 && !util_interrupted() && run->h2c.active)
		rc = finish_h2c(run);
	if (rc >= 0)
		rc = dma_window_end(run);
	/*
	 * An error of the run is noted before the streams are stopped: a stop that fails would
	 * replace the sentence of litepcie_why(). If a failure has been noted already, such as a
	 * stall or a packet of a wrong length, the error is not noted again.
	 */
	if (!util_interrupted() && !util->failed)
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
}
