/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test dma_run.c: a run fails when the card has finished no buffer for the whole time-out, and not
 * before. The test has stand-ins for the card and the clock, so the test takes no real time.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

/* util_now() reads the test's clock, which moves when a batch is given back or no data comes. */
#define clock_gettime(_clock, _now)	made_up_time(_now)
static int made_up_time(struct timespec *now);

#include "../litepcie_util/dma/dma_run.c"
#include "check.h"

#define TIMEOUT_S	2
#define CHECK_MS	100	/* time in ms that the program takes to compare a batch */
#define NEVER		1000000u

static long long now_ms;
static struct util util;
/*
 * The card has @filled full batches. After @silent_waits waits without a new buffer it fills @late
 * more batches.
 */
static unsigned int filled, silent_waits, late;
static unsigned int waits;
static int failed_with;

static int made_up_time(struct timespec *now)
{
	*now = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
	return 0;
}

/* Stand-ins for the library and for the other sources of the utility --------------------------- */

int litepcie_stream_ready(struct litepcie_stream *stream, int timeout_ms)
{
	(void)stream, (void)timeout_ms;
	return filled ? (int)DMA_BATCH : 0;
}

int litepcie_stream_acquire(struct litepcie_stream *stream, struct litepcie_buffer *buffer,
			    int timeout_ms)
{
	(void)stream, (void)timeout_ms;
	buffer->data = NULL;
	return 1;
}

int litepcie_stream_release(struct litepcie_stream *stream, unsigned int count)
{
	(void)stream, (void)count;
	filled--;
	now_ms += CHECK_MS;
	return 0;
}

int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	(void)dev, (void)directions;
	waits++;
	if (silent_waits) {
		silent_waits--;
		now_ms += timeout_ms;
		return 0;
	}
	filled += late;
	late = 0;
	return 1;
}

int litepcie_stream_send(struct litepcie_stream *stream, size_t bytes)
{
	(void)stream, (void)bytes;
	return 0;
}

int litepcie_stream_drain(struct litepcie_stream *stream, int timeout_ms)
{
	(void)stream, (void)timeout_ms;
	return 0;
}

int litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats)
{
	(void)dev, (void)stats;
	return 0;
}

int litepcie_pattern(struct litepcie *dev, struct litepcie_pattern *pattern)
{
	(void)dev, (void)pattern;
	return 0;
}

void litepcie_diagnose(struct litepcie *dev, unsigned int directions, char *text, size_t size)
{
	(void)dev, (void)directions;
	snprintf(text, size, "made up");
}

void util_fail(struct util *noted, const char *format, ...)
{
	(void)format;
	noted->failed = true;
}

void util_check(struct util *noted, int rc, const char *doing)
{
	(void)doing;
	noted->failed |= rc < 0;
	failed_with = failed_with ? failed_with : rc;
}

bool util_interrupted(void) { return false; }
int streams_stop(struct streams *streams) { (void)streams; return 0; }

int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams)
{
	(void)dev, (void)directions, (void)options, (void)streams;
	return 0;
}

void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer)
{
	(void)data, (void)number, (void)buffer;
}

bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    struct dma_difference *difference)
{
	(void)data, (void)number, (void)buffer, (void)difference;
	return true;
}

void dma_judge(struct dma_run *run) { (void)run; }
int dma_window_begin(struct dma_run *run) { (void)run; return 0; }
int dma_window_step(struct dma_run *run) { (void)run; return 0; }
int dma_window_end(struct dma_run *run) { (void)run; return 0; }
int dma_watch_begin(struct dma_run *run, double now) { (void)run, (void)now; return 0; }
int dma_watch_step(struct dma_run *run, double now) { (void)run, (void)now; return 0; }
int dma_watch_end(struct dma_run *run, double now) { (void)run, (void)now; return 0; }

void progress_begin(struct progress *progress, const char *what, const char *unit, double total,
		    double seconds)
{
	(void)progress, (void)what, (void)unit, (void)total, (void)seconds;
}

void progress_show(struct progress *progress, double done) { (void)progress, (void)done; }
void progress_end(struct progress *progress) { (void)progress; }

/* Tests of the loop of a run ------------------------------------------------------------------- */

/*
 * Run c2h. The card fills @first batches at once, and @rest batches after @silence waits without a
 * new buffer. Returns the number of batches that were compared.
 */
static uint64_t compared(unsigned int first, unsigned int silence, unsigned int rest)
{
	struct dma_run run = {
		.util = &util, .timeout_s = TIMEOUT_S, .buffer_size = 64,
		.c2h = { .active = true, .target = (uint64_t)(first + rest) * DMA_BATCH },
	};

	now_ms = 1000000;
	util = (struct util){ 0 };
	filled = first;
	silent_waits = silence;
	late = rest;
	waits = 0;
	dma_run(&run);
	return run.compared / DMA_BATCH;
}

static void a_silence_below_the_time_out_is_no_stall(void)
{
	/* The first batches take ten time-outs, in which the run does not wait for the card. */
	CHECK_EQUAL(compared(10 * TIMEOUT_S * 1000 / CHECK_MS, 1, 5), 10 * TIMEOUT_S * 10 + 5);
	CHECK(!util.failed);
	CHECK_EQUAL(compared(1, TIMEOUT_S * 1000 / WAIT_MS, 5), 6);
	CHECK(!util.failed);
}

static void a_longer_silence_is_a_stall(void)
{
	CHECK_EQUAL(compared(100, NEVER, 5), 100);
	CHECK(util.failed);
	CHECK_EQUAL(waits, TIMEOUT_S * 1000 / WAIT_MS + 1);
	CHECK_EQUAL(compared(0, NEVER, 5), 0);
	CHECK(util.failed);
}

int main(void)
{
	a_silence_below_the_time_out_is_no_stall();
	a_longer_silence_is_a_stall();
	return failed_checks != 0;
}
