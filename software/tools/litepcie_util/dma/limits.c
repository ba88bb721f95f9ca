/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Compute the limits of rates from tables. limits.h says what each function promises. */
#include "limits.h"

#include <stddef.h>

#include "limits_table.h"

#define ROWS(table)	(sizeof(table) / sizeof((table)[0]))

/*
 * Returns the table's row for @mps and @size. If the table has no such MPS or size, the next
 * smaller value counts. The rows are sorted by MPS, then by size.
 */
static const struct limit_row *find(const struct limit_row *table, size_t rows, unsigned int mps,
				    unsigned int size)
{
	const struct limit_row *found = table;

	for (size_t i = 0; i < rows; i++)
		if (table[i].mps <= mps && table[i].size <= size && table[i].size >= found->size)
			found = &table[i];
	return found;
}

static double raw(const struct limit_link *link)
{
	return link->gen < ROWS(limit_lane) ? limit_lane[link->gen] * link->lanes : 0;
}

/*
 * Returns the lower of the limits of the wire and of the card's interface. The interface rates in
 * the tables hold for cycles of LIMIT_CYCLE_NS. With another clock the rate is in proportion.
 */
static struct limit lower(const struct limit_link *link, double share, double interface)
{
	double wire = raw(link) * share;

	interface *= LIMIT_CYCLE_NS / link->cycle_ns;
	if (wire <= interface)
		return (struct limit) { wire, "wire" };
	return (struct limit) { interface, "interface" };
}

struct limit limit_of_c2h(const struct limit_link *link)
{
	const struct limit_row *row = find(limit_c2h, ROWS(limit_c2h), link->mps, link->mps);

	return lower(link, row->share, row->interface);
}

struct limit limit_of_h2c(const struct limit_link *link, const struct limit_reads *reads)
{
	const struct limit_row *row = find(limit_h2c, ROWS(limit_h2c), link->mps,
					   reads->completion);
	struct limit limit = lower(link, row->share,
				   reads->straddle ? row->interface : row->interface_no_straddle);
	double in_flight = reads->in_flight;

	/*
	 * In the worst case each completion has only RCB bytes, and each takes a header of the
	 * receive buffer. So the number of headers limits the bytes in flight.
	 */
	if (in_flight > (double)LIMIT_COMPLETION_HEADERS * reads->rcb)
		in_flight = (double)LIMIT_COMPLETION_HEADERS * reads->rcb;
	if (in_flight > LIMIT_COMPLETION_SPACE)
		in_flight = LIMIT_COMPLETION_SPACE;
	if (reads->rtt_ns > 0 && in_flight / reads->rtt_ns < limit.value)
		limit = (struct limit) { in_flight / reads->rtt_ns, "reads in flight" };
	return limit;
}

struct limit limit_of_duplex(const struct limit_link *link)
{
	const struct limit_row *row = find(limit_duplex, ROWS(limit_duplex), link->mps,
					   link->mrrs);

	return lower(link, row->share, row->interface);
}

struct limit limit_of_packets(const struct limit_link *link, unsigned int size)
{
	const struct limit_row *row = find(limit_packets, ROWS(limit_packets), link->mps, size);

	return lower(link, row->share, row->interface);
}

struct limit limit_of_writes(const struct limit_link *link, unsigned int size)
{
	const struct limit_row *row = find(limit_writes, ROWS(limit_writes), link->mps, size);

	return lower(link, row->share, row->interface);
}
