/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Every way in which software can reach a card's memory, each with its rate, its limit and what
 * binds; or with the reason why it cannot be gone here.
 */
#ifndef LITEPCIE_UTIL_MMIO_WAYS_H
#define LITEPCIE_UTIL_MMIO_WAYS_H

#include "limits.h"
#include "mmio_bench.h"

#define MMIO_WAYS_MAX	32
#define MMIO_REGION	4096u	/* bytes that are read or written */

struct mmio_way_row {
	char		id[32];
	bool		write;
	size_t		size;		/* bytes of one access, as software asks for them */
	bool		valid;
	char		reason[UTIL_SENTENCE];
	double		ns;		/* of one access */
	double		mb_per_s;
	struct limit	limit;		/* MB/s */
};

struct mmio_ways {
	struct mmio_bench	*bench;
	struct limit_link	link;
	unsigned int		bar;		/* of the memory */
	uint64_t		offset;
	double			trip_ns;	/* the least that a read of it takes */
	struct litepcie_window	window;		/* base NULL: not mapped, for this reason */
	char			unmapped[UTIL_SENTENCE];
	struct mmio_way_row	row[MMIO_WAYS_MAX];
	size_t			rows;
};

/*
 * Measure all rows; the memory is put back as it was. bench->clock_ns is known. Returns 0 or
 * -errno, -EINTR after Ctrl-C.
 */
int mmio_ways_measure(struct litepcie *dev, struct mmio_ways *ways);

void mmio_ways_print(const struct mmio_ways *ways);
void mmio_ways_json(struct json *json, const struct mmio_ways *ways);

#endif /* LITEPCIE_UTIL_MMIO_WAYS_H */
