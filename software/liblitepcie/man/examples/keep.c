/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

#include <liblitepcie.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config), .directions = LITEPCIE_C2H, .pattern = true,
	};
	struct litepcie_memory *memory;
	char why[LITEPCIE_WHY_SIZE];
	const uint32_t *data;
	struct litepcie *dev;
	uint64_t first;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (litepcie_dma_start(dev, &config) < 0 ||
	    litepcie_ring_keep(dev, LITEPCIE_C2H, &memory) < 0 ||
	    litepcie_c2h_peek(dev, &first, 1000) <= 0) {
		fprintf(stderr, "no buffer: %s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	data = litepcie_c2h_buffer(dev, first);
	litepcie_close(dev);
	printf("the card is closed, and buffer %llu still begins with %u\n",
	       (unsigned long long)first, data[0]);
	litepcie_ring_drop(memory);
	return 0;
}
