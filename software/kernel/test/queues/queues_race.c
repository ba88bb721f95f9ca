// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements the subcommand `race` of the test program queues, for a guest with two processors.
 * Threads call read(), sleep in poll() and ask for information, while the main thread starts and
 * stops the queues and may unmap a ring. At the end of each round the counts of frames must be
 * exact.
 *
 * A register read keeps both processors of the guest from the card until the simulation answers. So
 * the thread that asks for information does not ask for counts of frames, which take more than 256
 * reads, and pauses between its calls.
 */
#include "queues.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../uapi/litepcie_capture_node.h"
#include "calls.h"

#define need(_true, ...)	do { if (!(_true)) fail(__VA_ARGS__); } while (0)

#define EACH		60u		/* number of frames of each port in a round */
#define PORTS		4u
#define SIZE		64u
#define HUGE		(2u << 20)
#define BYTES		(256u << 10)
/*
 * bytes of an MBUF (equal part of a ring) in every ring, also in that which the driver makes for
 * read()
 */
#define MBUF		(64u << 10)
#define HEADER		4096u
#define PATIENCE_MS	60000

static const char *node;
static const volatile struct litepcie_capture_status *page;
static unsigned int state;
static atomic_bool over;	/* true: the thread that runs looks() must end */

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&state) % below;
}

/*
 * Open the node for queue @number. If @base is not NULL, map memory, whose address *@base gets, and
 * give the queue a ring at the first multiple of 2 MiB in this memory, for which huge pages are
 * asked.
 */
static int open_queue(uint32_t number, uint8_t **base)
{
	struct litepcie_capture_choice choice = { .queue = number };
	struct litepcie_capture_ring ring = { .bytes = BYTES, .mbuf_bytes = MBUF };
	int fd = open_or_fail(node);

	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_QUEUE, &choice), "QUEUE: %s", strerror(errno));
	if (!base)
		return fd;
	*base = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(*base != MAP_FAILED, "memory");
	ring.address = ((uintptr_t)*base + HUGE - 1) & ~(uintptr_t)(HUGE - 1);
	madvise((void *)(uintptr_t)ring.address, HUGE, MADV_HUGEPAGE);
	memset((void *)(uintptr_t)ring.address, 0, BYTES);
	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_RING, &ring), "RING: %s", strerror(errno));
	return fd;
}

static void start(int fd)
{
	struct litepcie_capture_start wanted = { .limit = BYTES };

	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &wanted), "START: %s", strerror(errno));
}

static void stop(int fd)
{
	struct litepcie_capture_stop wanted = { 0 };

	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_STOP, &wanted), "STOP: %s", strerror(errno));
}

static struct litepcie_capture_info info(int fd, uint32_t ask)
{
	struct litepcie_capture_info found = { .ask = ask };

	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_INFO, &found), "INFO: %s", strerror(errno));
	return found;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/*
 * Count the frames in the pcapng blocks. All must come from @port, so they must have the numbers
 * @port, @port + 4 and so on.
 */
static uint32_t walk(const uint8_t *blocks, size_t bytes, uint32_t port)
{
	uint32_t found = 0;

	for (size_t at = 0; at < bytes; at += word(blocks + at + 4)) {
		need(word(blocks + at + 4) >= 12, "no block at %zu of %zu", at, bytes);
		if (word(blocks + at) == 6)
			need(word(blocks + at + 44) == port + PORTS * found++, "frame %u of port %u",
			     found - 1, port);
	}
	return found;
}

/* Threads that race for the queues ------------------------------------------------------------ */

/* Thread that checks that read() of queue 1 returns every frame of port 1, in order. */
static void *reads(void *none)
{
	static uint8_t data[1u << 20];
	int fd = open_queue(1, NULL);
	size_t got = 0;
	ssize_t part;

	while ((part = read(fd, data + got, 1 + got * 7919 % 5000)) > 0)
		got += (size_t)part;
	need(!part && got > HEADER, "read(): %s", strerror(errno));
	need(walk(data + HEADER, got - HEADER, 1) == EACH, "not all frames were read");
	close(fd);
	return none;
}

/*
 * Thread that asks by the ioctl WAKE for a wake-up beyond queue 2's present position and sleeps in
 * poll(), again and again until the queue's part of the run ends.
 */
