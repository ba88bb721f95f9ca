/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording in one file or folder. Each file has the page of header and then whole
 * MBUFs (the parts of equal size that the card writes), so each file is valid by itself. If a write
 * fails, as when the disk is full, a regular file is cut after its last whole MBUF. If io_uring
 * itself has failed, the kernel may still write bytes behind that MBUF. Writes go past the page
 * cache (O_DIRECT) if the filesystem supports that.
 *
 * With O_DIRECT the kernel writes by io_uring while the program takes the next MBUFs. Without
 * O_DIRECT, if the kernel refuses io_uring, or after a write by io_uring to the file has failed or
 * was short, output_write() returns only when its MBUF is written or its write has failed.
 */
#ifndef LANEBOX_CAPTURE_OUTPUT_H
#define LANEBOX_CAPTURE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uring.h"

#define OUTPUT_WHY	320	/* size of an error message, with its terminating 0 */
/*
 * OUTPUT_BATCH: most MBUFs (parts of the ring) that are handed to the kernel together.
 * OUTPUT_BUSY: most writes that are still under way when the writes of a full batch have been
 * handed to the kernel, and output_write() returns.
 * OUTPUT_DEPTH: most writes at a time that were begun and are not yet counted as written.
 */
#define OUTPUT_BATCH	64u
#define OUTPUT_BUSY	32u
#define OUTPUT_DEPTH	(2 * OUTPUT_BATCH)

/*
 * When a new file begins in the folder. The file before it has at least one MBUF (part of the
 * ring).
 */
struct output_limits {
	uint64_t	bytes;		/* largest size of a file; 0: no limit */
	/* time of the host's clock after which no further MBUF goes into a file; 0: no limit */
	double		seconds;
};

struct output_file {
	char		*path;
	/* number of bytes written to the file so far, with those of the header */
	uint64_t	bytes;
	uint64_t	mbufs;		/* whole MBUFs written so far */
};

/*
 * A write by io_uring that was begun. Its data must not change until output_done() has counted the
 * MBUF (part of the ring).
 */
struct output_write {
	const uint8_t	*data;
	size_t		bytes;
	/* result of a write that has ended: number of bytes written, or -errno */
	ssize_t		result;
	bool		ended;
};

struct output {
	const char		*target;	/* path of the folder or file to write to */
	bool			folder;
	bool			made;		/* true: output_open() has made the folder */
	/* date and time of output_open(), with which the names of the files in a folder begin */
	char			stamp[32];
	struct output_limits	limits;
	int64_t			begun_ms;	/* time in ms at which the open file was opened */
	/* aligned page with the bytes with which each file begins */
	void			*header;
	size_t			header_bytes;
	int			fd;		/* descriptor of the open file, or -1 */
	bool			direct;		/* true: the open file is written with O_DIRECT */
	/* true: the open file is a regular file; false: it is a pipe or a device */
	bool			regular;
	/* true: a write, or the change to the next file, has failed. Nothing more is written. */
	bool			ended;
	struct uring		uring;
	bool			async;		/* true: the open file is written by @uring */
	/* most writes that are handed to the kernel in one system call */
	unsigned int		batch;
	/*
	 * The writes by io_uring that were begun, numbered from 0: write number n is in writes[n %
	 * OUTPUT_DEPTH]. All writes before number @first are in a file. The next write gets the
	 * number @next.
	 */
	struct output_write	writes[OUTPUT_DEPTH];
	uint64_t		first, next;
	/* number of begun writes of @writes whose end was not taken from io_uring yet */
	unsigned int		under_way;
	/* offset in the open file, in bytes, at which the next write by io_uring goes */
	uint64_t		offset;
	/*
	 * offset in the open file, in bytes, up to which reserve() has reserved room on the disk,
	 * or tried to
	 */
	uint64_t		reserved;
	/*
	 * false: no further room on the disk is reserved for the open file, since it is written
	 * without io_uring, or since the filesystem has refused to reserve room
	 */
	bool			may_reserve;
	/*
	 * number of MBUFs (parts of the ring) that are in the file and that output_done() has not
	 * returned yet
	 */
	unsigned int		done;
	/* all files of the recording so far; @fd is the descriptor of the last one */
	struct output_file	*files;
	size_t			count;		/* number of @files */
	/*
	 * @note says why data goes through the page cache. It is empty if none does. @why is the
	 * message of the last failure, or is empty.
	 */
	char			note[OUTPUT_WHY], why[OUTPUT_WHY];
};

