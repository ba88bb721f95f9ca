/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The flight recorder of record --newest. newest.h says what each function promises.
 *
 * While the card fills the ring, the library's litepcie_capture_next() is not called: data that it
 * has once returned is not returned again, and would be missing in the file.
 */
#include "newest.h"

#include <errno.h>
#include <time.h>

#include "ended.h"

/* time in ns between two looks at the card's counts, to which the limits of a recording apply */
#define LOOK_NS	100000000

const char *newest_refuses(const struct recording *recording)
{
	if (recording->limits.bytes || recording->limits.seconds > 0)
		return "--newest writes one file at the end, of the size of the ring at most, so "
		       "--size and --file-seconds are not for it";
	if (recording->config.queue)
		return "--newest is for a recording that has queue 0, since the end of queue 0 "
		       "ends it: leave out --queue, or give --queues";
	return NULL;
}

static bool is_at_limit(const struct recording *recording, double begun, uint64_t records)
{
	return (recording->packets && records >= recording->packets) ||
	       (recording->seconds > 0 && util_now() - begun >= recording->seconds);
}

bool newest_follow(struct util *util, struct recording *recording)
{
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	double begun = util_now();
	int rc = 0;

	while (!util_interrupted()) {
		nanosleep(&pause, NULL);
		rc = litepcie_capture_stats(recording->capture, &stats);
		if (rc < 0 && rc != -EINTR)
			break;
		if (is_at_limit(recording, begun, stats.records) ||
		    record_has_ended(util, recording))
			break;
	}
	if (rc == -EINTR)
		rc = 0;
	if (rc == 0 && recording->generates && !recording->made_known)
		rc = litepcie_capture_generate_stop(recording->capture);
	util_check(util, rc, "recording");
	return rc >= 0 && !util->failed;
}

void newest_wait(struct recording *recording)
{
	while (sem_wait(&recording->gate) < 0)
		;	/* a signal ends sem_wait(), which is then called again */
}

void newest_end(struct recording *recordings, unsigned int count)
{
	for (unsigned int n = 1; n < count; n++)
		sem_post(&recordings[n].gate);
}
