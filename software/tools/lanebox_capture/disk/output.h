/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording. Each file begins with the page of header and has whole MBUFs behind it,
 * so it is valid by itself, also after a full disk. Writes go past the page cache (O_DIRECT) where
 * the filesystem can do that.
 *
 * With O_DIRECT, writes go on in the kernel by io_uring while the program takes the next MBUFs.
 * Where the kernel refuses io_uring, or after a write has failed, output_write() returns only when
 * its MBUF is written.
 */
#ifndef LANEBOX_CAPTURE_OUTPUT_H
#define LANEBOX_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uring.h"

#define OUTPUT_WHY	320	/* bytes of a sentence about a failure, with its end */
/* Writes are handed to the kernel together when this part of the ring waits, or earlier. */
#define OUTPUT_BATCH_PART	8u
/* most MBUFs that wait to be handed to the kernel together; as many may be under way then */
#define OUTPUT_BATCH	32u
#define OUTPUT_DEPTH	(2 * OUTPUT_BATCH)

struct output_file {
	char		*path;
	uint64_t	bytes;		/* written so far, the header included */
	uint64_t	mbufs;		/* whole MBUFs written so far */
};

/* A write that was begun. Its data stays as it is until output_done() has counted it. */
struct output_write {
	const uint8_t	*data;
	size_t		bytes;
	ssize_t		result;		/* bytes written, or -errno */
	bool		ended;
};

struct output {
	const char		*target;	/* the folder or file of the command line */
	bool			folder;
	bool			made;		/* the folder was made for this recording */
	char			stamp[32];	/* beginning of the names of files in a folder */
	uint64_t		most;		/* most bytes of a file; 0: no limit */
	void			*header;	/* aligned page with the header of each file */
	size_t			header_bytes;
	int			fd;		/* the open file, or -1 */
	bool			direct;		/* true: the file is written with O_DIRECT */
	bool			regular;	/* true: a file; false: a pipe or a device */
	/* a write, or the change to the next file, has failed: nothing more is written */
	bool			ended;
	struct uring		uring;
	bool			async;		/* the open file is written by @uring */
	unsigned int		batch;		/* MBUFs that are handed to the kernel together */
	/*
	 * the writes that were begun: number n is in writes[n % OUTPUT_DEPTH]. All before
	 * @first are in the file, and @next is the next one's number.
	 */
	struct output_write	writes[OUTPUT_DEPTH];
	uint64_t		first, next;
	unsigned int		under_way;	/* writes whose end is not known yet */
	uint64_t		offset;		/* bytes of the file when @writes have ended */
	uint64_t		reserved;	/* bytes of the file that the disk has room for */
	bool			may_reserve;
	unsigned int		done;		/* MBUFs that output_done() has not counted yet */
	struct output_file	*files;		/* all files so far; the last one is open */
	size_t			count;		/* number of @files */
	/* note: why the data goes through the page cache, or empty; why: what failed last */
	char			note[OUTPUT_WHY], why[OUTPUT_WHY];
};

/*
 * Open the first file: @target, or a new file in it if @target is a folder or ends in a slash. A
 * file that exists is refused. A pipe or a device is written as it is. With @most, which needs a
 * folder, a new file begins before a file would have more than @most bytes. @header, an aligned
 * page of @header_bytes, begins each file and must stay until output_free(). Returns false with a
 * sentence in output->why; output_discard() then deletes what was made.
 */
bool output_open(struct output *output, const char *target, uint64_t most, void *header,
		 size_t header_bytes);

/*
 * Register the @bytes at @memory with the kernel, so that the kernel looks their pages up only
 * once. All later MBUFs must come from there. Up to @batch writes (OUTPUT_BATCH at most) then share
 * a system call. Without this call each write has a system call of its own.
 */
void output_memory(struct output *output, const void *memory, size_t bytes, unsigned int batch);

/*
 * Begin to write the MBUF of @bytes at @mbuf, in a new file if the open one would grow beyond its
 * limit. The MBUF must stay as it is until output_done() has counted it. Returns false with a
 * sentence if this or an earlier MBUF could not be written: the file then ends before that MBUF,
 * and later MBUFs are refused with the same sentence.
 */
bool output_write(struct output *output, const void *mbuf, size_t bytes);

/* Hand all writes that were begun to the kernel. Returns as output_write() does. */
bool output_push(struct output *output);

/*
 * Returns how many MBUFs are in the file, in the order in which they were given, that no earlier
 * call has counted.
 */
unsigned int output_done(struct output *output);

/* Wait until at most @most writes are under way. Returns as output_write() does. */
bool output_await(struct output *output, unsigned int most);

/* Wait until all MBUFs that were given are in the file. Returns as output_write() does. */
bool output_finish(struct output *output);

/*
 * Wait for all MBUFs, close the file, and begin the next file in the folder. Returns as
 * output_write() does.
 */
bool output_next(struct output *output);

/*
 * Wait for all MBUFs, and close the last file. Returns false with a sentence in output->why if a
 * write fails, or if the disk reports an error only now.
 */
bool output_close(struct output *output);

/*
 * Delete the file that was opened, and the folder that was made for it, since nothing is recorded.
 * A pipe stays as it is.
 */
void output_discard(struct output *output);

/* Close the last file, and free the rings and the list of files of @output. */
void output_free(struct output *output);

#endif /* LANEBOX_CAPTURE_OUTPUT_H */
