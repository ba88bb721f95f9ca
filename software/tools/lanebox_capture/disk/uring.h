/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Writes by io_uring, which go on in the kernel while the program does something else. This code
 * uses the kernel's interface without the library liburing, since it only writes, from one thread
 * at a time.
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
	/*
	 * address and size in bytes of the mapping with io_uring's ring of requests and its ring of
	 * completions
	 */
	void			*rings;
	size_t			rings_bytes;
	struct io_uring_sqe	*requests;
	size_t			requests_bytes;
	uint32_t		entries;
	/*
	 * addresses of ring indices that are shared with the kernel: tail of the ring of requests,
	 * head and tail of the ring of completions
	 */
	uint32_t		*tail, *done_head, *done_tail;
	/*
	 * size of the ring of requests minus 1, and size of the ring of completions minus 1; both
	 * sizes are powers of two
	 */
	uint32_t		mask, done_mask;
	struct io_uring_cqe	*done;
	/* number of requests not yet handed to the kernel */
	uint32_t		queued;
	/* true: the kernel has accepted the registration of @memory */
	bool			fixed;
	/*
	 * beginning of the memory that holds the data of all writes, as given to uring_register()
	 */
	const uint8_t		*memory;
};

/*
 * The end of a write. @number is the argument @number of its uring_write(). @result is -errno, or
 * the number of bytes written, which may be fewer than the bytes of uring_write().
 */
struct uring_end {
	uint64_t		number;
	ssize_t			result;
};

/*
 * Open io_uring for up to @entries writes at a time, a power of two. Returns 0 or -errno, for
 * example if the kernel is older than Linux 5.4 or does not let this program use io_uring.
 */
int uring_open(struct uring *uring, unsigned int entries);

/*
 * Register the @bytes at @memory, which must hold the data of all later writes, so that the kernel
 * looks up the pages of the memory only once. If the kernel refuses the registration, or the memory
 * has more than 16 GiB, writes work without it. No write may be under way.
 */
void uring_register(struct uring *uring, const void *memory, size_t bytes);

/*
 * Queue a write of the @bytes at @data to the file @fd at @offset. The kernel gets it at the next
 * uring_submit(). At most as many writes as the @entries of uring_open() may be queued or under
 * way. uring_take() gives back @number at the end of the write.
 */
void uring_write(struct uring *uring, int fd, const void *data, size_t bytes, uint64_t offset,
		 uint64_t number);

/*
 * Hand the queued writes to the kernel, and wait until uring_take() can take the ends of @least
 * writes. A signal does not end the wait. The call returns early if the kernel takes no more
 * requests before uring_take() has taken ends. Returns 0 or -errno. The call makes one system call
 * as a rule, and none if nothing is queued and no wait is needed.
 */
int uring_submit(struct uring *uring, unsigned int least);

/*
 * Take the end of one write into @end. Ends come in the order in which the writes end, and each is
 * taken once. Returns false if no further write has ended.
 */
bool uring_take(struct uring *uring, struct uring_end *end);

/* Close io_uring and unmap its rings. Writes that are still queued are dropped. */
void uring_close(struct uring *uring);

#endif /* LANEBOX_CAPTURE_URING_H */
