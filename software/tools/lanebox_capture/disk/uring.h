/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Writes that go on while the program does something else, by io_uring. The kernel's interface is
 * used directly: a recorder needs one kind of request and one thread, for which a library would be
 * one more package on the machine.
 */
#ifndef LANEBOX_CAPTURE_URING_H
#define LANEBOX_CAPTURE_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct io_uring_sqe;
struct io_uring_cqe;

struct uring {
	int			fd;		/* of io_uring; -1: there is none */
	/* io_uring's ring of requests and its ring of completions, in one mapping */
	void			*rings;
	size_t			rings_bytes;
	struct io_uring_sqe	*requests;
	size_t			requests_bytes;
	uint32_t		entries;
	/* indices that the kernel shares: tail of requests; head and tail of completions */
	uint32_t		*tail, *done_head, *done_tail;
	uint32_t		mask, done_mask;	/* of indices of requests, completions */
	struct io_uring_cqe	*done;
	uint32_t		queued;		/* requests that the kernel was not told of yet */
	bool			fixed;		/* true: writes come from registered @memory */
	const uint8_t		*memory;	/* the registered memory */
};

/*
 * The end of a write. @number is that of uring_write(). @result is the number of bytes written,
 * which may be less than was asked for, or -errno.
 */
struct uring_end {
	uint64_t		number;
	ssize_t			result;
};

/*
 * Get room for @entries writes at a time, a power of two. Returns 0, or -errno if the kernel has no
 * io_uring, or does not let this program use it.
 */
int uring_open(struct uring *uring, unsigned int entries);

/*
 * Register memory from which all later writes come, so that the kernel looks its pages up only
 * once. If the kernel refuses that, writes are made without it. Nothing may be under way.
 */
void uring_register(struct uring *uring, const void *memory, size_t bytes);

/*
 * Queue a write of @bytes to @fd at @offset. No more than the entries of uring_open() may be queued
 * or under way. @number comes back with the write's end.
 */
void uring_write(struct uring *uring, int fd, const void *data, size_t bytes, uint64_t offset,
		 uint64_t number);

/*
 * Tell the kernel of the queued writes, and wait until @least writes have ended whose ends were not
 * taken yet. That is one system call, or none if there is nothing to tell or to wait for. Returns
 * 0, or -errno; a signal does not end the wait.
 */
int uring_submit(struct uring *uring, unsigned int least);

/* Take the end of a write, in the order in which writes end. Returns false if there is none. */
bool uring_take(struct uring *uring, struct uring_end *end);

/* Close io_uring and free its rings. No write may be under way. */
void uring_close(struct uring *uring);

#endif /* LANEBOX_CAPTURE_URING_H */
