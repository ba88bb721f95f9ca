// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Ill-treat /dev/litepcieN, for the tests in sim/test.
 *
 *   stress hold DEV FILE	run DMA with readers, pollers and mappings; make FILE when data flows;
 *				end well when, and only when, all of them see the card go
 *   stress reset DEV FILE	run DMA, make FILE when data flows; end well when DMA is stopped by
 *				a reset, and runs again on the same file
 *   stress cycle DEV N		open, start, stop, close, N times
 *   stress race DEV N		threads that start and stop while others close, N times each
 *   stress poke RES OFFSET FILE	write a file into a BAR
 *   stress fuzz DEV N SEED	N random calls without privileges; prints calls by outcome
 *
 * Exit status: 0 as it should be, 1 not so (with a sentence), 2 usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uapi/litepcie.h"

#define RING	(2u << 20)
#define BUFFER	8192u

#define fail(...)	(fprintf(stderr, "stress: " __VA_ARGS__), fputc('\n', stderr), exit(1))

static int open_or_fail(const char *device)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail("%s: %s", device, strerror(errno));
	return fd;
}

static int run_h2c(int fd, int enable, long long *hw)
{
	struct litepcie_ioctl_dma_reader reader = { .enable = enable };
	int rc = ioctl(fd, LITEPCIE_IOCTL_DMA_READER, &reader);

	if (hw)
		*hw = reader.hw_count;
	return rc;
}

static int run_c2h(int fd, int enable, long long *hw)
{
	struct litepcie_ioctl_dma_writer writer = { .enable = enable };
	int rc = ioctl(fd, LITEPCIE_IOCTL_DMA_WRITER, &writer);

	if (hw)
		*hw = writer.hw_count;
	return rc;
}

static void loopback(int fd, int enable)
{
	struct litepcie_ioctl_dma dma = { .loopback_enable = enable };

	if (ioctl(fd, LITEPCIE_IOCTL_DMA, &dma))
		fail("loopback: %s", strerror(errno));
}

/* hold ---------------------------------------------------------------------------------------- */

static void hold_reader(int fd)
{
	static char buffer[BUFFER];

	while (read(fd, buffer, sizeof(buffer)) > 0)
		usleep(100);
	if (errno != ENODEV)
		fail("read() ended with %s, not ENODEV", strerror(errno));
	exit(0);
}

static void hold_poller(int fd)
{
	struct pollfd poller = { .fd = fd, .events = 0 };

	if (poll(&poller, 1, -1) != 1 || !(poller.revents & POLLHUP))
		fail("poll() returned events %#x without POLLHUP", poller.revents);
	exit(0);
}

