// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the device node of the card's capture block, for the tests in sim/test. The generator of
 * the card makes the frames: bytes 16 to 19 of a frame of 20 bytes or more have the frame's number.
 * capture_storm.c has the subcommand that makes random calls.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uapi/litepcie_capture_node.h"
#include "calls.h"
#include "capture_storm.h"

#define HUGE		(2u << 20)
#define MBUF		(16u << 10)
#define BYTES		(256u << 10)	/* size in bytes of a ring in the program's own memory */
#define RECORD		6u
#define PATIENCE_MS	60000
/* one cycle of the card's clock, in the unit of the frame generator's period: 1/256 of a cycle */
#define CYCLE		256u

#define need(_true, ...)	do { if (!(_true)) fail(__VA_ARGS__); } while (0)

static int fd;
static const char *device;
static const volatile struct litepcie_capture_status *status;

static void refused(int rc, int error, const char *what)
{
	need(rc == -1, "%s was not refused", what);
	need(errno == error, "%s: %s, not %s", what, strerror(errno), strerror(error));
}

static void open_node(void)
{
	fd = open_or_fail(device);
	status = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	need(status != MAP_FAILED, "status page: %s", strerror(errno));
}

/*
 * Returns HUGE bytes (2 MiB) of memory at a multiple of HUGE. With @advice MADV_HUGEPAGE the memory
 * is one huge page if the kernel has one to give. With MADV_NOHUGEPAGE it is in small pages.
 */
static uint8_t *memory(int advice)
{
	uint8_t *all = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	need(all != MAP_FAILED, "memory");
	all += HUGE - (uintptr_t)all % HUGE;
	madvise(all, HUGE, advice);
	memset(all, 0, HUGE);
	return all;
}

static int ring(void *place, uint64_t bytes, uint32_t mbuf)
{
	struct litepcie_capture_ring wanted = {
		.address = (uintptr_t)place, .bytes = bytes, .mbuf_bytes = mbuf,
	};

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_RING, &wanted);
}

static int start(uint32_t flags)
{
	struct litepcie_capture_start wanted = {
		.flags = flags, .wait_cycles = 250, .limit = BYTES,
	};

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &wanted);
}

static int stop(void)
{
	struct litepcie_capture_stop wanted = { 0 };

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_STOP, &wanted);
}

static int limit(uint64_t value)
{
	struct litepcie_capture_limit wanted = { .limit = value };

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_LIMIT, &wanted);
}

static int wake(uint64_t position, int event)
{
	struct litepcie_capture_wake wanted = { .position = position, .fd = event };

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wanted);
}

static int generate(uint32_t size, uint32_t count)
{
	struct litepcie_capture_generate wanted = {
		.size = size, .count = count, .period = 8 * CYCLE,
	};

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_GENERATE, &wanted);
}

static struct litepcie_capture_info info(int of)
{
	static struct litepcie_capture_info found;

	found = (struct litepcie_capture_info) { .ask = LITEPCIE_CAPTURE_ASK_ACCOUNTS };
	need(!ioctl(of, LITEPCIE_IOCTL_CAPTURE_INFO, &found), "INFO: %s", strerror(errno));
	return found;
}

/* Checks of the pcapng blocks of a recording -------------------------------------------------- */

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/*
 * Walk through the ring's pcapng blocks from position @from to @to. Their frames must have the
 * numbers @next, @next + 1 and so on, which the generator has given them. Returns the number that
 * the next frame must have.
 */
static uint32_t walk(const uint8_t *base, uint64_t from, uint64_t to, uint32_t next)
{
	while (from < to) {
		const uint8_t *block = base + from % BYTES;
		uint32_t length = word(block + 4);

		need(length >= 12 && length % 8 == 0 && length <= to - from &&
		     word(block + length - 4) == length, "a block of %u bytes at %llu", length,
		     (unsigned long long)from);
		if (word(block) == RECORD) {
			need(word(block + 44) == next, "frame %u, not %u", word(block + 44), next);
			next++;
		}
		from += length;
	}
	return next;
}

