// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests what /dev/litepcieN has in addition to LitePCIe's ABI, for the tests in sim/test.
 *
 *   rings direct DEV DISK	write filled c2h and h2c rings to a disk with O_DIRECT, read them
 * 				back and compare
 *   rings shapes DEV		loopback with several buffer sizes, counts and modes; data compared
 *   rings index DEV		loopback of 4 MiB without a system call while data flows
 *   rings read DEV N		loopback by read(); N or more buffers compared, none returned early
 *   rings event DEV		eventfd and poll() when there is progress
 *   rings refuse DEV		arguments that must be refused, each with its error
 *   rings bar DEV FILE		map registers; make FILE and read on until SIGBUS
 *   rings memory DEV OFFSET	write and read 4 KiB of the card's memory in BAR2, then wait for SIGTERM
 *   rings export DEV IMPORT	hand a ring to the importer's device node IMPORT, and print the sum
 * 				of the ring's words, which a test compares with the importer's
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "uapi/litepcie.h"
#include "rings.h"

int fd;
static const char *const way_names[] = { "h2c", "c2h" };

void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

static void run(unsigned int way, int enable)
{
	/* the ioctls DMA_WRITER (c2h) and DMA_READER (h2c) have arguments of the same layout */
	struct litepcie_ioctl_dma_writer run = { .enable = enable };

	need(!ioctl(fd, way == LITEPCIE_WAY_C2H ? LITEPCIE_IOCTL_DMA_WRITER :
						  LITEPCIE_IOCTL_DMA_READER, &run),
	     enable ? "start" : "stop");
}

static void take(void)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };
	struct litepcie_ioctl_dma loopback = { .loopback_enable = 1 };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) && lock.dma_reader_status &&
	     lock.dma_writer_status, "lock");
	need(!ioctl(fd, LITEPCIE_IOCTL_DMA, &loopback), "loopback");
}

static struct litepcie_ring_info info_of(unsigned int way)
{
	struct litepcie_ring_info info = { .way = way };

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	return info;
}

static int setup(unsigned int way, unsigned int size, unsigned int count, unsigned int per,
		 unsigned int mode, unsigned int interval)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = size, .buffer_count = count,
		.buffers_per_interrupt = per, .mode = mode, .interval_us = interval,
		.flags = LITEPCIE_RING_INDEXED,
	};

	return ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup);
}

void *map(uint64_t offset, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	need(memory != MAP_FAILED, "mmap");
	return memory;
}

static uint32_t *map_ring(unsigned int way)
{
	struct litepcie_ring_info info = info_of(way);

	return map(info.ring_offset, info.ring_bytes);
}

static struct litepcie_index *map_index(void)
{
	return map(info_of(0).index_offset, 4096);
}

static const struct litepcie_status *map_status(void)
{
	const void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
				(off_t)info_of(0).status_offset);

	need(page != MAP_FAILED, "status page");
	return page;
}

static uint64_t buffers_of(const struct litepcie_status *status, unsigned int way)
{
	return __atomic_load_n(&status->way[way].buffers, __ATOMIC_ACQUIRE);
}

/*
 * Fill the first @words words of @ring, which need not be a whole ring. No two words are alike, and
 * word i depends on i alone, so data at a wrong place is noticed.
 */
void fill(uint32_t *ring, size_t words)
{
	for (size_t i = 0; i < words; i++)
		ring[i] = (uint32_t)i * 2654435761u;
}

void compare(const uint32_t *got, const uint32_t *sent, size_t words, const char *what)
{
	for (size_t i = 0; i < words; i++)
		if (got[i] != sent[i])
			fail("%s: word %zu is %#x, not %#x", what, i, got[i], sent[i]);
}

/* Test of O_DIRECT on a ring ------------------------------------------------------------------ */

