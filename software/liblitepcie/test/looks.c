/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test that the counters of a card can be read, as lanebox-live reads them, while another program
 * receives data. The stream of the other program must not block the reads. The test reads the
 * counters once, and then up to LOOKS times more, until a read finds more payload bytes and TLPs
 * than the first. If no read finds more, the test fails.
 */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "open.h"

/* most reads of the counters after the first read; the program sleeps for 10 ms before each */
#define LOOKS	1000

static bool has_moved(const struct litepcie_counters *before, const struct litepcie_counters *now)
{
	CHECK(now->time > before->time && now->rq.beats >= before->rq.beats);
	return now->rq.payload_bytes > before->rq.payload_bytes && now->rq.tlps > before->rq.tlps;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct litepcie_counters before = { .struct_size = sizeof(before) };
	struct litepcie_counters now = { .struct_size = sizeof(now) };
	struct litepcie *dev;
	bool moved = false;

	if (!open_device(&dev, argc == 2, argv[1], "usage: looks DEVICE"))
		return 2;
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
