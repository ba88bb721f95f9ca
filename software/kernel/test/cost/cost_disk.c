// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Measures the cost of writing a ring to a disk. The data goes through a bounce buffer or directly,
 * by one thread or by four, in chunks of several sizes, and also directly from a ring in the
 * program's own memory. For each of these cases the program prints the number of instructions, and
 * how long the writing took by the guest's clock. `cost run` measures the same for another program,
 * which writes from other memory.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "cost.h"

#define BIG_BUFFER	(4u << 20)
/* number of 4 MiB buffers in the ring, so that each of 4 threads has a chunk of 32 MiB */
#define BIG_COUNT	32u
#define BIG_RING	((size_t)BIG_BUFFER * BIG_COUNT)
#define HUGE		(2u << 20)
#define THREADS		4u
#define TURNS		3

struct part {
	const char *from;
	/*
	 * buffer into which the thread copies ring data before it writes them to disk; NULL: the
	 * thread writes straight from the ring
	 */
	char *bounce;
	size_t begin, end, chunk;
	int disk;
};

static void *write_part(void *argument)
{
	const struct part *part = argument;

	for (size_t at = part->begin; at < part->end; at += part->chunk) {
		const char *from = part->from + at;

		if (part->bounce)
			from = memcpy(part->bounce, from, part->chunk);
		if (pwrite(part->disk, from, part->chunk, (off_t)at) != (ssize_t)part->chunk)
			fail("write of %zu bytes at %zu: %s", part->chunk, at, strerror(errno));
	}
	return NULL;
}

/* Returns anonymous memory that has been written to, so that all of its pages exist. */
static char *anonymous(size_t bytes)
{
	char *memory = aligned_alloc(4096, bytes);

	if (!memory)
		fail("%zu bytes: no memory", bytes);
	memset(memory, 0xa5, bytes);
	return memory;
}

static void write_all(struct part *parts, unsigned int threads)
{
	pthread_t thread[THREADS];

	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, write_part, &parts[i]))
			fail("no thread");
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void tell(const char *name, size_t chunk, unsigned int threads, uint64_t used,
		 uint64_t took, size_t bytes)
{
	printf("disk %s chunk=%zu threads=%u instructions=%llu nanoseconds=%llu bytes=%zu\n", name,
	       chunk, threads, (unsigned long long)used, (unsigned long long)took, bytes);
	fflush(stdout);
}

static void rung(const char *name, const char *from, int disk, size_t chunk,
		 unsigned int threads, bool bounce)
{
	uint64_t begin, start, used, took;
	struct part parts[THREADS];

	for (unsigned int i = 0; i < threads; i++)
		parts[i] = (struct part){
			.from = from, .disk = disk, .chunk = chunk,
			.begin = BIG_RING / threads * i, .end = BIG_RING / threads * (i + 1),
			.bounce = bounce ? anonymous(chunk) : NULL,
		};
	begin = busy();
	start = now();
	write_all(parts, threads);
	took = now() - start;
	used = busy() - begin;
	for (unsigned int i = 0; i < threads; i++)
		free(parts[i].bounce);
	tell(name, chunk, threads, used, took, BIG_RING);
}

static void fill(char *ring)
{
	for (size_t i = 0; i < BIG_RING / sizeof(int); i += 16)
		((unsigned int *)ring)[i] = (unsigned int)i * 2654435761u;
}

static char *big_ring(int fd)
{
	struct litepcie_ring_setup setup = {
		.way = LITEPCIE_WAY_C2H, .buffer_size = BIG_BUFFER, .buffer_count = BIG_COUNT,
		.buffers_per_interrupt = 1,
	};
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };
	struct litepcie_ioctl_lock lock = { .dma_writer_request = 1 };
	char *ring;

	if (ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) || ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup) ||
	    ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info))
		fail("a ring of %zu bytes: %s", BIG_RING, strerror(errno));
	ring = mmap(NULL, BIG_RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)info.ring_offset);
	if (ring == MAP_FAILED)
		fail("the ring: %s", strerror(errno));
	fill(ring);
	return ring;
}

/*
 * Returns how many bytes of the mapping that begins at @start are in huge pages, by
 * /proc/self/smaps.
 */
static size_t huge_bytes(const char *start)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	unsigned long from, to, begin = 0, kib = 0;
	char line[256];

	if (!maps)
		fail("/proc/self/smaps: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2)
			begin = from;
		if (begin == (unsigned long)start && sscanf(line, "AnonHugePages: %lu", &kib) == 1)
			break;
	}
	fclose(maps);
	return kib << 10;
}

/* Make a ring of BIG_RING bytes in the program's own memory, which is in huge pages. */
static char *own_ring(int fd)
{
	struct litepcie_ring_memory request = {
		.setup = {
			.way = LITEPCIE_WAY_C2H, .buffer_size = HUGE, .buffer_count = BIG_RING / HUGE,
			.buffers_per_interrupt = 1,
		},
	};
	char *whole = mmap(NULL, BIG_RING + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ring = (char *)(((unsigned long)whole + HUGE - 1) / HUGE * HUGE);

	if (whole == MAP_FAILED || mprotect(ring, BIG_RING, PROT_READ | PROT_WRITE) ||
	    madvise(ring, BIG_RING, MADV_HUGEPAGE))
		fail("%zu bytes: %s", BIG_RING, strerror(errno));
	fill(ring);
	request.address = (unsigned long)ring;
	if (ioctl(fd, LITEPCIE_IOCTL_RING_MEMORY, &request))
		fail("a ring in own memory: %s", strerror(errno));
	if (huge_bytes(ring) != BIG_RING)
		fail("%zu of %zu bytes are in huge pages", huge_bytes(ring), BIG_RING);
	return ring;
}

int cost_disk(const char *device, const char *name)
{
	const size_t chunks[] = { 128u << 10, 512u << 10, 2u << 20, 8u << 20, 16u << 20, 32u << 20 };
	int disk = open(name, O_RDWR | O_DIRECT), fd = open_or_fail(device);
	char *ring = big_ring(fd);

	if (disk < 0)
		fail("%s: %s", name, strerror(errno));
	for (int turn = 0; turn < TURNS; turn++)
		rung("ring", ring, disk, 1u << 20, 1, false);
	for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
		rung("bounce", ring, disk, chunks[i], 1, true);
		rung("bounce", ring, disk, chunks[i], THREADS, true);
		rung("direct", ring, disk, chunks[i], 1, false);
		rung("direct", ring, disk, chunks[i], THREADS, false);
	}
	ring = own_ring(fd);
	for (int turn = 0; turn < TURNS; turn++)
		rung("own", ring, disk, 1u << 20, 1, false);
	return 0;
}

/*
 * Run another program, which writes @bytes in chunks of @chunk bytes, and print the number of
 * instructions and the time that it takes. The program's start and end are counted, too.
 */
int cost_run(const char *name, size_t chunk, size_t bytes, char **command)
{
	uint64_t begin = busy(), start = now(), took;
	pid_t child = fork();
	int status;

	if (child == 0) {
		execv(*command, command);
		fail("%s: %s", *command, strerror(errno));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fail("%s: it did not end well", *command);
	took = now() - start;
	tell(name, chunk, 1, busy() - begin, took, bytes);
	return 0;
}
