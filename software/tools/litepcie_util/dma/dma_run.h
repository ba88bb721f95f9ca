/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Declares one run of DMA: buffers go through the rings, all data is compared, and the rate is
 * measured, in the steady state if the run is long enough to have one.
 *
 * dma_run.c moves and compares data, dma_window.c measures, dma_watch.c reports while the run goes
 * on, dma_judge.c reports the errors of the run, and cmd_dma_test.c parses options and prints.
 */
#ifndef LITEPCIE_UTIL_DMA_RUN_H
#define LITEPCIE_UTIL_DMA_RUN_H

#include "litepcie_capability.h"
#include "streams.h"
#include "util.h"

/* largest number of DMA buffers that a run fills or compares before it gives them to the card */
#define DMA_BATCH	32u
#define DMA_NO_END	UINT64_MAX
/* bytes of a beat of the card's data path; the card's pattern checker counts in beats */
#define DMA_BEAT_BYTES	LITEPCIE_BEAT_BYTES

/* Test data of a DMA buffer (dma_data.c) ------------------------------------------------------ */

/*
 * The test data of a DMA buffer is computed from the number of the buffer. So the receiver compares
 * a buffer without a copy of the data that was sent.
 */
struct dma_data {
	/*
	 * true: the data is random words; false: it is the card's pattern, in which dword i of the
	 * stream has the value i
	 */
	bool		random;
	uint64_t	seed;
	/* bytes of test data in each DMA buffer, a multiple of 8: the whole buffer, or a packet */
	size_t		size;
};

struct dma_difference {
	/*
	 * number of dwords of the received buffer that differ from the expected ones; 0: the other
	 * members are not set
	 */
	uint64_t	dwords;
	/* offset in bytes of the first wrong dword in the received buffer */
	size_t		offset;
	uint32_t	expected, got;
};

/* Fill @buffer with the test data of DMA buffer @number. */
void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer);

/*
 * Compare @buffer with the test data of buffer @number, and fill in @difference. Returns true if
 * they are equal.
 */
bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    struct dma_difference *difference);

/* A run --------------------------------------------------------------------------------------- */

/* The part of a DMA run between two snapshots of the card's counters, @from and @to. */
struct dma_window {
	/*
	 * true: the window is a part of the run, such as its steady state; false: the window is the
	 * whole run, or the steady state has not begun yet
	 */
	bool				open;
	bool				closed;		/* true: the window has ended at @to */
	/*
	 * number of DMA buffers that must be done before the window opens; 0: a short run, whose
	 * window is the whole run
	 */
	uint64_t			skip;
	struct litepcie_counters	from, to;
};

struct dma_run;

/*
 * Reports of a run while it goes on: @tell is called every @every_s seconds of the host's clock.
 * Each report is about the interval since the previous call of @tell.
 */
struct dma_watch {
	double				every_s;
	void				(*tell)(const struct dma_run *run,
						const struct dma_watch *watch);
	void				*context;
	double				began;
	/*
	 * begin and end of the reported interval, in seconds of the host's clock since @began, the
	 * start of the run
	 */
	double				from_s, to_s;
	/* the card's counters at both ends of the interval; @window.closed: the DMA run is over */
	struct dma_window		window;
};

struct dma_direction {
	bool		active;
	/* number of DMA buffers to move; DMA_NO_END: as many as fit into the duration */
	uint64_t	target;
	/* number of buffers that the run has submitted (h2c) or compared (c2h) */
	uint64_t	done;
};

struct dma_run {
	struct util		*util;
	struct dma_data		data;
	bool			loopback;
	/* The run fails if the card finishes no buffer for this many seconds. */
	uint32_t		timeout_s;
	/* longest duration of the DMA run in seconds of the host's clock; 0: no limit */
	double			duration_s;
	/* bytes of the packet that is sent in each h2c buffer; 0: whole buffers are sent */
	size_t			packet;
	/* receives reports while the DMA run goes on; NULL: no reports are made */
	struct dma_watch	*watch;
	/*
	 * bytes of a buffer and number of buffers of each ring; dma_run() replaces 0 by the
	 * library's default
	 */
	size_t			buffer_size;
	unsigned int		buffer_count;
	/*
	 * number of DMA buffers that are filled or compared before they go to the card together;
	 * set by dma_run()
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
	uint64_t		first_wrong;	/* number of the first DMA buffer with wrong data */
	struct dma_difference	first;
	/* what the card's pattern checker found in the h2c data */
	struct litepcie_pattern	pattern;
	struct litepcie_stats	stats;
	struct dma_window	window;
	double			wall_s;		/* duration of the run in s, by the host's clock */
};

/*
 * Run until each active direction has reached its target, the duration is over, or a failure or
 * Ctrl-C comes. All failures are noted in run->util.
 */
void dma_run(struct dma_run *run);

/*
 * Note in run->util the errors of a DMA run that came to its end: wrong or missing data, and lost
 * interrupts.
 */
void dma_judge(struct dma_run *run);

/* Returns the directions (LITEPCIE_H2C, LITEPCIE_C2H) that are active. */
static inline unsigned int dma_directions(const struct dma_run *run)
{
	return (run->h2c.active ? LITEPCIE_H2C : 0) | (run->c2h.active ? LITEPCIE_C2H : 0);
}

/*
 * Returns true if h2c runs and the card's pattern checker compares its data. In loopback the host
 * compares the data that comes back instead.
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
 * Measure run->window: the steady state of a long run, or the whole of a short one. The run calls
 * dma_window_begin() before the DMA starts, dma_window_step() whenever buffers may have moved, and
 * dma_window_end() at its end. Each returns 0 or -errno.
 */
int dma_window_begin(struct dma_run *run);
int dma_window_step(struct dma_run *run);
int dma_window_end(struct dma_run *run);

/*
 * dma_window_cycles() returns the card's clock cycles in the window, dma_window_h2c_bytes() the
 * bytes of h2c data in it.
 */
uint64_t dma_window_cycles(const struct dma_window *window);
uint64_t dma_window_h2c_bytes(const struct dma_window *window);

/*
 * Returns the bytes of c2h data in the window. A card with records writes its records and status
 * lines through the same stream (RQ) as the data. If the window is a part of the run, their bytes
 * are subtracted, and the result is a lower bound. If it is the whole run, the result is exact.
 */
uint64_t dma_window_c2h_bytes(const struct dma_run *run, const struct dma_window *window);

/*
 * Report the run's progress by run->watch. dma_watch_begin() reads the card's counters at the start
 * of the run. dma_watch_step() calls watch->tell when every_s seconds have passed, and
 * dma_watch_end() calls it for the last interval, unless that is very short. @now is in seconds,
 * from util_now(). The functions do nothing if run->watch is NULL. Each returns 0 or -errno.
 */
int dma_watch_begin(struct dma_run *run, double now);
int dma_watch_step(struct dma_run *run, double now);
int dma_watch_end(struct dma_run *run, double now);

#endif /* LITEPCIE_UTIL_DMA_RUN_H */
