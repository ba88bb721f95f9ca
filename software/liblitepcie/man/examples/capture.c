/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Receive data from the card: the program uses each buffer in place, and can
 * wait for other things at the same time.
 */
#include <liblitepcie.h>
#include <litepcie_diagnostics.h>
#include <poll.h>
#include <stdio.h>

#define BUFFERS	64

int main(int argc, char **argv)
{
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config),
		.directions = LITEPCIE_C2H,
		/*
		 * the card sends data of its own pattern, not that of the user
		 * slot
		 */
		.pattern = true,
		.c2h_limit = BUFFERS,
		.batch = 8,
	};
	uint64_t sum = 0, seen = 0, first;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (litepcie_ring_setup(dev, 16384, 128) < 0)
		printf("%u buffers of %zu bytes it is: %s\n", litepcie_buffer_count(dev),
		       litepcie_buffer_size(dev), litepcie_why(dev));
	if (litepcie_dma_start(dev, &config) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dev));
		return 1;
	}
	while (seen < BUFFERS) {
		struct pollfd fd = { .fd = litepcie_dma_fd(dev), .events = POLLIN };
		int count;

		if (fd.fd >= 0)
			poll(&fd, 1, 1000);
		if (litepcie_dma_wait(dev, LITEPCIE_C2H, fd.fd >= 0 ? 0 : 1000) < 0)
			break;
		count = litepcie_c2h_peek(dev, &first, 0);
		if (!count) {	/* no c2h data came: ask what the card waits for */
			litepcie_diagnose(dev, LITEPCIE_C2H, why, sizeof(why));
			fprintf(stderr, "still waiting: %s\n", why);
		}
		for (int i = 0; i < count; i++) {
			const uint32_t *data = litepcie_c2h_buffer(dev, first + (uint64_t)i);

			sum += data[0];
		}
		if (count < 0 || litepcie_c2h_release(dev, (unsigned int)count) < 0)
			break;
		seen += (uint64_t)count;
		litepcie_dma_flush(dev, LITEPCIE_C2H);
	}
	litepcie_dma_stop(dev);
	printf("%llu buffers, sum %llu\n", (unsigned long long)seen, (unsigned long long)sum);
	litepcie_close(dev);
	return seen < BUFFERS;
}
