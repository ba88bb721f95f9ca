/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The frames of a span as a table. */
#include "capture.h"

int litepcie_records(const struct litepcie_span *span, size_t *at, struct litepcie_packet *packets,
		     unsigned int count)
{
	unsigned int found = 0;
	int rc = 1;

	/* The result is an int, so a table has at most so many entries. */
	if (count > INT32_MAX)
		count = INT32_MAX;
	while (found < count && (rc = litepcie_record_next(span, at, &packets[found])) == 1)
		found++;
	/* A bad block is told when all frames before it have been given. */
	return rc < 0 && !found ? rc : (int)found;
}
