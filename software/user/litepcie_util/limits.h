/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What a link and the card's interface allow, in GB/s, by the tables that sim/limits.py generates.
 * Where a size is in no table, the next smaller one is taken; a link of no known speed gives 0.
 */
#ifndef LITEPCIE_UTIL_LIMITS_H
#define LITEPCIE_UTIL_LIMITS_H

#include <stdbool.h>

struct limit {
	double		value;
	const char	*binds;		/* "wire", "interface", "reads in flight" */
};

struct limit_link {
	unsigned int	gen, lanes;
	unsigned int	mps, mrrs;	/* bytes */
	double		cycle_ns;	/* of the interface */
};

struct limit_reads {
	unsigned int	completion;	/* bytes of one, as the host sends them */
	unsigned int	rcb;		/* read completion boundary, 64 or 128 */
	double		in_flight;	/* bytes that the card keeps */
	double		rtt_ns;		/* 0: not known, and then no limit */
	bool		straddle;
};

struct limit limit_of_c2h(const struct limit_link *link);
struct limit limit_of_h2c(const struct limit_link *link, const struct limit_reads *reads);
struct limit limit_of_duplex(const struct limit_link *link);

/* Writes by the host of @size bytes. */
struct limit limit_of_writes(const struct limit_link *link, unsigned int size);

#endif /* LITEPCIE_UTIL_LIMITS_H */