static void *sleeps(void *argument)
{
	int fd = *(int *)argument;

	while (page[2].run) {
		struct litepcie_capture_wake wake = { .position = page[2].position, .fd = -1 };
		struct pollfd poller = { .fd = fd, .events = POLLIN };

		need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), "WAKE: %s", strerror(errno));
		need(poll(&poller, 1, PATIENCE_MS) == 1 && poller.revents == POLLIN,
		     "poll() does not end: %#x", poller.revents);
	}
	return NULL;
}

/*
 * Thread that checks, until @over is set, that INFO and poll() work for a file that does not own
 * its queue.
 */
static void *looks(void *none)
{
	int fd = open_queue(2, NULL);

	while (!over) {
		struct pollfd poller = { .fd = fd, .events = POLLIN };

		need(info(fd, 0).error == 0 && poll(&poller, 1, 0) >= 0, "a look at queue 2");
		usleep(2000);
	}
	close(fd);
	return none;
}

/* Rounds of the race of threads --------------------------------------------------------------- */

static void sort(int fd)
{
	struct litepcie_capture_sort wanted = {
		.flags = LITEPCIE_CAPTURE_SORT_ON | LITEPCIE_CAPTURE_SORT_BY_PORT,
	};

	for (unsigned int n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++)
		wanted.spread[n] = (uint8_t)(n % PORTS);
	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted), "SORT: %s", strerror(errno));
}

/*
 * Check the counts of the frames that came from the port with the queue's number: queues 0 to 2
 * have delivered all of them. Queue 3 has no ring, so all of its frames are lost.
 */
static void check_accounts(int fd, uint32_t queue)
{
	struct litepcie_capture_choice choice = { .queue = queue };
	struct litepcie_capture_port *port;
	struct litepcie_capture_info found;

	if (queue)
		need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_QUEUE, &choice), "QUEUE");
	found = info(fd, LITEPCIE_CAPTURE_ASK_ACCOUNTS);
	port = &found.port[queue];
	need(port->delivered.frames == (queue == 3 ? 0 : EACH) &&
	     port->lost_ring.frames == (queue == 3 ? EACH : 0) && !port->lost_staging.frames &&
	     !port->bad.frames, "accounts of queue %u: %llu delivered, %llu lost", queue,
	     (unsigned long long)port->delivered.frames, (unsigned long long)port->lost_ring.frames);
}

static void round_of(unsigned int number)
{
	struct litepcie_capture_generate frames = {
		.size = SIZE, .count = PORTS * EACH, .period = 256 * 64, .port_mask = PORTS - 1,
	};
	uint8_t *first_ring, *second_ring, *ring;
	pthread_t reader, sleeper, looker;
	int first = open_queue(0, &first_ring), second = open_queue(2, &second_ring);
	int other = open_or_fail(node);

	over = false;
	sort(first);
	start(second);
	need(!pthread_create(&reader, NULL, reads, NULL), "a thread");
	while (page[1].run != LITEPCIE_CAPTURE_RUN_READ)
		usleep(100);
	need(!pthread_create(&sleeper, NULL, sleeps, &second), "a thread");
	need(!pthread_create(&looker, NULL, looks, NULL), "a thread");
	start(first);
	need(!ioctl(first, LITEPCIE_IOCTL_CAPTURE_GENERATE, &frames), "GENERATE");
	usleep(pick(3000));
	if (number % 2)
		munmap(second_ring, 2 * HUGE);
	if (number % 3 == 1)
		stop(second);
	while (info(first, 0).generated < PORTS * EACH || info(first, 0).generating)
		usleep(500);
	stop(first);
	need(!pthread_join(reader, NULL) && !pthread_join(sleeper, NULL), "join");
	over = true;
	need(!pthread_join(looker, NULL), "join");
	ring = (uint8_t *)(((uintptr_t)first_ring + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	need(walk(ring, page[0].position, 0) == EACH, "not all frames of queue 0");
	check_accounts(first, 0);
	for (uint32_t queue = 1; queue < PORTS; queue++)
		check_accounts(other, queue);
	close(first);
	close(second);
	close(other);
	munmap(first_ring, 2 * HUGE);
	if (!(number % 2))
		munmap(second_ring, 2 * HUGE);
}

int race(const char *device, unsigned int rounds, unsigned int seed)
{
	int fd;

	node = device;
	state = seed;
	fd = open_or_fail(node);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	need(page != MAP_FAILED && sysconf(_SC_NPROCESSORS_ONLN) > 1, "page, or one processor");
	for (unsigned int number = 0; number < rounds; number++) {
		round_of(number);
		fprintf(stderr, "race: round %u has ended\n", number);
	}
	printf("race: ok\n");
	return 0;
}
