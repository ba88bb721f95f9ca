/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Notices: records and status lines that a card writes to host memory beside the data. A record is
 * for a c2h buffer that has ended, a status line for a direction. The card writes a record after
 * its data, the line after the records of all buffers that it counts, and interrupts after the
 * line. So memory alone says how far the card is, and no register is read.
 */
#ifndef LITEPCIE_NOTICES_H
#define LITEPCIE_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

struct litepcie;

/* The status line of a direction: counts since its start. */
struct litepcie_line {
	uint64_t	position;	/* bytes in @buffers */
	uint64_t	buffers;
	uint64_t	errors;		/* of these buffers, those with missing or bad data */
	uint64_t	time;		/* device time at which the card wrote the line */
};

/*
 * A record, which is of buffer @sequence - 1. If @sequence is another one, the card has not written
 * the buffer's record yet.
 */
struct litepcie_entry {
	uint32_t	bytes;
	uint32_t	flags;		/* LITEPCIE_RECORD_ */
	uint64_t	sequence;
};

/* Addresses of the notices in this process. The card may write there at any time. */
struct litepcie_notices {
	const struct litepcie_line *h2c, *c2h;	/* status lines; NULL: nobody writes them */
	const struct litepcie_entry *records;	/* NULL: the card writes none; buffers are full */
	uint64_t		mask;		/* number of records, a power of two, less one */
};

/* Bring ring.hw up to date. -EIO with a sentence: the card's counts cannot be true. */
int litepcie_notices_h2c(struct litepcie *dev);
int litepcie_notices_c2h(struct litepcie *dev);

/* Has the card written the record of c2h buffer @number? */
bool litepcie_notices_has(const struct litepcie *dev, uint64_t number);

/* Update the counts of errors in dev->stats from the status lines. */
void litepcie_notices_errors(struct litepcie *dev);

#endif /* LITEPCIE_NOTICES_H */
