/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The files of the stand-in for the driver: mappings of its device file, and its files of sysfs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"
#include "driver_inside.h"

/* The made-up driver's memory mappings -------------------------------------------------------- */

/*
 * Map a part of BAR0. If the program has no CAP_SYS_RAWIO (driver.user is true), a mapping for
 * writing is refused if driver.allowed is false for one of its pages.
 */
static void *map_bar(void *address, size_t size, int protection, int flags, uint64_t offset)
{
	for (uint64_t at = offset; at < offset + size; at += DRIVER_PAGE)
		if (driver.user && protection & PROT_WRITE && !driver.allowed[at / DRIVER_PAGE]) {
			errno = EPERM;
			return MAP_FAILED;
		}
	return __real_mmap(address, size, protection, flags, driver_bar0, (off_t)offset);
}

/*
 * Map a ring. Only the handle that owns a direction may map its ring, only the whole ring, and only
 * if the ring lies in the driver's memory. Each mapping gets new memory.
 */
static void *map_ring(int way, size_t size, int protection)
{
	bool whole = size == (size_t)driver.size[way] * driver.count[way];

	if (!whole || driver.foreign || !driver.owned[way] || driver.place[way]) {
		errno = whole ? EADDRINUSE : EINVAL;
		return MAP_FAILED;
	}
	return __real_mmap(NULL, size, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	uint64_t place = (uint64_t)offset, region = place >> REGION;

	if (!driver_is(fd))
		return __real_mmap(address, size, protection, flags, fd, offset);
	place &= (1ull << REGION) - 1;
	if (region == REGION_BAR)
		return map_bar(address, size, protection, flags, place);
	if ((region == REGION_STATUS || region == REGION_RECORDS) && protection & PROT_WRITE) {
		errno = EACCES;
		return MAP_FAILED;
	}
	if (region == REGION_STATUS || region == REGION_INDEX)
		return __real_mmap(address, size, protection, flags, driver_pages,
				   region == REGION_INDEX ? DRIVER_PAGE : 0);
	if (region == REGION_RECORDS)
		return __real_mmap(address, size, protection, flags, driver_pages, 2 * DRIVER_PAGE);
	return map_ring((int)region - REGION_H2C, size, protection);
}

/* The made-up driver's files in sysfs --------------------------------------------------------- */

static FILE *text_file(const char *text)
{
	FILE *file = tmpfile();

	if (file) {
		fputs(text, file);
		rewind(file);
	}
	return file;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	/*
	 * the minor number of DRIVER_DEVICE is 7, so the library looks for the driver's counters in
	 * this folder of sysfs
	 */
	static const char folder[] = "/sys/class/litepcie/litepcie7/";
	char text[32];

	if (strncmp(path, folder, sizeof(folder) - 1))
		return __real_fopen(path, mode);
	path += sizeof(folder) - 1;
	if (!driver.counts || driver.stock)
		return NULL;
	snprintf(text, sizeof(text), "%lld\n", (long long)driver.interrupts[path[0] == 'c']);
	return text_file(text);
}
