/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The results of a trial of a disk, as text and as JSON. */
#include <math.h>

#include "capture.h"
#include "trial.h"

/*
 * Print the rate of the slowest second, and where it was: if a drive's own cache is full from there
 * on, that is the number of bytes that it holds. All are null in JSON if the trial was too short.
 */
static void emit_slowest(const struct emit *out, const struct trial *trial)
{
	bool known = trial->slowest > 0;

	emit_number(out, "slowest_bytes_per_s", NULL, known ? trial->slowest : NAN);
	emit_number(out, "slowest_at_s", NULL, known ? trial->slowest_at : NAN);
	emit_known(out, "slowest_after_bytes", known ? (int64_t)trial->slowest_after : -1);
	if (known)
		emit_text(out, "  slowest      %.3f GB/s in the second that began after %.1f s and %llu "
			  "bytes\n", trial->slowest / 1e9, trial->slowest_at,
			  (unsigned long long)trial->slowest_after);
}

/*
 * Print how long the writes took: percentiles, and the longest. They are null in JSON if no write
 * has ended.
 */
static void emit_times(const struct emit *out, const struct times *times)
{
	static const struct {
		const char	*key, *name;
		unsigned int	permille;
	} parts[] = {
		{ "write_p50_s", "p50", 500 }, { "write_p99_s", "p99", 990 },
		{ "write_p999_s", "p99.9", 999 }, { "write_worst_s", "worst", 1000 },
	};

	for (size_t n = 0; n < sizeof(parts) / sizeof(parts[0]); n++) {
		double seconds = (double)times_part(times, parts[n].permille) / 1e9;

		emit_number(out, parts[n].key, NULL, times->count ? seconds : NAN);
		if (times->count)
			emit_text(out, "%s%s %.3f ms", n ? ", " : "  writes       ", parts[n].name,
				  1e3 * seconds);
	}
	emit_text(out, "%s", times->count ? "\n" : "");
}

/* Print the values that are measured only with --rate. Without --rate they are null in JSON. */
static void emit_asked(const struct emit *out, const struct trial *trial)
{
	emit_number(out, "asked_bytes_per_s", NULL, trial->rate > 0 ? trial->rate : NAN);
	if (trial->rate <= 0) {
		emit_null(out, "most_waiting_bytes");
		emit_null(out, "lost_bytes");
		return;
	}
	emit_unsigned(out, "most_waiting_bytes", "  ring         %llu bytes",
		      trial->most_waiting);
	emit_text(out, " of %llu were full at most\n", (unsigned long long)trial->ring_bytes);
	emit_unsigned(out, "lost_bytes", NULL, trial->lost);
	emit_text(out, "  result       %s %.3f GB/s\n",
		  trial->lost ? "it does not hold" : "it holds", trial->rate / 1e9);
}

void trial_print(const struct emit *out, const void *result)
{
	const struct trial *trial = result;
	const struct output *output = &trial->output;
	double rate = (double)trial->done / trial->took;

	emit_string(out, "folder", "disk           %s\n", trial->folder);
	emit_unsigned(out, "written_bytes", "  written      %llu bytes", trial->done);
	emit_number(out, "seconds", " in %.3f s", trial->took);
	emit_number(out, "bytes_per_s", NULL, rate);
	emit_bool(out, "o_direct", output->direct);
	emit_bool(out, "io_uring", output->async);
	emit_text(out, ", %.3f GB/s%s%s\n", rate / 1e9, output->direct ? ", by O_DIRECT" : "",
		  output->async ? " and io_uring" : "");
	emit_string(out, "note", "  note         %s\n", emit_filled(output->note));
	emit_slowest(out, trial);
	emit_times(out, &trial->times);
	emit_unsigned(out, "ring_bytes", NULL, trial->ring_bytes);
	emit_asked(out, trial);
}
