/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Contents of DMA buffers that both ends can make from a buffer's number alone, so that a buffer is
 * checked without keeping what was sent.
 */
#ifndef LITEPCIE_UTIL_DMA_DATA_H
#define LITEPCIE_UTIL_DMA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dma_data {
	bool		random;	/* else the card's pattern: dword i of the stream has the value i */
	uint64_t	seed;
	size_t		size;	/* of a buffer, a multiple of 8 */
};

struct dma_difference {
	uint64_t	dwords;		/* that are wrong */
	size_t		offset;		/* of the first, in bytes */
	uint32_t	expected, got;
};

/* Write what buffer @number must hold. */
void dma_data_fill(const struct dma_data *data, uint64_t number, void *buffer);

/* Compare with what buffer @number must hold; true: no difference. @scratch has a buffer's size. */
bool dma_data_check(const struct dma_data *data, uint64_t number, const void *buffer,
		    void *scratch, struct dma_difference *difference);

#endif /* LITEPCIE_UTIL_DMA_DATA_H */
