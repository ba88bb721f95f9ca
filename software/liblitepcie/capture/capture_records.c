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

	/* The number of entries is returned as an int, so no more than this are filled in. */
	if (count > INT32_MAX)
		count = INT32_MAX;
	while (found < count && (rc = litepcie_record_next(span, at, &packets[found])) == 1)
		found++;
	/* A bad block is an error of the next call, which finds it before any frame. */
	return rc < 0 && !found ? rc : (int)found;
}
