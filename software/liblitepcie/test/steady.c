/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inner loop of a program that streams: each buffer of one direction is taken and given back.
 * If this runs twice with different numbers of buffers, the difference is the cost of a buffer. The
 * card makes or checks the data, so the program itself adds next to nothing to that cost.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "open.h"
#include "run.h"

#define WAIT_MS	60000

/* number of the test's library calls that may wait for the card, c2h_peek and h2c_get */
static unsigned int waits;

static void c2h(struct litepcie *dev, uint64_t buffers)
{
	uint64_t seen = 0, first;
	int count = 1;

	while (seen < buffers && count > 0) {
		count = c2h_peek(dev, &first, WAIT_MS);
		waits++;
		for (int i = 0; i < count; i++, seen++) {
			const uint32_t *data = c2h_buffer(dev, first + (uint64_t)i);

			if (*data != (uint32_t)(seen * (run_size(dev) / 4)))
				failed_checks++;
			if (c2h_release(dev, 1) < 0)
				failed_checks++;
		}
	}
	CHECK(count > 0);
}

static void h2c(struct litepcie *dev, uint64_t buffers)
{
	uint64_t sent = 0, first;
	int count = 1;

	while (sent < buffers && count > 0) {
		count = h2c_get(dev, &first, WAIT_MS);
		waits++;
		for (int i = 0; i < count && sent < buffers; i++, sent++) {
			uint32_t *data = h2c_buffer(dev, first + (uint64_t)i);

			*data = (uint32_t)(sent * (run_size(dev) / 4));
			if (h2c_submit(dev, 1) < 0)
				failed_checks++;
		}
	}
	CHECK(count > 0);
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
}

int main(int argc, char **argv)
{
	struct run_config config = { .pattern = true };
	struct litepcie_counters before = { .struct_size = sizeof(before) };
	struct litepcie_counters after = { .struct_size = sizeof(after) };
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie *dev;
	uint64_t buffers;
	bool in;

	if (!open_device(&dev, argc == 5, argv[1], "usage: steady DEVICE c2h|h2c BUFFERS BATCH"))
		return 2;
	in = strcmp(argv[2], "c2h") == 0;
	buffers = strtoull(argv[3], NULL, 0);
	config.directions = in ? LITEPCIE_C2H : LITEPCIE_H2C;
	config.batch = (unsigned int)strtoul(argv[4], NULL, 0);
	config.interrupt_every = config.batch;
	config.c2h_limit = in ? buffers : 0;
	CHECK_EQUAL(litepcie_counters_clear(dev), 0);
	CHECK_EQUAL(litepcie_counters(dev, &before), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	if (in)
		c2h(dev, buffers);
	else
		h2c(dev, buffers);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(litepcie_counters(dev, &after), 0);
	litepcie_stats(dev, &stats);
	printf("batches %llu interrupts %lld bytes %llu ticks %llu reads %llu waits %u\n",
	       (unsigned long long)stats.batches, (long long)stats.interrupts,
	       (unsigned long long)(in ? after.rq.payload_bytes : after.rc.payload_bytes),
	       (unsigned long long)(in ? after.rq.last - after.rq.first :
					 after.rc.last - after.rc.first),
	       (unsigned long long)(after.cc.tlps - before.cc.tlps), waits);
	litepcie_close(dev);
	return failed_checks != 0;
}
