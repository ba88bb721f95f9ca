/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Use the card's memory by single accesses, by several accesses in a row, and
 * by a mapping if the card's BAR can be mapped.
 */
#include <liblitepcie.h>
#include <litepcie_capability.h>
#include <litepcie_diagnostics.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const uint64_t row[4] = { 1, 2, 3, 4 };
	struct litepcie_window window = { .struct_size = sizeof(window) };
	struct litepcie_block memory = { .struct_size = sizeof(memory) };
	char why[LITEPCIE_WHY_SIZE];
	uint8_t line[64], back[64];
	struct litepcie *dev;
	uint32_t word = 0x12345678, value = 0;
	uint64_t bytes;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0 ||
	    litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, 0, &memory) < 0 ||
	    litepcie_bar_size(dev, memory.bar, &bytes) < 0) {
		fprintf(stderr, "%s\n", litepcie_why(NULL));
		return 1;
	}
	printf("%u bytes at BAR%u + 0x%x of %llu, by %s\n", memory.size, memory.bar, memory.offset,
	       (unsigned long long)bytes, litepcie_mmio_path(dev));

	litepcie_bar_write(dev, memory.bar, memory.offset, &word, sizeof(word));
	litepcie_bar_read(dev, memory.bar, memory.offset, &value, sizeof(value));
	litepcie_bar_write_burst(dev, memory.bar, memory.offset, 4, 4, row, 4);

	memset(line, 0x5a, sizeof(line));
	if (litepcie_bar_write(dev, memory.bar, memory.offset, line, sizeof(line)) < 0 ||
	    litepcie_bar_read(dev, memory.bar, memory.offset, back, sizeof(back)) < 0)
		printf("no access of 64 bytes: %s\n", litepcie_why(dev));

	if (litepcie_bar_map(dev, memory.bar, &window) == 0)
		((volatile uint8_t *)window.base)[memory.offset] = 1;
	else
		printf("no mapping: %s\n", litepcie_why(dev));
	litepcie_close(dev);
	return value == 0x12345678 ? 0 : 1;
}
