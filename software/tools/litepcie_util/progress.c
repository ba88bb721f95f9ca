/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Show progress in a line on standard error. progress.h says what each function promises. */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "util.h"

#define EVERY_S	0.2

void progress_begin(struct progress *progress, const char *what, const char *unit, double total,
		    double seconds)
{
	double now = util_now();

	*progress = (struct progress) {
		.what = what, .unit = unit, .total = total, .seconds = seconds,
		.began = now, .shown = now,
	};
}

/*
 * Returns the time in seconds that is left until the total is reached at the mean rate so far, or
 * until the planned duration is over, whichever comes first, and at least 0. The time is infinite
 * if no duration is planned, and either the total is not known or nothing is done yet.
 */
static double time_left(const struct progress *progress, double done, double elapsed)
{
	double left = INFINITY;

	if (progress->total > 0 && done > 0)
		left = elapsed * (progress->total - done) / done;
	if (progress->seconds > 0)
		left = fmin(left, progress->seconds - elapsed);
	return fmax(left, 0);
}

void progress_text(const struct progress *progress, double done, double elapsed, char *text,
		   size_t size)
{
	double left, rate = elapsed > 0 ? done / elapsed : 0;
	char total[32] = "", ending[32] = "";

	/*
	 * The amount @done may be more than the total amount of work, if that is known. The line
	 * then shows the total in place of @done.
	 */
	if (progress->total > 0 && done > progress->total)
		done = progress->total;
	left = time_left(progress, done, elapsed);
	if (progress->total > 0)
		snprintf(total, sizeof(total), " of %.0f", progress->total);
	if (isfinite(left))
		snprintf(ending, sizeof(ending), ", %.0f:%02.0f left", floor(left / 60),
			 floor(fmod(left, 60)));
	snprintf(text, size, "%s: %.0f%s %s, %.1f %s/s%s", progress->what, done, total,
		 progress->unit, rate, progress->unit, ending);
}

void progress_show(struct progress *progress, double done)
{
	double now = util_now();
	char text[128];

	if (now - progress->shown < EVERY_S || !isatty(STDERR_FILENO))
		return;
	progress->shown = now;
	progress_text(progress, done, now - progress->began, text, sizeof(text));
	fprintf(stderr, "\r  %s\033[K", text);
}

void progress_end(struct progress *progress)
{
	if (progress->shown != progress->began)
		fputs("\r\033[K", stderr);
	progress->shown = progress->began;
}
