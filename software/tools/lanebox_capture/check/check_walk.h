/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Declares what the two parts of the check share: check.c has the rules of pcapng and goes from
 * block to block, check_recording.c has those of a recording.
 */
#ifndef LANEBOX_CAPTURE_CHECK_WALK_H
#define LANEBOX_CAPTURE_CHECK_WALK_H

#include <string.h>

#include "check.h"
#include "litepcie_capture.h"

#define HEADER_BYTES	LITEPCIE_CAPTURE_HEADER_BYTES

/* The block that is being checked. */
struct block {
	uint64_t	offset;
	const uint8_t	*data;
	uint32_t	type, length;
};

struct walk {
	struct check	*check;
	const uint8_t	*data;
	size_t		size;
	bool		swapped;	/* the section has the other byte order */
	uint8_t		*resolutions;	/* if_tsresol of each interface of the section */
	uint32_t	interfaces;
	/* The state of a recording. */
	/* the recording is in several folders, so the file has some of its MBUFs only */
	bool		dealt;
	/* a filler has come, so only fillers and the seal may follow */
	bool		closing;
	uint64_t	records, bytes;	/* frames, and their bytes, since the last seal */
	uint64_t	seal_records, seal_bytes, seal_time, seal_number;
	uint64_t	end;		/* offset behind the last seal, or behind the header */
	uint64_t	most_lost;	/* frames that can have been lost since the last seal */
	uint64_t	lost;		/* frames lost so far, as the seals count them */
	/* true: @lost is right, since this is the first file, and no count went round */
	bool		lost_known;
};

/* Note the rule that the file breaks at @offset. Returns false. */
__attribute__((format(printf, 3, 4)))
bool broken(struct walk *walk, uint64_t offset, const char *format, ...);

/* The rules for any block of a recording. The header is an ordinary section. */
bool check_ours(struct walk *walk, const struct block *block);
bool check_filler(struct walk *walk, const struct block *block);
bool check_seal(struct walk *walk, const struct block *block);

/* The three functions return a number of a block, in the byte order of its section. */
static inline uint32_t get32(const struct walk *walk, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return walk->swapped ? __builtin_bswap32(value) : value;
}

static inline uint16_t get16(const struct walk *walk, const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return walk->swapped ? __builtin_bswap16(value) : value;
}

static inline uint64_t get64(const struct walk *walk, const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return walk->swapped ? __builtin_bswap64(value) : value;
}

#endif /* LANEBOX_CAPTURE_CHECK_WALK_H */
