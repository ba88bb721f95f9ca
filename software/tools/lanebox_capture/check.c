/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rules of a pcapng file (draft-ietf-opsawg-pcapng), and those of a recording, which
 * gateware/capture/README.md has. check.h says what check_bytes() promises.
 */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litepcie_capture.h"

#define SECTION		0x0a0d0d0au
#define ORDER_MAGIC	0x1a2b3c4du
#define INTERFACE	1u
#define PACKET		2u	/* obsolete, but there are files with it */
#define SIMPLE		3u

#define IF_TSRESOL	9u
#define PACKET_DROPS	4u
#define DEFAULT_RESOLUTION 6	/* of an interface without if_tsresol: microseconds */

#define HEADER_BYTES	LITEPCIE_CAPTURE_HEADER_BYTES
#define FILLER_MOST	4096u
#define SEAL_BYTES	64u
#define SEAL_LONG	72u	/* a seal where 8 bytes would be left in front of it */
#define SEAL_MAGIC	0x4c420001u
#define SEAL_STOPPED	2u	/* reason of a seal */
#define UNIT		8u	/* each block of a recording is a multiple of so many bytes */
#define FRAME_NS	4u	/* the card decides on one frame in a cycle at most */
#define FRAMES_SLACK	1024u	/* frames by which a seal's time and its counts may differ */

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
	/* a filler has come, so only fillers and the seal may follow */
	bool		closing;
	uint64_t	records, bytes;	/* since the last seal */
	uint64_t	seal_records, seal_bytes, seal_time, seal_number;
	uint64_t	end;		/* offset behind the last seal, or behind the header */
	uint64_t	most_lost;	/* frames that can have been lost since the last seal */
	uint64_t	lost;		/* frames lost so far, as the seals count them */
	bool		lost_known;	/* that is so: it is the first file, and no count went round */
};

__attribute__((format(printf, 3, 4)))
static bool broken(struct walk *walk, uint64_t offset, const char *format, ...)
{
	struct check *check = walk->check;
	va_list args;

	check->broken = true;
	check->offset = offset;
	va_start(args, format);
	vsnprintf(check->rule, sizeof(check->rule), format, args);
	va_end(args);
	return false;
}

/* Numbers of a block -------------------------------------------------------------------------- */

static uint32_t get32(const struct walk *walk, const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return walk->swapped ? __builtin_bswap32(value) : value;
}

static uint16_t get16(const struct walk *walk, const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return walk->swapped ? __builtin_bswap16(value) : value;
}

static uint64_t get64(const struct walk *walk, const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return walk->swapped ? __builtin_bswap64(value) : value;
}

/* Returns a packet's time in ns. A time that does not fit is UINT64_MAX. */
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

/* Options ------------------------------------------------------------------------------------- */

/*
 * Call @take for each option between @from and @to, which are offsets in the block. Returns false
 * if an option reaches beyond the end.
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

static void take_resolution(struct walk *walk, uint16_t code, const uint8_t *value, uint16_t bytes)
{
	if (code == IF_TSRESOL && bytes >= 1)
		walk->resolutions[walk->interfaces] = *value;
}

static void take_drops(struct walk *walk, uint16_t code, const uint8_t *value, uint16_t bytes)
{
	if (code == PACKET_DROPS && bytes == 8)
		walk->check->lost += get64(walk, value);
}

/* Sections and interfaces --------------------------------------------------------------------- */

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
	return each_option(walk, block, 24, block->length - 4, ignore);
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
	grown[walk->interfaces] = DEFAULT_RESOLUTION;
	right = each_option(walk, block, 16, block->length - 4, take_resolution);
	walk->interfaces++;
	walk->check->interfaces++;
	return right;
}

/* Packets ------------------------------------------------------------------------------------- */

static bool count_packet(struct walk *walk, uint32_t kept, uint32_t length)
{
	walk->check->packets++;
	walk->check->bytes += length;
	walk->check->kept_bytes += kept;
	walk->records++;
	walk->bytes += length;
	return true;
}

