/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The test data of a DMA buffer is computed from the number of the buffer. So the receiver compares
 * a buffer without a copy of the data that was sent.
 */
#ifndef LITEPCIE_UTIL_DMA_DATA_H
#define LITEPCIE_UTIL_DMA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dma_data {
	/*
	 * true: the data is random words; false: it is the card's pattern, in which dword i of the
	 * stream has the value i
	 */
	bool		random;
	uint64_t	seed;
	size_t		size;	/* number of bytes of a DMA buffer, which is a multiple of 8 */
};

struct dma_difference {
	/* number of dwords of the received buffer that differ from the expected ones */
	uint64_t	dwords;
	/* offset in bytes of the first wrong dword in the received buffer */
	size_t		offset;
	uint32_t	expected, got;
};

/* Fill @buffer with the test data of DMA buffer @number. */
void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer);

/*
 * Compare @buffer with the test data of buffer @number. Returns true if they are equal. Otherwise
 * @difference is filled in. @scratch is memory for data->size bytes.
 */
bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    void *scratch, struct dma_difference *difference);

#endif /* LITEPCIE_UTIL_DMA_DATA_H */
