/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording. Each file has the page of header and then whole MBUFs (the parts of
 * equal size that the card writes). So each file is valid by itself, even if the disk was full.
 * Writes go past the page cache (O_DIRECT) if the filesystem supports that.
 *
 * With O_DIRECT the kernel writes by io_uring while the program takes the next MBUFs. Without
 * O_DIRECT, if the kernel refuses io_uring, or after a write of the file has failed or was short,
 * output_write() returns only when its MBUF is written.
 */
#ifndef LANEBOX_CAPTURE_OUTPUT_H
#define LANEBOX_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uring.h"

#define OUTPUT_WHY	320	/* size of an error message, with its terminating 0 */
/* MBUFs of at most 1/OUTPUT_BATCH_PART of the ring wait to be handed to the kernel together. */
#define OUTPUT_BATCH_PART	8u
/*
 * At most OUTPUT_BATCH MBUFs wait to be handed to the kernel together, while the kernel writes as
 * many other MBUFs.
 */
#define OUTPUT_BATCH	32u
#define OUTPUT_DEPTH	(2 * OUTPUT_BATCH)

struct output_file {
	char		*path;
	uint64_t	bytes;		/* bytes written so far, with those of the header */
	uint64_t	mbufs;		/* whole MBUFs written so far */
};

/* A write that was begun. Its data must not change until output_done() has counted the MBUF. */
struct output_write {
	const uint8_t	*data;
	size_t		bytes;
	ssize_t		result;		/* of a write that has ended: bytes written, or -errno */
	bool		ended;
};

struct output {
	const char		*target;	/* the folder or file of the command line */
	bool			folder;
	bool			made;		/* true: output_open() has made the folder */
	char			stamp[32];	/* beginning of the names of files in a folder */
	uint64_t		most;		/* largest size of a file in bytes; 0: no limit */
	void			*header;	/* aligned page with the header of each file */
	size_t			header_bytes;
	int			fd;		/* descriptor of the open file, or -1 */
	bool			direct;		/* true: the file is written with O_DIRECT */
	/* true: the open file is a regular file; false: it is a pipe or a device */
	bool			regular;
	/* true: a write, or the change to the next file, has failed. Nothing more is written. */
	bool			ended;
	struct uring		uring;
	bool			async;		/* true: the open file is written by @uring */
	unsigned int		batch;		/* number of writes that share a system call */
	/*
	 * The writes that were begun: write number n is in writes[n % OUTPUT_DEPTH]. All writes
	 * before number @first are in the file. The next write gets the number @next.
	 */
	struct output_write	writes[OUTPUT_DEPTH];
	uint64_t		first, next;
	unsigned int		under_way;	/* number of writes that have not ended */
	uint64_t		offset;		/* size of the open file when @writes have ended */
	uint64_t		reserved;	/* file size for which the disk has reserved room */
	/* false: no room is reserved, as without io_uring or if the filesystem has refused that */
	bool			may_reserve;
	/* number of MBUFs that are in the file and that output_done() has not returned yet */
	unsigned int		done;
	struct output_file	*files;		/* all files so far; @fd is that of the last one */
	size_t			count;		/* number of @files */
	/*
	 * @note says why the data goes through the page cache, or is empty. @why is the message of
	 * the last failure, or is empty.
	 */
	char			note[OUTPUT_WHY], why[OUTPUT_WHY];
};

/*
 * Open the first file: @target, or a new file in it if @target is a folder or ends in a slash. A
 * file that exists is refused. @target may also be a pipe or a device. With @most, which needs a
 * folder, a new file begins before a file would have more than @most bytes. Each file begins with
 * @header, an aligned page of @header_bytes that must stay until output_free(). Returns false after
 * a failure, with the message in output->why. output_discard() then deletes what was made.
 */
bool output_open(struct output *output, const char *target, uint64_t most, void *header,
		 size_t header_bytes);

/*
 * Register the @bytes at @memory with io_uring, so that the kernel looks up the pages only once.
 * All later MBUFs must be in this memory. With io_uring up to @batch writes (OUTPUT_BATCH at most)
 * then share a system call. Without output_memory() each write has a system call of its own.
 */
void output_memory(struct output *output, const void *memory, size_t bytes, unsigned int batch);

/*
 * Begin to write the MBUF of @bytes at @mbuf. A new file begins first if the open file would grow
 * beyond its limit. The MBUF must not change until output_done() has counted it. Returns false with
 * a message in output->why if this or an earlier MBUF could not be written. The file then ends
 * before that MBUF, and later MBUFs are refused with the same message.
 */
bool output_write(struct output *output, const void *mbuf, size_t bytes);

/*
 * Hand all writes that were begun to the kernel. Returns false after a failure, as output_write()
 * does.
 */
bool output_push(struct output *output);

/*
 * Returns how many MBUFs were written that no earlier call of output_done() has counted. MBUFs are
 * counted in the order of their output_write(): none before a counted MBUF is missing in its file.
 */
unsigned int output_done(struct output *output);

/*
 * Wait until at most @most writes are under way. Returns false after a failure, as output_write()
 * does.
 */
bool output_await(struct output *output, unsigned int most);

/*
 * Wait until all MBUFs of output_write() are in the file. Returns false after a failure, as
 * output_write() does.
 */
bool output_finish(struct output *output);

/*
 * Wait until all MBUFs are in the file, close the file, and begin the next file in the folder.
 * Returns false after a failure, as output_write() does.
 */
bool output_next(struct output *output);

/*
 * Wait until all MBUFs are in the file, and close the file. Returns false with a message in
 * output->why if a write fails, or if the disk reports an earlier error when the file is closed.
 */
bool output_close(struct output *output);

/*
 * Close and delete the open file, and the folder if output_open() has made it and it is empty. Call
 * this if nothing was recorded. A pipe or a device is only closed.
 */
void output_discard(struct output *output);

/* Close the last file, and free the rings and the list of files of @output. */
void output_free(struct output *output);

#endif /* LANEBOX_CAPTURE_OUTPUT_H */
