// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests that a disk writes and reads the card's memory by peer-to-peer DMA, for the tests in
 * sim/test.
 *
 *   peer CARD DEV DISK OFFSET SIZE
 *
 * CARD is the card's folder in sysfs, where the kernel offers the card's memory. The data must
 * arrive in DEV's BAR2, between OFFSET and OFFSET + SIZE. Exit status: 0 if every check holds, 1 if
 * one fails (with a message on stderr), 2 wrong usage.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

#define BYTES	(64u << 10)
#define WORDS	(BYTES / 4)

static void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

static uint32_t word(uint32_t i)
{
	return i * 2654435761u + 12345;
}

/*
 * Allocate memory of the card through p2pmem, and map it. O_DIRECT I/O with this mapping is
 * peer-to-peer DMA between the disk and the card.
 */
static uint32_t *allocate(const char *card)
{
	char path[PATH_MAX];
	uint32_t *memory;
	int fd;

	snprintf(path, sizeof(path), "%s/p2pmem/allocate", card);
	fd = open(path, O_RDWR);
	need(fd >= 0, path);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(memory != MAP_FAILED, "memory of the card");
	return memory;
}

/*
 * Map @size bytes of BAR2 from @offset on through the driver, to see what the card itself has
 * stored there.
 */
static volatile uint32_t *bar2(const char *device, size_t offset, size_t size)
{
	struct litepcie_bar bar = { .bar = 2 };
	int fd = open_or_fail(device);
	void *place;

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), "BAR2");
	place = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)(bar.offset + offset));
	need(place != MAP_FAILED, "BAR2");
	return place;
}

static size_t found_at(volatile uint32_t *card, size_t words)
{
	for (size_t at = 0; at + WORDS <= words; at += 1024)
		if (card[at] == word(0) && card[at + 1] == word(1)) {
			for (uint32_t i = 0; i < WORDS; i++)
				if (card[at + i] != word(i))
					fail("word %u in the card is %#x, not %#x", i, card[at + i],
					     word(i));
			return at * 4;
		}
	fail("the card's memory does not hold what the disk has read into it");
}

int main(int argc, char **argv)
{
	uint32_t *host = aligned_alloc(4096, BYTES), *card;
	size_t at;
	int disk;

	if (argc != 6) {
		fprintf(stderr, "usage: peer CARD DEV DISK OFFSET SIZE\n");
		return 2;
	}
	disk = open(argv[3], O_RDWR | O_DIRECT);
	need(disk >= 0 && host, argv[3]);
	for (uint32_t i = 0; i < WORDS; i++)
		host[i] = word(i);
	need(pwrite(disk, host, BYTES, 0) == (ssize_t)BYTES, "write the disk");
	card = allocate(argv[1]);
	need(pread(disk, card, BYTES, 0) == (ssize_t)BYTES, "from the disk to the card");
	at = found_at(bar2(argv[2], strtoul(argv[4], NULL, 0), strtoul(argv[5], NULL, 0)),
		      strtoul(argv[5], NULL, 0) / 4);
	need(pwrite(disk, card, BYTES, BYTES) == (ssize_t)BYTES, "from the card to the disk");
	memset(host, 0, BYTES);
	need(pread(disk, host, BYTES, BYTES) == (ssize_t)BYTES, "read the disk");
	for (uint32_t i = 0; i < WORDS; i++)
		if (host[i] != word(i))
			fail("word %u on the disk is %#x, not %#x", i, host[i], word(i));
	printf("peer: %u bytes each way, at %#zx of the card's memory\n", BYTES, at);
	return 0;
}
