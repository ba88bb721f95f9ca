/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The data that the parts of the command mmio_bench share. mmio_measure.c and mmio_ways.c measure,
 * and cmd_mmio_bench.c parses and prints.
 */
#ifndef LITEPCIE_UTIL_MMIO_BENCH_H
#define LITEPCIE_UTIL_MMIO_BENCH_H

#include "histogram.h"
#include "util.h"

/* number of MMIO writes that are made between two reads of the card's clock */
#define MMIO_BURST	64
#define MMIO_ROWS	4
/* reason of a row of the report that was not measured, since the command ended before */
#define MMIO_CUT_SHORT	"not measured"

enum mmio_target { MMIO_MEMORY0, MMIO_SCRATCH, MMIO_TIME };

struct mmio_row {
	const char		*id;
	bool			write;
	size_t			size;
	/* sentence that says why this row has no value; empty if it has one */
	char			reason[UTIL_SENTENCE];
	/* distribution of the time of one MMIO access, in ns */
	struct histogram	ns;
};

struct mmio_bench {
	struct litepcie	*dev;
	enum mmio_target	target;
	/* true: measure every way in which software can access memory, by mmio_ways.c */
	bool		all;
	uint32_t	offset;
	/* offset in BAR0 of the register with the lower half of the device time */
	uint32_t	clock;
	/* true: access consecutive words of a memory of the card; false: access one register */
	bool		spread;
	/* number of samples that are taken for each row of the report */
	size_t		count;
	double		*samples;
	double		tick_ns;	/* length of a tick of the card's device time in ns */
	/* round trip of one read of the card's clock in ns; NAN: not known */
	double		clock_ns;
	char		path[64];
	struct mmio_row	rows[MMIO_ROWS];
};

/*
 * Measure the round trip of one read of the card's clock, bench->clock_ns, and the rows unless
 * bench->all is set. A row that cannot be measured gets a reason. Returns 0 or -errno; -EINTR: the
 * user pressed Ctrl-C.
 */
int mmio_measure(struct mmio_bench *bench);

/*
 * Measure a time by the card's clock: mmio_clock() reads the time in ticks at the beginning, and
 * mmio_since() computes the nanoseconds since then, less the round trip of a read of the clock. The
 * clock is the lower 32 bits of device time. With a tick of 4 ns that is enough for times of less
 * than 17 s. Each returns 0 or -errno.
 */
int mmio_clock(const struct mmio_bench *bench, uint32_t *ticks);
int mmio_since(const struct mmio_bench *bench, uint32_t begin, double *ns);

#endif /* LITEPCIE_UTIL_MMIO_BENCH_H */
