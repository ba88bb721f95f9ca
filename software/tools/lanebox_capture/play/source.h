/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A pcapng file in the form that the card's player takes: all its blocks as they are, but the times
 * of packets in ns. A file that the player would refuse is refused before any file is played, with
 * a sentence that says what to do.
 */
#ifndef LANEBOX_CAPTURE_SOURCE_H
#define LANEBOX_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_WHY	320	/* bytes of a sentence about a failure, with its end */
#define SOURCE_HEAD	28u	/* bytes of a block before its packet */

/* A pcapng interface of the section that the walk is in. */
struct source_interface {
	uint8_t		resolution;	/* value of option if_tsresol: unit of its times */
	int64_t		offset_s;	/* option if_tsoffset: seconds to add to its times */
};

struct source {
	const char	*path;
	const uint8_t	*data;		/* contents of the file, mapped */
	size_t		size;
	/*
	 * Counts of the whole file: its blocks, its packets with data and their bytes, and the two
	 * kinds of packets that the card cannot play: without data, and in blocks without a time.
	 */
	uint64_t	blocks, packets, bytes, empty, timeless;
	/* how far the walk through the file has come */
	size_t		at;		/* offset in bytes of the present block in the file */
	size_t		given;		/* bytes of the present block that were taken */
	/* the present block's begin with the packet's time in ns, if it is a packet's block */
	uint8_t		head[SOURCE_HEAD];
	struct source_interface *interfaces;	/* those of the section at hand */
	uint32_t	count;		/* number of @interfaces that this section has */
	char		why[SOURCE_WHY];
};

/*
 * Open the regular file at @path and look at all its blocks. With @any_port a packet may be of any
 * interface, since all go to one port; otherwise interface n is port n of the card. Returns false
 * with a sentence in source->why. source_close() is to be called in both cases.
 */
bool source_open(struct source *source, const char *path, bool any_port);

/* Copy at most @room next bytes to @to. Returns their number, which is 0 at the end of the file. */
size_t source_take(struct source *source, uint8_t *to, size_t room);

void source_close(struct source *source);

/*
 * Write a block to @to that the player passes over, so that a stream of @bytes with this block
 * behind it ends with a whole beat of 32 bytes. Returns the size of the block, 43 bytes at most, or
 * 0 if no block is needed.
 */
size_t source_padding(uint64_t bytes, uint8_t *to);

#endif /* LANEBOX_CAPTURE_SOURCE_H */
