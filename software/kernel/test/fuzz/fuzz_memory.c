// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes memory of each kind of enum place except GIVEN, for rings that lie in the program's own
 * memory.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "calls.h"
#include "fuzz.h"

#define HUGE	(2u << 20)
/* bytes of each kind of memory that a fuzzed call may name for a ring */
#define BYTES	(2 * HUGE)

static char *places[PLACES];

/*
 * Map BYTES of memory that is aligned to a huge page. Behind it lie at least 2 MiB that nobody may
 * access. @advice is MADV_HUGEPAGE or MADV_NOHUGEPAGE. The kernel may have no huge page to give.
 */
static char *map(int flags, int advice)
{
	char *whole = mmap(NULL, BYTES + 2 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *start = (char *)(((uintptr_t)whole + HUGE - 1) / HUGE * HUGE);

	if (whole == MAP_FAILED ||
	    mmap(start, BYTES, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_ANONYMOUS, -1,
		 0) == MAP_FAILED)
		fail("memory: %s", strerror(errno));
	madvise(start, BYTES, advice);
	memset(start, 1, BYTES);
	return start;
}

void memory_init(void)
{
	places[HUGE_PAGES] = map(MAP_PRIVATE, MADV_HUGEPAGE);
	places[SMALL_PAGES] = map(MAP_PRIVATE, MADV_NOHUGEPAGE);
	places[READ_ONLY] = map(MAP_PRIVATE, MADV_NOHUGEPAGE);
	places[SHARED] = map(MAP_SHARED, MADV_NOHUGEPAGE);
	if (mprotect(places[READ_ONLY], BYTES, PROT_READ))
		fail("mprotect: %s", strerror(errno));
}

unsigned long memory_at(enum place place)
{
	return (uintptr_t)places[place];
}
