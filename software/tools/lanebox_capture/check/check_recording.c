/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rules that only a recording of lanebox-capture must keep. gateware/capture/README.md explains
 * its blocks. check_walk.h declares what this file shares with check.c.
 */
#include "check_walk.h"

#define FILLER_MOST	4096u
#define SEAL(_block, _field)	((_block)->data + LITEPCIE_CAPTURE_SEAL_AT_##_field)
/*
 * in an MBUF (part of a recording) the length of each block is a multiple of this number of bytes
 */
#define UNIT		8u
/*
 * It breaks no rule if the counts of lost frames in a seal (block with counts) include up to this
 * many frames that were lost after the time in the seal.
 */
#define FRAMES_SLACK	1024u

bool check_filler(struct walk *walk, const struct block *block)
{
	if (block->length > FILLER_MOST)
		return broken(walk, block->offset, "a filler of %u bytes: it has %u at most",
			      block->length, FILLER_MOST);
	for (uint32_t i = 8; i < block->length - 4; i++)
		if (block->data[i])
			return broken(walk, block->offset, "byte %u of a filler is not zero", i);
	/*
	 * In an MBUF (part of a recording) only more fillers and the seal, its last block, may
	 * follow a filler (block of zeros). That does not hold for the filler in the file's header,
	 * which MBUFs follow.
	 */
	walk->closing = block->offset >= HEADER_BYTES;
	return true;
}

static bool is_mbuf(uint64_t bytes)
{
	return bytes >= LITEPCIE_CAPTURE_MBUF_LEAST && bytes <= LITEPCIE_CAPTURE_MBUF_MOST &&
	       !(bytes & (bytes - 1));
}

/*
 * Check at which offset a seal, the last block of an MBUF (part of a recording), ends. The end of
 * the file's first seal gives the size of an MBUF. All other MBUFs of the file must have the same
 * size.
 */
static bool check_place(struct walk *walk, const struct block *block)
{
	uint64_t bytes = block->offset + block->length - walk->end;
	struct check *check = walk->check;

	if (!check->mbuf_bytes && !is_mbuf(bytes))
		return broken(walk, block->offset, "the first seal ends %llu bytes behind the "
			      "header: an MBUF has a power of two from %u to %u",
			      (unsigned long long)bytes, LITEPCIE_CAPTURE_MBUF_LEAST,
			      LITEPCIE_CAPTURE_MBUF_MOST);
	if (!check->mbuf_bytes)
		check->mbuf_bytes = (uint32_t)bytes;
	if (bytes != check->mbuf_bytes)
		return broken(walk, block->offset, "the seal ends an MBUF of %llu bytes, the "
			      "others have %u", (unsigned long long)bytes, check->mbuf_bytes);
	return true;
}

static bool check_counts(struct walk *walk, const struct block *block)
{
	uint64_t number = get64(walk, SEAL(block, NUMBER)), time = get64(walk, SEAL(block, TIME));
	uint64_t records = get64(walk, SEAL(block, RECORDS)), bytes = get64(walk, SEAL(block, BYTES));
	struct check *check = walk->check;
	bool follows = check->mbufs && number == walk->seal_number + 1;
	/*
	 * A seal's counts of records and bytes are sums since the recording began. They can be
	 * checked only if the MBUF before (part of a recording) is in this file, too, or if the
	 * seal is that of MBUF 0, the recording's first.
	 */
	bool known = follows || !number;

	if (check->mbufs && !follows && (!walk->dealt || number <= walk->seal_number))
		return broken(walk, block->offset, "the seal of MBUF %llu follows that of %llu",
			      (unsigned long long)number, (unsigned long long)walk->seal_number);
	/*
	 * A seal has the time of the card's clock. The packets of its MBUF (part of a recording)
	 * may have the times of a file that was played with --keep-time, so a seal's time is
	 * compared only with that of the last seal.
	 */
	if (time < walk->seal_time)
		return broken(walk, block->offset, "the seal's time of %llu ns is before that of "
			      "the last seal, %llu", (unsigned long long)time,
			      (unsigned long long)walk->seal_time);
	if (known && records - walk->seal_records != walk->records)
		return broken(walk, block->offset, "the seal counts %llu records in MBUF %llu, it "
			      "has %llu", (unsigned long long)(records - walk->seal_records),
			      (unsigned long long)number, (unsigned long long)walk->records);
	if (known && bytes - walk->seal_bytes != walk->bytes)
		return broken(walk, block->offset, "the seal counts %llu bytes of frames in MBUF "
			      "%llu, it has %llu", (unsigned long long)(bytes - walk->seal_bytes),
			      (unsigned long long)number, (unsigned long long)walk->bytes);
	if (!check->mbufs)
		check->first_mbuf = number;
	/* The card loses at most one frame in a clock cycle, which is one tick of its time. */
	walk->most_lost = (time - walk->seal_time) / LITEPCIE_TICK_NS + FRAMES_SLACK;
	walk->seal_number = number;
	walk->seal_time = time;
	walk->seal_records = records;
	walk->seal_bytes = bytes;
	return true;
}

