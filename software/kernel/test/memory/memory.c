// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests rings in a program's own memory (LITEPCIE_IOCTL_RING_MEMORY), for the tests in sim/test.
 *
 *   memory shapes DEV		loopback through rings in small and huge pages; every word compared
 *   memory refuse DEV		calls that must be refused, each with its error
 *   memory charge DEV		pinned memory is charged, RLIMIT_MEMLOCK limits it for a user, and
 * 				the charge ends when the ring is released or its file closed
 *   memory leave DEV		fork(), munmap() and a process that dies, each while DMA runs
 *   memory hold DEV FILE	run DMA in own memory; make FILE; end when the card has gone
 *   memory away DEV FILE	as `memory hold`, but end while the card is being reset
 *   memory bounce DEV		a ring in own memory is refused if the card needs a bounce buffer
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "memory.h"


int fd;

void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

void take(void)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) && lock.dma_reader_status &&
	     lock.dma_writer_status, "lock");
	loopback(fd, 1);
}

void release(void)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_release = 1, .dma_writer_release = 1 };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "release");
}

struct litepcie_ring_info info_of(unsigned int way)
{
	struct litepcie_ring_info info = { .way = way };

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	return info;
}

/*
 * Returns @bytes of memory that is aligned to a huge page and has been written to. @advice is
 * MADV_HUGEPAGE or MADV_NOHUGEPAGE.
 */
char *memory(size_t bytes, int advice)
{
	size_t whole = (bytes + HUGE - 1) / HUGE * HUGE;
	char *place = mmap(NULL, whole + HUGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *start = (char *)(((uintptr_t)place + HUGE - 1) / HUGE * HUGE);

	need(place != MAP_FAILED, "memory");
	munmap(start + whole, (size_t)(place + HUGE - start));
	need(!madvise(start, whole, advice), "madvise");
	memset(start, 0, whole);
	return start;
}

/*
 * Set up a ring in the program's own memory. In LitePCIe's loop, in which the card goes round the
 * ring again and again, two of the ring's buffers ask for an interrupt. A simulated card fills a
 * buffer faster than the program's machine handles an interrupt, so with an interrupt for each
 * buffer the program would have no time to run.
 */
int set_up(unsigned int way, char *place, unsigned int size, unsigned int count)
{
	struct litepcie_ring_memory request = {
		.setup = {
			.way = way, .buffer_size = size, .buffer_count = count,
			.buffers_per_interrupt = count / 2, .flags = LITEPCIE_RING_INDEXED,
		},
		.address = (uintptr_t)place,
	};

	return ioctl(fd, LITEPCIE_IOCTL_RING_MEMORY, &request);
}

void refused(int rc, int error, const char *what)
{
	if (rc != -1 || errno != error)
		fail("%s: %s instead of %s", what, rc == -1 ? strerror(errno) : "success",
		     strerror(error));
}

/* Data that is sent through rings, and its check ---------------------------------------------- */

/*
 * Fill a ring or another piece of memory. No two words are alike, and word i depends on i alone, so
 * data at a wrong place is noticed.
 */
void fill(char *ring, size_t bytes)
{
	for (size_t i = 0; i < bytes / 4; i++)
		((uint32_t *)ring)[i] = (uint32_t)i * 2654435761u + 1;
}

void compare(const char *got, const char *sent, size_t bytes, const char *what)
{
	for (size_t i = 0; i < bytes; i += 4)
		if (memcmp(got + i, sent + i, 4))
			fail("%s: byte %zu is wrong", what, i);
}

long long received(void)
{
	long long hw;

	need(!run_c2h(fd, 1, &hw), "counts");
	return hw;
}

void start(void)
{
	need(!run_c2h(fd, 1, NULL) && !run_h2c(fd, 1, NULL), "start");
}

void stop(void)
{
	need(!run_h2c(fd, 0, NULL) && !run_c2h(fd, 0, NULL), "stop");
}

void wait_received(long long buffers)
{
	for (int i = 0; received() < buffers; i++) {
		if (i == PATIENCE_MS)
			fail("%lld buffers received, not %lld", received(), buffers);
		usleep(1000);
	}
}

/* Rings of several buffer sizes and counts ---------------------------------------------------- */

static const struct shape {
	unsigned int size, count;
	int advice;
	/*
	 * size in bytes of the contiguous chunks into which the driver must divide the ring
	 */
	unsigned int chunk;
} shape_table[] = {
	/* a ring of 256 buffers of 8 KiB, as LitePCIe's, but in the program's own memory */
	{ 8192, 256, MADV_HUGEPAGE, HUGE },
	{ 4096, 16, MADV_NOHUGEPAGE, 4096 },
	{ 65536, 48, MADV_HUGEPAGE, 1u << 20 },	/* a ring of one and a half huge pages */
	{ HUGE, 4, MADV_HUGEPAGE, HUGE },
};

static void shape(const struct shape *shape)
{
	size_t bytes = (size_t)shape->size * shape->count;
	char *h2c = memory(bytes, shape->advice), *c2h = memory(bytes, shape->advice);
	struct litepcie_ring_info info;

	need(!set_up(LITEPCIE_WAY_H2C, h2c, shape->size, shape->count) &&
	     !set_up(LITEPCIE_WAY_C2H, c2h, shape->size, shape->count), "ring in own memory");
	info = info_of(LITEPCIE_WAY_C2H);
	need(info.setup.flags & LITEPCIE_RING_MEMORY && info.ring_bytes == bytes, "ring info");
	if (info.chunk_bytes != shape->chunk)
		fail("%u x %u: chunks of %u bytes, not %u", shape->count, shape->size,
		     info.chunk_bytes, shape->chunk);
	fill(h2c, bytes);
	start();
	wait_received(shape->count + 2);
	stop();
	compare(c2h, h2c, bytes, "loopback");
	printf("shape %u x %u: %zu bytes compared, chunks of %u\n", shape->count, shape->size, bytes,
	       info.chunk_bytes);
	release();
	info = info_of(LITEPCIE_WAY_C2H);
	need(!(info.setup.flags & LITEPCIE_RING_MEMORY) && info.ring_bytes == RING,
	     "LitePCIe's ring after the release");
	munmap(h2c, bytes);
	munmap(c2h, bytes);
	take();
}

/*
 * A ring in the program's own memory with LitePCIe's number and size of buffers is not passed on to
 * the next owner when the direction is released.
 */
static void shape_default(void)
{
	struct litepcie_ring_memory request = {
		.setup = info_of(LITEPCIE_WAY_C2H).setup,
		.address = (uintptr_t)memory(RING, MADV_HUGEPAGE),
	};

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_MEMORY, &request), "LitePCIe's shape in own memory");
	release();
	need(!(info_of(LITEPCIE_WAY_C2H).setup.flags & LITEPCIE_RING_MEMORY),
	     "LitePCIe's ring after its shape in own memory");
	take();
	printf("shape: LitePCIe's\n");
}

