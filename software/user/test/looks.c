/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the counters of a card on which another program receives, as lanebox-live does. They are
 * read until data has passed between two readings. The other program's stream must not block this.
 */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "liblitepcie.h"

#define LOOKS	1000	/* most readings, 10 ms apart; the other program's stream never rests */

static bool has_moved(const struct litepcie_counters *before, const struct litepcie_counters *now)
{
	CHECK(now->time > before->time && now->rq.beats >= before->rq.beats);
	return now->rq.payload_bytes > before->rq.payload_bytes && now->rq.tlps > before->rq.tlps;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct litepcie_counters before, now;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	bool moved = false;

	if (argc != 2) {
		fprintf(stderr, "usage: looks DEVICE\n");
		return 2;
	}
	if (litepcie_open(&dev, argv[1], why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	CHECK_EQUAL(litepcie_counters(dev, &before), 0);
	for (int look = 0; look < LOOKS && !moved; look++) {
		nanosleep(&pause, NULL);
		CHECK_EQUAL(litepcie_counters(dev, &now), 0);
		moved = has_moved(&before, &now);
	}
	CHECK(moved);
	litepcie_close(dev);
	printf("looks: %s\n", failed_checks ? "failed" : "ok");
	return failed_checks ? 1 : 0;
}
