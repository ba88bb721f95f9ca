/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read a bitstream of an UltraScale+ part, a .bit or .bin file, and check that it is complete and
 * says for which part it is.
 *
 * bringup/bitstream.py makes the same check before JTAG loads a bitstream. It also generates
 * bitstream_format.h, the numbers of the format.
 */
#ifndef LITEPCIE_UTIL_BITSTREAM_H
#define LITEPCIE_UTIL_BITSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct util;

struct bitstream {
	const char	*name;		/* path of the bitstream's file */
	uint8_t		*file;		/* the whole file; release it with bitstream_free() */
	const uint8_t	*data;		/* the configuration: @file without a .bit file's header */
	size_t		size;		/* number of bytes in @data */
	size_t		sync;		/* offset of the first synchronisation word in @data */
	uint32_t	idcode;
	bool		has_user_id;
	uint32_t	user_id;
};

/*
 * Read and check the file @name. Returns false and notes a failure if the file cannot be read or is
 * no complete bitstream. Call bitstream_free() in both cases.
 */
bool bitstream_read(struct util *util, const char *name, struct bitstream *bitstream);

/*
 * Returns the name of the part with @idcode, or NULL if no supported board has such a part. The
 * bits of @idcode that give the part's revision do not count.
 */
const char *bitstream_part(uint32_t idcode);

/* Release the memory of @bitstream. All members become zero. */
void bitstream_free(struct bitstream *bitstream);

#endif /* LITEPCIE_UTIL_BITSTREAM_H */
