/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read a pcapng file in the form that the card's player takes: all blocks unchanged, except that
 * the times in Enhanced Packet Blocks are in ns. source_open() checks the whole file. If the file
 * is to be played and the player cannot play it, source_open() refuses it with a message that says
 * why.
 */
#ifndef LANEBOX_CAPTURE_SOURCE_H
#define LANEBOX_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "litepcie_capability.h"

#define SOURCE_WHY	320	/* size of an error message, with its terminating 0 */
/* number of bytes of an Enhanced Packet Block before the packet's data */
#define SOURCE_HEAD	LITEPCIE_PCAPNG_RECORD_AT_DATA
/* number of bytes of the time in an Enhanced Packet Block */
#define SOURCE_TIME	8u

/* What a file is read for, which decides what rules it must keep besides those of pcapng. */
enum source_use {
	/* The card plays it: packets are of Ethernet, and those of interface n are for port n. */
	SOURCE_PLAYED,
	/* The card plays it from one port: packets are of Ethernet, and of any interface. */
	SOURCE_PLAYED_BY_ONE,
	/* It is not played: packets have any size, any link type and any interface. */
	SOURCE_SEARCHED,
};

/* A pcapng interface of the section that is being read. */
struct source_interface {
	uint16_t	link;		/* link type of the interface's packets */
	/* the interface's option if_tsresol, which says what unit its packets' times have */
	uint8_t		resolution;
	/* the interface's option if_tsoffset: seconds to add to its packets' times */
	int64_t		offset_s;
};

struct source {
	const char	*path;
	enum source_use	use;
	/*
	 * number of bytes that the file had when source_open() opened it, or the end of the part
	 * that source_open_part() was given
	 */
	size_t		size;
	/* The bytes of the file from offset @gap_at up to @gap_to are passed over, if it has some. */
	size_t		gap_at, gap_to;
	uint64_t	read_bytes;	/* number of bytes that were read from the file so far */
	/*
	 * @fd: the file's descriptor while it is read, or -1. @window is memory of @window_room
	 * bytes. It has @window_bytes bytes of the file, from offset @window_at on.
	 */
	int		fd;
	uint8_t		*window;
	size_t		window_room, window_at, window_bytes;
	/*
	 * Counts of the whole file, by source_open(): all blocks, the packets with data and their
	 * bytes in the file, and the two kinds of packets that the card cannot play: those without
	 * data (@empty), and those in block types that have no time or are obsolete (@timeless).
	 */
	uint64_t	blocks, packets, bytes, empty, timeless;
	/*
	 * The members up to @head say how far source_take() has come. The present block is the
	 * block that source_take() copies or will copy next.
	 */
	size_t		at;		/* offset in bytes of the present block in the file */
	/* length in bytes of the present block; 0: it was not checked yet */
	uint32_t	length;
	/* number of bytes of the present block that source_take() has copied */
	size_t		given;
	uint64_t	left;		/* number of blocks of the file from the present one on */
	/*
	 * if the present block is an Enhanced Packet Block: its first bytes, with the packet's time
	 * in ns
	 */
	uint8_t		head[SOURCE_HEAD];
	/*
	 * if the present block is an Enhanced Packet Block: the packet's time as it is in the file
	 */
	uint8_t		time[SOURCE_TIME];
	/* interfaces so far of the section that is being read */
	struct source_interface *interfaces;
	uint32_t	count;		/* number of @interfaces in use */
	char		why[SOURCE_WHY];
};

/*
 * Returns the time in @block, an Enhanced Packet Block. In a file it is in the unit of the packet's
 * interface, and in a block that source_take() has copied it is in ns.
 */
static inline uint64_t source_time(const uint8_t *block)
{
	uint64_t halves;

	memcpy(&halves, block + LITEPCIE_PCAPNG_RECORD_AT_TIME, sizeof(halves));
	return halves << 32 | halves >> 32;
}

/*
 * Check all blocks of the regular file at @path, and prepare source_take(). Returns false with a
 * message in source->why if the file cannot be read, or if @use needs a file that the card can play
 * and this file is none. Call source_close() in both cases.
 */
bool source_open(struct source *source, const char *path, enum source_use use);

/*
 * Do what source_open() does with SOURCE_SEARCHED for a part of the file: its first @gap_at bytes,
 * which may be 0, and the bytes from offset @gap_to up to @end. Blocks must begin or end at each of
 * these offsets.
 */
bool source_open_part(struct source *source, const char *path, size_t gap_at, size_t gap_to,
		      size_t end);

/*
 * Returns a packet's time in ns, modulo 2^64. @time is the time in the packet's block. Its unit,
 * and the seconds to add to it, are those of @interface.
 */
uint64_t source_ns(const struct source_interface *interface, uint64_t time);

/*
 * Returns the length in bytes of the block that source_take() copies next or has copied in part.
 * Returns 0 at the end of the file, and after a failure, whose message is in source->why: the file
 * cannot be read, there is no memory, or another program has changed or cut the file.
 */
uint32_t source_next(struct source *source);

/*
 * Copy the next bytes of the file to @to, at most @room, with the times of Enhanced Packet Blocks
 * in ns. Returns the number of bytes. If it is less than @room, the file has ended, or
 * source_next() has failed.
 */
size_t source_take(struct source *source, uint8_t *to, size_t room);

void source_close(struct source *source);

/*
 * Write to @to the block of padding that must follow the files. The player skips it. The files have
 * @bytes, and with the block they have a multiple of 32 bytes, the unit in which the card takes
 * data (a beat). Returns the size of the block, 43 bytes at most, or 0 if no block is needed.
 */
size_t source_padding(uint64_t bytes, uint8_t *to);

#endif /* LANEBOX_CAPTURE_SOURCE_H */