/*
 * Add the frames that were lost between the previous seal (block with counts) in this file and the
 * present one, for @what, "ring" or "staging memory", to walk->lost. *@count is the count of such
 * frames in the previous seal, 0 before the first, and becomes @now, the count in the present seal.
 * The counts are modulo 2^32, and take at least 17 s to wrap. An increase that is more than the
 * card can lose in the time between the two seals breaks a rule.
 */
static bool take_losses(struct walk *walk, const struct block *block, uint32_t *count,
			uint32_t now, const char *what)
{
	uint32_t more = now - *count;

	if (walk->check->mbufs && more > walk->most_lost)
		return broken(walk, block->offset, "the seal counts %u frames lost for the %s, the "
			      "one before %u: in the time between %llu can be lost", now, what,
			      *count, (unsigned long long)walk->most_lost);
	walk->lost += more;
	*count = now;
	return true;
}

static bool check_losses(struct walk *walk, const struct block *block)
{
	struct check *check = walk->check;

	if (!take_losses(walk, block, &check->lost_ring, get32(walk, SEAL(block, LOST_RING)), "ring") ||
	    !take_losses(walk, block, &check->lost_staging, get32(walk, SEAL(block, LOST_STAGING)),
			 "staging memory"))
		return false;
	if (!check->mbufs)
		walk->lost_known = !walk->seal_number;
	else if (walk->most_lost > UINT32_MAX)
		walk->lost_known = false;
	if (walk->lost_known && check->lost > walk->lost)
		return broken(walk, block->offset, "the packets' drop counts are %llu, but the "
			      "seal counts %llu lost frames", (unsigned long long)check->lost,
			      (unsigned long long)walk->lost);
	return true;
}

bool check_seal(struct walk *walk, const struct block *block)
{
	/*
	 * If 8 bytes would be left in front of a seal (the last block of an MBUF), which are too
	 * few for a filler, the card writes a seal that is 8 bytes longer.
	 */
	if (block->length != LITEPCIE_CAPTURE_SEAL_BYTES &&
	    block->length != LITEPCIE_CAPTURE_SEAL_LONG)
		return broken(walk, block->offset, "a seal has %u or %u bytes, not %u",
			      LITEPCIE_CAPTURE_SEAL_BYTES, LITEPCIE_CAPTURE_SEAL_LONG,
			      block->length);
	if (get32(walk, SEAL(block, MAGIC)) != LITEPCIE_CAPTURE_SEAL_MAGIC)
		return broken(walk, block->offset, "the seal begins with 0x%08x, not 0x%08x",
			      get32(walk, SEAL(block, MAGIC)), LITEPCIE_CAPTURE_SEAL_MAGIC);
	if (!check_place(walk, block) || !check_counts(walk, block) || !check_losses(walk, block))
		return false;
	walk->check->mbufs++;
	walk->check->stopped = get16(walk, SEAL(block, REASON)) == LITEPCIE_CAPTURE_SEAL_STOPPED;
	walk->end = block->offset + block->length;
	walk->records = walk->bytes = 0;
	walk->closing = false;
	return true;
}

bool check_ours(struct walk *walk, const struct block *block)
{
	uint32_t mbuf = walk->check->mbuf_bytes, type = block->type;
	uint64_t end = block->offset + block->length;

	if (block->offset < HEADER_BYTES && (end > HEADER_BYTES || type == LITEPCIE_PCAPNG_SEAL))
		return broken(walk, block->offset, "a block of type 0x%08x ends at %llu: a "
			      "recording has %u bytes of header, and MBUFs behind it", type,
			      (unsigned long long)end, HEADER_BYTES);
	if (block->offset < HEADER_BYTES)
		return true;
	if (block->length % UNIT)
		return broken(walk, block->offset, "a block of a recording is a multiple of 8 "
			      "bytes, not %u", block->length);
	if (type != LITEPCIE_PCAPNG_RECORD && type != LITEPCIE_PCAPNG_FILLER &&
	    type != LITEPCIE_PCAPNG_SEAL)
		return broken(walk, block->offset, "block type 0x%08x: an MBUF has packets, "
			      "fillers and a seal", type);
	if (mbuf && end > walk->end + mbuf)
		return broken(walk, block->offset, "the block ends behind its MBUF, which ends "
			      "at %llu",
			      (unsigned long long)(walk->end + mbuf));
	if (mbuf && end == walk->end + mbuf && type != LITEPCIE_PCAPNG_SEAL)
		return broken(walk, block->offset, "the last block of an MBUF is its seal, not "
			      "type 0x%08x", type);
	return true;
}
