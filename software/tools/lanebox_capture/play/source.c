/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read a pcapng file twice: source_open() checks it, and source_take() copies it. The rules are
 * some of pcapng itself. If the file is to be played, there are also those of the card's player
 * (gateware/capture/player), and all interfaces must be of Ethernet. For a pcap file, a big endian
 * file or a packet that is too long, the error message names an editcap command that converts the
 * file.
 *
 * Another program may change or cut the file after source_open(). So source_take() reads each block
 * into memory of its own and checks it there again, before it copies the block.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../litepcie_util/util.h"
#include "litepcie_capture.h"

#define REVERSED_MAGIC	__builtin_bswap32(LITEPCIE_PCAPNG_ORDER_MAGIC)
#define BLOCK_MOST	((1u << LITEPCIE_PLAYER_BLOCK_BITS) - 1)
#define ORIGINAL_MOST	65535u
#define CHANGED		"offset %zu: another program changes the file"
/*
 * largest number of bytes that are read from a file at a time, except that a longer block is read
 * as a whole
 */
#define WINDOW_BYTES	((size_t)1 << 20)

/*
 * Write to source->why, with the file's path, why the file cannot be read or played. Returns false.
 */
__attribute__((format(printf, 2, 3)))
static bool refuse(struct source *source, const char *format, ...)
{
	int used = snprintf(source->why, sizeof(source->why), "%s: ", source->path);
	va_list args;

	if (used < 0 || (size_t)used >= sizeof(source->why))
		return false;
	va_start(args, format);
	vsnprintf(source->why + used, sizeof(source->why) - (size_t)used, format, args);
	va_end(args);
	return false;
}

/* Reading the file ---------------------------------------------------------------------------- */

static void end_reading(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	free(source->window);
	source->fd = -1;
	source->window = NULL;
	source->window_room = source->window_bytes = 0;
}

/*
 * Open the file source->path, and store its present size in *@size. Returns false with a message in
 * source->why if it cannot be opened, is no regular file or is empty.
 */
static bool begin_reading(struct source *source, size_t *size)
{
	struct stat found;

	/*
	 * Without O_NONBLOCK, open() of a pipe would wait until a program opens the pipe for
	 * writing.
	 */
	source->fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (source->fd < 0 || fstat(source->fd, &found) < 0)
		return refuse(source, "%s", strerror(errno));
	if (!S_ISREG(found.st_mode))
		return refuse(source, "it is no regular file");
	if (!found.st_size)
		return refuse(source, "it has 0 bytes, and so is no pcapng file");
	*size = (size_t)found.st_size;
	return true;
}

/*
 * Read the file from offset @at on into source->window: @bytes, or up to WINDOW_BYTES if that is
 * more and the file has them. Returns false with a message in source->why if the file has fewer
 * than @bytes there or cannot be read, or if there is no memory.
 */
