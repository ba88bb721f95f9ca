/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Show a line on standard error while long work goes on, with its rate and the time that is left.
 * The line is removed at the end. If standard error is no terminal, nothing is printed.
 */
#ifndef LITEPCIE_UTIL_PROGRESS_H
#define LITEPCIE_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char	*what;
	const char	*unit;		/* unit of @total and of the amount done, such as "MiB" */
	double		total;		/* the amount of all work, in @unit; 0: not known */
	double		seconds;	/* planned duration of the work in seconds; 0: not known */
	double		began, shown;	/* times of the begin and of the last line, util_now() */
};

/*
 * progress_show() prints the line anew with @done, the amount done so far. It may be called often:
 * a call within 0.2 s after the last line prints nothing. progress_end() removes the line.
 */
void progress_begin(struct progress *progress, const char *what, const char *unit, double total,
		    double seconds);
void progress_show(struct progress *progress, double done);
void progress_end(struct progress *progress);

/*
 * Write the text of the line into @text. @done is in the unit of the total, @elapsed in seconds
 * since the work began.
 */
void progress_text(const struct progress *progress, double done, double elapsed, char *text,
		   size_t size);

#endif /* LITEPCIE_UTIL_PROGRESS_H */
