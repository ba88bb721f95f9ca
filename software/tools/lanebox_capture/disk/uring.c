/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Write to files by the kernel's io_uring. uring.h says what each function promises. */
#include "uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * BUFFER_MOST: most bytes of memory that the kernel can register as one buffer. A larger memory is
 * registered as several buffers, BUFFERS_MOST at most.
 */
#define BUFFER_MOST	((size_t)1 << 30)
#define BUFFERS_MOST	16u

/* Opening io_uring ---------------------------------------------------------------------------- */

static void *map(int fd, size_t bytes, off_t offset)
{
	void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			   offset);

	return place == MAP_FAILED ? NULL : place;
}

/*
 * Find the indices of io_uring's two rings in the mapping, and fill the list that tells the kernel
 * in which order to take the entries of uring->requests. Entry i of the list is i, and never
 * changes, since requests are handed over in the order of uring->requests.
 */
static void place_rings(struct uring *uring, const struct io_uring_params *at)
{
	uint8_t *rings = uring->rings;
	uint32_t *array = (uint32_t *)(rings + at->sq_off.array);

	uring->tail = (uint32_t *)(rings + at->sq_off.tail);
	uring->mask = *(uint32_t *)(rings + at->sq_off.ring_mask);
	uring->done_head = (uint32_t *)(rings + at->cq_off.head);
	uring->done_tail = (uint32_t *)(rings + at->cq_off.tail);
	uring->done_mask = *(uint32_t *)(rings + at->cq_off.ring_mask);
	uring->done = (struct io_uring_cqe *)(rings + at->cq_off.cqes);
	for (uint32_t i = 0; i < at->sq_entries; i++)
		array[i] = i;
}

int uring_open(struct uring *uring, unsigned int entries)
{
	struct io_uring_params at = { 0 };
	size_t requests, ends;
	int rc;

	*uring = (struct uring) { .fd = (int)syscall(SYS_io_uring_setup, entries, &at) };
	if (uring->fd < 0)
		return -errno;
	requests = at.sq_off.array + at.sq_entries * sizeof(uint32_t);
	ends = at.cq_off.cqes + at.cq_entries * sizeof(struct io_uring_cqe);
	uring->entries = at.sq_entries;
	uring->rings_bytes = requests > ends ? requests : ends;
	uring->requests_bytes = at.sq_entries * sizeof(struct io_uring_sqe);
	/*
	 * Before Linux 5.4 the two rings are two mappings. The program treats such a kernel as one
	 * that has no io_uring.
	 */
	errno = ENOSYS;
	if (at.features & IORING_FEAT_SINGLE_MMAP)
		uring->rings = map(uring->fd, uring->rings_bytes, IORING_OFF_SQ_RING);
	if (uring->rings)
		uring->requests = map(uring->fd, uring->requests_bytes, IORING_OFF_SQES);
	if (uring->requests) {
		place_rings(uring, &at);
		return 0;
	}
	rc = -errno;
	uring_close(uring);
	return rc;
}

void uring_register(struct uring *uring, const void *memory, size_t bytes)
{
	struct iovec buffers[BUFFERS_MOST];
	unsigned int count = 0;

	if (uring->fixed)
		syscall(SYS_io_uring_register, uring->fd, IORING_UNREGISTER_BUFFERS, NULL, 0);
	uring->fixed = false;
	for (size_t at = 0; at < bytes; at += BUFFER_MOST) {
		if (count == BUFFERS_MOST)
			return;
		buffers[count++] = (struct iovec) {
			.iov_base = (uint8_t *)memory + at,
			.iov_len = bytes - at < BUFFER_MOST ? bytes - at : BUFFER_MOST,
		};
	}
	uring->memory = memory;
	uring->fixed = syscall(SYS_io_uring_register, uring->fd, IORING_REGISTER_BUFFERS, buffers,
			       count) == 0;
}

void uring_close(struct uring *uring)
{
	if (uring->requests)
		munmap(uring->requests, uring->requests_bytes);
	if (uring->rings)
		munmap(uring->rings, uring->rings_bytes);
	if (uring->fd >= 0)
		close(uring->fd);
	*uring = (struct uring) { .fd = -1 };
}

/* Writes by io_uring -------------------------------------------------------------------------- */

void uring_write(struct uring *uring, int fd, const void *data, size_t bytes, uint64_t offset,
		 uint64_t number)
{
	uint32_t tail = *uring->tail;
	struct io_uring_sqe *request = &uring->requests[tail & uring->mask];

	memset(request, 0, sizeof(*request));
	request->opcode = uring->fixed ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE;
	request->fd = fd;
	request->addr = (uintptr_t)data;
	request->len = (uint32_t)bytes;
	request->off = offset;
	request->user_data = number;
	if (uring->fixed)
		request->buf_index =
			(uint16_t)((size_t)((const uint8_t *)data - uring->memory) / BUFFER_MOST);
	/* The kernel must see the request before the new tail of the ring of requests. */
	__atomic_store_n(uring->tail, tail + 1, __ATOMIC_RELEASE);
	uring->queued++;
}

static uint32_t ended(const struct uring *uring)
{
	return __atomic_load_n(uring->done_tail, __ATOMIC_ACQUIRE) - *uring->done_head;
}

int uring_submit(struct uring *uring, unsigned int least)
{
	while (uring->queued || ended(uring) < least) {
		unsigned int flags = least ? IORING_ENTER_GETEVENTS : 0;
		long rc = syscall(SYS_io_uring_enter, uring->fd, uring->queued, least, flags, NULL,
				  0);

		if (rc >= 0)
			uring->queued -= (uint32_t)rc;
		/*
		 * EBUSY: too many ends of writes wait for uring_take(), so the caller must take
		 * some of them first. EAGAIN: the kernel has no memory at the moment, so the call
		 * is made again, as after a signal (EINTR).
		 */
		else if (errno == EBUSY && ended(uring))
			return 0;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

bool uring_take(struct uring *uring, struct uring_end *end)
{
	const struct io_uring_cqe *done;

	if (!ended(uring))
		return false;
	done = &uring->done[*uring->done_head & uring->done_mask];
	*end = (struct uring_end) { .number = done->user_data, .result = done->res };
	/*
	 * The kernel may reuse the entry of the ring of completions as soon as it sees the new
	 * head.
	 */
	__atomic_store_n(uring->done_head, *uring->done_head + 1, __ATOMIC_RELEASE);
	return true;
}
