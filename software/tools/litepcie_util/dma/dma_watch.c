/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Report the rate of a DMA run while it goes on, for each interval of the host's clock. An interval
 * ends when the card's counters are read. The counters include the card's time, so if the host
 * reads them late, the interval is longer, but its rate is not wrong.
 */
#include "dma_run.h"

/*
 * The last interval of a run is not reported if it is shorter than this fraction of the time
 * between two reports.
 */
#define LEAST_SHARE	0.1

int dma_watch_begin(struct dma_run *run, double now)
{
	struct dma_watch *watch = run->watch;

	if (!watch)
		return 0;
	watch->began = now;
	watch->from_s = watch->to_s = 0;
	watch->window = (struct dma_window) {
		.open = true, .from.struct_size = sizeof(watch->window.from),
		.to.struct_size = sizeof(watch->window.to),
	};
	return litepcie_counters(run->util->dev, &watch->window.from);
}

/* Report the interval that ends at @now, if it has @least seconds or more. Returns 0 or -errno. */
static int tell(struct dma_run *run, double now, double least)
{
	struct dma_watch *watch = run->watch;
	int rc;

	if (now - watch->began - watch->from_s < least)
		return 0;
	rc = litepcie_counters(run->util->dev, &watch->window.to);
	if (rc < 0)
		return rc;
	watch->to_s = now - watch->began;
	watch->tell(run, watch);
	watch->from_s = watch->to_s;
	watch->window.from = watch->window.to;
	return 0;
}

int dma_watch_step(struct dma_run *run, double now)
{
	bool ended = !run->watch || run->watch->window.closed;

	return ended ? 0 : tell(run, now, run->watch->every_s);
}

int dma_watch_end(struct dma_run *run, double now)
{
	if (!run->watch || run->watch->window.closed)
		return 0;
	run->watch->window.closed = true;
	return tell(run, now, LEAST_SHARE * run->watch->every_s);
}
