/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The measured window of a run is the difference of two snapshots of the card's counters. A
 * snapshot is taken at one clock edge of the card, and its time is device time.
 *
 * In a run of LONG_RUN rings of buffers or more, or without a target, the window is the steady
 * state. It begins when the first ring of buffers is done in all active directions. It ends when
 * the first of the directions is END_MARGIN buffers, or half a ring if that is less, before its
 * target, since the card might soon have no more buffers. If the duration of the run is over before
 * that, the window ends then. In a shorter run, and in one that ends before its first ring is done,
 * the window is the whole run, and window->open stays false.
 */
#include "dma_run.h"

/* least number of rings of buffers in a DMA run whose steady state is measured */
#define LONG_RUN	2
/*
 * number of buffers before the target of a direction at which the window closes; half a ring if
 * that is less
 */
#define END_MARGIN	128

/* Returns the number of buffers that are done in the slower of the active directions. */
static uint64_t finished(const struct dma_run *run, const struct litepcie_stats *stats)
{
	uint64_t h2c = run->h2c.active ? stats->h2c_done : UINT64_MAX;
	uint64_t c2h = run->c2h.active ? stats->c2h_done : UINT64_MAX;

	return h2c < c2h ? h2c : c2h;
}

static bool near_end(const struct dma_run *run, const struct dma_direction *direction,
		     uint64_t done)
{
	unsigned int half = run->buffer_count / 2;
	unsigned int margin = half < END_MARGIN ? half : END_MARGIN;

	return direction->active && direction->target != DMA_NO_END &&
	       done + margin >= direction->target;
}

int dma_window_begin(struct dma_run *run)
{
	struct dma_window *window = &run->window;
	unsigned int ring = run->buffer_count;
	uint64_t target = run->c2h.active ? run->c2h.target : run->h2c.target;
	bool lasting = target == DMA_NO_END || target >= LONG_RUN * ring;

	window->from.struct_size = sizeof(window->from);
	window->to.struct_size = sizeof(window->to);
	window->skip = lasting ? ring : 0;
	return litepcie_counters(run->util->dev, &window->from);
}

int dma_window_end(struct dma_run *run)
{
	struct dma_window *window = &run->window;

	if (window->closed)
		return 0;
	window->closed = true;
	return litepcie_counters(run->util->dev, &window->to);
}

int dma_window_step(struct dma_run *run)
{
	struct dma_window *window = &run->window;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	if (!window->skip || window->closed)
		return 0;
	litepcie_stats(run->util->dev, &stats);
	if (window->open) {
		bool ends = near_end(run, &run->h2c, stats.h2c_done) ||
			    near_end(run, &run->c2h, stats.c2h_done);

		return ends ? dma_window_end(run) : 0;
	}
	if (finished(run, &stats) < window->skip)
		return 0;
	window->open = true;
	return litepcie_counters(run->util->dev, &window->from);
}

uint64_t dma_window_cycles(const struct dma_window *window)
{
	return window->to.time - window->from.time;
}

/*
 * The h2c data in the window is the payload of the TLP stream RC: it comes to the card as
 * completions of the card's reads.
 */
uint64_t dma_window_h2c_bytes(const struct dma_window *window)
{
	return window->to.rc.payload_bytes - window->from.rc.payload_bytes;
}

uint64_t dma_window_c2h_bytes(const struct dma_run *run, const struct dma_window *window)
{
	uint64_t payload = window->to.rq.payload_bytes - window->from.rq.payload_bytes;
	uint64_t directions = run->h2c.active ? 2 : 1, size = run->data.size;
	uint64_t lines = directions * (dma_window_cycles(window) / LITEPCIE_STATUS_LINE_CYCLES + 1);
	uint64_t line_bytes = lines * LITEPCIE_STATUS_LINE_SIZE;

	if (!util_has_block(run->util->dev, LITEPCIE_BLOCK_RECORDS))
		return payload;
	if (!window->open)
		return run->stats.c2h_done * size;
	if (payload < line_bytes)
		return 0;
	return (payload - line_bytes) * size / (size + LITEPCIE_RECORD_SIZE);
}
