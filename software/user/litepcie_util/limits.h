/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The limits of a link and of the card's interface in GB/s, from the tables that sim/rows/limits.py
 * generates. A size that is in no table counts as the next smaller one. A link of unknown speed has
 * the limit 0.
 */
#ifndef LITEPCIE_UTIL_LIMITS_H
#define LITEPCIE_UTIL_LIMITS_H

#include <stdbool.h>

struct limit {
	double		value;
	/* what sets the limit: "wire", "interface", "reads in flight" */
	const char	*binds;
};

struct limit_link {
	unsigned int	gen, lanes;
	unsigned int	mps, mrrs;	/* maximum sizes of the link in bytes */
	double		cycle_ns;	/* clock cycle of the interface in ns */
};

struct limit_reads {
	/* payload bytes of one completion, as the host sends them */
	unsigned int	completion;
	unsigned int	rcb;		/* read completion boundary, 64 or 128 */
	double		in_flight;	/* bytes of reads that the card keeps in flight */
	/* round trip of a read in ns; 0: not known, so it limits nothing */
	double		rtt_ns;
	bool		straddle;
};

struct limit limit_of_c2h(const struct limit_link *link);
struct limit limit_of_h2c(const struct limit_link *link, const struct limit_reads *reads);
struct limit limit_of_duplex(const struct limit_link *link);

/*
 * The limit for packets of @size bytes there and back, each with its record. The card's requests
 * (RQ) set it.
 */
struct limit limit_of_packets(const struct limit_link *link, unsigned int size);

/* The limit for posted writes of @size bytes by the host. */
struct limit limit_of_writes(const struct limit_link *link, unsigned int size);

#endif /* LITEPCIE_UTIL_LIMITS_H */
