/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording. Each begins with the page of header and has whole MBUFs behind it, so
 * each is valid by itself, also after a full disk. Writes go past the page cache (O_DIRECT) where
 * the filesystem can do that.
 */
#ifndef LANEBOX_CAPTURE_OUTPUT_H
#define LANEBOX_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_WHY	320

struct output_file {
	char		*path;
	uint64_t	bytes;
	uint64_t	mbufs;
};

struct output {
	const char		*target;	/* the folder or file of the command line */
	bool			folder;
	bool			made;		/* the folder was made for this recording */
	char			stamp[32];	/* beginning of the names of files in a folder */
	uint64_t		most;		/* bytes of a file; 0: no limit */
	void			*header;	/* aligned page with the header of each file */
	size_t			header_bytes;
	int			fd;		/* the open file, or -1 */
	bool			direct;		/* O_DIRECT is on */
	bool			regular;	/* a file, not a pipe or a device */
	bool			ended;		/* a write has failed, so nothing more is written */
	struct output_file	*files;
	size_t			count;
	/* a sentence about O_DIRECT that is missing, or about what failed last */
	char			note[OUTPUT_WHY], why[OUTPUT_WHY];
};

/*
 * Open the first file: @target, or a new one in it if it is a folder. A file that exists is not
 * overwritten. With @most a new file begins before one would be larger. Returns false with a
 * sentence in @why.
 */
bool output_open(struct output *output, const char *target, uint64_t most, void *header,
		 size_t header_bytes);

/*
 * Write an MBUF as a whole. Returns false with a sentence: the file then ends before this MBUF, and
 * later MBUFs are refused with the same sentence.
 */
bool output_write(struct output *output, const void *mbuf, size_t bytes);

/* Close the last file. Returns false with a sentence if the disk has kept an error for now. */
bool output_close(struct output *output);

/*
 * Delete the file that was opened, and the folder that was made for it, since nothing is recorded.
 * A pipe stays as it is.
 */
void output_discard(struct output *output);

/* Free what belongs to @output. */
void output_free(struct output *output);

#endif /* LANEBOX_CAPTURE_OUTPUT_H */