/*
 * read() and write() work with a ring in the program's own memory as with a ring of the driver.
 */
static void shape_copied(void)
{
	static char sent[4 * BUFFER], got[4 * BUFFER];
	char *h2c = memory(RING, MADV_HUGEPAGE), *c2h = memory(RING, MADV_HUGEPAGE);

	need(!set_up(LITEPCIE_WAY_H2C, h2c, BUFFER, RING / BUFFER) &&
	     !set_up(LITEPCIE_WAY_C2H, c2h, BUFFER, RING / BUFFER), "ring in own memory");
	fill(sent, sizeof(sent));
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	need(read(fd, got, 1) < 0 && errno == EAGAIN, "read() before there is data");
	need(!fcntl(fd, F_SETFL, 0), "O_NONBLOCK");
	need(write(fd, sent, sizeof(sent)) == sizeof(sent), "write");
	compare(h2c, sent, sizeof(sent), "written");
	for (size_t at = 0; at < sizeof(got);) {
		ssize_t bytes = read(fd, got + at, sizeof(got) - at);

		need(bytes > 0, "read");
		at += (size_t)bytes;
	}
	compare(got, sent, sizeof(sent), "read");
	stop();
	printf("shape: written and read\n");
}

static int shapes(void)
{
	take();
	for (size_t i = 0; i < sizeof(shape_table) / sizeof(*shape_table); i++)
		shape(&shape_table[i]);
	shape_default();
	shape_copied();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		goto usage;
	fd = open_or_fail(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "shapes"))
		return shapes();
	if (argc == 3 && !strcmp(argv[1], "refuse"))
		return refuse();
	if (argc == 3 && !strcmp(argv[1], "bounce"))
		return bounce();
	if (argc == 3 && !strcmp(argv[1], "charge"))
		return charge();
	if (argc == 3 && !strcmp(argv[1], "leave"))
		return leave(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv[3], false);
	if (argc == 4 && !strcmp(argv[1], "away"))
		return hold(argv[3], true);
usage:
	fprintf(stderr, "usage: memory shapes|refuse|charge|leave|bounce DEV | hold|away DEV FILE\n");
	return 2;
}