/*
 * Ask the driver by the ioctl WAKE for a wake-up when the card's position in the ring is beyond
 * @position, and sleep until then: in poll() of the node if @event is -1, else in poll() of the
 * eventfd @event.
 */
static void await(uint64_t position, int event)
{
	struct pollfd poller = { .fd = event < 0 ? fd : event, .events = POLLIN };
	uint64_t count;

	need(!wake(position, event), "WAKE: %s", strerror(errno));
	if (status->position > position)
		return;
	need(poll(&poller, 1, PATIENCE_MS) == 1 && poller.revents == POLLIN, "no wake-up: %#x",
	     poller.revents);
	need(status->position > position, "a wake-up at %llu, not beyond %llu",
	     (unsigned long long)status->position, (unsigned long long)position);
	if (event >= 0)
		need(read(event, &count, sizeof(count)) == sizeof(count) && count == 1,
		     "%llu signals of one wake-up", (unsigned long long)count);
}

/*
 * Wait for @frames frames in the ring and check them. Give the room of each MBUF (one of the equal
 * parts of the ring) back to the card as soon as its frames are checked. Returns the position in
 * the ring up to which blocks were checked.
 */
static uint64_t take(const uint8_t *base, uint32_t frames, int event)
{
	uint64_t at = 0, to;
	uint32_t next = 0;

	while (next < frames) {
		await(at, event);
		to = status->position;
		next = walk(base, at, to, next);
		at = to;
		need(!limit(at / MBUF * MBUF + BYTES), "LIMIT: %s", strerror(errno));
	}
	return at;
}

/* Subcommands of the program ------------------------------------------------------------------ */

static int own(void)
{
	uint8_t *base = memory(MADV_HUGEPAGE);
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct litepcie_capture_info found;
	uint64_t signals = 0;

	need(!ring(base, BYTES, MBUF), "RING: %s", strerror(errno));
	for (int way = 0; way < 2; way++) {
		uint64_t at;

		need(!start(LITEPCIE_CAPTURE_LOSSLESS) && !generate(64, 6000), "start");
		at = take(base, 6000, way ? event : -1);
		need(!stop() && status->run == LITEPCIE_CAPTURE_RUN_REST, "stop");
		need(status->position % MBUF == 0 && status->position >= at, "the last seal");
		walk(base, at, status->position, 6000);
		found = info(fd);
		need(found.port[0].delivered.frames == 6000 &&
		     found.port[0].delivered.bytes == 64 * 6000 && found.generated == 6000,
		     "accounts");
	}
	/*
	 * Read older signals of the eventfd first. The run has ended, so WAKE signals the eventfd
	 * at once.
	 */
	need(read(event, &signals, 8) == 8 || errno == EAGAIN, "eventfd");
	need(!wake(status->position + 1, event) && read(event, &signals, 8) == 8 && signals == 1,
	     "%llu signals after the end", (unsigned long long)signals);
	printf("own: ok, segments of %u\n", found.segment_bytes);
	return 0;
}

/* Memory in pages of 4 KiB can be a ring if the ring's MBUFs (its equal parts) have 4 KiB, too. */
static int small(void)
{
	uint8_t *base = memory(MADV_NOHUGEPAGE);

	refused(ring(base, BYTES, MBUF), EMSGSIZE, "MBUFs of 16 KiB in pages of 4 KiB");
	need(!ring(base, BYTES, 4096), "RING: %s", strerror(errno));
	need(!start(LITEPCIE_CAPTURE_LOSSLESS) && !generate(100, 500), "start");
	while (walk(base, 0, status->position, 0) < 500)
		await(status->position, -1);
	need(!stop(), "stop");
	printf("small: ok\n");
	return 0;
}

