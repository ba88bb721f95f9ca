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
 * If a rate reaches this fraction of its limit, the output says that the limit binds the rate. This
 * fraction holds for each limit except that of the reads in flight.
 */
#define RATES_REACHED		0.95
/*
 * If a rate reaches this fraction of the limit by the reads in flight, the output says that this
 * limit binds the rate. The fraction is lower than RATES_REACHED: the card's own time from a
 * completion to its next read adds to the round trip, and is not part of the measured round trip.
 */
#define RATES_READS_REACHED	0.85

/*
 * Least number of bytes for a DMA run: those of two rings of the library's default size. A shorter
 * run has no steady state to measure.
 */
#define RATES_LEAST_BYTES	(4u << 20)

/* What a run moves: one direction alone, or both at once (duplex). RATES_WAYS is their number. */
enum rates_way { RATES_C2H, RATES_H2C, RATES_DUPLEX, RATES_WAYS };

struct rate {
	const char	*id;
	bool		valid;			/* false: of the other members only @id is valid */
	/* measured rate in GB/s; in duplex that of the direction that moved fewer bytes */
	double		gb_per_s;
	/*
	 * number of bytes moved within @cycles clock cycles of the card; in duplex the lower of the
	 * two directions' numbers
	 */
	uint64_t	bytes;
	struct limit	limit;			/* limit of the rate in GB/s, and what sets it */
	uint64_t	cycles;
	/*
	 * number of clock cycles in which the card had a beat for the stream RQ (its requests to
	 * the PCIe hard block), and the hard block held tready low
	 */
	uint64_t	rq_stalls;
};

/* The plan of a measurement: which of c2h, h2c and duplex are measured, and for how long. */
struct rates_plan {
	/* bit mask with one bit for each value of enum rates_way; 0: measure all of them */
	unsigned int	ways;
	/* number of bytes to move in each direction in a run; 0: until the duration is over */
	uint64_t	bytes;
	/*
	 * template for all runs: duration_s, watch, packet, buffer_size and buffer_count are
	 * settings; rates.c sets the other members of each run
	 */
	struct dma_run run;
};

struct rates {
	struct util		*util;
	struct limit_link	link;
	/*
	 * facts about the card's reads of host memory. rates_prepare() fills them in. Each run of
	 * h2c then measures reads.rtt_ns and reads.completion.
	 */
	struct limit_reads	reads;
	/* number of read tags that the card may use in this machine */
	unsigned int		tags;
	struct rate		rate[RATES_WAYS];
};

/*
 * Measure those of c2h, h2c and duplex that plan->ways names, or all three if it is 0, into
 * rates->rate. Failures are noted in rates->util. A rate that could not be measured stays invalid.
 */
void rates_measure(struct rates *rates, const struct rates_plan *plan);

/*
 * Measure h2c, which finds the round trip time of a read of host memory. The limits of h2c, of
 * duplex and of packets depend on that time.
 */
void rates_learn_host(struct rates *rates);

/*
 * Measure c2h, h2c or duplex, as @way says, into @rate, by at most three runs of which the best
 * counts. Failures are noted in rates->util. The limits of duplex and of packets include the round
 * trip of reads only if h2c was measured before, since only a run of h2c measures the round trip.
 */
void rates_measure_way(struct rates *rates, enum rates_way way, const struct rates_plan *plan,
		       struct rate *rate);

/*
 * Compute the rate of the part of a run that lies in @window into @rate. In duplex the rate is that
 * of the slower direction. For h2c the round trip of reads in rates->reads is brought up to date,
 * too.
 */
void rates_of_stretch(struct rates *rates, enum rates_way way, const struct dma_run *run,
		      const struct dma_window *window, struct rate *rate);

/* Returns rate->limit.binds if the rate has reached its limit, otherwise LIMIT_BY_HOST. */
enum limit_binds rates_binds(const struct rate *rate);

/* Returns the facts about the open card's link from which its limits are computed. */
struct limit_link rates_link(const struct util *util);

/*
 * Prepare @rates for rates_measure(). The card must be open. @extended_tags says that the card may
 * use more than 32 tags. @rcb is the read completion boundary in bytes, or 0 if it is not known.
 */
void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb);

#endif /* LITEPCIE_UTIL_RATES_H */
