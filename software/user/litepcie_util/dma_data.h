/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Contents of DMA buffers, computed from the number of the buffer alone. The receiver checks a
 * buffer without a copy of what was sent.
 */
#ifndef LITEPCIE_UTIL_DMA_DATA_H
#define LITEPCIE_UTIL_DMA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dma_data {
	/*
	 * random words; false: the card's pattern, in which dword i of the stream has the value i
	 */
	bool		random;
	uint64_t	seed;
	size_t		size;	/* bytes of a buffer, a multiple of 8 */
};

struct dma_difference {
	uint64_t	dwords;		/* number of wrong dwords */
	/* bytes from the start of the buffer to the first wrong dword */
	size_t		offset;
	uint32_t	expected, got;
};

/* Fill @buffer with the contents of buffer @number. */
void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer);

/*
 * Compare @buffer with the contents of buffer @number. Returns true if they are equal. Otherwise
 * @difference is filled in. @scratch is memory for data->size bytes.
 */
bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    void *scratch, struct dma_difference *difference);

#endif /* LITEPCIE_UTIL_DMA_DATA_H */
