// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Uses /dev/litepcieN in ways that stress the driver, and checks the driver's answers, for the
 * tests in sim/test.
 *
 *   stress hold DEV FILE	run DMA beside a process that reads, one in poll() and one with a
 * 				mapping; make FILE when data flows; end with 0 if read() and poll()
 * 				report that the card is removed, and the mapped memory stays
 *   stress reset DEV FILE	run DMA; make FILE when data flows; end with 0 if a card reset stops
 * 				DMA, and DMA runs again on the same open file
 *   stress cycle DEV N		open, start and close N times, every other time with a stop before
 * 				close(); each fourth time with the default rings, else short ones
 *   stress share DEV N		processes that read and write one open file at once, N buffers each
 *   stress race DEV N		six threads that open the device, start, read or write, and close,
 * 				at random, N times each
 *   stress starve DEV N		use DEV N times while fault injection takes memory away; end
 * 				with 1 if no call has failed for want of memory
 *   stress poke RES OFFSET FILE	write FILE to the BAR whose file in sysfs is RES, at OFFSET
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define FLOWS	64	/* number of received c2h buffers after which data counts as flowing */

/* Test: the card is removed while programs use it --------------------------------------------- */

static int ready[2];	/* pipe to which each child process writes a byte when it is ready */

static void say_ready(void)
{
	if (write(ready[1], "", 1) != 1)
		fail("pipe: %s", strerror(errno));
}

static void hold_reader(int fd)
{
	static char buffer[BUFFER];

	say_ready();
	while (read(fd, buffer, sizeof(buffer)) > 0)
		usleep(100);
	if (errno != ENODEV)
		fail("read() ended with %s, not ENODEV", strerror(errno));
	exit(0);
}

static void hold_poller(int fd)
{
	struct pollfd poller = { .fd = fd, .events = 0 };

	say_ready();
	if (poll(&poller, 1, -1) != 1 || !(poller.revents & POLLHUP))
		fail("poll() returned events %#x without POLLHUP", poller.revents);
	exit(0);
}

/* Check that a process can still use its mapping of the h2c ring after the card was removed. */
static void hold_mapping(int fd)
{
	unsigned char *rings = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct pollfd poller = { .fd = fd, .events = 0 };

	if (rings == MAP_FAILED)
		fail("mmap(): %s", strerror(errno));
	memset(rings, 0x5a, RING);
	say_ready();
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
	char byte;

	loopback(fd, 1);
	if (pipe(ready) || run_c2h(fd, 1, NULL) || run_h2c(fd, 1, NULL))
		fail("start: %s", strerror(errno));
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			/*
			 * While a file owns a direction, other files cannot read() from it or map a
			 * ring of it. So the reader and the mapping use the owner's file, and only
			 * the poller opens the device itself.
			 */
			parts[i](parts[i] == hold_poller ? open_or_fail(device) : fd);
	close(ready[1]);
	for (int i = 0; i < 3; i++)
		if (read(ready[0], &byte, 1) != 1)
			fail("a part did not begin");
	while (hw < FLOWS)
		if (run_c2h(fd, 1, &hw))
			fail("the card went before data came: %s", strerror(errno));
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	while (wait(&status) > 0)
		failed |= status;
	check_gone(fd);
	close(fd);
	return failed ? 1 : 0;
}

/* Test: the card is reset while programs use it ----------------------------------------------- */

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
		;	/* a reset stops h2c before c2h, so read() may still return data */
	if (errno != EIO)
		fail("read() after a reset: %s, not EIO", strerror(errno));
	/*
	 * A start of c2h fails with EIO until the card's reset is over, so repeat the start until
	 * it succeeds.
	 */
	for (int i = 0; run_c2h(fd, 1, NULL) && errno == EIO && i < 2000; i++)
		usleep(5000);
	flow(fd, 300);
	close(fd);
	return 0;
}

/* Test: open and close again and again -------------------------------------------------------- */

static int cycle(const char *device, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		int fd = open_or_fail(device);
		long long hw = 0;

		loopback(fd, 1);
		if (i % 4 && (small_ring(fd, LITEPCIE_WAY_H2C) || small_ring(fd, LITEPCIE_WAY_C2H)))
			fail("round %ld: ring: %s", i, strerror(errno));
		if (run_c2h(fd, 1, NULL) || run_h2c(fd, 1, NULL))
			fail("round %ld: start: %s", i, strerror(errno));
		while (i % 4 == 0 && hw < 32)
			run_c2h(fd, 1, &hw);
		if (i % 2 && (run_h2c(fd, 0, NULL) || run_c2h(fd, 0, NULL)))
			fail("round %ld: stop: %s", i, strerror(errno));
		close(fd);	/* in every other round only this close() stops the DMA */
	}
	printf("cycle: %ld rounds\n", rounds);
	return 0;
}

