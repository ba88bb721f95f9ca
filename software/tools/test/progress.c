/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test progress.c: the line of progress has the amount of work done, the rate, and the time that is
 * left if the end of the work is known.
 */
#include <string.h>

#include "../litepcie_util/progress.c"
#include "check.h"

static char text[128];

static const char *line(double total, double seconds, double done, double elapsed)
{
	struct progress progress;

	progress_begin(&progress, "write", "MiB", total, seconds);
	progress_text(&progress, done, elapsed, text, sizeof(text));
	return text;
}

#define CHECK_LINE(got, expected) do { \
	if (strcmp(got, expected) != 0) { \
		fprintf(stderr, "%s:%d: \"%s\", not \"%s\"\n", __FILE__, __LINE__, text, \
			expected); \
		failed_checks++; \
	} \
} while (0)

int main(void)
{
	CHECK_LINE(line(0, 0, 10, 2), "write: 10 MiB, 5.0 MiB/s");
	CHECK_LINE(line(100, 0, 10, 2), "write: 10 of 100 MiB, 5.0 MiB/s, 0:18 left");
	CHECK_LINE(line(1000, 0, 10, 2), "write: 10 of 1000 MiB, 5.0 MiB/s, 3:18 left");
	/* Nothing is done yet, so the time that is left is not known. */
	CHECK_LINE(line(100, 0, 0, 0), "write: 0 of 100 MiB, 0.0 MiB/s");
	CHECK_LINE(line(0, 90, 10, 20), "write: 10 MiB, 0.5 MiB/s, 1:10 left");
	/* The work ends when the total or the duration is reached, whichever comes first. */
	CHECK_LINE(line(1000, 10, 10, 2), "write: 10 of 1000 MiB, 5.0 MiB/s, 0:08 left");
	CHECK_LINE(line(0, 10, 10, 20), "write: 10 MiB, 0.5 MiB/s, 0:00 left");
	CHECK_LINE(line(100, 0, 150, 10), "write: 100 of 100 MiB, 15.0 MiB/s, 0:00 left");
	return failed_checks != 0;
}
