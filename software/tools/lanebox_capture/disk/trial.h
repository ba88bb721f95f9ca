/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The settings, the state and the results of a trial of a disk. cmd_disk.c makes the trial, and
 * trial_print.c prints the results.
 */
#ifndef LANEBOX_CAPTURE_TRIAL_H
#define LANEBOX_CAPTURE_TRIAL_H

#include "../litepcie_util/util.h"
#include "output.h"
#include "times.h"

/* most writes that are not yet counted as written, with the one that output_write() begins */
#define TRIAL_WRITES	(OUTPUT_DEPTH + 1)

struct trial {
	/* The members up to @mbuf_bytes are settings from the command line. */
	const char	*folder;
	/* number of bytes per second that come into the ring; 0: as fast as the disk takes them */
	double		rate;
	double		seconds;
	uint64_t	ring_bytes, mbuf_bytes;
	/* The members from here on are state and results of the trial. */
	struct output	output;
	uint8_t		*ring;
	void		*header;
	char		*path;
	bool		ran;
	/* duration of the trial in seconds, until its last write has ended or failed */
	double		took;
	/*
	 * number of bytes per second in the slowest slice; 0: the trial was too short for a slice
	 * that counts
	 */
	double		slowest;
	/*
	 * when the slowest slice began, in seconds since the beginning of the trial, and the number
	 * of bytes that were written before it
	 */
	double		slowest_at;
	uint64_t	slowest_after;
	/*
	 * how long each MBUF (part of the ring) took from the beginning of its write until its room
	 * in the ring was free again
	 */
	struct times	times;
	/*
	 * host's time in seconds at which the last TRIAL_WRITES writes were begun: that of write n
	 * is in entry n % TRIAL_WRITES
	 */
	double		begun[TRIAL_WRITES];
	/*
	 * number of bytes of MBUFs (parts of the ring) whose write was begun, and of those that
	 * were written
	 */
	uint64_t	given, done;
	/* largest number of bytes in the ring at a time; measured only with --rate */
	uint64_t	most_waiting;
	/* number of bytes for which the ring had no room; 0 without --rate */
	uint64_t	lost;
};

/* Print the results of a trial that ran. @result is its struct trial. */
void trial_print(const struct emit *out, const void *result);

#endif /* LANEBOX_CAPTURE_TRIAL_H */