static void refuse_shapes(uint8_t *base)
{
	struct litepcie_capture_ring padded = {
		.address = (uintptr_t)base, .bytes = BYTES, .mbuf_bytes = MBUF, .reserved = 1,
	};

	refused(ring(base, BYTES - 4096, MBUF), EINVAL, "a ring that is no power of two");
	refused(ring(base, 32 << 10, 4096), EINVAL, "a ring of 32 KiB");
	refused(ring(base, 2ull << 30, MBUF), EINVAL, "a ring of 2 GiB");
	refused(ring(base, BYTES, 2048), EINVAL, "an MBUF of 2 KiB");
	refused(ring(base, BYTES, BYTES / 2), EINVAL, "an MBUF of half the ring");
	refused(ring(base + 8, BYTES, MBUF), EINVAL, "a ring that is not aligned");
	refused(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_RING, &padded), EINVAL, "a reserved field");
	refused(ring((void *)4096, BYTES, MBUF), EFAULT, "memory that is not mapped");
	refused(ring((void *)status, BYTES, MBUF), EFAULT, "memory that is not writable");
}

static void refuse_calls(void)
{
	struct litepcie_capture_start beyond = { .limit = BYTES + 8 };
	struct litepcie_capture_start odd = { .flags = 2 * LITEPCIE_CAPTURE_STAGING };
	struct litepcie_capture_start late = { .wait_cycles = 1u << 24 };
	struct litepcie_capture_start longest = { .snap = 16384 };
	char byte;

	refused(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &beyond), EINVAL,
		"a limit beyond the ring");
	refused(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &odd), EINVAL, "an unknown flag");
	odd.flags = LITEPCIE_CAPTURE_NET;
	refused(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &odd), EOPNOTSUPP,
		"a net device that the card does not have");
	refused(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &late), EINVAL, "a wait of 2^24 cycles");
	refused(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &longest), EINVAL, "a snap of 16384");
	refused(limit(BYTES), EINVAL, "LIMIT before START");
	refused(generate(16384, 1), EINVAL, "frames of 16384 bytes");
	refused(wake(0, 99), EBADF, "an eventfd that is none");
	refused(ioctl(fd, LITEPCIE_IOCTL_REG, &beyond), ENOTTY, "a call of another node");
	refused((int)read(fd, &byte, 1), EINVAL, "read() beside a ring of the program's own");
}

static int refuse(void)
{
	uint8_t *base = memory(MADV_HUGEPAGE);
	int other = open_or_fail(device), mine = fd;

	refused(start(0), EINVAL, "START without a ring");
	refused(limit(BYTES), EINVAL, "LIMIT without a ring");
	refused(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0,
		EPERM, "the status page for writing");
	refused(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED ? -1 : 0, EINVAL,
		"a page behind the status page");
	refused(mprotect((void *)status, 4096, PROT_READ | PROT_WRITE), EACCES,
		"the status page that is made writable");
	refuse_shapes(base);
	need(!ring(base, BYTES, MBUF), "RING: %s", strerror(errno));
	refuse_calls();
	need(!start(0), "START: %s", strerror(errno));
	refused(start(0), EBUSY, "a second START");
	refused(ring(base, BYTES, MBUF), EBUSY, "RING while it runs");
	refused(limit(2 * BYTES + 8), EINVAL, "a limit of more than a ring beyond the position");
	need(!limit(BYTES / 2) && status->limit == BYTES, "a smaller limit is ignored");
	fd = other;
	refused(ring(base, BYTES, MBUF), EBUSY, "another file's RING");
	refused(stop(), EBUSY, "another file's STOP");
	refused(limit(BYTES), EBUSY, "another file's LIMIT");
	refused(wake(0, -1), EBUSY, "another file's WAKE");
	refused(generate(64, 1), EBUSY, "another file's GENERATE");
	refused((int)read(fd, base, 1), EBUSY, "another file's read()");
	need(info(other).run == LITEPCIE_CAPTURE_RUN_RING, "INFO for another file");
	fd = mine;
	need(!stop() && !stop(), "STOP");
	printf("refuse: ok\n");
	return 0;
}

