/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * One line on standard error while long work goes on, with its rate and the time left. The line is
 * removed at the end. If standard error is no terminal, nothing is printed.
 */
#ifndef LITEPCIE_UTIL_PROGRESS_H
#define LITEPCIE_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char	*what;
	const char	*unit;		/* unit of total and @done, such as "MiB" */
	double		total;		/* the amount of all work; 0: not known */
	double		seconds;	/* planned duration of the whole work in s; 0: none */
	double		began, shown;
};

/* Returns the time of the monotonic clock in seconds. */
double progress_now(void);

void progress_begin(struct progress *progress, const char *what, const char *unit, double total,
		    double seconds);
void progress_show(struct progress *progress, double done);
void progress_end(struct progress *progress);

/* Write the line into @text. @elapsed is in seconds since the beginning. */
void progress_text(const struct progress *progress, double done, double elapsed, char *text,
		   size_t size);

#endif /* LITEPCIE_UTIL_PROGRESS_H */
