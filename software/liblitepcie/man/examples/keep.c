/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include <liblitepcie.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .pattern = true,
	};
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_stream *c2h;
	struct litepcie_memory *memory;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (litepcie_stream_open(dev, LITEPCIE_C2H, &options, &c2h) < 0 ||
	    litepcie_stream_start(c2h) < 0 || litepcie_stream_keep(c2h, &memory) < 0 ||
	    litepcie_stream_acquire(c2h, &buffer, 1000) <= 0) {
		fprintf(stderr, "no buffer: %s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	litepcie_close(dev);
	printf("the card is closed, and buffer %llu still begins with %u\n",
	       (unsigned long long)buffer.sequence, *(uint32_t *)buffer.data);
	litepcie_memory_drop(memory);
	return 0;
}
