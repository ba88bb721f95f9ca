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
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config), .directions = LITEPCIE_H2C, .pattern = true,
	};
	uint64_t first = 0, sent = 0;
	struct litepcie_counters counters = { .struct_size = sizeof(counters) };
	struct litepcie_pattern found = { .struct_size = sizeof(found) };
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie *dev;
	uint32_t next = 0;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	litepcie_counters_clear(dev);
	if (litepcie_dma_start(dev, &config) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dev));
		return 1;
	}
	while (sent < BUFFERS && litepcie_h2c_get(dev, &first, 1000) > 0) {
		uint32_t *data = litepcie_h2c_buffer(dev, first);

		for (size_t i = 0; i < litepcie_buffer_size(dev) / 4; i++)
			data[i] = next++;
		if (litepcie_h2c_submit(dev, 1) < 0)
			break;
		sent++;
	}
	if (litepcie_h2c_drain(dev, 1000) < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	litepcie_pattern(dev, &found);
	litepcie_counters(dev, &counters);
	litepcie_dma_stop(dev);
	litepcie_stats(dev, &stats);
	printf("%llu buffers, %llu bytes received, %u wrong\n",
	       (unsigned long long)stats.h2c_done, (unsigned long long)counters.rc.payload_bytes,
	       found.errors);
	litepcie_close(dev);
	return found.errors > 0;
}