/* Test: processes that share a file ----------------------------------------------------------- */

/*
 * number of processes for each direction that share an open file; progress of a direction wakes all
 * processes that wait for this direction
 */
#define SHARERS	3

static void share_one(int fd, bool in, long rounds)
{
	static char buffer[BUFFER];

	for (long i = 0; i < rounds; i++) {
		ssize_t done = in ? read(fd, buffer, BUFFER) : write(fd, buffer, BUFFER);

		if (done != BUFFER)
			fail("%s() number %ld moved %zd bytes: %s", in ? "read" : "write", i, done,
			     done < 0 ? strerror(errno) : "neither data nor an error");
	}
	exit(0);
}

static int share(const char *device, long rounds)
{
	int fd = open_or_fail(device), status, failed = 0;

	loopback(fd, 1);
	if (run_c2h(fd, 1, NULL) || run_h2c(fd, 1, NULL))
		fail("start: %s", strerror(errno));
	for (int i = 0; i < 2 * SHARERS; i++)
		if (fork() == 0)
			share_one(fd, i % 2, rounds);
	while (wait(&status) > 0)
		failed |= status;
	close(fd);
	return failed ? 1 : 0;
}

/* Test: threads race with each other ---------------------------------------------------------- */

struct racer {
	const char *device;
	long rounds;
	/* state of the thread's random numbers, at first the seed: the thread's number */
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

/*
 * Race six threads. Their seeds are 0 to 5 in every run, so each thread draws the same random
 * numbers in every run, and only the order between the threads differs.
 */
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

/* Test: requests for memory fail -------------------------------------------------------------- */

static unsigned long refusals;

/*
 * Switch the fault injection of the kernel, which lets requests for memory by this task fail, off
 * (@enough true) or on.
 */
static void feed(bool enough)
{
	static int fd = -1;

	if (fd < 0)
		fd = open_or_fail("/proc/self/make-it-fail");
	if (pwrite(fd, enough ? "0" : "1", 1, 0) != 1)
		fail("/proc/self/make-it-fail: %s", strerror(errno));
}

static int may_lack(const char *what, int rc)
{
	if (rc < 0 && errno != ENOMEM)
		fail("%s without memory: %s", what, strerror(errno));
	refusals += rc < 0;
	return rc;
}

static void use_starving(int fd, unsigned int way)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = 16384, .buffer_count = 16, .buffers_per_interrupt = 4,
	};
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };
	struct litepcie_export export = { .way = way };
	size_t size = (size_t)setup.buffer_size * setup.buffer_count;
	void *ring;

	ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);
	if (may_lack("ring setup", ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup)))
		return;
	ring = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, (off_t)(1 + way) << 40);
	if (may_lack("mmap()", ring == MAP_FAILED ? -1 : 0) == 0) {
		/*
		 * munmap() may also fail for want of memory, and the mapping would then keep the
		 * file open, so switch the fault injection off first
		 */
		feed(true);
		munmap(ring, size);
		feed(false);
	}
	if (may_lack("export", ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export)) == 0)
		close(export.fd);
	may_lack("start", way == LITEPCIE_WAY_C2H ? run_c2h(fd, 1, NULL) : run_h2c(fd, 1, NULL));
}

static int starve(const char *device, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		int fd;

		feed(false);
		fd = open(device, O_RDWR);
		if (may_lack("open()", fd) >= 0) {
			use_starving(fd, i % 2);
			close(fd);
		}
		feed(true);
	}
	if (!refusals)
		fail("starve: no call of %ld rounds lacked memory", rounds);
	printf("starve: %ld rounds, %lu calls without memory\n", rounds, refusals);
	return 0;
}

/* Test: write into a BAR ---------------------------------------------------------------------- */

/* Write a file to a BAR in words of 32 bits, since the card has registers of that width. */
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

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "hold"))
		return hold(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "reset"))
		return reset(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "cycle"))
		return cycle(argv[2], atol(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "share"))
		return share(argv[2], atol(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "race"))
		return race(argv[2], atol(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "starve"))
		return starve(argv[2], atol(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "poke"))
		return poke(argv[2], strtoul(argv[3], NULL, 0), argv[4]);
	fprintf(stderr, "usage: stress hold|reset DEV FILE | cycle|share|race|starve DEV N | poke RES OFFSET FILE\n");
	return 2;
}
