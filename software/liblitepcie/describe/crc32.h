/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The CRC-32 of IEEE 802.3, which zlib's crc32() also computes. The checksum of the capability
 * table is such a CRC. It is computed bit by bit, which is slow for more than some MiB.
 */
#ifndef LITEPCIE_CRC32_H
#define LITEPCIE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/*
 * Continue the CRC @crc with @bytes of @data, and return it. The caller gives ~0u as @crc for the
 * first part of the data, and inverts the bits of the result after the last part.
 */
static inline uint32_t litepcie_crc32(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	for (size_t n = 0; n < bytes; n++) {
		crc ^= from[n];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

#endif /* LITEPCIE_CRC32_H */
