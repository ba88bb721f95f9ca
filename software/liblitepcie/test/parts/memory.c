/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test memory.c: the memory of a ring stays mapped until its last user drops it, and then its file
 * is closed, too. A program's own memory is never unmapped. The size of a file in memory cannot be
 * changed. Reserved memory begins at a multiple of 2 MiB, and only the rest of its mapping is
 * unmapped. The sentence of -ENOMEM says what the memory was for.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The test includes memory.c with other names of its functions, so that made_up_mmap() and
 * made_up_munmap() can answer the file's calls of mmap() and munmap().
 */
#define litepcie_memory_file	tested_file
#define litepcie_memory_reserve	tested_reserve
#define litepcie_memory_huge	tested_huge
#define litepcie_memory_new	tested_new
#define litepcie_memory_drop	tested_drop
#define mmap			made_up_mmap
#define munmap			made_up_munmap
static void *made_up_mmap(void *place, size_t size, int rights, int flags, int fd, off_t offset);
static int made_up_munmap(void *memory, size_t size);

#include "../../dma/memory.c"
#include "check.h"

#undef mmap
#undef munmap

#define SIZE		8192u
#define RESERVED	((size_t)3 << 20)

/*
 * @memory is the address that made_up_mmap() returns, or NULL if the real mmap() and munmap() are
 * called. @size is the size that made_up_mmap() was asked for. @unmapped has the first address and
 * the end of each of the first two calls of made_up_munmap(), and @unmaps is the number of calls.
 */
static struct {
	uint8_t	*memory;
	size_t	size;
	uint8_t	*unmapped[2][2];
	int	unmaps;
} reserve;

static void *made_up_mmap(void *place, size_t size, int rights, int flags, int fd, off_t offset)
{
	if (!reserve.memory)
		return mmap(place, size, rights, flags, fd, offset);
	CHECK_EQUAL(rights, PROT_NONE);
	CHECK(fd == -1 && flags & MAP_ANONYMOUS && flags & MAP_PRIVATE);
	reserve.size = size;
	return reserve.memory;
}

static int made_up_munmap(void *memory, size_t size)
{
	if (!reserve.memory)
		return munmap(memory, size);
	CHECK(reserve.unmaps < 2);
	reserve.unmapped[reserve.unmaps % 2][0] = memory;
	reserve.unmapped[reserve.unmaps++ % 2][1] = (uint8_t *)memory + size;
	return 0;
}

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

/*
 * The size of a file of litepcie_memory_file() is sealed. If a process that has the file could make
 * it shorter, an access of this process would end in SIGBUS.
 */
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

/*
 * litepcie_memory_reserve() unmaps the part of its mapping before the first multiple of 2 MiB and
 * the part behind the reserved bytes, and nothing else. The made-up addresses are never accessed.
 */
static void reserved_memory_begins_with_a_huge_page(void)
{
	static const size_t offsets[] = {
		0, 4096, LITEPCIE_HUGE_BYTES / 2, LITEPCIE_HUGE_BYTES - 4096,
	};
	uint8_t *page = (uint8_t *)((uintptr_t)8 * LITEPCIE_HUGE_BYTES);

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		uint8_t *expected = page + (offsets[i] ? LITEPCIE_HUGE_BYTES : 0), *end;

		memset(&reserve, 0, sizeof(reserve));
		reserve.memory = page + offsets[i];
		CHECK(litepcie_memory_reserve(RESERVED, PROT_NONE) == expected);
		end = reserve.memory + reserve.size;
		CHECK_EQUAL(reserve.unmaps, 1 + (offsets[i] > 0));
		if (offsets[i])
			CHECK(reserve.unmapped[0][0] == reserve.memory &&
			      reserve.unmapped[0][1] == expected);
		CHECK(reserve.unmapped[offsets[i] > 0][0] == expected + RESERVED &&
		      reserve.unmapped[offsets[i] > 0][1] == end);
	}
	memset(&reserve, 0, sizeof(reserve));
	reserve.memory = MAP_FAILED;
	CHECK(litepcie_memory_reserve(RESERVED, PROT_NONE) == MAP_FAILED);
	CHECK_EQUAL(reserve.unmaps, 0);
	reserve.memory = NULL;
}

int main(void)
{
	a_lack_of_memory_says_for_what();
	the_last_user_gives_the_memory_back();
	a_program_s_own_memory_stays();
	a_file_keeps_its_size();
	reserved_memory_begins_with_a_huge_page();
	return failed_checks != 0;
}
