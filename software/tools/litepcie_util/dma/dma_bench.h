/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Data and functions that the parts of the command dma_bench share. rates.c measures rates and
 * compares them with their limits.
 *
 * dma_bench_interval.c prints a rate for each interval of a run (--interval), dma_bench_sweep.c
 * measures by size of transfer (--sweep), and dma_bench_slot.c measures through the user's logic in
 * the card's user slot (--slot). dma_bench_rate.c prints a rate for all of them, except in the
 * lines of text of --interval.
 */
#ifndef LITEPCIE_UTIL_DMA_BENCH_H
#define LITEPCIE_UTIL_DMA_BENCH_H

#include "rates.h"

/* number of transfer sizes of dma_bench --sweep: the powers of two from 64 bytes to 64 KiB */
#define BENCH_SIZES	11

struct bench_interval {
	/* begin and end of the interval, in seconds of the host's clock since the run began */
	double		from_s, to_s;
	struct rate	rate;
};

struct bench_intervals {
	struct rates		*rates;
	/* true: print each interval of a run as text as soon as it has ended */
	bool			print;
	struct bench_interval	*entry;
	size_t			count;
};

struct bench_size {
	size_t		bytes;
	char		id[32];
	struct rate	rate;
	/* sentence that says why this transfer size has no rate; no meaning if @rate is valid */
	const char	*reason;
};

/*
 * In a duplex run of dma_bench --slot, c2h and h2c count as unequal if their amounts of data differ
 * by more than this fraction of the h2c data.
 */
#define BENCH_UNEVEN	0.02

struct bench_slot {
	bool		wanted;		/* true: the command line asks for this measurement */
	/*
	 * rate of the DMA run; not valid if the run failed or ended before its measurement, or if
	 * in duplex the user's logic sent no data
	 */
	struct rate	rate;
	enum limit_binds binds;
	/* text for the user on what the logic in the user slot did or waits for; may be empty */
	char		words[LITEPCIE_WHY_SIZE];
};

/*
 * The tables of dma_bench, of --sweep and of --slot have the column heads BENCH_RATE_HEAD.
 * bench_emit_rate() prints these columns of one line, or in JSON the keys of one row, whose "id" is
 * @id. @binds is what the last column names. Of a rate that is not valid the text has only a dash
 * and the unit.
 */
#define BENCH_RATE_HEAD	"measured  unit   limit  reached  binds"
void bench_emit_rate(const struct emit *out, const struct rate *rate, const char *id,
		     enum limit_binds binds);

/*
 * The function for the member @tell of a struct dma_watch. It computes the rate of the interval
 * that has just ended, and appends it to the struct bench_intervals to which watch->context points.
 * If the member @print of that struct is true, it also prints the interval as a line of text.
 */
void bench_interval_tell(const struct dma_run *run, const struct dma_watch *watch);
void bench_intervals_emit(const struct emit *out, const struct bench_intervals *intervals);

/*
 * Measure the rate for each size of transfer, with @bytes in each direction, but at most 8192
 * transfers. A size that the card cannot transfer gets a reason in place of a rate. Failures are
 * noted in rates->util, and end the measurement.
 */
void bench_sweep(struct rates *rates, uint64_t bytes, struct bench_size size[BENCH_SIZES]);
void bench_sweep_emit(const struct emit *out, const struct rates *rates,
		      const struct bench_size size[BENCH_SIZES]);

/*
 * Measure those of c2h, h2c and duplex that plan->ways names, or all three if it is 0, through the
 * logic in the user slot. A measurement covers plan->bytes of the direction that has moved more
 * data. It ends without a rate if that direction finishes no buffer for a second. Failures are
 * noted in rates->util.
 */
void bench_slot(struct rates *rates, const struct rates_plan *plan,
		struct bench_slot found[RATES_WAYS]);
void bench_slot_emit(const struct emit *out, const struct bench_slot found[RATES_WAYS]);

#endif /* LITEPCIE_UTIL_DMA_BENCH_H */
