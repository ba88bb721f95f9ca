/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Compute the limits of a link and of the card's interface in GB/s, from the table in
 * limits_table.h. A size or MPS that is not in the table counts as the next smaller one of the
 * table. If the table has none that is smaller, the row with the smallest MPS and the smallest size
 * counts. A link whose generation is not 1 to 3 has the limit 0.
 */
#ifndef LITEPCIE_UTIL_LIMITS_H
#define LITEPCIE_UTIL_LIMITS_H

#include <stdbool.h>

/* The causes that can limit a rate. limit_name() has words for each. */
enum limit_binds {
	LIMIT_BY_WIRE, LIMIT_BY_INTERFACE, LIMIT_BY_HOST, LIMIT_BY_SLOT,
	LIMIT_BY_READS,		/* the card can have only so many reads of host memory in flight */
	LIMIT_BY_STORES, LIMIT_BY_ACCESS,
	/*
	 * The host can have only so many reads of the card's memory in flight. LIMIT_BY_ONE_READ:
	 * one at a time; LIMIT_BY_CPU_READS: those of a memcpy() on one CPU core; LIMIT_BY_THREADS:
	 * one for each thread.
	 */
	LIMIT_BY_ONE_READ, LIMIT_BY_CPU_READS, LIMIT_BY_THREADS
};

struct limit {
	double			value;
	enum limit_binds	binds;
};

/* Returns the words for the cause @binds, as the text and the JSON output show them. */
const char *limit_name(enum limit_binds binds);

struct limit_link {
	unsigned int	gen, lanes;
	unsigned int	mps, mrrs;	/* MPS and MRRS of the link, in bytes */
	/* length in ns of a clock cycle of the card's interface to the PCIe hard block */
	double		cycle_ns;
};

struct limit_reads {
	/* payload bytes of one completion; the host returns the data of a read in such pieces */
	unsigned int	completion;
	unsigned int	rcb;		/* read completion boundary (RCB) in bytes, 64 or 128 */
	double		in_flight;	/* most bytes of reads that are under way */
	/* round trip of a read by the card in ns; 0: not known, so the round trip limits nothing */
	double		rtt_ns;
	bool		straddle;
};

/*
 * The kinds of limits, and for each the meaning of the argument @size of limit_of(), in bytes:
 *   LIMIT_C2H      c2h alone; @size is that of a write (MPS)
 *   LIMIT_H2C      h2c alone; @size is that of a completion
 *   LIMIT_DUPLEX   c2h and h2c at the same time; @size is that of a read request (MRRS)
 *   LIMIT_PACKETS  packets that go to the card and come back, each with a record; @size is that of
 *                  a packet
 *   LIMIT_WRITES   posted writes by the host to the card; @size is that of a write
 */
enum limit_kind { LIMIT_C2H, LIMIT_H2C, LIMIT_DUPLEX, LIMIT_PACKETS, LIMIT_WRITES };

/*
 * limit_of() and limit_of_h2c() return the lower of two limits of a rate: that of the link, and
 * that of the card's interface to the PCIe hard block. limit_of_h2c(), for h2c alone, returns the
 * limit by the reads in flight if that is lower still.
 */
struct limit limit_of(enum limit_kind kind, const struct limit_link *link, unsigned int size);
struct limit limit_of_h2c(const struct limit_link *link, const struct limit_reads *reads);

#endif /* LITEPCIE_UTIL_LIMITS_H */
