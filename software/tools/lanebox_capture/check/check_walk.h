/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Declares what the two parts of the check share. check.c has the rules of pcapng and goes from
 * block to block. check_recording.c has the rules of a recording of lanebox-capture.
 */
#ifndef LANEBOX_CAPTURE_CHECK_WALK_H
#define LANEBOX_CAPTURE_CHECK_WALK_H

#include <string.h>

#include "check.h"
#include "litepcie_capture.h"

#define HEADER_BYTES	LITEPCIE_CAPTURE_HEADER_BYTES

/* The pcapng block that is being checked. Its bytes are at @data, and at @offset of the file. */
struct block {
	uint64_t	offset;
	const uint8_t	*data;
	uint32_t	type, length;
};

struct walk {
	struct check	*check;
	const uint8_t	*data;
	size_t		size;
	/* true: the bytes of the section's numbers are in the order opposite to the processor's */
	bool		swapped;
	uint8_t		*resolutions;	/* if_tsresol of each interface of the section */
	uint32_t	interfaces;	/* number of interfaces of the section so far */
	/* The members from here on are used only for a recording of lanebox-capture. */
	/*
	 * true: the section's comment says that the recording is spread over several folders, so
	 * this file lacks MBUFs of it
	 */
	bool		dealt;
	/* true: the MBUF has had a filler, so only fillers and the seal may follow in it */
	bool		closing;
	/* number of frames since the last seal, and number of their bytes */
	uint64_t	records, bytes;
	/* the counts, time and number in the last seal; all are 0 before the first seal */
	uint64_t	seal_records, seal_bytes, seal_time, seal_number;
	/*
	 * offset in the file at which the last seal ends; before the first seal the offset at which
	 * the file's header ends
	 */
	uint64_t	end;
	/* the most frames that the card can have lost between the last two seals */
	uint64_t	most_lost;
	uint64_t	lost;		/* frames lost so far, as the seals count them */
	/*
	 * true: @lost is exact: the file begins with MBUF 0, and no time between two seals was long
	 * enough for a count modulo 2^32 to wrap unseen
	 */
	bool		lost_known;
};

/*
 * Write to check->rule the rule that the file breaks at @offset, printf-style. Always returns
 * false.
 */
__attribute__((format(printf, 3, 4)))
bool broken(struct walk *walk, uint64_t offset, const char *format, ...);

/*
 * Check a block of a recording. check_ours() has the rules for all blocks, check_filler() those for
 * a filler, and check_seal() those for a seal. A block of the header must end within the header,
 * and the header has no seal. Each function returns false and notes the rule if a rule is broken.
 */
bool check_ours(struct walk *walk, const struct block *block);
bool check_filler(struct walk *walk, const struct block *block);
bool check_seal(struct walk *walk, const struct block *block);

/* get32(), get16() and get64() return the number at @at, which has the section's byte order. */
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
