/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * litepcie_records(): list the frames of a span (a part of the ring) in a table. litepcie_capture.h
 * says what the call promises.
 */
#include "capture.h"

int litepcie_records(const struct litepcie_span *span, size_t *at, struct litepcie_packet *packets,
		     unsigned int count)
{
	unsigned int found = 0;
	int rc = 1;

	/* The number of frames is returned as an int, so no more than INT32_MAX are taken. */
	if (count > INT32_MAX)
		count = INT32_MAX;
	while (found < count && (rc = litepcie_record_next(span, at, &packets[found])) == 1)
		found++;
	/* The frames before a bad block are returned first. The next call then returns -EBADMSG. */
	return rc < 0 && !found ? rc : (int)found;
}