static bool move_window(struct source *source, size_t at, size_t bytes)
{
	size_t most = bytes > WINDOW_BYTES ? bytes : WINDOW_BYTES;

	source->window_at = at;
	source->window_bytes = 0;
	if (most > source->window_room) {
		uint8_t *more = realloc(source->window, most);

		if (!more)
			return refuse(source, "%s", strerror(ENOMEM));
		source->window = more;
		source->window_room = most;
	}
	if (most > source->size - at)
		most = source->size - at;
	while (source->window_bytes < most) {
		ssize_t got = pread(source->fd, source->window + source->window_bytes,
				    most - source->window_bytes,
				    (off_t)(at + source->window_bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return refuse(source, "%s", strerror(errno));
		if (!got)
			break;
		source->window_bytes += (size_t)got;
		source->read_bytes += (uint64_t)got;
	}
	return source->window_bytes >= bytes ||
	       refuse(source, "offset %zu: the file ends inside a block", at);
}

/*
 * Returns the address in memory of the @bytes of the file from offset source->at on, which is valid
 * until the next call of look(). Returns NULL with a message in source->why if move_window() fails.
 */
static const uint8_t *look(struct source *source, size_t bytes)
{
	size_t at = source->at, end = source->window_at + source->window_bytes;

	if ((at < source->window_at || at > end || bytes > end - at) &&
	    !move_window(source, at, bytes))
		return NULL;
	return source->window + (at - source->window_at);
}

/* Interfaces of a section, and their times ---------------------------------------------------- */

/*
 * Read the unit of an interface's times, and the seconds to add to them, from the options of the
 * interface's block, which lie between @data and @end.
 */
static void take_options(struct source_interface *interface, const uint8_t *data,
			 const uint8_t *end)
{
	while (end - data >= 4) {
		uint32_t code = util_word(data) & 0xffff, bytes = util_word(data) >> 16;

		data += 4;
		if (!code || ((bytes + 3) & ~3u) > (size_t)(end - data))
			break;
		if (code == LITEPCIE_PCAPNG_TSRESOL && bytes == 1)
			interface->resolution = *data;
		if (code == LITEPCIE_PCAPNG_TSOFFSET && bytes == 8)
			memcpy(&interface->offset_s, data, sizeof(interface->offset_s));
		data += (bytes + 3) & ~3u;
	}
}

static bool add_interface(struct source *source, const uint8_t *block, uint32_t length)
{
	struct source_interface *more =
		realloc(source->interfaces, (source->count + 1) * sizeof(*more));

	if (!more)
		return refuse(source, "%s", strerror(ENOMEM));
	source->interfaces = more;
	more += source->count++;
	*more = (struct source_interface){
		.link = (uint16_t)util_word(block + 8),
		.resolution = LITEPCIE_PCAPNG_MICROSECONDS,
	};
	take_options(more, block + 16, block + length - 4);
	return true;
}

uint64_t source_ns(const struct source_interface *interface, uint64_t time)
{
	unsigned int power = interface->resolution & 0x7f;
	unsigned __int128 value = (unsigned __int128)time * 1000000000u;

	if (interface->resolution & 0x80) {
		value >>= power;
	} else {
		for (; power && value; power--)
			value /= 10;
	}
	return (uint64_t)value + (uint64_t)interface->offset_s * 1000000000u;
}

/* Checking a file ----------------------------------------------------------------------------- */

static bool look_at_begin(struct source *source)
{
	const uint8_t *block;
	uint32_t first;

	if (source->size < LITEPCIE_PCAPNG_BLOCK_LEAST)
		return refuse(source, "it has %zu bytes, and so is no pcapng file", source->size);
	block = look(source, LITEPCIE_PCAPNG_BLOCK_LEAST);
	if (!block)
		return false;
	first = util_word(block);
	switch (first) {
	case LITEPCIE_PCAPNG_SECTION:
		return true;
	/* pcap has four magic numbers: big or little endian, microseconds or nanoseconds. */
	case 0xa1b2c3d4u: case 0xd4c3b2a1u: case 0xa1b23c4du: case 0x4d3cb2a1u:
		return refuse(source, "it is a file of the older format pcap, and pcapng is "
			      "needed: editcap -F pcapng %s NEW converts it", source->path);
	default:
		return refuse(source, "it begins with %08x and not with a section, so it is no "
			      "pcapng file", first);
	}
}

static bool look_at_section(struct source *source, const uint8_t *block)
{
	uint32_t magic = util_word(block + 8);

	source->count = 0;
	if (magic == LITEPCIE_PCAPNG_ORDER_MAGIC)
		return true;
	if (magic == REVERSED_MAGIC)
		return refuse(source, "offset %zu: the section is big endian, and little endian is "
			      "needed: editcap -F pcapng %s NEW converts it", source->at,
			      source->path);
	return refuse(source, "offset %zu: the section's byte-order magic is %08x: it must be %08x",
		      source->at, magic, LITEPCIE_PCAPNG_ORDER_MAGIC);
}

static bool look_at_interface(struct source *source, const uint8_t *block, uint32_t length)
{
	uint32_t link = util_word(block + 8) & 0xffff;

	if (length < 20)
		return refuse(source, "offset %zu: an interface of %u bytes: it has 20 or more",
			      source->at, length);
	if (source->use != SOURCE_SEARCHED && link != LITEPCIE_LINK_ETHERNET)
		return refuse(source, "offset %zu: interface %u has the link type %u, and the "
			      "card plays only Ethernet, 1", source->at, source->count, link);
	return add_interface(source, block, length);
}

/*
 * Check a packet by the rules of the card's player. It has @kept bytes in the file, and had
 * @original bytes before it was cut. Returns false with a message in source->why if a rule is
 * broken.
 */
static bool can_be_played(struct source *source, uint32_t interface, uint32_t kept,
			  uint32_t original)
{
	if (kept > LITEPCIE_CAPTURE_FRAME_MOST)
		return refuse(source, "offset %zu: a packet of %u bytes: a frame has at most %u; "
			      "editcap -s %u %s NEW cuts longer ones", source->at, kept,
			      LITEPCIE_CAPTURE_FRAME_MOST, LITEPCIE_CAPTURE_FRAME_MOST,
			      source->path);
	if (original > ORIGINAL_MOST)
		return refuse(source, "offset %zu: a packet that had %u bytes: the card counts up "
			      "to %u", source->at, original, ORIGINAL_MOST);
	if (source->use == SOURCE_PLAYED && interface >= LITEPCIE_CAPTURE_PORTS)
		return refuse(source, "offset %zu: a packet of interface %u: there are ports 0 to "
			      "%u; --port N lets all packets come from one", source->at, interface,
			      LITEPCIE_CAPTURE_PORTS - 1);
	return true;
}

/*
 * Check an Enhanced Packet Block of @length bytes by the rules of pcapng, and by those of the
 * card's player if the file is to be played. Returns false with a message in source->why if a rule
 * is broken.
 */
static bool look_at_packet(struct source *source, const uint8_t *block, uint32_t length)
{
	uint32_t interface = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_PORT), kept, original;

	if (length < LITEPCIE_PCAPNG_RECORD_LEAST)
		return refuse(source, "offset %zu: a packet's block of %u bytes: it has %u or more",
			      source->at, length, LITEPCIE_PCAPNG_RECORD_LEAST);
	kept = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_KEPT);
	original = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_LENGTH);
	if (kept > length - LITEPCIE_PCAPNG_RECORD_LEAST)
		return refuse(source, "offset %zu: a packet of %u bytes in a block of %u: it "
			      "reaches beyond its block", source->at, kept, length);
	if (interface >= source->count)
		return refuse(source, "offset %zu: a packet of interface %u: the section has %u",
			      source->at, interface, source->count);
	return source->use == SOURCE_SEARCHED || can_be_played(source, interface, kept, original);
}

