/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Writes by io_uring, which go on in the kernel while the program does something else. This code
 * uses the kernel's interface without the library liburing, since it only writes, from one thread.
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
	int			fd;		/* descriptor of io_uring; -1: not open */
	/* io_uring's ring of requests and its ring of completions, in one mapping */
	void			*rings;
	size_t			rings_bytes;
	struct io_uring_sqe	*requests;
	size_t			requests_bytes;
	uint32_t		entries;
	/* ring indices shared with the kernel: tail of requests, head and tail of completions */
	uint32_t		*tail, *done_head, *done_tail;
	/* an index modulo the size of its ring is the index & @mask (requests) or & @done_mask */
	uint32_t		mask, done_mask;
	struct io_uring_cqe	*done;
	uint32_t		queued;		/* requests not yet handed to the kernel */
	bool			fixed;		/* true: the data of all writes is in @memory */
	const uint8_t		*memory;	/* memory that uring_register() has registered */
};

/*
 * The end of a write. @number is the argument of uring_write(). @result is -errno, or the number of
 * bytes written, which may be fewer than those of uring_write().
 */
struct uring_end {
	uint64_t		number;
	ssize_t			result;
};

/*
 * Open io_uring for up to @entries writes at a time, a power of two. Returns 0, or -errno if the
 * kernel has no io_uring, or does not let this program use it.
 */
int uring_open(struct uring *uring, unsigned int entries);

/*
 * Register the @bytes at @memory, which hold the data of all later writes, so that the kernel looks
 * up its pages only once. If the kernel refuses the registration, or the memory has more than
 * 16 GiB, writes work without it. No write may be under way.
 */
void uring_register(struct uring *uring, const void *memory, size_t bytes);

/*
 * Queue a write of @bytes to @fd at @offset. No more writes than the @entries of uring_open() may
 * be queued or under way. uring_take() gives back @number at the end of the write.
 */
void uring_write(struct uring *uring, int fd, const void *data, size_t bytes, uint64_t offset,
		 uint64_t number);

/*
 * Hand the queued writes to the kernel, and wait until uring_take() can take the ends of @least
 * writes. A signal does not end the wait. The wait is shorter if the kernel takes no more requests
 * before ends are taken. Returns 0 or -errno. The function makes one system call as a rule, and
 * none if nothing is queued and no wait is needed.
 */
int uring_submit(struct uring *uring, unsigned int least);

/*
 * Take the end of a write into @end, in the order in which writes end. Each end is taken once.
 * Returns false if no other write has ended.
 */
bool uring_take(struct uring *uring, struct uring_end *end);

/* Close io_uring and free its rings. No write may be under way. */
void uring_close(struct uring *uring);

#endif /* LANEBOX_CAPTURE_URING_H */
