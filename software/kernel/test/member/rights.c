// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tries for each register of BAR0, and for each page of BAR0 and BAR2, whether a member of the
 * device node's group may write to it.
 */
#include <sys/mman.h>

#include "member.h"

#define PAGE	4096u

/*
 * The output line that is printed next. Neighbouring registers or pages that may be written to are
 * joined to one line, which has the kind of access, the start and the end.
 */
static struct {
	const char	*what;
	uint64_t	start, end;
} line;

static void print_line(void)
{
	if (line.what)
		printf("%s %#llx %#llx\n", line.what, (unsigned long long)line.start,
		       (unsigned long long)line.end);
	line.what = NULL;
}

static void allowed(const char *what, uint64_t start, uint64_t size)
{
	if (!line.what || line.end != start) {
		print_line();
		line.what = what;
		line.start = start;
	}
	line.end = start + size;
}

static uint64_t bar_of(int fd, unsigned int number, uint64_t *size)
{
	struct litepcie_bar bar = { .bar = number };

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), "BAR");
	*size = bar.size;
	return bar.offset;
}

/*
 * Try to write 0 to each register of BAR0 from offset @start to @end, and print the registers that
 * may be written to. No other file may own a direction meanwhile: a write could then fail with
 * EBUSY, which ends the program.
 */
static void try_registers(int fd, uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at += 4) {
		struct litepcie_ioctl_reg reg = { .addr = (uint32_t)at, .is_write = 1 };

		if (!ioctl(fd, LITEPCIE_IOCTL_REG, &reg))
			allowed("ioctl", at, 4);
		else if (errno != EPERM)
			fail("register %#llx: %s", (unsigned long long)at, strerror(errno));
	}
	print_line();
}

/*
 * Try to map each page of a BAR from offset @start to @end for writing, and print those that may be
 * mapped. The program only maps the pages, and writes to none. A page that is refused must also be
 * refused together with a neighbour that is allowed, and no page of a mapping of the whole BAR for
 * reading may be made writable by mprotect().
 */
static void try_pages(int fd, unsigned int number, const char *what, uint64_t start, uint64_t end)
{
	uint64_t size, offset = bar_of(fd, number, &size);
	char *all = map_or_null(fd, offset, size, PROT_READ);
	bool before = false;

	need(all, "the BAR to read");
	for (uint64_t at = start; at < end && at < size; at += PAGE) {
		void *page = map_or_null(fd, offset + at, PAGE, PROT_READ | PROT_WRITE);

		if (page) {
			allowed(what, at, PAGE);
			munmap(page, PAGE);
		} else if (errno != EPERM) {
			fail("page %#llx: %s", (unsigned long long)at, strerror(errno));
		}
		if (at > start && !page != !before)
			refused(map_or_null(fd, offset + at - PAGE, 2 * PAGE,
					    PROT_READ | PROT_WRITE) ? 0 : -1, EPERM,
				"a page that is refused, mapped with its neighbour");
		before = page;
		refused(mprotect(all + at, PAGE, PROT_READ | PROT_WRITE), EACCES,
			"a page that was mapped to read, made writable");
	}
	print_line();
	munmap(all, size);
}

int registers(const char *device)
{
	int fd = open_or_fail(device);
	uint64_t size;

	bar_of(fd, 0, &size);
	try_registers(fd, 0, size);
	return 0;
}

int pages(const char *device)
{
	int fd = open_or_fail(device);

	try_pages(fd, 0, "bar0", 0, UINT64_MAX);
	try_pages(fd, 2, "bar2", 0, UINT64_MAX);
	return 0;
}

/* Try to write to the registers, and to map the pages, of BAR0 from offset @start to @end. */
int part(const char *device, uint64_t start, uint64_t end)
{
	int fd = open_or_fail(device);

	try_registers(fd, start, end);
	try_pages(fd, 0, "bar0", start, end);
	return 0;
}
