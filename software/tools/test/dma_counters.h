/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The tests of dma_window.c and dma_watch.c include this file. It includes dma_window.c, and has
 * stand-ins for those functions of the library that read the card's counters.
 */
#ifndef DMA_COUNTERS_H
#define DMA_COUNTERS_H

#include "../litepcie_util/dma/dma_window.c"
#include "check.h"

#define RING	256u
#define LONG	(4 * RING)

static struct util util;
static struct litepcie_stats stats;
static bool has_records;
/*
 * number of readings of the card's counters since begin(); in reading n each count that the test
 * uses is n times a constant
 */
static unsigned int readings;

int litepcie_counters(struct litepcie *dev, struct litepcie_counters *counters)
{
	(void)dev;
	CHECK_EQUAL(counters->struct_size, sizeof(*counters));
	readings++;
	counters->time = 1000 * readings;
	counters->rq.payload_bytes = 500000 * readings;
	counters->rc.payload_bytes = 3000 * readings;
	return 0;
}

int litepcie_stats(struct litepcie *dev, struct litepcie_stats *found)
{
	(void)dev;
	*found = stats;
	return 0;
}

bool util_has_block(struct litepcie *dev, unsigned int type)
{
	(void)dev;
	CHECK_EQUAL(type, LITEPCIE_BLOCK_RECORDS);
	return has_records;
}

static struct dma_run begin(bool h2c, bool c2h, uint64_t target)
{
	struct dma_run run = {
		.util = &util, .buffer_count = RING, .data.size = 8192,
		.h2c = { .active = h2c, .target = target },
		.c2h = { .active = c2h, .target = target },
	};

	stats = (struct litepcie_stats) { 0 };
	readings = 0;
	CHECK_EQUAL(dma_window_begin(&run), 0);
	CHECK_EQUAL(readings, 1);
	return run;
}

#endif /* DMA_COUNTERS_H */
