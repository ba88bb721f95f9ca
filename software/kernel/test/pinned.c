// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests uses of a ring that need pages that can be pinned: io_uring's fixed buffers and vmsplice().
 *
 *   pinned uring DEV DISK	register the c2h ring, write it to the disk and read it back from there
 *   pinned splice DEV		give pages of the ring to a pipe, and find them at its other end
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage, 3
 * if io_uring cannot register a mapping of a file, as in kernels before Linux 6.5.
 */
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"

#define CHUNK	(256u << 10)

static void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

static uint32_t word(size_t i)
{
	return (uint32_t)i * 2654435761u + 7;
}

static uint32_t *filled_ring(const char *device)
{
	int fd = open_or_fail(device);
	uint32_t *ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RING);

	need(ring != MAP_FAILED, "the c2h ring");
	for (size_t i = 0; i < RING / 4; i++)
		ring[i] = word(i);
	return ring;
}

static void compare(const uint32_t *got, size_t from, size_t words, const char *where)
{
	for (size_t i = 0; i < words; i++)
		if (got[i] != word(from + i))
			fail("%s: word %zu is %#x, not %#x", where, from + i, got[i],
			     word(from + i));
}

/* Pages of a ring, pinned by io_uring --------------------------------------------------------- */

struct uring {
	int fd;
	struct io_uring_params at;
	struct io_uring_sqe *entries;
	char *submitted, *completed;
};

static struct uring open_uring(void)
{
	struct uring ring = { 0 };

	ring.fd = (int)syscall(SYS_io_uring_setup, 4, &ring.at);
	need(ring.fd >= 0, "io_uring_setup");
	ring.submitted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			      IORING_OFF_SQ_RING);
	ring.completed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			      IORING_OFF_CQ_RING);
	ring.entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			    IORING_OFF_SQES);
	need(ring.submitted != MAP_FAILED && ring.completed != MAP_FAILED &&
	     ring.entries != MAP_FAILED, "the rings of io_uring");
	return ring;
}

/* Make one io_uring read or write with the registered buffer, and wait until it has ended. */
static void operate(struct uring *ring, uint8_t operation, int disk, void *memory, uint64_t offset)
{
	uint32_t *tail = (uint32_t *)(ring->submitted + ring->at.sq_off.tail);
	uint32_t *array = (uint32_t *)(ring->submitted + ring->at.sq_off.array);
	uint32_t *head = (uint32_t *)(ring->completed + ring->at.cq_off.head);
	struct io_uring_cqe *done = (struct io_uring_cqe *)(ring->completed + ring->at.cq_off.cqes);
	uint32_t slot = *tail & (ring->at.sq_entries - 1);

	ring->entries[slot] = (struct io_uring_sqe){
		.opcode = operation, .fd = disk, .addr = (uintptr_t)memory, .len = CHUNK,
		.off = offset,
	};
	array[slot] = slot;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	need(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
	     "io_uring_enter");
	done += *head & (ring->at.cq_entries - 1);
	if (done->res != (int)CHUNK)
		fail("operation %u at %llu: %s", operation, (unsigned long long)offset,
		     done->res < 0 ? strerror(-done->res) : "short");
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static int uring(const char *device, const char *name)
{
	uint32_t *memory = filled_ring(device), *back = aligned_alloc(4096, RING);
	struct iovec whole = { memory, RING };
	struct uring ring = open_uring();
	int disk = open(name, O_RDWR | O_DIRECT);

	need(disk >= 0 && back, name);
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &whole, 1)) {
		need(errno == EOPNOTSUPP, "register the ring");
		printf("uring: this kernel registers no memory of a file\n");
		return 3;
	}
	for (size_t at = 0; at < RING; at += CHUNK)
		operate(&ring, IORING_OP_WRITE_FIXED, disk, (char *)memory + at, at);
	need(pread(disk, back, RING, 0) == (ssize_t)RING, "read the disk");
	compare(back, 0, RING / 4, "on the disk");
	memset(memory, 0, RING);
	for (size_t at = 0; at < RING; at += CHUNK)
		operate(&ring, IORING_OP_READ_FIXED, disk, (char *)memory + at, at);
	compare(memory, 0, RING / 4, "in the ring");
	printf("uring: %u bytes each way\n", RING);
	return 0;
}

/* Pages of a ring, pinned by vmsplice() ------------------------------------------------------- */

static int splice_ring(const char *device)
{
	uint32_t *memory = filled_ring(device), page[1024];
	int ends[2];

	need(!pipe(ends), "pipe");
	for (size_t at = 0; at < RING; at += 16 * sizeof(page)) {
		struct iovec pages = { (char *)memory + at, 16 * sizeof(page) };

		need(vmsplice(ends[1], &pages, 1, 0) == (ssize_t)pages.iov_len, "vmsplice");
		/*
		 * The pipe has the ring's pages themselves and no copy, so a later change of the
		 * ring shows in the pipe.
		 */
		memory[at / 4 + 1] ^= 1;
		for (size_t n = 0; n < 16; n++) {
			need(read(ends[0], page, sizeof(page)) == sizeof(page), "the pipe's end");
			if (n == 0 && page[1] == word(at / 4 + 1))
				fail("the pipe holds a copy of the page at %zu", at);
			page[1] ^= n == 0;
			compare(page, at / 4 + n * 1024, 1024, "in the pipe");
		}
	}
	printf("splice: %u bytes\n", RING);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "uring"))
		return uring(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "splice"))
		return splice_ring(argv[2]);
	fprintf(stderr, "usage: pinned uring DEV DISK | splice DEV\n");
	return 2;
}
