/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the part of a recording that has the packets of a time, by binary search. It reads a few
 * bytes of some MBUFs (the parts of equal size that the card writes): a seal, the last block of an
 * MBUF, has the time at which the MBUF was complete.
 */
#ifndef LANEBOX_CAPTURE_PART_H
#define LANEBOX_CAPTURE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct part {
	/* offsets in the file between which all packets of the time are; both are ends of MBUFs */
	size_t		from, to;
	uint64_t	read_bytes;	/* number of bytes that the search has read */
};

/*
 * Let @part be the part of the file at @path that has all packets whose times are from @from_ns to
 * @to_ns. Returns false if the file must be read as a whole: it cannot be read, is no recording of
 * lanebox-capture, or has packets whose times are not those at which they were recorded, as far as
 * the search has seen.
 */
bool part_find(struct part *part, const char *path, uint64_t from_ns, uint64_t to_ns);

#endif /* LANEBOX_CAPTURE_PART_H */
