/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A program that streams in one direction: it acquires each buffer, reads or writes only its first
 * dword, and releases it. Some tests run this program twice with different numbers of buffers. From
 * the difference between the two runs they compute the cost of an additional buffer, for example in
 * register reads or in instructions of the library.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "open.h"

#define WAIT_MS	60000

/* number of this program's calls of litepcie_stream_ready(), which may wait for the card */
static unsigned int waits;

/*
 * Wait for a buffer, for WAIT_MS at most. Returns the number of ready buffers, or @most if that is
 * less. If no buffer came, a check fails, and the result is 0 or -errno.
 */
static int wait_for(struct litepcie_stream *stream, uint64_t most)
{
	int count = litepcie_stream_ready(stream, WAIT_MS);

	waits++;
	CHECK(count > 0);
	return count > 0 && (uint64_t)count > most ? (int)most : count;
}

static void c2h(struct litepcie_stream *stream, uint64_t buffers)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	int count = 1;

	for (uint64_t left = buffers; left && count > 0; left -= (uint64_t)count) {
		count = wait_for(stream, left);
		for (int i = 0; i < count; i++) {
			if (litepcie_stream_acquire(stream, &buffer, 0) != 1 ||
			    *(uint32_t *)buffer.data !=
				    (uint32_t)(buffer.sequence * (buffer.bytes / 4)) ||
			    litepcie_stream_release(stream, 1) < 0)
				failed_checks++;
		}
	}
}

static void h2c(struct litepcie_stream *stream, uint64_t buffers)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	int count = 1;

	for (uint64_t left = buffers; left && count > 0; left -= (uint64_t)count) {
		count = wait_for(stream, left);
		for (int i = 0; i < count; i++) {
			if (litepcie_stream_acquire(stream, &buffer, 0) != 1)
				failed_checks++;
			*(uint32_t *)buffer.data = (uint32_t)(buffer.sequence * (buffer.bytes / 4));
			if (litepcie_stream_release(stream, 1) < 0)
				failed_checks++;
		}
	}
	CHECK_EQUAL(litepcie_stream_drain(stream, WAIT_MS), 0);
}

int main(int argc, char **argv)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .pattern = true,
	};
	struct litepcie_stream *stream;
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
	options.batch = options.interrupt_every = (unsigned int)strtoul(argv[4], NULL, 0);
	options.limit = in ? buffers : 0;
	CHECK_EQUAL(litepcie_counters_clear(dev), 0);
	CHECK_EQUAL(litepcie_counters(dev, &before), 0);
	CHECK_EQUAL(litepcie_stream_open(dev, in ? LITEPCIE_C2H : LITEPCIE_H2C, &options, &stream),
		    0);
	CHECK_EQUAL(litepcie_stream_start(stream), 0);
	if (in)
		c2h(stream, buffers);
	else
		h2c(stream, buffers);
	CHECK_EQUAL(litepcie_stream_stop(stream), 0);
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
