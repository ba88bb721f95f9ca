/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What a card writes into host memory beside the data: a record for each c2h buffer that has ended,
 * and a status line for each direction. A record comes behind its data, a line behind the records of
 * all that it counts, an interrupt behind the line. So memory alone says how far the card is, and no
 * register is read.
 */
#ifndef LITEPCIE_NOTICES_H
#define LITEPCIE_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

struct litepcie;

/* What the card counts of one direction since its start. */
struct litepcie_line {
	uint64_t	position;	/* bytes */
	uint64_t	buffers;
	uint64_t	errors;		/* of these buffers, those with missing or bad data */
	uint64_t	time;		/* of the device, when the card wrote this */
};

/* Of buffer @sequence - 1: a place with another sequence has no record of the buffer yet. */
struct litepcie_entry {
	uint32_t	bytes;
	uint32_t	flags;		/* LITEPCIE_RECORD_ */
	uint64_t	sequence;
};

/* Where it is in this process; the card writes there at any time. */
struct litepcie_notices {
	const struct litepcie_line *h2c, *c2h;	/* NULL: nobody writes them */
	const struct litepcie_entry *records;	/* NULL: the card has none, its buffers are whole */
	uint64_t		mask;		/* of their number: it is a power of two */
};

/* Bring ring.hw up to date. -EIO with a sentence: the card says what cannot be. */
int litepcie_notices_h2c(struct litepcie *dev);
int litepcie_notices_c2h(struct litepcie *dev);

/* Whether c2h buffer @number has a record. */
bool litepcie_notices_has(const struct litepcie *dev, uint64_t number);

/* Take over the counts of errors, which grow until the directions stop. */
void litepcie_notices_errors(struct litepcie *dev);

#endif /* LITEPCIE_NOTICES_H */
