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

/* The block that is being checked. @offset is its place in the file, and @data are its bytes. */
struct block {
	uint64_t	offset;
	const uint8_t	*data;
	uint32_t	type, length;
};

struct walk {
	struct check	*check;
	const uint8_t	*data;
	size_t		size;
	bool		swapped;	/* the section is big endian, so numbers are swapped */
	uint8_t		*resolutions;	/* if_tsresol of each interface of the section */
	uint32_t	interfaces;	/* number of the section's interfaces so far */
	/* The members from here on are used for a recording of this program only. */
	/* the recording is in several folders, so the file has some of its MBUFs only */
	bool		dealt;
	/* true: the MBUF has had a filler, so only fillers and the seal may follow in it */
	bool		closing;
	uint64_t	records, bytes;	/* frames, and their bytes, since the last seal */
	/* what the last seal says; all are 0 before the first seal */
	uint64_t	seal_records, seal_bytes, seal_time, seal_number;
	/* offset in the file behind the last seal, or behind the header before the first seal */
	uint64_t	end;
	/* most frames that the card can have lost between the last two seals */
	uint64_t	most_lost;
	uint64_t	lost;		/* frames lost so far, as the seals count them */
	/*
	 * true: @lost is right: the file begins with MBUF 0, and the seals come so often that none
	 * of their counts modulo 2^32 can have gone round unseen
	 */
	bool		lost_known;
};

/* Note the sentence about the rule that the file breaks at @offset. Returns false always. */
__attribute__((format(printf, 3, 4)))
bool broken(struct walk *walk, uint64_t offset, const char *format, ...);

/*
 * Check a block of a recording: check_ours() by the rules for any block, the others by those for a
 * filler and for a seal. Blocks of the header need only end within it, and no seal may be there.
 * Each returns false if a rule is broken, which is noted.
 */
bool check_ours(struct walk *walk, const struct block *block);
bool check_filler(struct walk *walk, const struct block *block);
bool check_seal(struct walk *walk, const struct block *block);

/* The three functions return the number at @at, which is in the byte order of the section. */
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