static void direct_ring(unsigned int way, const char *disk)
{
	size_t bytes = info_of(way).ring_bytes;
	uint32_t *ring = map_ring(way), *back = aligned_alloc(4096, bytes);
	int out = open(disk, O_RDWR | O_DIRECT);

	need(out >= 0 && back, disk);
	memset(back, 0, bytes);
	need(pwrite(out, ring, bytes, 0) == (ssize_t)bytes, "write from the ring with O_DIRECT");
	need(pread(out, back, bytes, 0) == (ssize_t)bytes, "read the disk");
	compare(back, ring, bytes / 4, way_names[way]);
	/*
	 * Also read from the disk into the ring with O_DIRECT, as a program does that sends a
	 * file's data to the card.
	 */
	memset(ring, 0, bytes);
	need(pread(out, ring, bytes, 0) == (ssize_t)bytes, "read into the ring with O_DIRECT");
	compare(ring, back, bytes / 4, way_names[way]);
	printf("direct %s: %zu bytes\n", way_names[way], bytes);
	close(out);
}

static int direct(const char *disk)
{
	size_t bytes = info_of(0).ring_bytes;
	uint32_t *h2c = map_ring(LITEPCIE_WAY_H2C), *c2h = map_ring(LITEPCIE_WAY_C2H);
	const struct litepcie_status *status = map_status();

	take();
	fill(h2c, bytes / 4);
	run(LITEPCIE_WAY_C2H, 1);
	run(LITEPCIE_WAY_H2C, 1);
	while (buffers_of(status, LITEPCIE_WAY_C2H) < 300)
		usleep(1000);
	run(LITEPCIE_WAY_H2C, 0);
	run(LITEPCIE_WAY_C2H, 0);
	compare(c2h, h2c, bytes / 4, "loopback");
	direct_ring(LITEPCIE_WAY_C2H, disk);
	direct_ring(LITEPCIE_WAY_H2C, disk);
	return 0;
}

/* Tests of rings of several sizes, and of the index page -------------------------------------- */

/*
 * Run the loopback through both rings until @buffers buffers have come back by c2h. With @busy, the
 * program waits by reading the mapped status page, without system calls. Returns the number of
 * buffers compared.
 */
static uint64_t loop(size_t size, size_t count, uint64_t buffers, bool busy)
{
	uint32_t *h2c = map_ring(LITEPCIE_WAY_H2C), *c2h = map_ring(LITEPCIE_WAY_C2H);
	const struct litepcie_status *status = map_status();
	struct litepcie_index *index = map_index();
	struct litepcie_index_way *mine = &index->way[LITEPCIE_WAY_C2H];
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	uint64_t done = 0, compared = 0;

	fill(h2c, size * count / 4);
	run(LITEPCIE_WAY_C2H, 1);
	run(LITEPCIE_WAY_H2C, 1);
	while (done < buffers) {
		uint64_t ready = buffers_of(status, LITEPCIE_WAY_C2H);

		if (ready == done && !busy)
			need(poll(&poller, 1, 10000) == 1, "poll");
		if (ready - done > count / 2)
			/*
			 * the simulated card may fill c2h buffers faster than this program compares
			 * them, so skip buffers
			 */
			done = ready - count / 4;
		for (; done < ready; done++, compared++) {
			size_t at = done % count * size / 4;

			compare(c2h + at, h2c + at, size / 4, "loopback");
		}
		__atomic_store_n(&mine->software, done, __ATOMIC_RELEASE);
	}
	run(LITEPCIE_WAY_H2C, 0);
	run(LITEPCIE_WAY_C2H, 0);
	need(!status->way[LITEPCIE_WAY_C2H].run && !buffers_of(status, LITEPCIE_WAY_C2H),
	     "status page after the stop");
	munmap(h2c, size * count);
	munmap(c2h, size * count);
	munmap((void *)status, 4096);
	munmap(index, 4096);
	return compared;
}

static const struct shape {
	unsigned int size, count, per, mode, interval;
} shape_table[] = {
	{ 32768, 64, 1, LITEPCIE_MODE_INTERRUPT, 0 },
	{ 65536, 17, 4, LITEPCIE_MODE_INTERRUPT, 0 },
	{ 4096, 64, 8, LITEPCIE_MODE_ADAPTIVE, 1000 },
	{ 16384, 32, 32, LITEPCIE_MODE_POLL, 500 },
	{ 1u << 20, 4, 1, LITEPCIE_MODE_INTERRUPT, 0 },
	{ 8192, 256, 32, LITEPCIE_MODE_INTERRUPT, 0 },
};

