/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Short DMA runs in each direction by the card's own counters, each beside its limit.
 */
#ifndef LITEPCIE_UTIL_RATES_H
#define LITEPCIE_UTIL_RATES_H

#include "dma_run.h"
#include "limits.h"

#define RATES_REACHED		0.95	/* of the limit: from here on it is the limit that binds */
/* The card's own turn from an answer to its next read belongs to the trip, and is not measured. */
#define RATES_READS_REACHED	0.85

enum rates_way { RATES_C2H, RATES_H2C, RATES_DUPLEX, RATES_WAYS };

struct rate {
	const char	*id;
	bool		valid;
	double		gb_per_s;		/* each way */
	struct limit	limit;
	uint64_t	cycles;
	uint64_t	rq_stalls;		/* cycles in which the hard block took no write */
};

struct rates {
	struct limit_link	link;
	struct limit_reads	reads;		/* as the h2c run found them */
	unsigned int		tags;		/* that the card may use here */
	struct rate		rate[RATES_WAYS];
};

/*
 * Move @bytes each way, for c2h, h2c and both. Failures go to @util; what was not measured is not
 * valid.
 */
void rates_measure(struct util *util, struct rates *rates, uint64_t bytes, int timeout_s);

/* What binds: the limit, if it was reached, else "host". */
const char *rates_binds(const struct rate *rate);

/*
 * Before rates_measure(): whether the card may use more than 32 tags here, and where the host may
 * cut its answers, 0 if nobody knows.
 */
void rates_prepare(struct util *util, struct rates *rates, bool extended_tags, unsigned int rcb);

#endif /* LITEPCIE_UTIL_RATES_H */
