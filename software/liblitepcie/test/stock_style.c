/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A program as users of LitePCIe write it, with the calls and the buffer size of LitePCIe's own
 * library. The program sends as many buffers as its second argument says, for 60 s at most, and
 * compares every word that comes back through the card's loopback.
 */
#include "compat/liblitepcie.h"
#include "run.h"

#define WORDS	(DMA_BUFFER_SIZE / 4)

int main(int argc, char **argv)
{
	static struct litepcie_dma_ctrl dma = {
		.use_reader = 1, .use_writer = 1, .loopback = 1,
	};
	uint32_t sent = 0, seen = 0, wrong = 0, wanted;
	int64_t end = get_time_ms() + 60000;
	char *buffer;

	if (argc != 3 || litepcie_dma_init(&dma, argv[1], 1))
		return 2;
	wanted = (uint32_t)atoi(argv[2]);
	dma.reader_enable = dma.writer_enable = 1;
	while (seen < wanted && get_time_ms() < end) {
		litepcie_dma_process(&dma);
		while (sent < wanted && (buffer = litepcie_dma_next_write_buffer(&dma))) {
			for (uint32_t i = 0; i < WORDS; i++)
				((uint32_t *)buffer)[i] = sent * 0x01000193 ^ i;
			sent++;
		}
		while (seen < sent && (buffer = litepcie_dma_next_read_buffer(&dma))) {
			for (uint32_t i = 0; i < WORDS; i++)
				wrong += ((uint32_t *)buffer)[i] != (seen * 0x01000193 ^ i);
			seen++;
		}
	}
	litepcie_dma_cleanup(&dma);
	printf("stock style: %u buffers compared, %u words wrong\n", seen, wrong);
	return seen != wanted || wrong;
}
