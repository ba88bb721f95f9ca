/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Send data to the card: the program fills each buffer in place, and the card
 * compares the data that arrives with its pattern.
 */
#include <errno.h>
#include <liblitepcie.h>
#include <litepcie_diagnostics.h>
#include <stdio.h>

#define BUFFERS	64

int main(int argc, char **argv)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .pattern = true,
	};
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_stream *h2c;
	uint64_t sent = 0;
	struct litepcie_counters counters = { .struct_size = sizeof(counters) };
	struct litepcie_pattern found = { .struct_size = sizeof(found) };
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie *dev;
	uint32_t next = 0;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	litepcie_counters_clear(dev);
	if (litepcie_stream_open(dev, LITEPCIE_H2C, &options, &h2c) < 0 ||
	    litepcie_stream_start(h2c) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dev));
		return 1;
	}
	while (sent < BUFFERS && litepcie_stream_acquire(h2c, &buffer, 1000) > 0) {
		uint32_t *data = buffer.data;

		for (size_t i = 0; i < buffer.bytes / 4; i++)
			data[i] = next++;
		if (litepcie_stream_release(h2c, 1) < 0)
			break;
		sent++;
	}
	if (litepcie_stream_drain(h2c, 1000) < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	litepcie_pattern(dev, &found);
	litepcie_counters(dev, &counters);
	litepcie_stream_stop(h2c);
	litepcie_stats(dev, &stats);
	printf("%llu buffers, %llu bytes received, %u wrong\n",
	       (unsigned long long)stats.h2c_done, (unsigned long long)counters.rc.payload_bytes,
	       found.errors);
	litepcie_close(dev);
	return found.errors > 0;
}
