/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Declares struct dma_run, a run of the DMA, and the functions for it. dma_run() moves buffers
 * through the rings, compares the data and measures the rate, in the steady state if the run is
 * long enough to have one.
 *
 * dma_run.c moves data, dma_data.c makes and compares test data, dma_window.c measures, dma_watch.c
 * reports while the run goes on, and dma_judge.c notes the errors of the run. The commands
 * dma_test, dma_bench and doctor make such runs.
 */
#ifndef LITEPCIE_UTIL_DMA_RUN_H
#define LITEPCIE_UTIL_DMA_RUN_H

#include "litepcie_capability.h"
#include "streams.h"
#include "util.h"

/* largest number of DMA buffers that dma_run() fills or compares before the card gets them */
#define DMA_BATCH	32u
#define DMA_NO_END	UINT64_MAX
/* bytes of a beat of the card's data path; the card's pattern checker counts in beats */
#define DMA_BEAT_BYTES	LITEPCIE_BEAT_BYTES

/* Test data of a DMA buffer (dma_data.c) ------------------------------------------------------ */

/*
 * The kind of test data. The data of a DMA buffer is computed from the number of the buffer, and
 * random data from the seed, too. So a received buffer can be compared without a copy of the data
 * that was sent.
 */
struct dma_data {
	/*
	 * true: the data is random words; false: it is the card's pattern, in which dword i of the
	 * stream has the value i modulo 2^32
	 */
	bool		random;
	uint64_t	seed;
	/*
	 * bytes of test data in each DMA buffer, a multiple of 8: those of the buffer, or of the
	 * packet if packets are sent
	 */
	size_t		size;
};

struct dma_difference {
	/*
	 * number of dwords of the received buffer that differ from the expected ones; 0: none, and
	 * the other members are not set
	 */
	uint64_t	dwords;
	/* offset in bytes of the first wrong dword in the received buffer */
	size_t		offset;
	uint32_t	expected, got;
};

/* Fill @buffer with the test data of DMA buffer @number. */
void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer);

/*
 * Compare @buffer with the test data of DMA buffer @number, and fill in @difference. Returns true
 * if all data is equal.
 */
bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    struct dma_difference *difference);

/* A run --------------------------------------------------------------------------------------- */

/* The part of a DMA run between two snapshots of the card's counters, @from and @to. */
struct dma_window {
	/*
	 * true: the window has begun after the start of the run, as with the steady state; false:
	 * the window is the whole run, or the steady state has not begun yet
	 */
	bool				open;
	/* true: the window has ended, and @to has the counters at its end */
	bool				closed;
	/*
	 * number of DMA buffers that must be done before dma_window_step() opens the window; 0: it
	 * opens none, since the run is short and its window is the whole run
	 */
	uint64_t			skip;
	struct litepcie_counters	from, to;
};

struct dma_run;

/*
 * Reports of a run while it goes on: @tell is called about every @every_s seconds of the host's
 * clock. Each report is about the interval since the previous call of @tell, or since the start of
 * the run.
 */
struct dma_watch {
	double				every_s;
	void				(*tell)(const struct dma_run *run,
						const struct dma_watch *watch);
	/* pointer that the function @tell may use */
	void				*context;
	/* time of the run's start, from util_now() */
	double				began;
	/* begin and end of the reported interval, in seconds of the host's clock since @began */
	double				from_s, to_s;
	/*
	 * the card's counters at both ends of the interval; window.closed is true once
	 * dma_watch_end() was called, after which no interval is reported
	 */
	struct dma_window		window;
};

struct dma_direction {
	bool		active;
	/* number of DMA buffers to move; DMA_NO_END: until the duration of the run is over */
	uint64_t	target;
	/* number of buffers that dma_run() has submitted (h2c) or compared (c2h) */
	uint64_t	done;
};

