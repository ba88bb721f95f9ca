/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rules of a pcapng file (draft-ietf-opsawg-pcapng). check.h says what check_bytes() promises.
 * check_recording.c has most of the rules that only a recording of lanebox-capture must keep.
 */
#include "check_walk.h"
#include "record/deal_comment.h"

#include <stdlib.h>
#include <string.h>

/*
 * Returns a packet's time in ns. @units is the time in the packet's block. @resolution, the option
 * if_tsresol of the packet's interface, says what unit that time has. A time that does not fit into
 * 64 bits becomes UINT64_MAX.
 */
static uint64_t nanoseconds(uint8_t resolution, uint64_t units)
{
	unsigned __int128 ns = units;
	unsigned int n = resolution & 0x7f;

	if (resolution & 0x80) {
		ns = n < 96 ? ns * 1000000000u >> n : 0;
	} else {
		for (; n < 9; n++)
			ns *= 10;
		for (; n > 9 && ns; n--)
			ns /= 10;
	}
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Checks of the options of a block ------------------------------------------------------------ */

/*
 * Call @take for each option between @from and @to, which are offsets in the block, up to the
 * option that marks the end (code 0). Returns false if an option reaches beyond @to.
 */
static bool each_option(struct walk *walk, const struct block *block, uint32_t from, uint32_t to,
			void (*take)(struct walk *walk, uint16_t code, const uint8_t *value,
				     uint16_t bytes))
{
	while (to - from >= 4) {
		uint16_t code = get16(walk, block->data + from);
		uint32_t bytes = get16(walk, block->data + from + 2);

		if (!code)
			return true;
		from += 4;
		if (bytes > to - from || ((bytes + 3) & ~3u) > to - from)
			return broken(walk, block->offset, "option %u has %u bytes, but the block "
				      "has %u left", code, bytes, to - from);
		take(walk, code, block->data + from, (uint16_t)bytes);
		from += (bytes + 3) & ~3u;
	}
	return true;
}

static void ignore(struct walk *walk, uint16_t code, const uint8_t *value, uint16_t bytes)
{
	(void)walk;
	(void)code;
	(void)value;
	(void)bytes;
}

/*
 * Look at an option of a section header. A comment that begins with DEAL_COMMENT says that the
 * recording is in several folders, and sets walk->dealt.
 */
static void take_comment(struct walk *walk, uint16_t code, const uint8_t *value, uint16_t bytes)
{
	if (code == DEAL_COMMENT_CODE && bytes >= strlen(DEAL_COMMENT) &&
	    memcmp(value, DEAL_COMMENT, strlen(DEAL_COMMENT)) == 0)
		walk->dealt = true;
}

static void take_resolution(struct walk *walk, uint16_t code, const uint8_t *value, uint16_t bytes)
{
	if (code == LITEPCIE_PCAPNG_TSRESOL && bytes >= 1)
		walk->resolutions[walk->interfaces] = *value;
}

static void take_drops(struct walk *walk, uint16_t code, const uint8_t *value, uint16_t bytes)
{
	if (code == LITEPCIE_PCAPNG_DROPPED && bytes == 8)
		walk->check->lost += get64(walk, value);
}

/* Checks of sections and interfaces ----------------------------------------------------------- */

static bool check_section(struct walk *walk, const struct block *block)
{
	uint16_t major;

	if (block->length < 28)
		return broken(walk, block->offset, "a section header has 28 bytes or more, not %u",
			      block->length);
	major = get16(walk, block->data + 12);
	if (major != 1)
		return broken(walk, block->offset, "the section has version %u of pcapng, not 1",
			      major);
	walk->interfaces = 0;
	walk->dealt = false;
	return each_option(walk, block, DEAL_OPTIONS_AT, block->length - 4, take_comment);
}

static bool check_interface(struct walk *walk, const struct block *block)
{
	uint8_t *grown;
	bool right;

	if (block->length < 20)
		return broken(walk, block->offset, "an interface has 20 bytes or more, not %u",
			      block->length);
	grown = realloc(walk->resolutions, walk->interfaces + 1);
	if (!grown)
		return broken(walk, block->offset, "no memory for interface %u", walk->interfaces);
	walk->resolutions = grown;
	grown[walk->interfaces] = LITEPCIE_PCAPNG_MICROSECONDS;
	right = each_option(walk, block, 16, block->length - 4, take_resolution);
	walk->interfaces++;
	walk->check->interfaces++;
	return right;
}

/* Checks of blocks with a packet -------------------------------------------------------------- */

static bool count_packet(struct walk *walk, uint32_t kept, uint32_t length)
{
	walk->check->packets++;
	walk->check->bytes += length;
	walk->check->kept_bytes += kept;
	walk->records++;
	walk->bytes += length;
	return true;
}

/*
 * Take the time of the packet in @block. If it is before that of the packet in front, the packets
 * are reported as not in order, but no rule is broken. Files of other programs may have packets in
 * any order, and a recording may have frames of `play --keep-time`, which have the times of the
 * played file. A recording does not say which frames these are.
 */
static void take_time(struct walk *walk, const struct block *block, uint32_t interface)
{
	const uint8_t *time = block->data + LITEPCIE_PCAPNG_RECORD_AT_TIME;
	uint64_t units = (uint64_t)get32(walk, time) << 32 | get32(walk, time + 4);
	uint64_t ns = nanoseconds(walk->resolutions[interface], units);
	struct check *check = walk->check;

	if (check->timed && ns < check->last_ns)
		check->unordered = true;
	if (!check->timed++)
		check->first_ns = ns;
	check->last_ns = ns;
}

static bool check_packet(struct walk *walk, const struct block *block)
{
	const uint8_t *port = block->data + LITEPCIE_PCAPNG_RECORD_AT_PORT;
	bool old = block->type == LITEPCIE_PCAPNG_OLD_PACKET;
	uint32_t interface, kept, room;
	uint64_t lost = walk->check->lost;

	if (block->length < LITEPCIE_PCAPNG_RECORD_LEAST)
		return broken(walk, block->offset, "a packet's block has %u bytes or more, not %u",
			      LITEPCIE_PCAPNG_RECORD_LEAST, block->length);
	interface = old ? get16(walk, port) : get32(walk, port);
	kept = get32(walk, block->data + LITEPCIE_PCAPNG_RECORD_AT_KEPT);
	room = block->length - LITEPCIE_PCAPNG_RECORD_LEAST;
	if (interface >= walk->interfaces)
		return broken(walk, block->offset, "the packet is of interface %u, but the section "
			      "has %u", interface, walk->interfaces);
	if (kept > room)
		return broken(walk, block->offset, "the packet has %u bytes, but its block has "
			      "room for %u", kept, room);
	take_time(walk, block, interface);
	if (!each_option(walk, block, LITEPCIE_PCAPNG_RECORD_AT_DATA + ((kept + 3) & ~3u),
			 block->length - 4, old ? ignore : take_drops))
		return false;
	if (walk->check->ours && walk->closing)
		return broken(walk, block->offset, "a packet behind a filler: fillers end an MBUF");
	if (walk->check->lost < lost)
		return broken(walk, block->offset, "the drop counts are more than 2^64");
	return count_packet(walk, kept, get32(walk, block->data + LITEPCIE_PCAPNG_RECORD_AT_LENGTH));
}

static bool check_simple(struct walk *walk, const struct block *block)
{
	uint32_t length, room;

	if (block->length < 16)
		return broken(walk, block->offset, "a simple packet has 16 bytes or more, not %u",
			      block->length);
	if (!walk->interfaces)
		return broken(walk, block->offset, "a simple packet, but the section has "
			      "no interface");
	length = get32(walk, block->data + 8);
	room = block->length - 16;
	return count_packet(walk, length < room ? length : room, length);
}

/* The walk from block to block ---------------------------------------------------------------- */

static bool check_block(struct walk *walk, const struct block *block)
{
	if (block->type == LITEPCIE_PCAPNG_FILLER || block->type == LITEPCIE_PCAPNG_SEAL)
		walk->check->ours = true;
	if (walk->check->ours && !check_ours(walk, block))
		return false;
	switch (block->type) {
	case LITEPCIE_PCAPNG_SECTION:
		return check_section(walk, block);
	case LITEPCIE_PCAPNG_INTERFACE:
		return check_interface(walk, block);
	case LITEPCIE_PCAPNG_RECORD:
	case LITEPCIE_PCAPNG_OLD_PACKET:
		return check_packet(walk, block);
	case LITEPCIE_PCAPNG_SIMPLE_PACKET:
		return check_simple(walk, block);
	case LITEPCIE_PCAPNG_FILLER:
		return check_filler(walk, block);
	case LITEPCIE_PCAPNG_SEAL:
		return check_seal(walk, block);
	default:
		/* Programs that read pcapng must skip blocks of types that they do not know. */
		return true;
	}
}

/*
 * Find the byte order of a section by its magic number. Returns false if the file ends before the
 * number, or if the number is wrong.
 */
static bool find_order(struct walk *walk, uint64_t offset)
{
	uint32_t magic;

	if (walk->size - offset < 12)
		return broken(walk, offset, "the file ends inside a section header");
	memcpy(&magic, walk->data + offset + 8, sizeof(magic));
	if (magic != LITEPCIE_PCAPNG_ORDER_MAGIC &&
	    magic != __builtin_bswap32(LITEPCIE_PCAPNG_ORDER_MAGIC))
		return broken(walk, offset, "the section's byte order is 0x%08x, not 0x%08x", magic,
			      LITEPCIE_PCAPNG_ORDER_MAGIC);
	walk->swapped = magic != LITEPCIE_PCAPNG_ORDER_MAGIC;
	return true;
}

/*
 * Fill in @block for the block at @offset. Returns false if the bytes that are left are too few for
 * the block, its length at the beginning is wrong or another than at the end, the file's first
 * block is no section header, or find_order() fails.
 */
static bool find_block(struct walk *walk, uint64_t offset, struct block *block)
{
	const uint8_t *data = walk->data + offset;
	uint64_t left = walk->size - offset;
	uint32_t type, again;

	if (left < LITEPCIE_PCAPNG_BLOCK_LEAST)
		return broken(walk, offset, "%llu bytes are left, and a block has 12 or more",
			      (unsigned long long)left);
	memcpy(&type, data, sizeof(type));
	if (!offset && type != LITEPCIE_PCAPNG_SECTION)
		return broken(walk, offset, "the file begins with 0x%08x, a pcapng file with "
			      "0x%08x",
			      type, LITEPCIE_PCAPNG_SECTION);
	if (type == LITEPCIE_PCAPNG_SECTION && !find_order(walk, offset))
		return false;
	*block = (struct block) {
		.offset = offset, .data = data, .type = get32(walk, data),
		.length = get32(walk, data + 4),
	};
	if (block->length < LITEPCIE_PCAPNG_BLOCK_LEAST || block->length % 4)
		return broken(walk, offset, "a block of %u bytes: it has 12 or more, a multiple "
			      "of 4",
			      block->length);
	if (block->length > left)
		return broken(walk, offset, "the block has %u bytes, but the file ends after %llu",
			      block->length, (unsigned long long)left);
	again = get32(walk, data + block->length - 4);
	if (again != block->length)
		return broken(walk, offset, "the block's length is %u at its beginning and %u "
			      "at its end",
			      block->length, again);
	return true;
}

/*
 * Check the end of a recording of lanebox-capture: its file must end with a seal (block with
 * counts), or with the header. Returns true for any other file.
 */
static bool check_end(struct walk *walk)
{
	if (!walk->check->ours || walk->size == walk->end)
		return true;
	if (walk->size < HEADER_BYTES)
		return broken(walk, walk->size, "the file ends after %llu bytes: the header of a "
			      "recording has %u", (unsigned long long)walk->size, HEADER_BYTES);
	return broken(walk, walk->end, "the file ends %llu bytes behind the last seal: a recording "
		      "has whole MBUFs", (unsigned long long)(walk->size - walk->end));
}

bool check_bytes(struct check *check, const uint8_t *data, size_t size)
{
	struct walk walk = { .check = check, .data = data, .size = size, .end = HEADER_BYTES };
	struct block block = { 0 };
	bool right = true;

	memset(check, 0, sizeof(*check));
	if (!size)
		return broken(&walk, 0, "the file is empty: a pcapng file begins with a "
			      "section header");
	for (uint64_t offset = 0; right && offset < size; offset += block.length) {
		right = find_block(&walk, offset, &block);
		if (right)
			right = check_block(&walk, &block);
	}
	if (right)
		right = check_end(&walk);
	free(walk.resolutions);
	return right;
}