static int shapes(void)
{
	take();
	for (size_t i = 0; i < sizeof(shape_table) / sizeof(*shape_table); i++) {
		const struct shape *s = &shape_table[i];
		uint64_t buffers = s->size > 65536 ? 5 : s->count + 40;

		for (unsigned int way = 0; way < 2; way++)
			need(!setup(way, s->size, s->count, s->per, s->mode, s->interval), "setup");
		need(info_of(1).ring_bytes == (uint64_t)s->size * s->count, "ring info");
		printf("shape %u x %u, mode %u: %llu buffers compared, chunks of %u\n", s->count,
		       s->size, s->mode, (unsigned long long)loop(s->size, s->count, buffers, false),
		       info_of(1).chunk_bytes);
	}
	return 0;
}

static int busy_index(void)
{
	take();
	need(!setup(0, 8192, 256, 32, LITEPCIE_MODE_POLL, 200) &&
	     !setup(1, 8192, 256, 32, LITEPCIE_MODE_POLL, 200), "setup");
	printf("index: %llu buffers compared\n", (unsigned long long)loop(8192, 256, 512, true));
	return 0;
}

/* Tests of eventfd and poll() ----------------------------------------------------------------- */

static int event(void)
{
	struct litepcie_event request = { .way = LITEPCIE_WAY_C2H };
	const struct litepcie_status *status = map_status();
	struct litepcie_index *index = map_index();
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	uint64_t count = 0;

	request.fd = eventfd(0, EFD_CLOEXEC);
	need(ioctl(fd, LITEPCIE_IOCTL_EVENT, &request) && errno == EBUSY, "event without owning");
	take();
	need(!setup(LITEPCIE_WAY_C2H, 4096, 16, 4, LITEPCIE_MODE_INTERRUPT, 0), "setup");
	need(!ioctl(fd, LITEPCIE_IOCTL_EVENT, &request), "event");
	run(LITEPCIE_WAY_C2H, 1);
	need(poll(&poller, 1, 200) == 0, "quiet before there is data");
	run(LITEPCIE_WAY_H2C, 1);
	need(read(request.fd, &count, 8) == 8 && count, "eventfd");
	while (buffers_of(status, LITEPCIE_WAY_C2H) < 2)
		need(read(request.fd, &count, 8) == 8, "eventfd again");
	need(poll(&poller, 1, 1000) == 1 && poller.revents & POLLIN, "poll() when there is progress");
	run(LITEPCIE_WAY_H2C, 0);
	usleep(100000);
	index->way[LITEPCIE_WAY_C2H].software = buffers_of(status, LITEPCIE_WAY_C2H);
	need(poll(&poller, 1, 300) == 0, "poll when all is seen");
	request.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	need(!ioctl(fd, LITEPCIE_IOCTL_EVENT, &request), "late event");
	need(read(request.fd, &count, 8) == 8, "a late eventfd hears of what came before it");
	need(!ioctl(fd, LITEPCIE_IOCTL_EVENT, &request), "the same event");
	need(read(request.fd, &count, 8) == -1 && errno == EAGAIN,
	     "an eventfd that was set again is signalled again");
	request.fd = -1;
	need(!ioctl(fd, LITEPCIE_IOCTL_EVENT, &request), "no event");
	printf("event: ok\n");
	return 0;
}

/* Tests of arguments that the driver must refuse ---------------------------------------------- */

static void refused(int rc, int error, const char *what)
{
	if (rc != -1 || errno != error)
		fail("%s: %s instead of %s", what, rc == -1 ? strerror(errno) : "success",
		     strerror(error));
}

/*
 * The last register of BAR0 can be read, and its last page can be mapped. A register or a page
 * beyond the end of BAR0 is refused, and so is an address in the middle of a register.
 */
