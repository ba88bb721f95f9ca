/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Notices: records and status lines that a card writes to host memory beside the data. A record is
 * for a c2h buffer that has ended, a status line for a direction. The card writes a record after
 * the data of its buffer, the line after the records of all buffers that it counts, and interrupts
 * after the line. So memory alone says how far the card is, and no register is read.
 */
#ifndef LITEPCIE_NOTICES_H
#define LITEPCIE_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

struct litepcie;

/* The status line of a direction: counts since its start. */
struct litepcie_line {
	uint64_t	position;	/* bytes in the buffers that @buffers counts */
	uint64_t	buffers;
	uint64_t	errors;		/* how many of @buffers have missing or bad data */
	uint64_t	time;		/* device time at which the card wrote the line */
};

/*
 * A record of a c2h buffer. It is for buffer @sequence - 1. If that is not the wanted buffer, the
 * card has not written the wanted buffer's record yet.
 */
struct litepcie_entry {
	uint32_t	bytes;
	uint32_t	flags;		/* why the buffer has ended: LITEPCIE_RECORD_ */
	uint64_t	sequence;
};

/* Addresses of the notices in this process. The card may write there at any time. */
struct litepcie_notices {
	/* status lines; NULL: neither card nor driver writes them */
	const struct litepcie_line *h2c, *c2h;
	/* NULL: the card writes none, and buffers are always full */
	const struct litepcie_entry *records;
	uint64_t		mask;		/* number of records, a power of two, less one */
};

/*
 * Bring ring.hw of a direction up to date. Returns -EIO with a sentence if the card's counts cannot
 * be true.
 */
int litepcie_notices_h2c(struct litepcie *dev);
int litepcie_notices_c2h(struct litepcie *dev);

/* True if the card has written the record of c2h buffer @number. */
bool litepcie_notices_has(const struct litepcie *dev, uint64_t number);

/* Update the counts of errors in dev->stats from the status lines. */
void litepcie_notices_errors(struct litepcie *dev);

#endif /* LITEPCIE_NOTICES_H */
