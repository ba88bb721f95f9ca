/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test memory.c: the memory of a ring lives until its last user drops it, then its pages and its
 * file are given back. A program's own memory is never unmapped, and a file keeps its size. The
 * sentence of -ENOMEM says what the memory was for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers.h"
#include "check.h"

#define SIZE	8192u

static bool is_mapped(void *memory)
{
	return msync(memory, SIZE, MS_ASYNC) == 0 || errno != ENOMEM;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void *map(int fd, int flags)
{
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void the_last_user_gives_the_memory_back(void)
{
	int fd = litepcie_memory_file(SIZE, 0);
	void *base = map(fd, MAP_SHARED);
	struct litepcie_memory *memory = litepcie_memory_new(base, SIZE, fd, false);

	atomic_fetch_add(&memory->users, 1);
	litepcie_memory_drop(memory);
	CHECK(is_mapped(base) && is_open(fd));
	memset(base, 1, SIZE);
	litepcie_memory_drop(memory);
	CHECK(!is_mapped(base));
	CHECK(!is_open(fd));
	litepcie_memory_drop(NULL);
}

static void a_program_s_own_memory_stays(void)
{
	void *base = map(-1, MAP_PRIVATE | MAP_ANONYMOUS);
	int fd = litepcie_memory_file(SIZE, 0);

	memset(base, 7, SIZE);
	litepcie_memory_drop(litepcie_memory_new(base, SIZE, fd, true));
	CHECK(is_mapped(base));
	CHECK(!is_open(fd));
	CHECK_EQUAL(((uint8_t *)base)[SIZE - 1], 7);
	munmap(base, SIZE);
}

/* A peer that made the file shorter would let an access of this process end in SIGBUS. */
static void a_file_keeps_its_size(void)
{
	int fd = litepcie_memory_file(SIZE, 0);

	CHECK(fd >= 0);
	CHECK_EQUAL(lseek(fd, 0, SEEK_END), SIZE);
	CHECK(ftruncate(fd, SIZE / 2) < 0 && errno == EPERM);
	CHECK(ftruncate(fd, 2 * SIZE) < 0 && errno == EPERM);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void a_lack_of_memory_says_for_what(void)
{
	CHECK_EQUAL(litepcie_fail_memory("the state of a mapping", 56), -ENOMEM);
	CHECK(strstr(litepcie_why(NULL), "for the state of a mapping"));
	CHECK(strstr(litepcie_why(NULL), "56 bytes"));
}

int main(void)
{
	a_lack_of_memory_says_for_what();
	the_last_user_gives_the_memory_back();
	a_program_s_own_memory_stays();
	a_file_keeps_its_size();
	return failed_checks != 0;
}
