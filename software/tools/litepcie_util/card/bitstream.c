/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Read and check bitstreams. bitstream.h says what each function promises. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitstream.h"
#include "bitstream_format.h"
#include "util.h"

#define WORD	4u
/* A file with more bytes than this cannot be a bitstream of a supported part. */
#define LARGEST	(1u << 27)

static const struct {
	uint32_t	idcode;
	const char	*part;
} parts[] = {
#define PART(code, name)	{ .idcode = code, .part = name },
	BITSTREAM_PARTS(PART)
};

const char *bitstream_part(uint32_t idcode)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!((parts[i].idcode ^ idcode) & ~BITSTREAM_REVISION))
			return parts[i].part;
	return NULL;
}

static uint32_t big(const uint8_t *at, unsigned int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

/* Read the whole file bitstream->name into bitstream->file. Returns its size, or -errno. */
static long read_file(struct bitstream *bitstream)
{
	FILE *file = fopen(bitstream->name, "rb");
	long size = -errno;

	if (!file)
		return size;
	if (fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
		size = -errno;
	} else if ((unsigned long)size > LARGEST) {
		size = -EFBIG;
	} else {
		rewind(file);
		bitstream->file = malloc((size_t)size + 1);
		if (!bitstream->file)
			size = -ENOMEM;
		else if (fread(bitstream->file, 1, (size_t)size, file) != (size_t)size)
			size = -EIO;
	}
	fclose(file);
	return size;
}

/*
 * Skip the header of a .bit file, so that bitstream->data is the configuration. Each field of text
 * begins with a letter and two bytes of length. The last field has the letter e and, in four bytes,
 * the length of the configuration. Returns false and notes a failure if a field has another letter
 * than a to e, or if the file ends before the configuration does.
 */
static bool skip_header(struct util *util, struct bitstream *bitstream)
{
	const uint8_t *end = bitstream->data + bitstream->size;
	const uint8_t *at = bitstream->data + BITSTREAM_PREAMBLE_SIZE;
	uint32_t length = 0;
	bool last = false;

	while (!last) {
		unsigned int head = at < end && *at == 'e' ? 5 : 3;

		if (end - at < (ptrdiff_t)head || *at < 'a' || *at > 'e') {
			util_fail(util, "%s: the header of this .bit file ends in the middle: the file "
				  "is truncated or damaged; build or copy it again", bitstream->name);
			return false;
		}
		last = *at == 'e';
		length = big(at + 1, head - 1);
		at += head;
		if (!last)
			at += length < (size_t)(end - at) ? length : (size_t)(end - at);
	}
	if ((size_t)(end - at) < length) {
		util_fail(util, "%s: truncated: its header promises %u bytes, and %zu are there; build "
			  "or copy it again", bitstream->name, length, (size_t)(end - at));
		return false;
	}
	bitstream->data = at;
	bitstream->size = length;
	return true;
}

/* Returns the offset behind the first synchronisation word of the configuration, or 0 if none. */
static size_t synchronise(const struct bitstream *bitstream)
{
	for (size_t at = 0; at + WORD <= bitstream->size; at++)
		if (big(bitstream->data + at, WORD) == BITSTREAM_SYNC)
			return at + WORD;
	return 0;
}

/*
 * The bitstream writes @value to the configuration register @reg. If this is the register IDCODE,
 * which names the part, or the register of the user id, store @value in @bitstream. Returns true if
 * the write is the command DESYNC, which ends a configuration.
 */
static bool take_write(struct bitstream *bitstream, unsigned int reg, uint32_t value)
{
	if (reg == BITSTREAM_REG_IDCODE)
		bitstream->idcode = value;
	if (reg == BITSTREAM_REG_USER_ID) {
		bitstream->has_user_id = true;
		bitstream->user_id = value;
	}
	return reg == BITSTREAM_REG_COMMAND && value == BITSTREAM_CMD_DESYNC;
}

static bool walk(struct util *util, struct bitstream *bitstream, size_t at)
{
	unsigned int reg = 0;

	while (at + WORD <= bitstream->size) {
		uint32_t word = big(bitstream->data + at, WORD);
		unsigned int kind = word >> 29;
		uint32_t count = kind == 1 ? word & 0x7ff : word & 0x7ffffff;

		if (kind != 1 && kind != 2) {
			util_fail(util, "%s: damaged: 0x%08x at byte %zu of the configuration is no "
				  "packet; build or copy it again", bitstream->name, word, at);
			return false;
		}
		if (kind == 1)
			reg = word >> 13 & 0x1f;
		at += WORD;
		if ((word >> 27 & 3) != BITSTREAM_WRITE || !count)
			continue;
		if (at + WORD > bitstream->size)
			break;
		if (take_write(bitstream, reg, big(bitstream->data + at, WORD)))
			return true;
		at += (size_t)WORD * count;
	}
	util_fail(util, "%s: truncated: it ends before the command that ends a configuration; build or "
		  "copy it again", bitstream->name);
	return false;
}

bool bitstream_read(struct util *util, const char *name, struct bitstream *bitstream)
{
	long size;
	size_t at;

	*bitstream = (struct bitstream){ .name = name };
	size = read_file(bitstream);
	if (size < 0) {
		util_fail(util, "%s: %s", name, strerror((int)-size));
		return false;
	}
	bitstream->data = bitstream->file;
	bitstream->size = (size_t)size;
	if (bitstream->size >= BITSTREAM_PREAMBLE_SIZE &&
	    memcmp(bitstream->data, BITSTREAM_PREAMBLE, BITSTREAM_PREAMBLE_SIZE) == 0 &&
	    !skip_header(util, bitstream))
		return false;
	at = synchronise(bitstream);
	if (!at) {
		util_fail(util, "%s: not a bitstream: there is no synchronisation word (%08x) in it",
			  name, BITSTREAM_SYNC);
		return false;
	}
	bitstream->sync = at - WORD;
	if (!walk(util, bitstream, at))
		return false;
	if (!bitstream->idcode)
		util_fail(util, "%s: does not say which part it is for (no IDCODE); it is not a full "
			  "configuration", name);
	return bitstream->idcode != 0;
}

void bitstream_free(struct bitstream *bitstream)
{
	free(bitstream->file);
	*bitstream = (struct bitstream){ 0 };
}