/* Memory stays memory, whatever becomes of the card. */
static void hold_mapping(int fd)
{
	unsigned char *rings = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct pollfd poller = { .fd = fd, .events = 0 };

	if (rings == MAP_FAILED)
		fail("mmap(): %s", strerror(errno));
	memset(rings, 0x5a, RING);
	poll(&poller, 1, -1);
	for (size_t i = 0; i < RING; i += 4096)
		if (rings[i] != 0x5a)
			fail("a mapped page changed to %#x after the card had gone", rings[i]);
	if (mmap(NULL, RING, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
		fail("mmap() works on a card that has gone");
	close(fd);
	rings[RING - 1] = 1;
	exit(0);
}

static void check_gone(int fd)
{
	struct litepcie_ioctl_reg reg = { .addr = 4 };
	long long hw;

	if (ioctl(fd, LITEPCIE_IOCTL_REG, &reg) != -1 || errno != ENODEV)
		fail("a register access after the end: %s", strerror(errno));
	if (run_c2h(fd, 1, &hw) != -1 || errno != ENODEV)
		fail("DMA starts after the end: %s", strerror(errno));
}

static int hold(const char *device, const char *flag)
{
	void (*const parts[])(int) = { hold_reader, hold_poller, hold_mapping };
	int fd = open_or_fail(device), status, failed = 0;
	long long hw = 0;

	loopback(fd, 1);
	if (run_c2h(fd, 1, NULL) || run_h2c(fd, 1, NULL))
		fail("start: %s", strerror(errno));
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			parts[i](i == 0 ? fd : open_or_fail(device));
	while (hw < 300)
		if (run_c2h(fd, 1, &hw))
			fail("the card went before data came: %s", strerror(errno));
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	while (wait(&status) > 0)
		failed |= status;
	check_gone(fd);
	close(fd);
	return failed ? 1 : 0;
}

/* reset --------------------------------------------------------------------------------------- */

static void flow(int fd, long long least)
{
	long long hw = 0;

	loopback(fd, 1);
	if (run_c2h(fd, 1, NULL) || run_h2c(fd, 1, NULL))
		fail("start: %s", strerror(errno));
	while (hw < least)
		if (run_c2h(fd, 1, &hw))
			fail("counts: %s", strerror(errno));
}

static int reset(const char *device, const char *flag)
{
	int fd = open_or_fail(device);
	struct pollfd poller = { .fd = fd, .events = 0 };
	char buffer[BUFFER];

	flow(fd, 300);
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	if (poll(&poller, 1, 20000) != 1 || poller.revents != POLLERR)
		fail("poll() after a reset: events %#x, not POLLERR", poller.revents);
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;	/* h2c is stopped first */
	if (errno != EIO)
		fail("read() after a reset: %s, not EIO", strerror(errno));
	/* Whether it is over yet is seen by trying. */
	for (int i = 0; run_c2h(fd, 1, NULL) && errno == EIO && i < 2000; i++)
		usleep(5000);
	flow(fd, 300);
	close(fd);
	return 0;
}

/* cycle --------------------------------------------------------------------------------------- */

static int cycle(const char *device, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		int fd = open_or_fail(device);
		long long hw = 0;

		loopback(fd, 1);
		if (run_c2h(fd, 1, NULL) || run_h2c(fd, 1, NULL))
			fail("round %ld: start: %s", i, strerror(errno));
		while (i % 4 == 0 && hw < 32)
			run_c2h(fd, 1, &hw);
		if (i % 2 && (run_h2c(fd, 0, NULL) || run_c2h(fd, 0, NULL)))
			fail("round %ld: stop: %s", i, strerror(errno));
		close(fd);	/* every other time it is this that stops */
	}
	printf("cycle: %ld rounds\n", rounds);
	return 0;
}

/* race ---------------------------------------------------------------------------------------- */

struct racer {
	const char *device;
	long rounds;
	unsigned int seed;
};

static void *race_thread(void *argument)
{
	struct racer *racer = argument;
	static __thread char buffer[4 * BUFFER];

	for (long i = 0; i < racer->rounds; i++) {
		int fd = open(racer->device, O_RDWR | O_NONBLOCK);

		if (fd < 0)
			continue;
		switch (rand_r(&racer->seed) % 5) {
		case 0:
			run_c2h(fd, 1, NULL);
			run_h2c(fd, 1, NULL);
			break;
		case 1:
			run_h2c(fd, 1, NULL);
			break;
		case 2:
			if (read(fd, buffer, sizeof(buffer)) < 0 && errno == EFAULT)
				fail("read: %s", strerror(errno));
			break;
		case 3:
			if (write(fd, buffer, sizeof(buffer)) < 0 && errno == EFAULT)
				fail("write: %s", strerror(errno));
			break;
		}
		if (rand_r(&racer->seed) % 2)
			usleep(rand_r(&racer->seed) % 3000);
		close(fd);
	}
	return NULL;
}

static int race(const char *device, long rounds)
{
	pthread_t threads[6];
	struct racer racers[6];

	for (int i = 0; i < 6; i++) {
		racers[i] = (struct racer){ device, rounds, (unsigned int)i };
		pthread_create(&threads[i], NULL, race_thread, &racers[i]);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	printf("race: 6 x %ld rounds\n", rounds);
	return 0;
}

/* poke ---------------------------------------------------------------------------------------- */

/* Words, as the card has registers. */
static int poke(const char *resource, size_t offset, const char *name)
{
	int fd = open(resource, O_RDWR), file = open(name, O_RDONLY);
	volatile unsigned int *bar;
	unsigned int word;

	if (fd < 0 || file < 0)
		fail("%s, %s: %s", resource, name, strerror(errno));
	bar = mmap(NULL, 2 * offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bar == MAP_FAILED)
		fail("%s: mmap: %s", resource, strerror(errno));
	for (size_t i = offset / 4; read(file, &word, 4) == 4; i++)
		bar[i] = word;
	return 0;
}

/* fuzz ---------------------------------------------------------------------------------------- */

#define FDS	4
#define MAPS	4
#define ERRORS	134

static const unsigned long requests[] = {
	LITEPCIE_IOCTL_REG, LITEPCIE_IOCTL_DMA, LITEPCIE_IOCTL_DMA_WRITER,
	LITEPCIE_IOCTL_DMA_READER, LITEPCIE_IOCTL_MMAP_DMA_INFO, LITEPCIE_IOCTL_LOCK,
	LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE, LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE,
};
static const char *const names[] = {
	"reg", "loopback", "c2h", "h2c", "info", "lock", "c2h_update", "h2c_update",
	"unknown", "mmap", "read", "write", "poll", "open",
};
enum { UNKNOWN = 8, MMAP, READ, WRITE, POLL, OPEN, ACTIONS };

static unsigned long outcomes[ACTIONS][ERRORS];
static unsigned int seed;

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static void count(int action, bool ok)
{
	outcomes[action][ok ? 0 : errno < ERRORS ? errno : ERRORS - 1]++;
}

static unsigned int random_word(void)
{
	const unsigned int words[] = { 0, 1, 4, 0x2000, 0x1800, 0x10000, 0x1f000, 0x1fffc,
				       0x20000, 0xffffffff, 0x80000000 };

	return pick(3) ? words[pick(11)] : (unsigned int)rand_r(&seed) >> pick(31);
}

/* Fields at random, most of them with values that get far. */
static void fuzz_argument(int action, void *argument)
{
	unsigned char *bytes = argument;

	for (int i = 0; i < 64; i++)
		bytes[i] = pick(2) ? 0 : (unsigned char)pick(256);
	if (action == 0) {
		struct litepcie_ioctl_reg *reg = argument;

		reg->addr = pick(4) ? random_word() & ~3u : random_word();
		reg->is_write = pick(2);
	}
	if (action == 2 || action == 3 || action == 5)
		for (int i = 0; i < 6; i++)
			bytes[i] = pick(2);
	if (action == 6 || action == 7)
		*(long long *)argument = pick(4) ? (int)pick(1000) - 50 :
						   (long long)random_word() << pick(33);
}

static void fuzz_ioctl(int fd)
{
	int action = (int)pick(UNKNOWN + 1);
	unsigned long request = action == UNKNOWN ?
		_IOC(pick(4), 'S', 128 + pick(128), pick(100)) : requests[action];
	unsigned char argument[16384];
	void *pointer = argument;

	memset(argument, 0, sizeof(argument));
	fuzz_argument(action, argument);
	if (pick(8) == 0)
		pointer = pick(2) ? NULL : (void *)0xffff800000000000ul;
	count(action, ioctl(fd, request, pointer) == 0);
}

static void fuzz_mmap(int fd)
{
	static void *maps[MAPS];
	static size_t sizes[MAPS];
	unsigned int slot = pick(MAPS);
	const off_t offsets[] = { 0, RING, 4096, 2 * RING, -4096 };

	if (maps[slot])
		munmap(maps[slot], sizes[slot]);
	sizes[slot] = pick(4) ? RING : 4096 * (1 + pick(1000));
	maps[slot] = mmap(NULL, sizes[slot], (int)pick(4), pick(8) ? MAP_SHARED : MAP_PRIVATE, fd,
			  offsets[pick(5)]);
	count(MMAP, maps[slot] != MAP_FAILED);
	if (maps[slot] == MAP_FAILED)
		maps[slot] = NULL;
	else if (pick(4) == 0)
		munmap(maps[slot], 4096);	/* a hole: the rest stays */
}

static void fuzz_data(int fd)
{
	static char buffer[32 * BUFFER];
	size_t size = pick(4) ? BUFFER * (1 + pick(32)) : pick(BUFFER);
	void *pointer = pick(8) ? buffer : (void *)8;

	if (pick(2))
		count(READ, read(fd, pointer, size) >= 0);
	else
		count(WRITE, write(fd, pointer, size) >= 0);
}

static void fuzz_once(int *fds, const char *device)
{
	unsigned int slot = pick(FDS);
	struct pollfd poller = { .fd = fds[slot], .events = POLLIN | POLLOUT };

	switch (pick(10)) {
	case 0:
		close(fds[slot]);
		fds[slot] = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		count(OPEN, fds[slot] >= 0);
		break;
	case 1:
		fuzz_mmap(fds[slot]);
		break;
	case 2:
	case 3:
		fuzz_data(fds[slot]);
		break;
	case 4:
		count(POLL, poll(&poller, 1, 0) >= 0);
		break;
	default:
		fuzz_ioctl(fds[slot]);
	}
}

static int fuzz(const char *device, long rounds, unsigned int first)
{
	int fds[FDS];

	seed = first;
	for (int i = 0; i < FDS; i++)
		fds[i] = open_or_fail(device);
	for (int i = 0; i < FDS; i++)
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	if (setuid(65534))
		fail("setuid: %s", strerror(errno));
	for (long i = 0; i < rounds; i++)
		fuzz_once(fds, device);
	for (int action = 0; action < ACTIONS; action++)
		for (int error = 0; error < ERRORS; error++)
			if (outcomes[action][error])
				printf("fuzz %s %s %lu\n", names[action],
				       error ? strerrorname_np(error) : "ok",
				       outcomes[action][error]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "reset"))
		return reset(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "cycle"))
		return cycle(argv[2], atol(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "race"))
		return race(argv[2], atol(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "poke"))
		return poke(argv[2], strtoul(argv[3], NULL, 0), argv[4]);
	if (argc == 5 && !strcmp(argv[1], "fuzz"))
		return fuzz(argv[2], atol(argv[3]), (unsigned int)atol(argv[4]));
	fprintf(stderr, "usage: stress hold|reset DEV FILE | cycle|race DEV N | poke RES OFFSET FILE | "
			"fuzz DEV N SEED\n");
	return 2;
}
