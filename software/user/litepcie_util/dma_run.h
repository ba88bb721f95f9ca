/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * One DMA run: keep the rings going, check all data, and measure a steady stretch of it.
 *
 * dma_run.c moves and checks, dma_window.c measures, dma_judge.c finds what went wrong,
 * cmd_dma_test.c parses and prints.
 */
#ifndef LITEPCIE_UTIL_DMA_RUN_H
#define LITEPCIE_UTIL_DMA_RUN_H

#include "dma_data.h"
#include "util.h"

#define DMA_BATCH	32u	/* buffers handled at a time: the distance of interrupts */
#define DMA_NO_END	UINT64_MAX
#define DMA_BEAT_BYTES	32u	/* what the card's checker counts */

/* A stretch of the run between two snapshots of the card's counters. */
struct dma_window {
	bool				open, closed;
	bool				whole;	/* from before the start to after the end */
	bool				told;	/* with the card's records and status lines */
	uint64_t			skip;	/* buffers before it opens */
	struct litepcie_counters	from, to;
};

struct dma_direction {
	bool		active;
	uint64_t	target;		/* buffers, DMA_NO_END: until the duration is over */
	uint64_t	done;		/* buffers submitted (h2c), compared (c2h) */
};

struct dma_run {
	struct util		*util;
	struct dma_data		data;
	bool			loopback;
	int			timeout_s;
	double			duration_s;	/* 0: none */
	uint8_t			*scratch;
	struct dma_direction	h2c, c2h;

	/* Results */
	bool			started;	/* else none of the others mean anything */
	uint64_t		compared;	/* c2h buffers */
	uint64_t		wrong_buffers, wrong_dwords;
	bool			mismatched;
	uint64_t		first_wrong;	/* number of the buffer */
	struct dma_difference	first;
	struct litepcie_pattern	pattern;	/* h2c, as the card saw it */
	struct litepcie_stats	stats;
	struct dma_window	window;
	double			wall_s;
};

/* Run to the end, whatever the end is; all failures go to run->util. */
void dma_run(struct dma_run *run);

/* Report every failure of a run that came to its end. */
void dma_judge(struct dma_run *run);

/* h2c is compared by the card; in loopback the host does it. */
static inline bool dma_h2c_by_pattern(const struct dma_run *run)
{
	return run->h2c.active && !run->loopback;
}

static inline uint64_t dma_target_beats(const struct dma_run *run)
{
	return run->h2c.target * (run->data.size / DMA_BEAT_BYTES);
}

/* Called with the card quiet, after each step and at the end of the run. Return 0 or -errno. */
int dma_window_begin(struct dma_run *run);
int dma_window_step(struct dma_run *run);
int dma_window_end(struct dma_run *run);

/* What passed in it. */
uint64_t dma_window_cycles(const struct dma_window *window);
uint64_t dma_window_h2c_bytes(const struct dma_window *window);

/* Data alone, at the least: what a card with records tells of it goes the same way. */
uint64_t dma_window_c2h_bytes(const struct dma_run *run);

#endif /* LITEPCIE_UTIL_DMA_RUN_H */