/*
 * Check the block at source->at, and set source->length to its length. A block of an interface adds
 * the interface to source->interfaces. Returns false with a message in source->why if the block
 * cannot be read, or breaks a rule.
 */
static bool look_at_block(struct source *source)
{
	const uint8_t *block = look(source, LITEPCIE_PCAPNG_BLOCK_LEAST);
	size_t left = source->size - source->at;
	uint32_t type, length;

	if (!block)
		return false;
	length = util_word(block + 4);
	if (length > LITEPCIE_PCAPNG_BLOCK_LEAST && length <= BLOCK_MOST && length <= left) {
		block = look(source, length);
		if (!block)
			return false;
	}
	if (util_word(block + 4) != length)
		return refuse(source, CHANGED, source->at);
	type = util_word(block);
	/*
	 * The byte order of a section is checked before the length of its block, since the length
	 * is in that byte order.
	 */
	if (type == LITEPCIE_PCAPNG_SECTION && !look_at_section(source, block))
		return false;
	if (length < LITEPCIE_PCAPNG_BLOCK_LEAST || length % 4 || length > BLOCK_MOST)
		return refuse(source, "offset %zu: a block of %u bytes: it must be a multiple of 4 "
			      "from %u to %u", source->at, length, LITEPCIE_PCAPNG_BLOCK_LEAST,
			      BLOCK_MOST & ~3u);
	if (length > left)
		return refuse(source, "offset %zu: the file ends inside a block of %u bytes",
			      source->at, length);
	if (util_word(block + length - 4) != length)
		return refuse(source, "offset %zu: a block of %u bytes has the length %u at its "
			      "end", source->at, length, util_word(block + length - 4));
	if (type == LITEPCIE_PCAPNG_INTERFACE && !look_at_interface(source, block, length))
		return false;
	if (type == LITEPCIE_PCAPNG_RECORD && !look_at_packet(source, block, length))
		return false;
	source->length = length;
	return true;
}

/* Add the block at source->at, which look_at_block() has checked, to the counts of the file. */
static void count_block(struct source *source)
{
	const uint8_t *block = look(source, source->length);
	uint32_t type = util_word(block), kept;

	source->blocks++;
	source->timeless += type == LITEPCIE_PCAPNG_OLD_PACKET ||
			    type == LITEPCIE_PCAPNG_SIMPLE_PACKET;
	if (type == LITEPCIE_PCAPNG_RECORD) {
		kept = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_KEPT);
		source->packets += kept != 0;
		source->empty += kept == 0;
		source->bytes += kept;
	}
}

/* Go from the present block of the file to the next one, past the gap if the gap begins there. */
static void step(struct source *source)
{
	source->at += source->length;
	if (source->at == source->gap_at)
		source->at = source->gap_to;
}

