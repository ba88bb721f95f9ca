/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A pcapng file as the player wants it: all its blocks as they are, but the times of packets in ns.
 * A file that the card would refuse is refused before anything is played, with a sentence that says
 * what to do.
 */
#ifndef LANEBOX_CAPTURE_SOURCE_H
#define LANEBOX_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_WHY	320
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
	/* what is in the file; packets without bytes and those without a time become no frame */
	uint64_t	blocks, packets, bytes, empty, timeless;
	/* how far the walk through the file has come */
	size_t		at;		/* offset in bytes of the present block in the file */
	size_t		given;		/* bytes of the present block that were taken */
	uint8_t		head[SOURCE_HEAD];
	struct source_interface *interfaces;
	uint32_t	count;		/* number of @interfaces that this section has */
	char		why[SOURCE_WHY];
};

/*
 * Open a file and look at all its blocks. With @any_port the number of an interface need not be one
 * of a port. Returns false with a sentence in @why.
 */
bool source_open(struct source *source, const char *path, bool any_port);

/* Copy the next bytes to @to, up to @room. Returns their number, 0 at the end of the file. */
size_t source_take(struct source *source, uint8_t *to, size_t room);

void source_close(struct source *source);

/*
 * Write a block that the player passes over, so that a stream of @bytes ends with a whole beat of
 * 32 bytes. Returns its size, 0 if none is needed. It has at most 43 bytes.
 */
size_t source_padding(uint64_t bytes, uint8_t *to);

#endif /* LANEBOX_CAPTURE_SOURCE_H */