/* Sleep until read() has data: by the epoll descriptor @edge, or by poll() if @edge is -1. */
static void wait_for_data(int edge)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	struct epoll_event event = { 0 };

	if (edge >= 0)
		need(epoll_wait(edge, &event, 1, PATIENCE_MS) == 1 && event.events & EPOLLIN,
		     "no edge of epoll: %#x", event.events);
	else
		need(poll(&poller, 1, PATIENCE_MS) == 1 && poller.revents & POLLIN,
		     "no poll(): %#x", poller.revents);
}

/*
 * Returns the descriptor of an edge-triggered epoll to which the node has been added.
 */
static int edges(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int edge = epoll_create1(EPOLL_CLOEXEC);

	need(edge >= 0 && !epoll_ctl(edge, EPOLL_CTL_ADD, fd, &event), "epoll: %s",
	     strerror(errno));
	return edge;
}

/*
 * Call read() of the node, which is open with O_NONBLOCK, until it has returned @frames more
 * frames. If read() fails with EAGAIN, wait for data by epoll or poll(). @got is the number of
 * bytes that @to has already, and *@at is the offset of the first block in @to that was not checked
 * yet. Returns the number of bytes that @to has then.
 */
static size_t read_frames(uint8_t *to, size_t room, size_t got, size_t *at, uint32_t frames,
			  int edge)
{
	uint32_t next = 0;

	while (next < frames) {
		/* The lengths of the reads are chosen independently of the blocks' lengths. */
		ssize_t part = read(fd, to + got, 1 + (got * 7919 + 13) % 9999);

		if (part < 0) {
			need(errno == EAGAIN, "read(): %s", strerror(errno));
			wait_for_data(edge);
			continue;
		}
		need(part > 0 && (got += (size_t)part) + 10000 < room, "read() of %zd", part);
		while (*at + 12 <= got && *at + word(to + *at + 4) <= got) {
			if (word(to + *at) == RECORD)
				need(word(to + *at + 44) == next++, "frame %u", next - 1);
			*at += word(to + *at + 4);
		}
	}
	return got;
}

/*
 * Read two bursts of frames, the first one with edge-triggered epoll. Each burst has room in the
 * ring of read(), but both together do not: the driver must give room back to the card.
 */
