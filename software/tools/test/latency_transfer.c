/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test transfer_take_time() of latency_transfer.c: the time of a transfer is that from the first
 * beat of the host's write that starts it (the doorbell) to the last beat that the card has
 * written. If the card has counted another number of bytes than the transfer can have, the result
 * must be -EIO.
 */
#define litepcie_counters	made_up_counters
#include "../litepcie_util/latency/latency_transfer.c"
#include "check.h"

#define STEP_NS	4

static struct litepcie_counters card;

int made_up_counters(struct litepcie *dev, struct litepcie_counters *counters)
{
	(void)dev;
	CHECK_EQUAL(counters->struct_size, sizeof(*counters));
	*counters = card;
	return 0;
}

double util_tick_ns(const struct litepcie *dev)
{
	(void)dev;
	return STEP_NS;
}

int streams_start(struct litepcie *dev, unsigned int directions,
		  const struct litepcie_stream_options *options, struct streams *streams)
{
	(void)dev, (void)directions, (void)options, (void)streams;
	return 0;
}

int streams_stop(struct streams *streams)
{
	(void)streams;
	return 0;
}

/*
 * Returns the time in ns of a transfer of 64 bytes, or -EIO, if the card has counted @written bytes
 * of writes and @read bytes of completions, and up to @more additional bytes may be written.
 */
static double time_of(uint64_t written, uint64_t read, size_t more)
{
	struct shot shot = { .hardware_ns = 1e9 };
	int rc;

	card = (struct litepcie_counters) {
		.cq.first = 1000, .cq.last = 5000,
		.rc.payload_bytes = read, .rc.last = 1100,
		.rq.payload_bytes = written, .rq.first = 1020, .rq.last = 1199,
	};
	rc = transfer_take_time(NULL, 64, more, &shot);
	CHECK(rc == 0 || shot.hardware_ns == 1e9);
	return rc < 0 ? rc : shot.hardware_ns;
}

int main(void)
{
	CHECK(time_of(64, 64, 0) == 200 * STEP_NS);
	CHECK(time_of(63, 64, 0) == -EIO && time_of(65, 64, 0) == -EIO);
	CHECK(time_of(64, 63, 0) == -EIO && time_of(64, 65, 0) == -EIO);
	/*
	 * With @more 48, up to 48 bytes (records and status lines) may be written beside the data.
	 */
	CHECK(time_of(64 + 48, 64, 48) == 200 * STEP_NS && time_of(64, 64, 48) == 200 * STEP_NS);
	CHECK(time_of(64 + 49, 64, 48) == -EIO && time_of(63, 64, 48) == -EIO);
	CHECK(time_of(64, 64 + 48, 48) == -EIO);
	return failed_checks != 0;
}
