/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test dma_run.c: a run fails when the card has finished no buffer for the whole time-out, and not
 * before. Each buffer up to the target is filled or compared once, and wrong data is counted. The
 * test has stand-ins for the card and the clock, so it does not wait for real time.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

/*
 * In dma_run.c, util_now() reads the test's clock @now_ms. This clock moves on when a c2h batch is
 * given back, when a wait brings no data, and when the run sleeps or reads the pattern checker.
 */
#define clock_gettime(_clock, _now)	made_up_time(_now)
#define nanosleep(_time, _rest)		made_up_nap(_time)
static int made_up_time(struct timespec *now);
static int made_up_nap(const struct timespec *time);

#include "../litepcie_util/dma/dma_run.c"
#include "check.h"

#define TIMEOUT_S	2
#define CHECK_MS	100	/* by how much @now_ms moves on while a batch is compared */
#define NEVER		1000000u

static long long now_ms;
static struct util util;
/*
 * The made-up card has @filled batches of DMA_BATCH full c2h buffers each. After @silent_waits
 * calls of litepcie_dma_wait() without a new buffer it fills @late more batches.
 */
static unsigned int filled, silent_waits, late;
static unsigned int waits;
static uint64_t finished;	/* number of h2c buffers that the made-up card has fetched */
static int failed_with;

/*
 * for h2c [0] and c2h [1]: number of buffers that the run has acquired, released by
 * litepcie_stream_release(), and sent by litepcie_stream_send()
 */
static struct {
	uint64_t	acquired, released, sent;
} way[2];
static uint64_t buffers_filled;
/* bytes of the last packet that was sent */
static size_t packet_bytes;
/* time-out in ms of the last litepcie_stream_drain() */
static int drain_ms;
/*
 * c2h buffer number wrong[i] has wrong_dwords[i] wrong dwords. The packet in c2h buffer number @cut
 * has 4 bytes less than the packet that was sent. UINT64_MAX: no buffer.
 */
static uint64_t wrong[2], cut;
static unsigned int wrong_dwords[2];
/* The addresses of the variables @h2c and @c2h stand for the streams. */
static char h2c, c2h;

static unsigned int way_of(const struct litepcie_stream *stream)
{
	CHECK((const void *)stream == &h2c || (const void *)stream == &c2h);
	return (const void *)stream == &c2h;
}

static int made_up_time(struct timespec *now)
{
	*now = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
	return 0;
}

/*
 * The card's pattern checker, which counts @beats_a_nap more beats during each sleep (nap) of the
 * run. @naps is the number of these sleeps. Ctrl-C comes in sleep number @interrupted_at; 0: never.
 */
static struct {
	uint64_t	beats, beats_a_nap;
	unsigned int	naps, interrupted_at;
} checker;

static int made_up_nap(const struct timespec *time)
{
	CHECK(time->tv_sec == 0 && time->tv_nsec >= 1000000);
	now_ms += time->tv_nsec / 1000000;
	checker.beats += checker.beats_a_nap;
	CHECK(checker.naps++ < NEVER);
	return 0;
}

/* Stand-ins for the library and for the other sources of the utility --------------------------- */

int litepcie_stream_ready(struct litepcie_stream *stream, int timeout_ms)
{
	(void)timeout_ms;
	return way_of(stream) == 0 || filled ? (int)DMA_BATCH : 0;
}

int litepcie_stream_acquire(struct litepcie_stream *stream, struct litepcie_buffer *buffer,
			    int timeout_ms)
{
	(void)timeout_ms;
	buffer->data = NULL;
	buffer->sequence = way[way_of(stream)].acquired++;
	buffer->bytes = packet_bytes - (buffer->sequence == cut ? 4 : 0);
	return 1;
}

int litepcie_stream_release(struct litepcie_stream *stream, unsigned int count)
{
	way[way_of(stream)].released += count;
	if (way_of(stream) == 1) {
		filled--;
		now_ms += CHECK_MS;
	}
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
	way[way_of(stream)].sent++;
	packet_bytes = bytes;
	return 0;
}

int litepcie_stream_drain(struct litepcie_stream *stream, int timeout_ms)
{
	CHECK_EQUAL(way_of(stream), 0);
	drain_ms = timeout_ms;
	return 0;
}

int litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats)
{
	(void)dev;
	stats->h2c_done = finished;
	return 0;
}

int litepcie_pattern(struct litepcie *dev, struct litepcie_pattern *pattern)
{
	(void)dev;
	pattern->beats = checker.beats;
	/* time passes here, so a run that asks again and again without a sleep ends, too */
	now_ms++;
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

bool util_interrupted(void)
{
	return checker.interrupted_at && checker.naps >= checker.interrupted_at;
}
int streams_stop(struct streams *streams) { (void)streams; return 0; }

int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams)
{
	(void)dev, (void)options;
	streams->h2c = directions & LITEPCIE_H2C ? (void *)&h2c : NULL;
	streams->c2h = directions & LITEPCIE_C2H ? (void *)&c2h : NULL;
	return 0;
}

void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer)
{
	(void)data, (void)buffer;
	CHECK_EQUAL(number, buffers_filled);
	buffers_filled++;
}

bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    struct dma_difference *difference)
{
	(void)data, (void)buffer;
	difference->dwords = 0;
	for (int i = 0; i < 2; i++)
		if (number == wrong[i])
			*difference = (struct dma_difference) {
				.dwords = wrong_dwords[i], .offset = 8 + 4 * (size_t)i,
			};
	return !difference->dwords;
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

static void begin(unsigned int batches)
{
	memset(way, 0, sizeof(way));
	now_ms = 1000000;
	util = (struct util){ 0 };
	filled = batches;
	silent_waits = late = waits = 0;
	packet_bytes = 0;
	buffers_filled = 0;
	drain_ms = failed_with = 0;
	wrong[0] = wrong[1] = cut = UINT64_MAX;
	memset(&checker, 0, sizeof(checker));
}

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

	begin(first);
	silent_waits = silence;
	late = rest;
	dma_run(&run);
	return run.compared / DMA_BATCH;
}

static void a_silence_below_the_time_out_is_no_stall(void)
{
	/* The first batches come at once. To compare them takes as long as ten time-outs. */
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

/* Tests of what a run does with its buffers ---------------------------------------------------- */

/* Run @buffers buffers to the card and back, as packets of @packet bytes if that is not 0. */
static struct dma_run there_and_back(uint64_t buffers, size_t packet)
{
	struct dma_run run = {
		.util = &util, .timeout_s = TIMEOUT_S, .loopback = true, .buffer_size = 64,
		.packet = packet, .h2c = { .active = true, .target = buffers },
		.c2h = { .active = true, .target = buffers },
	};

	dma_run(&run);
	return run;
}

/*
 * With a target that is no multiple of a batch, each buffer up to the target must be filled,
 * compared and given back to the card exactly once, as a whole.
 */
static void each_buffer_is_passed_on_once(void)
{
	const uint64_t buffers = 3 * DMA_BATCH + 5;
	struct dma_run run;

	begin(4);
	run = there_and_back(buffers, 0);
	CHECK(!util.failed);
	CHECK_EQUAL(buffers_filled, buffers);
	CHECK_EQUAL(run.compared, buffers);
	for (int i = 0; i < 2; i++)
		CHECK(way[i].acquired == buffers && way[i].released == buffers && !way[i].sent);
	CHECK(run.h2c.done == buffers && run.c2h.done == buffers);
	CHECK_EQUAL(run.data.size, 64);
	CHECK_EQUAL(drain_ms, TIMEOUT_S * 1000);
}

/*
 * With packets, each h2c buffer must be given to the card once by litepcie_stream_send() with the
 * packet's bytes, and each c2h buffer once by litepcie_stream_release().
 */
static void each_packet_is_sent_once(void)
{
	const uint64_t buffers = 2 * DMA_BATCH + 1;
	struct dma_run run;

	begin(3);
	run = there_and_back(buffers, 24);
	CHECK(!util.failed);
	CHECK(way[0].sent == buffers && !way[0].released);
	CHECK(way[1].released == buffers && !way[1].sent);
	CHECK_EQUAL(packet_bytes, 24);
	CHECK_EQUAL(run.data.size, 24);
	CHECK_EQUAL(run.compared, buffers);
}

static void a_packet_of_another_length_ends_the_run(void)
{
	struct dma_run run;

	begin(2);
	cut = DMA_BATCH + 3;
	run = there_and_back(2 * DMA_BATCH, 24);
	CHECK(util.failed);
	CHECK_EQUAL(failed_with, 0);
	CHECK_EQUAL(run.compared, cut);
	CHECK_EQUAL(way[1].released, DMA_BATCH);
}

static void all_wrong_data_is_counted_and_the_first_is_kept(void)
{
	struct dma_run run;

	begin(3);
	wrong[0] = 7;
	wrong_dwords[0] = 2;
	wrong[1] = 2 * DMA_BATCH;
	wrong_dwords[1] = 5;
	run = there_and_back(3 * DMA_BATCH, 0);
	CHECK_EQUAL(run.compared, 3 * DMA_BATCH);
	CHECK(run.wrong_buffers == 2 && run.wrong_dwords == 7);
	CHECK(run.first_wrong == 7 && run.first.dwords == 2 && run.first.offset == 8);
}

/*
 * Run one h2c buffer of 64 bytes, which has two beats. The pattern checker counts @beats_a_nap
 * beats in each sleep of the run, and Ctrl-C comes in sleep number @interrupted_at (0: never).
 * Returns the number of sleeps.
 */
static unsigned int naps_until_counted(uint64_t beats_a_nap, unsigned int interrupted_at)
{
	struct dma_run run = {
		.util = &util, .timeout_s = TIMEOUT_S, .buffer_size = 64,
		.h2c = { .active = true, .target = 1 },
	};

	begin(0);
	checker.beats_a_nap = beats_a_nap;
	checker.interrupted_at = interrupted_at;
	finished = 1;
	dma_run(&run);
	return checker.naps;
}

static void the_count_of_the_pattern_is_awaited_with_pauses(void)
{
	CHECK_EQUAL(naps_until_counted(2, 0), 1);
	CHECK(!util.failed);
	CHECK_EQUAL(naps_until_counted(1, 0), 2);
	CHECK(!util.failed);
	CHECK(naps_until_counted(0, 0) <= TIMEOUT_S * 1000);
	CHECK_EQUAL(naps_until_counted(0, 5), 5);
}

int main(void)
{
	a_silence_below_the_time_out_is_no_stall();
	a_longer_silence_is_a_stall();
	each_buffer_is_passed_on_once();
	each_packet_is_sent_once();
	a_packet_of_another_length_ends_the_run();
	all_wrong_data_is_counted_and_the_first_is_kept();
	the_count_of_the_pattern_is_awaited_with_pauses();
	return failed_checks != 0;
}
