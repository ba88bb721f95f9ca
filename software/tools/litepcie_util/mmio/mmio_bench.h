/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Data and functions that the parts of the command mmio_bench share. mmio_measure.c measures single
 * accesses, mmio_ways.c measures and prints the rows of --all, and cmd_mmio_bench.c parses and
 * prints the rest.
 */
#ifndef LITEPCIE_UTIL_MMIO_BENCH_H
#define LITEPCIE_UTIL_MMIO_BENCH_H

#include "dma/limits.h"
#include "histogram.h"
#include "util.h"

/* number of MMIO writes that are made between two reads of the card's clock */
#define MMIO_BURST	64
#define MMIO_ROWS	4
/* text that stands for a value that was not measured, since the command ended before */
#define MMIO_CUT_SHORT	"not measured"

enum mmio_target { MMIO_MEMORY0, MMIO_SCRATCH, MMIO_TIME };

struct mmio_row {
	const char		*id;
	bool			write;
	size_t			size;
	/* sentence that says why this row has no value; empty if it has one */
	char			reason[UTIL_SENTENCE];
	/*
	 * distribution of the time of one MMIO access in ns; for writes each sample is the mean of
	 * MMIO_BURST writes
	 */
	struct histogram	ns;
};

struct mmio_bench {
	struct litepcie	*dev;
	enum mmio_target target;
	/* option --all: measure the ways of access to the card's memory that mmio_ways.c has */
	bool		all;
	/* offset in BAR0 of the register or memory whose accesses are measured without --all */
	uint32_t	offset;
	/* offset in BAR0 of the register with the lower half of the device time */
	uint32_t	clock;
	/* true: the writes of a burst go to consecutive words of memory; false: to one register */
	bool		spread;
	/*
	 * option --count: number of samples of each row of mmio_measure.c, and wanted number of
	 * repetitions of each row of mmio_ways.c
	 */
	uint64_t	count;
	double		*samples;	/* array for @count measured times in ns */
	double		tick_ns;	/* length of a tick of the card's device time in ns */
	/* round trip of one read of the card's clock in ns; NAN: not known */
	double		clock_ns;
	struct mmio_row	rows[MMIO_ROWS];
};

/*
 * Measure the round trip of one read of the card's clock, bench->clock_ns, and bench->rows unless
 * bench->all is set. A row that cannot be measured gets a reason. Returns 0 or -errno; -EINTR:
 * Ctrl-C or SIGTERM has come.
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

/* All ways of access -------------------------------------------------------------------------- */

/*
 * The measurement of --all: the ways in which software can access a card's memory, such as system
 * calls, mapped loads and stores, memcpy() or several threads. The result of each way is its rate,
 * the rate's limit and what binds the rate, or the reason why this card cannot be accessed in this
 * way.
 */
#define MMIO_WAYS_MAX	64
/* bytes of the card's memory that the measurement of --all uses */
#define MMIO_REGION	4096u

struct mmio_way_row {
	char		id[24];
	bool		write;
	/*
	 * bytes that one repetition moves: by one access, by one memcpy(), or by accesses of 4
	 * bytes one after the other (rows "read_call" and "write_call")
	 */
	size_t		size;
	/* sentence that says why this row has no value; empty if it has one */
	char		reason[UTIL_SENTENCE];
	/*
	 * mean time in ns of one repetition; with several threads the time of all divided by the
	 * number of repetitions of all threads
	 */
	double		ns;
	double		mb_per_s;
	/* limit of the row's rate in MB/s, and what binds the rate */
	struct limit	limit;
};

struct mmio_ways {
	struct mmio_bench	*bench;
	struct limit_link	link;
	/* number of the BAR with the card's memory, which begins at @offset in the BAR */
	unsigned int		bar;
	uint64_t		offset;
	/* least measured time in ns of a 4-byte read of the card's memory */
	double			trip_ns;
	/* the mapping of the BAR with the memory; base NULL: not mapped, and @unmapped says why */
	struct litepcie_window	window;
	char			unmapped[UTIL_SENTENCE];
	struct mmio_way_row	row[MMIO_WAYS_MAX];
	size_t			rows;
};

/*
 * Measure all rows, then restore the card's memory. mmio_measure() must have set bench->clock_ns
 * before. Returns 0 or -errno; -EINTR: Ctrl-C or SIGTERM has come.
 */
int mmio_ways_measure(struct mmio_ways *ways);

void mmio_ways_emit(const struct emit *out, const struct mmio_ways *ways);

#endif /* LITEPCIE_UTIL_MMIO_BENCH_H */
