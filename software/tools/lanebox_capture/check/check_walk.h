/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Declares what the parts of the check share. check.c goes from block to block, and has the rules
 * of pcapng and a few of a recording. check_recording.c has the other rules of a recording of
 * lanebox-capture. check_walk.c notes a broken rule.
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
	/* true: the section's numbers have the byte order opposite to that of the processor */
	bool		swapped;
	/*
	 * for each interface of the section: its option if_tsresol, the unit of its packets' times
	 */
	uint8_t		*resolutions;
	/* number of interfaces of the section up to the present block */
	uint32_t	interfaces;
	/* The members from here on matter only in a recording of lanebox-capture. */
	/*
	 * true: the section's comment says that the recording is in several folders, so MBUFs
	 * (parts of a recording) that other folders have may be missing in this file
	 */
	bool		dealt;
	/*
	 * true: the present MBUF (part of a recording) has had a filler, so only fillers and the
	 * seal, its last block, may follow in it
	 */
	bool		closing;
	/*
	 * number of packets since the last seal (block with counts), or since the file's beginning
	 * if no seal has come yet, and number of bytes that these packets had at their source
	 */
	uint64_t	records, bytes;
	/*
	 * the counts, time and number in the last seal (block with counts); all are 0 before the
	 * first seal
	 */
	uint64_t	seal_records, seal_bytes, seal_time, seal_number;
	/*
	 * offset in the file at which the last seal (block with counts) ends, or at which the
	 * header of a recording ends if no seal has come yet
	 */
	uint64_t	end;
	/*
	 * most frames that the card can lose in the time between the last two seals (blocks with
	 * counts), at one frame in a clock cycle, plus FRAMES_SLACK of check_recording.c
	 */
	uint64_t	most_lost;
	/*
	 * number of frames lost up to the last seal (block with counts), by the counts of all seals
	 * in the file
	 */
	uint64_t	lost;
	/*
	 * true: @lost is compared with the packets' drop counts. For that the file must begin with
	 * MBUF 0 (the first part of the recording), and the time between two seals (blocks with
	 * counts) must never be so long that a count modulo 2^32 could have wrapped.
	 */
	bool		lost_known;
};

/*
 * Note that the file breaks a rule at @offset. The text, printf-style, goes to check->rule. Always
 * returns false.
 */
__attribute__((format(printf, 3, 4)))
bool broken(struct walk *walk, uint64_t offset, const char *format, ...);

/*
 * Check a block of a recording. check_ours() has the rules about the place, length and type of any
 * block. check_filler() has the rules for a filler (a block of zeros), and check_seal() those for a
 * seal (a block with counts). Each function returns false and notes the rule if a rule is broken.
 */
bool check_ours(struct walk *walk, const struct block *block);
bool check_filler(struct walk *walk, const struct block *block);
bool check_seal(struct walk *walk, const struct block *block);

/* get32(), get16() and get64() read the number at @at, which is in the section's byte order. */
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
