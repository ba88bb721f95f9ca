/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure short DMA runs in each direction by the card's own counters, and compare the rates with
 * their limits.
 */
#ifndef LITEPCIE_UTIL_RATES_H
#define LITEPCIE_UTIL_RATES_H

#include "dma/dma_run.h"
#include "dma/limits.h"

/* share of a limit; if a rate reaches it, the output says that the limit binds the rate */
#define RATES_REACHED		0.95
/*
 * Share of the limit of reads in flight from which on the output says that it binds. It is lower
 * than RATES_REACHED: the card's own time from a completion to its next read adds to the round
 * trip, and is not part of the measured round trip.
 */
#define RATES_READS_REACHED	0.85

/* Least number of bytes for a DMA run: two rings. A shorter run has no steady state to measure. */
#define RATES_LEAST_BYTES	(4u << 20)

enum rates_way { RATES_C2H, RATES_H2C, RATES_DUPLEX, RATES_WAYS };

struct rate {
	const char	*id;
	bool		valid;			/* false: the other members but @id mean nothing */
	double		gb_per_s;		/* measured rate in GB/s, in each direction */
	/* number of bytes moved in each direction within @cycles clock cycles of the card */
	uint64_t	bytes;
	struct limit	limit;			/* limit of @gb_per_s in GB/s */
	uint64_t	cycles;
	/* number of clock cycles in which the hard block held ready of the stream RQ low */
	uint64_t	rq_stalls;
};

/* The plan of a measurement: which ways are measured (c2h, h2c, duplex), and for how long. */
struct rates_plan {
	/* ways to measure: one bit for each value of enum rates_way; 0: all ways */
	unsigned int	ways;
	/* number of bytes to move in each direction in a run; 0: until the duration is over */
	uint64_t	bytes;
	/* duration of a DMA run in seconds of the host's clock; 0: no limit */
	double		duration_s;
	/* longest wait in seconds for the next buffer; then the run has failed */
	int		timeout_s;
	/* receives reports while a DMA run goes on; NULL: no reports are made */
	struct dma_watch *watch;
	/* shape of the rings; 0: the library's default */
	size_t			buffer_size;
	unsigned int		buffer_count;
};

struct rates {
	struct limit_link	link;
	/* facts about the card's reads of host memory, which the run of h2c found */
	struct limit_reads	reads;
	/* number of read tags that the card may use in this machine */
	unsigned int		tags;
	struct rate		rate[RATES_WAYS];
};

/*
 * Measure each way of @plan into rates->rate. Failures are noted in @util. A way that was not
 * measured has no valid rate.
 */
void rates_measure(struct util *util, struct rates *rates, const struct rates_plan *plan);

/*
 * Measure a short run of h2c, which finds the host's round trip. The limits of h2c and of packets
 * depend on it.
 */
void rates_learn_host(struct util *util, struct rates *rates, int timeout_s);

/*
 * Measure the rate of packets of @size bytes, or of whole buffers if @size is 0, there and back
 * through the loopback, with @plan->bytes each way. The limit includes the host's round trip only
 * if a run of h2c was measured before.
 */
void rates_measure_size(struct util *util, struct rates *rates, const struct rates_plan *plan,
			size_t size, struct rate *rate);

/*
 * Compute the rate of a stretch of a run into @rate. In duplex the rate is that of the slower
 * direction.
 */
void rates_of_stretch(struct rates *rates, enum rates_way way, const struct dma_run *run,
		      const struct dma_window *window, struct rate *rate);

/*
 * Returns the name of what binds the rate: that of the limit if the rate has reached it, else
 * "host".
 */
const char *rates_binds(const struct rate *rate);

/*
 * Prepare @rates for rates_measure(). @extended_tags says that the card may use more than 32 tags.
 * @rcb is the read completion boundary in bytes, or 0 if it is not known.
 */
void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb);

#endif /* LITEPCIE_UTIL_RATES_H */
