/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Receive data from the card. The program uses each buffer in place, and
 * waits with poll(), by which it could wait for other descriptors, too.
 */
#include <liblitepcie.h>
#include <litepcie_diagnostics.h>
#include <poll.h>
#include <stdio.h>

#define BUFFERS	64

int main(int argc, char **argv)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.buffer_size = 16384,
		.buffer_count = 128,
		/*
		 * the card sends data of its own pattern, not that of the user
		 * slot
		 */
		.pattern = true,
		.limit = BUFFERS,
		.batch = 8,
	};
	struct litepcie_stream_info info = { .struct_size = sizeof(info) };
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_stream *c2h;
	uint64_t sum = 0, seen = 0;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (litepcie_stream_open(dev, LITEPCIE_C2H, &options, &c2h) < 0 ||
	    litepcie_stream_start(c2h) < 0 || litepcie_stream_info(c2h, &info) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	printf("a ring of %u buffers, %zu bytes each\n", info.buffer_count, info.buffer_size);
	while (seen < BUFFERS) {
		struct pollfd fd = { .fd = litepcie_dma_fd(dev), .events = POLLIN };
		int count, rc = 0;

		if (fd.fd >= 0)
			poll(&fd, 1, 1000);
		if (litepcie_dma_wait(dev, LITEPCIE_C2H, fd.fd >= 0 ? 0 : 1000) < 0)
			break;
		count = litepcie_stream_ready(c2h, 0);
		if (!count) {	/* no c2h data came: ask what the card waits for */
			litepcie_diagnose(dev, LITEPCIE_C2H, why, sizeof(why));
			fprintf(stderr, "still waiting: %s\n", why);
		}
		for (int i = 0; i < count && rc >= 0; i++) {
			rc = litepcie_stream_acquire(c2h, &buffer, 0);
			if (rc > 0)
				sum += *(uint32_t *)buffer.data;
		}
		if (count < 0 || rc < 0 || litepcie_stream_release(c2h, (unsigned int)count) < 0)
			break;
		seen += (uint64_t)count;
		litepcie_stream_flush(c2h);
	}
	litepcie_stream_stop(c2h);
	litepcie_stream_close(c2h);
	printf("%llu buffers, sum %llu\n", (unsigned long long)seen, (unsigned long long)sum);
	litepcie_close(dev);
	return seen < BUFFERS;
}
