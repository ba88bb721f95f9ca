/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how often litepcie_capture_release() gives the card a new limit, up to which the card may
 * write. Behind the kernel driver each new limit is a system call. The test has no memory for the
 * ring, since a release does not read it.
 */
#include "capture/capture.h"
#include "check.h"

#define MIB		((uint64_t)1 << 20)
#define MBUF		MIB

static struct litepcie dev;
static unsigned int told;

static int allow(struct litepcie_capture *capture, uint64_t limit)
{
	(void)capture;
	(void)limit;
	told++;
	return 0;
}

static const struct litepcie_capture_access counting = { .allow = allow };

/*
 * Release four rounds of a ring of @bytes, an MBUF (part of the ring) at a time. The card must get
 * @steps limits in each round, and never one beyond the data that was released.
 */
static void a_round_has_steps(uint64_t bytes, unsigned int steps)
{
	struct litepcie_capture capture = {
		.dev = &dev, .access = &counting, .running = true, .limit = bytes,
		.config = { .ring_bytes = bytes, .mbuf_bytes = MBUF }, .given = 4 * bytes,
	};

	told = 0;
	while (capture.released < 4 * bytes) {
		CHECK_EQUAL(litepcie_capture_release(&capture, MBUF), 0);
		CHECK(capture.limit <= capture.released + bytes);
		/* The room of which the card is not told is less than a step. */
		CHECK(capture.limit + bytes / steps > capture.released + bytes);
	}
	CHECK_EQUAL(told, 4 * steps);
	CHECK_EQUAL(capture.limits, told);
}

int main(void)
{
	a_round_has_steps(4 * MIB, 4);	/* the ring has only four MBUFs */
	a_round_has_steps(64 * MIB, 8);
	a_round_has_steps(128 * MIB, 8);
	a_round_has_steps(256 * MIB, 4);
	a_round_has_steps(1024 * MIB, 4);
	return failed_checks != 0;
}