static void refuse_bounds(void)
{
	struct litepcie_bar bar = { .bar = 0 };
	struct litepcie_ioctl_reg reg = { 0 };
	const struct { size_t bytes; off_t back; } maps[] = { { 8192, 4096 }, { 4096, 0 } };
	void *last;

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), "BAR0");
	reg.addr = (unsigned int)bar.size - 4;
	need(!ioctl(fd, LITEPCIE_IOCTL_REG, &reg), "the last register");
	reg.addr = (unsigned int)bar.size;
	refused(ioctl(fd, LITEPCIE_IOCTL_REG, &reg), EINVAL, "a register beyond BAR0");
	reg.addr = 2;
	refused(ioctl(fd, LITEPCIE_IOCTL_REG, &reg), EINVAL, "half a register");
	last = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)(bar.offset + bar.size) - 4096);
	need(last != MAP_FAILED, "the last page of BAR0");
	for (int i = 0; i < 2; i++)
		refused(mmap(NULL, maps[i].bytes, PROT_READ, MAP_SHARED, fd,
			     (off_t)(bar.offset + bar.size) - maps[i].back) == MAP_FAILED ? -1 : 0,
			EINVAL, "a page beyond BAR0");
}

static int refuse(void)
{
	struct litepcie_ring_setup reserved = { 1, 8192, 16, 1, 0, 0, 0, 1 };
	struct litepcie_ring_setup flags = { 1, 8192, 16, 1, 0, 0, 2, 0 };
	struct litepcie_ring_info info = { .way = 1, .reserved = 1 };
	struct litepcie_export export = { .way = 1, .fd_flags = O_NONBLOCK };
	struct litepcie_event event = { .way = 1, .fd = 9999 };
	struct litepcie_event event_words[] = {
		{ .way = 1, .fd = -1, .reserved = { 1 } },
		{ .way = 1, .fd = -1, .reserved = { 0, 1 } },
	};
	struct litepcie_bar bar = { .bar = 6 }, bar_word = { .bar = 0, .reserved = 1 };

	refused(setup(1, 8192, 16, 1, 0, 0), EBUSY, "setup without owning");
	take();
	refused(setup(2, 8192, 16, 1, 0, 0), EINVAL, "way 2");
	refused(setup(1, 8191, 16, 1, 0, 0), EINVAL, "size 8191");
	refused(setup(1, 2048, 16, 1, 0, 0), EINVAL, "size 2048");
	refused(setup(1, 8u << 20, 16, 1, 0, 0), EINVAL, "size 8 MiB");
	refused(setup(1, 8192, 3, 1, 0, 0), EINVAL, "count 3");
	refused(setup(1, 8192, 257, 1, 0, 0), EINVAL, "count 257");
	refused(setup(1, 8192, 16, 0, 0, 0), EINVAL, "interrupt each 0");
	refused(setup(1, 8192, 16, 17, 0, 0), EINVAL, "interrupt each 17");
	refused(setup(1, 8192, 16, 1, 3, 100), EINVAL, "mode 3");
	refused(setup(1, 8192, 16, 1, LITEPCIE_MODE_POLL, 9), EINVAL, "interval 9");
	refused(setup(1, 8192, 16, 1, LITEPCIE_MODE_POLL, 1000001), EINVAL, "interval 1000001");
	refused(setup(1, 8192, 16, 1, 0, 100), EINVAL, "interval without timer");
	refused(ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &reserved), EINVAL, "setup reserved");
	refused(ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &flags), EINVAL, "setup flags");
	refused(ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), EINVAL, "info reserved");
	refused(ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export), EINVAL, "export flags");
	refused(ioctl(fd, LITEPCIE_IOCTL_EVENT, &event), EBADF, "event fd 9999");
	refused(ioctl(fd, LITEPCIE_IOCTL_EVENT, &event_words[0]), EINVAL, "event reserved[0]");
	refused(ioctl(fd, LITEPCIE_IOCTL_EVENT, &event_words[1]), EINVAL, "event reserved[1]");
	refused(ioctl(fd, LITEPCIE_IOCTL_BAR, &bar_word), EINVAL, "bar reserved");
	refused(ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), EINVAL, "bar 6");
	bar.bar = 5;
	refused(ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), ENODEV, "bar 5");
	refuse_bounds();
	run(LITEPCIE_WAY_C2H, 1);
	refused(setup(1, 8192, 16, 1, 0, 0), EBUSY, "setup while running");
	printf("refuse: ok\n");
	return 0;
}

