/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Receive data from the card in this program's own memory, in a huge page if
 * there is one.
 */
#include <liblitepcie.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Bytes of a huge page. A ring of the default number and size of buffers has
 * as many bytes.
 */
#define BYTES	(2u << 20)

int main(int argc, char **argv)
{
	uint32_t *memory = aligned_alloc(BYTES, BYTES);
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.memory = memory,
		.memory_bytes = BYTES,
		.pattern = true,
		/*
		 * the card raises no interrupts; the library or the kernel
		 * driver reads the card's progress every 100 us
		 */
		.poll_us = 100,
	};
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_stream *c2h;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;

	if (!memory ||
	    litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", memory ? why : "no memory");
		return 1;
	}
	if (litepcie_stream_open(dev, LITEPCIE_C2H, &options, &c2h) < 0 ||
	    litepcie_stream_start(c2h) < 0 ||
	    litepcie_stream_acquire(c2h, &buffer, 1000) <= 0) {
		fprintf(stderr, "no buffer: %s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	litepcie_close(dev);
	printf("buffer 0 begins with %u and %u\n", memory[0], memory[1]);
	free(memory);
	return 0;
}
