/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure every way in which software can access a card's memory, such as system calls, mapped
 * loads and stores, memcpy() or several threads. The result of each way is its rate, its limit and
 * what sets that limit, or the reason why this card cannot be accessed in this way.
 */
#ifndef LITEPCIE_UTIL_MMIO_WAYS_H
#define LITEPCIE_UTIL_MMIO_WAYS_H

#include "dma/limits.h"
#include "mmio_bench.h"

#define MMIO_WAYS_MAX	64
/* bytes of the card's memory that the measurement of MMIO accesses uses */
#define MMIO_REGION	4096u

struct mmio_way_row {
	char		id[24];
	bool		write;
	/* bytes of one access, or of one memcpy() */
	size_t		size;
	/* sentence that says why this row has no value; empty if it has one */
	char		reason[UTIL_SENTENCE];
	double		ns;		/* time in ns that one access takes software */
	double		mb_per_s;
	struct limit	limit;		/* limit of the row's rate in MB/s, and what sets it */
};

struct mmio_ways {
	struct mmio_bench	*bench;
	struct limit_link	link;
	/* number of the BAR with the card's memory, which begins at @offset in the BAR */
	unsigned int		bar;
	uint64_t		offset;
	/* least time in ns that a read of the card's memory takes */
	double			trip_ns;
	/* the mapping of the BAR with the memory; base NULL: not mapped, and @unmapped says why */
	struct litepcie_window	window;
	char			unmapped[UTIL_SENTENCE];
	struct mmio_way_row	row[MMIO_WAYS_MAX];
	size_t			rows;
};

/*
 * Measure all rows, then restore the card's memory. mmio_measure() must have set bench->clock_ns
 * before. Returns 0 or -errno; -EINTR: the user pressed Ctrl-C.
 */
int mmio_ways_measure(struct mmio_ways *ways);

void mmio_ways_emit(const struct emit *out, const struct mmio_ways *ways);

#endif /* LITEPCIE_UTIL_MMIO_WAYS_H */
