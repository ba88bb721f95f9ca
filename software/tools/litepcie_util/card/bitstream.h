/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read a bitstream of an UltraScale+ part, a .bit or .bin file, and check it before any of it
 * reaches the card's flash. bringup/bitstream.py checks bitstreams for JTAG in the same way, and
 * has the numbers of the format.
 */
#ifndef LITEPCIE_UTIL_BITSTREAM_H
#define LITEPCIE_UTIL_BITSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util;

struct bitstream {
	const char	*name;		/* path of the file */
	uint8_t		*file;		/* the whole file; release it with bitstream_free() */
	const uint8_t	*data;		/* the configuration, which is what the flash gets */
	size_t		size;		/* bytes of the configuration */
	size_t		sync;		/* offset of the synchronisation word in @data */
	uint32_t	idcode;
	bool		has_user_id;
	uint32_t	user_id;
};

/*
 * Read and check the file @name. Returns false if the file is no complete bitstream. The failure is
 * then noted. Call bitstream_free() in both cases.
 */
bool bitstream_read(struct util *util, const char *name, struct bitstream *bitstream);

/*
 * Returns the name of the part with @idcode, whose revision does not count, or NULL if no supported
 * board has such a part.
 */
const char *bitstream_part(uint32_t idcode);

/* Release the memory of @bitstream. All members become zero. */
void bitstream_free(struct bitstream *bitstream);

#endif /* LITEPCIE_UTIL_BITSTREAM_H */
