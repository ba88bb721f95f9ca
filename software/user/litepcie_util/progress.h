/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * One line on standard error while long work goes on, with its rate and the time left; nothing
 * where that is no terminal. It is gone when the work is done.
 */
#ifndef LITEPCIE_UTIL_PROGRESS_H
#define LITEPCIE_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char	*what;
	const char	*unit;		/* of @done, as "MiB" */
	double		total;		/* 0: no end is known */
	double		seconds;	/* of the whole work; 0: as long as it takes */
	double		began, shown;
};

/* Seconds of a clock that only goes forward. */
double progress_now(void);

void progress_begin(struct progress *progress, const char *what, const char *unit, double total,
		    double seconds);
void progress_show(struct progress *progress, double done);
void progress_end(struct progress *progress);

/* The line itself, for a time since the beginning. */
void progress_text(const struct progress *progress, double done, double elapsed, char *text,
		   size_t size);

#endif /* LITEPCIE_UTIL_PROGRESS_H */
