/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Notices are the records and status lines that a card writes to host memory in addition to the
 * data. A record reports the end of one c2h buffer. A status line has the counts of one direction.
 * The card writes a record after the data of its buffer, a status line after the records of all
 * buffers that the line counts, and interrupts after the line. So the library finds in memory how
 * far the card is, and needs no register for that.
 */
#ifndef LITEPCIE_NOTICES_H
#define LITEPCIE_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#include "litepcie.h"	/* struct litepcie_record and struct litepcie_status_way */

struct litepcie;
struct litepcie_buffer;
struct litepcie_stream;

/*
 * Where the status lines and records lie in memory. The card writes them while a stream runs.
 * Behind the kernel driver the driver may write the lines instead.
 */
struct litepcie_notices {
	/*
	 * status line of each direction: the first LITEPCIE_STATUS_LINE_SIZE bytes of the struct;
	 * NULL: neither card nor driver writes it
	 */
	const struct litepcie_status_way *h2c, *c2h;
	/* ring of records; NULL: the card writes none, and then each c2h buffer ends when full */
	const struct litepcie_record *records;
	uint64_t		mask;		/* number of records, a power of two, minus 1 */
};

/*
 * Bring done and hw (the counts of executed descriptors and finished buffers) of h2c or of c2h up
 * to date from memory. Returns 0, or -EIO with a sentence if the card's counts cannot be true.
 */
int litepcie_notices_h2c(struct litepcie *dev);
int litepcie_notices_c2h(struct litepcie *dev);

/*
 * Set bytes and flags of the c2h buffer with the number @buffer->sequence from its record. If the
 * card writes no records, @buffer stays as it is. Returns 0, or -EIO with a sentence if the record
 * is missing or cannot be true.
 */
int litepcie_notices_record(const struct litepcie_stream *stream, struct litepcie_buffer *buffer);

/* True if the card has written the record (its report of the end) of c2h buffer @number. */
bool litepcie_notices_has(const struct litepcie *dev, uint64_t number);

/* Update the error counts of dev->stats from the status lines of the active streams. */
void litepcie_notices_errors(struct litepcie *dev);

#endif /* LITEPCIE_NOTICES_H */