/* Tests of the export of a ring as a dma-buf -------------------------------------------------- */

static bool cannot_map(int dmabuf, size_t bytes, int flags)
{
	return mmap(NULL, bytes, PROT_READ, flags, dmabuf, 0) == MAP_FAILED && errno == EINVAL;
}

/*
 * Test mmap() of a dma-buf: it shows the ring's memory, whole or in part. Only a shared mapping is
 * allowed.
 */
static void map_export(int dmabuf, uint32_t *ring, size_t bytes)
{
	uint32_t *whole = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	uint32_t *half = mmap(NULL, bytes / 2, PROT_READ, MAP_SHARED, dmabuf, (off_t)(bytes / 2));

	need(whole != MAP_FAILED && half != MAP_FAILED, "map the dma-buf");
	need(!memcmp(whole, ring, bytes) && !memcmp(half, ring + bytes / 8, bytes / 2),
	     "what the dma-buf shows");
	whole[bytes / 4 - 1] ^= 1;
	need(ring[bytes / 4 - 1] == whole[bytes / 4 - 1], "what is written by the dma-buf");
	whole[bytes / 4 - 1] ^= 1;
	need(cannot_map(dmabuf, bytes, MAP_PRIVATE), "a private mapping");
	need(cannot_map(dmabuf, bytes + 4096, MAP_SHARED), "a mapping that is too long");
}

static int export(const char *importer)
{
	struct litepcie_export export = { .way = LITEPCIE_WAY_H2C, .fd_flags = O_CLOEXEC | O_RDWR };
	size_t bytes = info_of(0).ring_bytes;
	uint32_t *ring = map_ring(LITEPCIE_WAY_H2C);
	uint32_t sum = 0;
	char text[32];
	int out = open(importer, O_WRONLY);

	need(out >= 0, importer);
	fill(ring, bytes / 4);
	for (size_t i = 0; i < bytes / 4; i++)
		sum += ring[i];
	need(!ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export), "export");
	need(lseek(export.fd, 0, SEEK_END) == (off_t)bytes, "size of the dma-buf");
	map_export(export.fd, ring, bytes);
	snprintf(text, sizeof(text), "%d", export.fd);
	need(write(out, text, strlen(text)) > 0, "import");
	printf("export: %zu bytes, sum %u\n", bytes, sum);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		goto usage;
	fd = open(argv[2], O_RDWR | O_CLOEXEC);
	need(fd >= 0, argv[2]);
	if (argc == 4 && !strcmp(argv[1], "direct"))
		return direct(argv[3]);
	if (argc == 3 && !strcmp(argv[1], "shapes"))
		return shapes();
	if (argc == 3 && !strcmp(argv[1], "index"))
		return busy_index();
	if (argc == 4 && !strcmp(argv[1], "read"))
		return read_buffers(strtoul(argv[3], NULL, 0));
	if (argc == 3 && !strcmp(argv[1], "event"))
		return event();
	if (argc == 3 && !strcmp(argv[1], "refuse"))
		return refuse();
	if (argc == 4 && !strcmp(argv[1], "bar"))
		return bar(argv[3]);
	if (argc == 4 && !strcmp(argv[1], "memory"))
		return memory(strtoul(argv[3], NULL, 0));
	if (argc == 4 && !strcmp(argv[1], "export"))
		return export(argv[3]);
usage:
	fprintf(stderr, "usage: rings direct|bar|export DEV FILE | memory DEV OFFSET | read DEV N | shapes|index|event|refuse DEV\n");
	return 2;
}
