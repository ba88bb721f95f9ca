/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure DMA runs of c2h, h2c and both at once (duplex) by the card's own counters, and compare
 * the rates with their limits.
 */
#ifndef LITEPCIE_UTIL_RATES_H
#define LITEPCIE_UTIL_RATES_H

#include "dma/dma_run.h"
#include "dma/limits.h"

/*
 * If a rate reaches this fraction of its limit, the output says that the limit binds the rate. For
 * the limit by the reads in flight RATES_READS_REACHED is used instead.
 */
#define RATES_REACHED		0.95
/*
 * If a rate reaches this fraction of the limit by the reads in flight, the output says that this
 * limit binds the rate. The fraction is lower than RATES_REACHED: the card's own time from a
 * completion to its next read adds to the round trip, and is not part of the measured round trip.
 */
#define RATES_READS_REACHED	0.85

/*
 * Least number of bytes that the option --size of dma_bench accepts: those of two rings of the
 * library's default size. A shorter run with such rings is measured as a whole, since it has no
 * steady state.
 */
#define RATES_LEAST_BYTES	(4u << 20)

/* The kinds of DMA runs: c2h alone, h2c alone, or both at once (duplex). RATES_WAYS counts them. */
enum rates_way { RATES_C2H, RATES_H2C, RATES_DUPLEX, RATES_WAYS };

struct rate {
	const char	*id;
	/* true: the rate was measured; false: of the other members only @id has a meaning */
	bool		valid;
	/*
	 * measured rate in GB/s; in duplex that of the direction that moved fewer bytes, or of h2c
	 * if dma_bench --slot has found that the user's logic changes the amount of data
	 */
	double		gb_per_s;
	/*
	 * number of bytes that the direction of @gb_per_s moved within @cycles clock cycles of the
	 * card
	 */
	uint64_t	bytes;
	struct limit	limit;			/* limit of the rate in GB/s, and what sets it */
	uint64_t	cycles;
	/*
	 * number of clock cycles, out of @cycles, in which the card had a beat for the stream RQ
	 * (its requests to the PCIe hard block), and the hard block held tready low
	 */
	uint64_t	rq_stalls;
};

/* The plan of a measurement: which of c2h, h2c and duplex are measured, and for how long. */
struct rates_plan {
	/* bit mask with one bit for each value of enum rates_way; 0: measure all of them */
	unsigned int	ways;
	/*
	 * number of bytes to move in each direction in a run; 0: no limit, the run ends after
	 * run.duration_s
	 */
	uint64_t	bytes;
	/*
	 * template for all runs by rates.c: duration_s, watch, packet, buffer_size and buffer_count
	 * are settings; rates.c and dma_run() set the other members of each run
	 */
	struct dma_run run;
};

struct rates {
	struct util		*util;
	struct limit_link	link;
	/*
	 * facts about the card's reads of host memory. rates_prepare() fills them in. A measured
	 * run of h2c alone then updates reads.rtt_ns and reads.completion, if the card's counters
	 * show them.
	 */
	struct limit_reads	reads;
	/* number of PCIe read requests that the card may have in flight in this machine */
	unsigned int		tags;
	struct rate		rate[RATES_WAYS];
};

/*
 * Measure those of c2h, h2c and duplex that plan->ways names, or all three if it is 0, into
 * rates->rate. Failures are noted in rates->util. After a failure or Ctrl-C nothing more is
 * measured. A rate that was not measured stays invalid.
 */
void rates_measure(struct rates *rates, const struct rates_plan *plan);

/*
 * Measure h2c with RATES_LEAST_BYTES, which finds the round trip time of a read of host memory. The
 * limits of h2c, of duplex and of packets depend on that time.
 */
void rates_learn_host(struct rates *rates);

/*
 * Measure c2h, h2c or duplex, as @way says, into @rate, by at most three runs of which the fastest
 * counts. A run of a given size that the program has missed, so that its window has no bytes, is
 * repeated. Failures are noted in rates->util, and make @rate invalid. The limits of duplex and of
 * packets include the round trip of reads only if h2c alone was measured before, since only such a
 * run measures the round trip.
 */
void rates_measure_way(struct rates *rates, enum rates_way way, const struct rates_plan *plan,
		       struct rate *rate);

/*
 * Compute into @rate the rate of the part of @run that lies in @window, and its limit. In duplex
 * the rate is that of the slower direction. If @way is h2c alone, the round trip of reads and the
 * size of completions are first taken from the run into rates->reads, on which the limit depends.
 */
void rates_of_stretch(struct rates *rates, enum rates_way way, const struct dma_run *run,
		      const struct dma_window *window, struct rate *rate);

/*
 * Returns rate->limit.binds if the rate has reached its limit by the fraction RATES_REACHED or
 * RATES_READS_REACHED, otherwise LIMIT_BY_HOST.
 */
enum limit_binds rates_binds(const struct rate *rate);

/* Returns the facts about the open card's link and clock from which limits are computed. */
struct limit_link rates_link(const struct util *util);

/*
 * Prepare @rates for the functions that measure. The card must be open. @extended_tags says that
 * the card may have more than 32 reads in flight. @rcb is the read completion boundary in bytes, or
 * 0 if it is not known and 64 bytes are assumed.
 */
void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb);

#endif /* LITEPCIE_UTIL_RATES_H */