static bool take_time(struct walk *walk, const struct block *block, uint32_t interface)
{
	uint64_t high = get32(walk, block->data + 12);
	uint64_t units = high << 32 | get32(walk, block->data + 16);
	uint64_t ns = nanoseconds(walk->resolutions[interface], units);
	struct check *check = walk->check;

	if (check->timed && ns < check->last_ns) {
		check->unordered = true;
		if (check->ours)
			return broken(walk, block->offset, "the packet's time of %llu ns is before "
				      "that of the last, %llu", (unsigned long long)ns,
				      (unsigned long long)check->last_ns);
	}
	if (!check->timed++)
		check->first_ns = ns;
	check->last_ns = ns;
	return true;
}

static bool check_packet(struct walk *walk, const struct block *block)
{
	bool old = block->type == PACKET;
	uint32_t interface, kept;
	uint64_t lost = walk->check->lost;

	if (block->length < 32)
		return broken(walk, block->offset, "a packet's block has 32 bytes or more, not %u",
			      block->length);
	interface = old ? get16(walk, block->data + 8) : get32(walk, block->data + 8);
	kept = get32(walk, block->data + 20);
	if (interface >= walk->interfaces)
		return broken(walk, block->offset, "the packet is of interface %u, but the section "
			      "has %u", interface, walk->interfaces);
	if (kept > block->length - 32)
		return broken(walk, block->offset, "the packet has %u bytes, but its block has "
			      "room for %u", kept, block->length - 32);
	if (!take_time(walk, block, interface) ||
	    !each_option(walk, block, 28 + ((kept + 3) & ~3u), block->length - 4,
			 old ? ignore : take_drops))
		return false;
	if (walk->check->ours && walk->closing)
		return broken(walk, block->offset, "a packet behind a filler: fillers end an MBUF");
	if (walk->check->lost < lost)
		return broken(walk, block->offset, "the drop counts are more than 2^64");
	return count_packet(walk, kept, get32(walk, block->data + 24));
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

/* Recordings ---------------------------------------------------------------------------------- */

static bool check_filler(struct walk *walk, const struct block *block)
{
	if (block->length > FILLER_MOST)
		return broken(walk, block->offset, "a filler of %u bytes: it has %u at most",
			      block->length, FILLER_MOST);
	for (uint32_t i = 8; i < block->length - 4; i++)
		if (block->data[i])
			return broken(walk, block->offset, "byte %u of a filler is not zero", i);
	/* The header ends with a filler, too. */
	walk->closing = block->offset >= HEADER_BYTES;
	return true;
}

static bool is_mbuf(uint64_t bytes)
{
	return bytes >= LITEPCIE_CAPTURE_MBUF_SMALLEST && bytes <= LITEPCIE_CAPTURE_MBUF_LARGEST &&
	       !(bytes & (bytes - 1));
}

/* The place of a seal gives the size of an MBUF, which must be the same for all seals. */
static bool check_place(struct walk *walk, const struct block *block)
{
	uint64_t bytes = block->offset + block->length - walk->end;
	struct check *check = walk->check;

	if (!check->mbuf_bytes && !is_mbuf(bytes))
		return broken(walk, block->offset, "the first seal ends %llu bytes behind the "
			      "header: an MBUF has a power of two from 4096 to 4194304",
			      (unsigned long long)bytes);
	if (!check->mbuf_bytes)
		check->mbuf_bytes = (uint32_t)bytes;
	if (bytes != check->mbuf_bytes)
		return broken(walk, block->offset, "the seal ends an MBUF of %llu bytes, the "
			      "others have %u", (unsigned long long)bytes, check->mbuf_bytes);
	return true;
}

static bool check_counts(struct walk *walk, const struct block *block)
{
	uint64_t number = get64(walk, block->data + 16), time = get64(walk, block->data + 24);
	uint64_t records = get64(walk, block->data + 32), bytes = get64(walk, block->data + 40);
	struct check *check = walk->check;
	/* Counts before the first MBUF of a later file are not known. */
	bool known = check->mbufs || !number;

	if (check->mbufs && number != walk->seal_number + 1)
		return broken(walk, block->offset, "the seal of MBUF %llu follows that of %llu",
			      (unsigned long long)number, (unsigned long long)walk->seal_number);
	if (time < walk->seal_time || (check->timed && time < check->last_ns))
		return broken(walk, block->offset, "the seal's time of %llu ns is before that of "
			      "what it seals", (unsigned long long)time);
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
	walk->most_lost = (time - walk->seal_time) / FRAME_NS + FRAMES_SLACK;
	walk->seal_number = number;
	walk->seal_time = time;
	walk->seal_records = records;
	walk->seal_bytes = bytes;
	return true;
}

/*
 * Take over the frames that a seal counts as lost for @what. The count is modulo 2^32, so it is
 * smaller than the one before if it has gone round. That takes 17 s: in a shorter time fewer frames
 * can be lost, so a smaller count is wrong.
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

	if (!take_losses(walk, block, &check->lost_ring, get32(walk, block->data + 48), "ring") ||
	    !take_losses(walk, block, &check->lost_staging, get32(walk, block->data + 52),
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

static bool check_seal(struct walk *walk, const struct block *block)
{
	if (block->length != SEAL_BYTES && block->length != SEAL_LONG)
		return broken(walk, block->offset, "a seal has 64 or 72 bytes, not %u",
			      block->length);
	if (get32(walk, block->data + 8) != SEAL_MAGIC)
		return broken(walk, block->offset, "the seal begins with 0x%08x, not 0x%08x",
			      get32(walk, block->data + 8), SEAL_MAGIC);
	if (!check_place(walk, block) || !check_counts(walk, block) || !check_losses(walk, block))
		return false;
	walk->check->mbufs++;
	walk->check->stopped = get16(walk, block->data + 14) == SEAL_STOPPED;
	walk->end = block->offset + block->length;
	walk->records = walk->bytes = 0;
	walk->closing = false;
	return true;
}

/* The rules for any block of a recording. The header is an ordinary section. */
static bool check_ours(struct walk *walk, const struct block *block)
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

/* The walk ------------------------------------------------------------------------------------ */

static bool check_block(struct walk *walk, const struct block *block)
{
	if (block->type == LITEPCIE_PCAPNG_FILLER || block->type == LITEPCIE_PCAPNG_SEAL)
		walk->check->ours = true;
	if (walk->check->ours && !check_ours(walk, block))
		return false;
	switch (block->type) {
	case SECTION:
		return check_section(walk, block);
	case INTERFACE:
		return check_interface(walk, block);
	case LITEPCIE_PCAPNG_RECORD:
	case PACKET:
		return check_packet(walk, block);
	case SIMPLE:
		return check_simple(walk, block);
	case LITEPCIE_PCAPNG_FILLER:
		return check_filler(walk, block);
	case LITEPCIE_PCAPNG_SEAL:
		return check_seal(walk, block);
	default:
		return true;	/* a block of another type, which readers pass over */
	}
}

/* A section says by its magic number in which byte order its lengths are. */
static bool find_order(struct walk *walk, uint64_t offset)
{
	uint32_t magic;

	if (walk->size - offset < 12)
		return broken(walk, offset, "the file ends inside a section header");
	memcpy(&magic, walk->data + offset + 8, sizeof(magic));
	if (magic != ORDER_MAGIC && magic != __builtin_bswap32(ORDER_MAGIC))
		return broken(walk, offset, "the section's byte order is 0x%08x, not 0x%08x", magic,
			      ORDER_MAGIC);
	walk->swapped = magic != ORDER_MAGIC;
	return true;
}

/* Check the frame of the block at @offset: its type, and its length, twice. */
static bool find_block(struct walk *walk, uint64_t offset, struct block *block)
{
	const uint8_t *data = walk->data + offset;
	uint64_t left = walk->size - offset;
	uint32_t type, again;

	if (left < 12)
		return broken(walk, offset, "%llu bytes are left, and a block has 12 or more",
			      (unsigned long long)left);
	memcpy(&type, data, sizeof(type));
	if (!offset && type != SECTION)
		return broken(walk, offset, "the file begins with 0x%08x, a pcapng file with "
			      "0x%08x",
			      type, SECTION);
	if (type == SECTION && !find_order(walk, offset))
		return false;
	*block = (struct block) {
		.offset = offset, .data = data, .type = get32(walk, data),
		.length = get32(walk, data + 4),
	};
	if (block->length < 12 || block->length % 4)
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

/* A recording ends with a seal, or has no MBUF. */
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
