/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The memory of this process that the card uses, mostly rings, with a count of its users. The back
 * end is one user: it drops a ring's memory when the ring gets other memory, and when the stream,
 * the capture or the card is closed. Each litepcie_stream_keep() adds another user. The last drop
 * unmaps the memory, unless the memory is the program's own.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers.h"

#ifndef MADV_COLLAPSE
/* older system headers do not define the madvise() flag MADV_COLLAPSE */
#define MADV_COLLAPSE	25
#endif

/*
 * Make a file in memory and seal its size. Otherwise another process that has a descriptor of the
 * file could make the file shorter, and an access of this process would end in SIGBUS.
 */
int litepcie_memory_file(size_t size, unsigned int flags)
{
	int fd = memfd_create("litepcie", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags), error;

	if (fd < 0 || (ftruncate(fd, (off_t)size) == 0 &&
		       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/*
 * Reserve a huge page more than @size bytes, and give back what lies before and behind the @size
 * bytes that begin at a multiple of a huge page.
 */
void *litepcie_memory_reserve(size_t size, int protection)
{
	uint8_t *all = mmap(NULL, size + LITEPCIE_HUGE_BYTES, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before = -(uintptr_t)all % LITEPCIE_HUGE_BYTES;

	if (all == MAP_FAILED)
		return MAP_FAILED;
	if (before)
		munmap(all, before);
	munmap(all + before + size, LITEPCIE_HUGE_BYTES - before);
	return all + before;
}

/*
 * Ask the kernel for huge pages. MADV_COLLAPSE needs Linux 6.1 and works on pages that exist
 * already, so the pages are populated first.
 */
void litepcie_memory_huge(void *memory, size_t size)
{
	madvise(memory, size, MADV_POPULATE_WRITE);
	madvise(memory, size, MADV_COLLAPSE);
}

static void give_back(const struct litepcie_memory *memory)
{
	if (!memory->placed)
		munmap(memory->base, memory->size);
	if (memory->fd >= 0)
		close(memory->fd);
}

struct litepcie_memory *litepcie_memory_new(void *base, size_t size, int fd, bool placed)
{
	const struct litepcie_memory initial = {
		.users = 1, .base = base, .size = size, .fd = fd, .placed = placed,
	};
	struct litepcie_memory *memory = malloc(sizeof(*memory));

	if (memory) {
		*memory = initial;
		return memory;
	}
	give_back(&initial);
	litepcie_fail_memory("the state of a mapping", sizeof(*memory));
	return NULL;
}

void litepcie_memory_drop(struct litepcie_memory *memory)
{
	if (!memory || atomic_fetch_sub(&memory->users, 1) > 1)
		return;
	give_back(memory);
	free(memory);
}