struct dma_run {
	struct util		*util;
	struct dma_data		data;
	/*
	 * true: the c2h data is the h2c data that comes back, through the DMA's loopback or, with
	 * litepcie_util's option -e, through the user's logic
	 */
	bool			loopback;
	/*
	 * dma_run() fails if no buffer moves for this many seconds. At the end of the run the last
	 * h2c data has as many seconds to arrive.
	 */
	uint32_t		timeout_s;
	/*
	 * seconds of the host's clock after which dma_run() submits no more h2c buffers, and ends
	 * when the submitted ones have arrived and, in loopback, have come back; 0: no limit
	 */
	double			duration_s;
	/* bytes of the packet that is sent in each h2c buffer; 0: whole buffers are sent */
	size_t			packet;
	/* settings and state of the reports while the run goes on; NULL: no reports are made */
	struct dma_watch	*watch;
	/*
	 * bytes of a buffer and number of buffers of each ring; dma_run() replaces 0 by the
	 * library's default
	 */
	size_t			buffer_size;
	unsigned int		buffer_count;
	/*
	 * number of DMA buffers that are filled or compared before they go to the card together,
	 * or fewer at the end of the run; set by dma_run()
	 */
	unsigned int		batch;
	struct streams		streams;
	struct dma_direction	h2c, c2h;

	/* The fields of struct dma_run from here on are results of the run. */

	/* true: the DMA run has started; if it has not, the other results are not valid */
	bool			started;
	/* number of c2h buffers whose data the run has compared */
	uint64_t		compared;
	uint64_t		wrong_buffers, wrong_dwords;
	uint64_t		first_wrong;	/* number of the first c2h buffer with wrong data */
	struct dma_difference	first;
	/* results of the card's pattern checker; zeros if dma_h2c_by_pattern() is false */
	struct litepcie_pattern	pattern;
	struct litepcie_stats	stats;
	struct dma_window	window;
	/* duration of the run in s by the host's clock, with start and stop of the streams */
	double			wall_s;
};

/*
 * Run until each active direction has reached its target, the duration is over, or a failure or
 * Ctrl-C comes. Failures are noted in run->util, also a Ctrl-C.
 */
void dma_run(struct dma_run *run);

/*
 * Note in run->util the errors of a DMA run whose transfers came to their end without a failure or
 * Ctrl-C: wrong or missing data, and lost interrupts.
 */
void dma_judge(struct dma_run *run);

/* Returns a sum of the directions of the run that are active, LITEPCIE_H2C and LITEPCIE_C2H. */
static inline unsigned int dma_directions(const struct dma_run *run)
{
	return (run->h2c.active ? LITEPCIE_H2C : 0) | (run->c2h.active ? LITEPCIE_C2H : 0);
}

/*
 * Returns true if h2c is active and the card's pattern checker compares the h2c data. That is so
 * without loopback. In loopback the host compares the data that comes back instead.
 */
static inline bool dma_h2c_by_pattern(const struct dma_run *run)
{
	return run->h2c.active && !run->loopback;
}

static inline uint64_t dma_target_beats(const struct dma_run *run)
{
	return run->h2c.target * (run->data.size / DMA_BEAT_BYTES);
}

/*
 * Measure run->window: the steady state of a long run, or the whole of a short one. dma_run() calls
 * dma_window_begin() before the DMA starts, dma_window_step() whenever buffers may have moved, and
 * dma_window_end() when its duration is over or it ends without an error. Each returns 0 or -errno.
 */
int dma_window_begin(struct dma_run *run);
int dma_window_step(struct dma_run *run);
int dma_window_end(struct dma_run *run);

/*
 * dma_window_cycles() returns the number of the card's clock cycles in the window.
 * dma_window_h2c_bytes() returns the bytes of h2c data in the window.
 */
uint64_t dma_window_cycles(const struct dma_window *window);
uint64_t dma_window_h2c_bytes(const struct dma_window *window);

/*
 * Returns the bytes of c2h data in the window. The card counts what it writes to host memory. In a
 * card with records that includes, besides the data, records and status lines, by which the card
 * tells the host which buffers are finished. If window->open is true, the most bytes that these can
 * have are subtracted, and the result is a lower bound. If it is false, the result with such a card
 * is the data of all c2h buffers in run->stats, which dma_run() sets at its end.
 */
uint64_t dma_window_c2h_bytes(const struct dma_run *run, const struct dma_window *window);

/*
 * Report the rate of the run by run->watch. dma_watch_begin() reads the card's counters at the
 * start of the run. dma_watch_step() calls watch->tell if every_s seconds have passed since the
 * last report. dma_watch_end() calls watch->tell for the last interval, unless that is very short.
 * @now is the time in seconds from util_now(). The functions do nothing if run->watch is NULL. Each
 * returns 0 or -errno.
 */
int dma_watch_begin(struct dma_run *run, double now);
int dma_watch_step(struct dma_run *run, double now);
int dma_watch_end(struct dma_run *run, double now);

#endif /* LITEPCIE_UTIL_DMA_RUN_H */
