/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Compute the highest rates of payload in GB/s that the link, the card's endpoint and, for h2c, the
 * reads in flight allow, from the table in limits_table.h. limits.h says what each function
 * promises.
 */
#include "limits.h"

#include <stddef.h>

#include "limits_table.h"

#define ROWS	(sizeof(limit_rows) / sizeof(limit_rows[0]))

const char *limit_name(enum limit_binds binds)
{
	static const char *const names[] = {
		[LIMIT_BY_WIRE] = "wire",
		[LIMIT_BY_INTERFACE] = "interface",
		[LIMIT_BY_READS] = "reads in flight",
		[LIMIT_BY_HOST] = "host",
		[LIMIT_BY_SLOT] = "user slot",
		[LIMIT_BY_STORES] = "the host's own stores",
		[LIMIT_BY_ACCESS] = "one access at a time",
		[LIMIT_BY_ONE_READ] = "one read in flight",
		[LIMIT_BY_CPU_READS] = "the CPU's reads in flight",
		[LIMIT_BY_THREADS] = "a read for each thread",
	};

	return names[binds];
}

/*
 * Returns the row of the table for @kind, @mps and @size. If the table has no such MPS or size, the
 * next smaller value of the table counts, or the first row of @kind if no value is smaller. The
 * rows of a kind are sorted by MPS, then by size.
 */
static const struct limit_row *find(enum limit_kind kind, unsigned int mps, unsigned int size)
{
	const struct limit_row *found = NULL;

	for (const struct limit_row *row = limit_rows; row < limit_rows + ROWS; row++)
		if (row->kind == kind && (!found || (row->mps <= mps && row->size <= size &&
						     row->size >= found->size)))
			found = row;
	return found;
}

/*
 * Returns the lower of two limits: that of the wire, which is the fraction @share of the link's raw
 * rate, and that of the card's interface. The rate @interface in GB/s comes from the table, and
 * holds for clock cycles of LIMIT_CYCLE_NS. With a cycle of another length it is in inverse
 * proportion to that length.
 */
static struct limit lower(const struct limit_link *link, double share, double interface)
{
	unsigned int gens = sizeof(limit_lane) / sizeof(limit_lane[0]);
	double lane = link->gen < gens ? limit_lane[link->gen] : 0;
	double wire = lane * link->lanes * share;

	interface *= LIMIT_CYCLE_NS / link->cycle_ns;
	if (wire <= interface)
		return (struct limit) { wire, LIMIT_BY_WIRE };
	return (struct limit) { interface, LIMIT_BY_INTERFACE };
}

struct limit limit_of(enum limit_kind kind, const struct limit_link *link, unsigned int size)
{
	const struct limit_row *row = find(kind, link->mps, size);

	return lower(link, row->share, row->interface);
}

struct limit limit_of_h2c(const struct limit_link *link, const struct limit_reads *reads)
{
	const struct limit_row *row = find(LIMIT_H2C, link->mps, reads->completion);
	struct limit limit = lower(link, row->share,
				   reads->straddle ? row->interface : row->interface_no_straddle);
	double in_flight = reads->in_flight;

	/*
	 * In the worst case each completion has only RCB bytes, and takes space for one header in
	 * the hard block's receive buffer. So the number of headers that the buffer has space for
	 * limits the bytes in flight.
	 */
	if (in_flight > (double)LIMIT_COMPLETION_HEADERS * reads->rcb)
		in_flight = (double)LIMIT_COMPLETION_HEADERS * reads->rcb;
	if (in_flight > LIMIT_COMPLETION_SPACE)
		in_flight = LIMIT_COMPLETION_SPACE;
	if (reads->rtt_ns > 0 && in_flight / reads->rtt_ns < limit.value)
		limit = (struct limit) { in_flight / reads->rtt_ns, LIMIT_BY_READS };
	return limit;
}
