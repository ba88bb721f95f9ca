/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Short DMA runs in each direction, measured by the card's own counters and compared with their
 * limits.
 */
#ifndef LITEPCIE_UTIL_RATES_H
#define LITEPCIE_UTIL_RATES_H

#include "dma_run.h"
#include "limits.h"

/* share of a limit from which on that limit is said to bind */
#define RATES_REACHED		0.95
/*
 * Share of the limit of reads in flight from which on that limit is said to bind. It is lower,
 * because the card's own time from a completion to its next read adds to the round trip, and is not
 * part of the measured round trip.
 */
#define RATES_READS_REACHED	0.85

/* Bytes of two rings: a shorter run has no steady state to measure. */
#define RATES_LEAST_BYTES	(4u << 20)

enum rates_way { RATES_C2H, RATES_H2C, RATES_DUPLEX, RATES_WAYS };

struct rate {
	const char	*id;
	bool		valid;
	double		gb_per_s;		/* GB/s in each direction */
	uint64_t	bytes;			/* bytes moved in @cycles clock cycles */
	struct limit	limit;
	uint64_t	cycles;
	/* cycles in which the hard block held RQ's ready low */
	uint64_t	rq_stalls;
};

/* Says which ways are measured, and for how long. */
struct rates_plan {
	unsigned int	ways;		/* a bit for each of enum rates_way; 0: all of them */
	uint64_t	bytes;		/* bytes each way in a run; 0: until the duration is over */
	double		duration_s;	/* seconds of a run by the host's clock; 0: no limit */
	int		timeout_s;
	struct dma_watch *watch;	/* watch that reports while a run goes on; NULL: none */
};

struct rates {
	struct limit_link	link;
	/* facts about reads, as the run of h2c found them */
	struct limit_reads	reads;
	unsigned int		tags;		/* tags that the card may use in this machine */
	struct rate		rate[RATES_WAYS];
};

/*
 * Measure each way of @plan into rates->rate. Failures are noted in @util. A way that was not
 * measured is not valid.
 */
void rates_measure(struct util *util, struct rates *rates, const struct rates_plan *plan);

/*
 * Measure packets of @size bytes, or whole buffers if @size is 0, there and back through the
 * loopback, @plan->bytes each way. The limit includes the host's round trip only if a run of h2c
 * came before.
 */
void rates_measure_size(struct util *util, struct rates *rates, const struct rates_plan *plan,
			size_t size, struct rate *rate);

/*
 * Compute the rate of a stretch of a run into @rate. In duplex it is that of the slower direction.
 */
void rates_of_stretch(struct rates *rates, enum rates_way way, const struct dma_run *run,
		      const struct dma_window *window, struct rate *rate);

/* Returns the name of what binds: that of the limit if the rate has reached it, else "host". */
const char *rates_binds(const struct rate *rate);

/*
 * Prepare @rates for rates_measure(). @extended_tags: the card may use more than 32 tags. @rcb: the
 * read completion boundary in bytes, or 0 if it is not known.
 */
void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb);

#endif /* LITEPCIE_UTIL_RATES_H */
