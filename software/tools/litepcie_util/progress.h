/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Show a line on standard error while long work goes on, with the rate of the work and, if it can
 * be estimated, the time that is left. The line is removed at the end. If standard error is no
 * terminal, nothing is printed.
 */
#ifndef LITEPCIE_UTIL_PROGRESS_H
#define LITEPCIE_UTIL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char	*what;		/* first words of the line, such as "erasing" */
	const char	*unit;		/* unit of @total and of the amount done, such as "MiB" */
	double		total;		/* the amount of all work, in @unit; 0: not known */
	double		seconds;	/* planned duration of the work in seconds; 0: not known */
	/*
	 * times, from util_now(), at which the work began and at which the line was last printed;
	 * if both are equal, there is no line to remove
	 */
	double		began, shown;
};

/*
 * progress_begin() fills in @progress and prints nothing. progress_show() prints the line anew with
 * @done, the amount of work done so far in @unit. progress_show() may be called often: a call
 * within 0.2 s after progress_begin(), or after the line was last printed, does nothing.
 * progress_end() removes the line.
 */
void progress_begin(struct progress *progress, const char *what, const char *unit, double total,
		    double seconds);
void progress_show(struct progress *progress, double done);
void progress_end(struct progress *progress);

/*
 * Write the text of the progress line into @text. @done is in progress->unit, and @elapsed is the
 * time in seconds since the work began.
 */
void progress_text(const struct progress *progress, double done, double elapsed, char *text,
		   size_t size);

#endif /* LITEPCIE_UTIL_PROGRESS_H */