/* Check all blocks of the file up to offset @end, or up to its end if it is shorter. */
static bool look_at_all(struct source *source, size_t end)
{
	if (!begin_reading(source, &source->size))
		return false;
	if (end < source->size)
		source->size = end;
	if (!look_at_begin(source))
		return false;
	while (source->at < source->size) {
		if (!look_at_block(source))
			return false;
		count_block(source);
		step(source);
	}
	source->at = 0;
	source->length = source->count = 0;
	source->left = source->blocks;
	return true;
}

static bool open_part(struct source *source, size_t end)
{
	bool right = look_at_all(source, end);

	end_reading(source);
	return right;
}

bool source_open(struct source *source, const char *path, enum source_use use)
{
	*source = (struct source){ .path = path, .use = use, .fd = -1 };
	return open_part(source, SIZE_MAX);
}

bool source_open_part(struct source *source, const char *path, size_t gap_at, size_t gap_to,
		      size_t end)
{
	*source = (struct source){
		.path = path, .use = SOURCE_SEARCHED, .fd = -1, .gap_at = gap_at, .gap_to = gap_to,
	};
	return open_part(source, end);
}

void source_close(struct source *source)
{
	end_reading(source);
	free(source->interfaces);
	*source = (struct source){ .fd = -1 };
}

/* Copying a file for the player --------------------------------------------------------------- */

/*
 * Copy the first SOURCE_HEAD bytes of @block, an Enhanced Packet Block, to source->head, and
 * replace the packet's time there by its time in ns. source->time gets the time as it is in @block.
 */
static void convert_time(struct source *source, const uint8_t *block)
{
	uint32_t interface = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_PORT);
	uint64_t time = source_ns(&source->interfaces[interface], source_time(block));
	uint32_t high = (uint32_t)(time >> 32), low = (uint32_t)time;

	memcpy(source->time, block + LITEPCIE_PCAPNG_RECORD_AT_TIME, SOURCE_TIME);
	memcpy(source->head, block, SOURCE_HEAD);
	memcpy(source->head + LITEPCIE_PCAPNG_RECORD_AT_TIME, &high, sizeof(high));
	memcpy(source->head + LITEPCIE_PCAPNG_RECORD_AT_TIME + 4, &low, sizeof(low));
}

uint32_t source_next(struct source *source)
{
	const uint8_t *block;
	size_t size;

	if (source->length || *source->why)
		return source->length;
	/*
	 * The file must end exactly when as many blocks were taken as source_open() has counted.
	 * Otherwise the command play would wait for blocks that do not come, or send more than it
	 * has counted.
	 */
	if (!source->left != (source->at >= source->size)) {
		refuse(source, CHANGED, source->at);
		return 0;
	}
	if (!source->left)
		return 0;
	if ((source->fd < 0 && !begin_reading(source, &size)) || !look_at_block(source))
		return 0;
	block = look(source, source->length);
	if (util_word(block) == LITEPCIE_PCAPNG_RECORD)
		convert_time(source, block);
	source->given = 0;
	return source->length;
}

size_t source_take(struct source *source, uint8_t *to, size_t room)
{
	size_t taken = 0;

	while (taken < room && source_next(source)) {
		const uint8_t *block = look(source, source->length), *from = block + source->given;
		size_t part = source->length - source->given;

		if (util_word(block) == LITEPCIE_PCAPNG_RECORD && source->given < SOURCE_HEAD) {
			from = source->head + source->given;
			part = SOURCE_HEAD - source->given;
		}
		if (part > room - taken)
			part = room - taken;
		memcpy(to + taken, from, part);
		taken += part;
		source->given += part;
		if (source->given == source->length) {
			step(source);
			source->length = 0;
			source->left--;
		}
	}
	if (source->at >= source->size || *source->why)
		end_reading(source);
	return taken;
}

size_t source_padding(uint64_t bytes, uint8_t *to)
{
	const uint32_t type = LITEPCIE_PCAPNG_FILLER;
	uint32_t length = (uint32_t)(-bytes % LITEPCIE_BEAT_BYTES);

	if (!length)
		return 0;
	if (length < LITEPCIE_PCAPNG_BLOCK_LEAST)
		length += LITEPCIE_BEAT_BYTES;
	memset(to, 0, length);
	memcpy(to, &type, sizeof(type));
	memcpy(to + 4, &length, sizeof(length));
	memcpy(to + length - 4, &length, sizeof(length));
	return length;
}