static int reading(void)
{
	size_t room = 8u << 20, bytes, at = 4096;
	uint8_t *to = malloc(room);
	int edge = edges();
	char byte;

	need(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
	need(read(fd, to, 1) == 1, "the first byte of the header: %s", strerror(errno));
	need(status->run == LITEPCIE_CAPTURE_RUN_READ, "a run of read()");
	refused(start(0), EBUSY, "START beside read()");
	refused(wake(0, -1), EBUSY, "WAKE beside read()");
	need(read(fd, to + 1, 4095) == 4095, "the rest of the header");
	bytes = 4096;
	need(word(to) == 0x0a0d0d0a, "the section");
	for (int burst = 0; burst < 2; burst++) {
		need(!generate(300, 9000), "GENERATE: %s", strerror(errno));
		bytes = read_frames(to, room, bytes, &at, 9000, burst ? -1 : edge);
	}
	need(!stop(), "stop");
	while (read(fd, &byte, 1) == 1)
		bytes++;
	need(read(fd, &byte, 1) == 0, "the end of the file after STOP");
	printf("reading: ok, %zu bytes\n", bytes);
	return 0;
}

/* Tests of fork(), of a process that is killed, and of a card that is removed or reset -------- */

static void flow(uint8_t *base)
{
	need(!ring(base, BYTES, MBUF) && !start(0) && !generate(200, 0), "start: %s",
	     strerror(errno));
	await(0, -1);
}

/*
 * After a fork() the child overwrites the memory in which the parent's ring lies. These writes must
 * go to copies of the ring's pages, and the parent must still see what the card writes.
 */
static int forked(void)
{
	uint8_t *base = memory(MADV_HUGEPAGE);
	uint32_t before;
	pid_t child;
	int rc;

	need(!ring(base, BYTES, MBUF) && !start(LITEPCIE_CAPTURE_LOSSLESS) && !generate(64, 500),
	     "start");
	await(0, -1);
	child = fork();
	if (child == 0) {
		memset(base, 0x55, HUGE);
		_exit(0);
	}
	need(child > 0 && waitpid(child, &rc, 0) == child && !rc, "child");
	do {
		await(0, -1);
		before = walk(base, 0, status->position, 0);
	} while (before < 500);
	printf("forked: ok\n");
	return 0;
}

/* When the process that captures is killed, another one with the node open can capture. */
static int killed(void)
{
	int ready[2], rc;
	uint8_t *base;
	pid_t child;
	char byte;

	need(!pipe(ready), "pipe");
	child = fork();
	if (child == 0) {
		open_node();
		flow(memory(MADV_HUGEPAGE));
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	/*
	 * The memory for the parent's ring is mapped after the fork(), so the child does not share
	 * it.
	 */
	base = memory(MADV_HUGEPAGE);
	need(child > 0 && read(ready[0], &byte, 1) == 1, "child");
	refused(ring(base, BYTES, MBUF), EBUSY, "RING while the child has the capture");
	need(!kill(child, SIGKILL) && waitpid(child, &rc, 0) == child, "kill");
	need(info(fd).run == LITEPCIE_CAPTURE_RUN_REST && !info(fd).ring_bytes, "a free capture");
	need(!info(fd).generating, "a generator that is off");
	need(!ring(base, BYTES, MBUF) && !start(LITEPCIE_CAPTURE_LOSSLESS) && !generate(64, 3000),
	     "start after the kill: %s", strerror(errno));
	take(base, 3000, -1);
	need(!stop(), "stop");
	printf("killed: ok\n");
	return 0;
}

/*
 * Capture until the card is removed (@error ENODEV) or reset (@error EIO). The file @flag is made
 * once data flows. After a reset the same open file captures again.
 */
static int hold(const char *flag, int error)
{
	struct pollfd poller = { .fd = fd };
	uint8_t *base = memory(MADV_HUGEPAGE);

	flow(base);
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	do
		need(poll(&poller, 1, PATIENCE_MS) == 1, "poll() until the card goes");
	while (!(poller.revents & (POLLERR | POLLHUP)));
	if (error == ENODEV) {
		refused(limit(BYTES), ENODEV, "LIMIT without a card");
		return 0;
	}
	refused(limit(BYTES), EIO, "LIMIT after the reset");
	/* STOP fails with EIO until the card's reset is over. */
	while (stop() == -1)
		need(errno == EIO && !usleep(1000), "STOP after the reset: %s", strerror(errno));
	need(status->error == 0, "an error after STOP");
	need(!start(LITEPCIE_CAPTURE_LOSSLESS) && !generate(64, 3000), "start after the reset");
	take(base, 3000, -1);
	printf("reset: ok\n");
	return 0;
}

int main(int argc, char **argv)
{
	need(argc >= 3, "usage: capture PART NODE [FLAG | N SEED]");
	device = argv[2];
	if (!strcmp(argv[1], "storm") && argc == 5)
		return storm(device, strtoul(argv[3], NULL, 0), (unsigned int)atol(argv[4]));
	open_node();
	if (!strcmp(argv[1], "own"))
		return own();
	if (!strcmp(argv[1], "small"))
		return small();
	if (!strcmp(argv[1], "refuse"))
		return refuse();
	if (!strcmp(argv[1], "reading"))
		return reading();
	if (!strcmp(argv[1], "forked"))
		return forked();
	if (!strcmp(argv[1], "killed"))
		return killed();
	if (!strcmp(argv[1], "hold") && argc == 4)
		return hold(argv[3], ENODEV);
	if (!strcmp(argv[1], "reset") && argc == 4)
		return hold(argv[3], EIO);
	fail("no part %s", argv[1]);
}
