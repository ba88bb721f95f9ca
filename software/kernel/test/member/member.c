// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests what a process may do that is a member of the device node's group and has no other rights,
 * and whether such a process could affect other processes. For the tests in sim/test.
 *
 *   member registers DEV	write to every register of BAR0 by ioctl(); print what was allowed
 *   member pages DEV		map every page of BAR0 and BAR2 to write; print what was allowed
 *   member part DEV START END	registers and pages together, for BAR0 from START to END
 *   member beside DEV		a second open file of a card in use neither reads the first file's
 * 				data nor changes its data and settings
 *   member leftovers DEV	an open file finds no data that an earlier open file left
 *   member charge DEV		the memory of rings is limited and charged, whether a file, a
 * 				mapping or a dma-buf's descriptor keeps it
 *   member compat DEV		the calls of a 32-bit program
 *   member as PROGRAM ...	run any program as a member
 *   member stuck DEV STUCK CONFIG
 * 				as root: a direction that does not stop, with the driver built from
 * 				faults/; STUCK is the file of the module parameter `stuck`, CONFIG
 * 				that of the card's configuration space in sysfs
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage.
 */
#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "member.h"

/* user and group number of a process that is not root, but a member of the device node's group */
#define MEMBER	1000

void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

void refused(long rc, int error, const char *what)
{
	if (rc != -1 || errno != error)
		fail("%s: %s instead of %s", what, rc == -1 ? strerror(errno) : "success",
		     strerror(error));
}

/*
 * Ask to become the owner of h2c if @h2c is true, and of c2h if @c2h is true. Returns how many of
 * these requests were granted. A direction that has an owner, even this file, is refused.
 */
int take(int fd, bool h2c, bool c2h)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = h2c, .dma_writer_request = c2h };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "lock");
	return (h2c && lock.dma_reader_status) + (c2h && lock.dma_writer_status);
}

void release(int fd)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_release = 1, .dma_writer_release = 1 };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "release");
}

struct litepcie_ring_info info_of(int fd, unsigned int way)
{
	struct litepcie_ring_info info = { .way = way };

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	return info;
}

void *map_or_null(int fd, uint64_t offset, size_t bytes, int prot)
{
	void *memory = mmap(NULL, bytes, prot, MAP_SHARED, fd, (off_t)offset);

	return memory == MAP_FAILED ? NULL : memory;
}

const struct litepcie_status *map_status(int fd)
{
	const struct litepcie_status *status = map_or_null(fd, info_of(fd, 0).status_offset, 4096,
							   PROT_READ);

	need(status, "status page");
	return status;
}

struct litepcie_index *map_index(int fd)
{
	struct litepcie_index *index = map_or_null(fd, info_of(fd, 0).index_offset, 4096,
						   PROT_READ | PROT_WRITE);

	need(index, "index page");
	return index;
}

/* Returns the number in KiB that the line @field of /proc/self/status has. */
unsigned long status_kb(const char *field)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long value = 0;
	char line[256];

	need(file, "/proc/self/status");
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			value = strtoul(line + strlen(field) + 1, NULL, 10);
	fclose(file);
	return value;
}

static void become_member(void)
{
	need(!setgroups(0, NULL) && !setgid(MEMBER) && !setuid(MEMBER), "becoming a member");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *device);
	} parts[] = {
		{ "registers", registers }, { "pages", pages }, { "beside", beside },
		{ "leftovers", leftovers }, { "charge", charge }, { "compat", compat },
	};

	if (argc > 2 && !strcmp(argv[1], "as")) {
		become_member();
		execvp(argv[2], argv + 2);
		fail("%s: %s", argv[2], strerror(errno));
	}
	if (argc == 5 && !strcmp(argv[1], "stuck"))
		return stuck(argv[2], argv[3], argv[4]);
	if (argc == 5 && !strcmp(argv[1], "part")) {
		become_member();
		return part(argv[2], strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
	}
	for (size_t i = 0; argc == 3 && i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(argv[1], parts[i].name)) {
			become_member();
			return parts[i].run(argv[2]);
		}
	fprintf(stderr, "usage: member registers|pages|beside|leftovers|charge|compat DEV | part DEV START END | as PROGRAM ... | stuck DEV STUCK CONFIG\n");
	return 2;
}