/*
 * Open the first file: @target, or a new file in it if @target is a folder or ends in a slash. A
 * @target that ends in a slash and does not exist becomes a folder. A regular file that exists is
 * refused. @target may also be a pipe or a device. @limits, which need a folder, say when a new
 * file begins. Each file begins with @header, an aligned page of @header_bytes that must stay until
 * output_free(). Returns false after a failure, with the message in output->why. output_discard()
 * then deletes what was made.
 */
bool output_open(struct output *output, const char *target, struct output_limits limits,
		 void *header, size_t header_bytes);

/*
 * Returns how many MBUFs (equal parts) of a ring of @mbufs MBUFs output_memory() should be given as
 * its batch, if the ring has one output: an eighth of the ring, or a quarter of it if the ring has
 * 256 MBUFs or more.
 */
unsigned int output_batch(uint64_t mbufs);

/*
 * Register the @bytes at @memory with io_uring, if that is in use, so that the kernel looks up the
 * pages only once. All later MBUFs (parts of the ring) must be in this memory. From then on up to
 * @batch writes by io_uring (OUTPUT_BATCH at most) share a system call. Before output_memory() each
 * write has a system call of its own.
 */
void output_memory(struct output *output, const void *memory, size_t bytes, unsigned int batch);

/*
 * Begin to write the MBUF (part of the ring) of @bytes at @mbuf. A new file begins first if the
 * open file would grow beyond its limit and already has an MBUF. The MBUF must not change until
 * output_done() has counted it. Returns false with a message in output->why if the new file cannot
 * be begun, or if this or an earlier MBUF cannot be written. All later MBUFs are then refused.
 */
bool output_write(struct output *output, const void *mbuf, size_t bytes);

/*
 * Hand all writes of output_write() that still wait in the program to the kernel. Returns false
 * after a failure, as output_write() does.
 */
bool output_push(struct output *output);

/*
 * Returns how many MBUFs (parts of the ring) were written that no earlier call of output_done() has
 * counted. MBUFs are counted in the order of the calls of output_write(), up to the first one that
 * is not written.
 */
unsigned int output_done(struct output *output);

/*
 * Wait until at most @most writes of output_write() have not ended. Returns false after a failure,
 * as output_write() does.
 */
bool output_await(struct output *output, unsigned int most);

/*
 * Wait until all MBUFs (parts of the ring) of output_write() are in the file. Returns false after a
 * failure, as output_write() does.
 */
bool output_finish(struct output *output);

/*
 * Wait until all MBUFs (parts of the ring) of output_write() are in the file, close the file, and
 * begin the next file in the folder. Returns false after a failure, as output_write() does.
 */
bool output_next(struct output *output);

/*
 * If a file is open, wait until all MBUFs (parts of the ring) of output_write() are in it, give
 * back the room that was reserved behind them, and close it. After a failure of an earlier call no
 * write is waited for. Returns false with a message in output->why if a step of output_close()
 * itself fails.
 */
bool output_close(struct output *output);

/*
 * Close and delete the open file, and the folder if output_open() has made it and it is empty. Call
 * this if nothing was recorded. A pipe or a device is closed and not deleted.
 */
void output_discard(struct output *output);

/* Close the last file if it is open, close io_uring, and free the list of files of @output. */
void output_free(struct output *output);

#endif /* LANEBOX_CAPTURE_OUTPUT_H */
