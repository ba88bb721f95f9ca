// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the queues of the capture's device node on a card with four queues, for the tests in
 * sim/test. Frame n of the card's generator comes from port n & 3, and the tests let the card sort
 * frames of port n to queue n. Bytes 16 to 19 of a frame have the frame's number. queues_race.c has
 * the subcommand with several threads.
 */
#include "queues.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../uapi/litepcie_capability.h"
#include "../uapi/litepcie_capture_node.h"
#include "calls.h"

#define QUEUES		4
#define PORTS		4u
#define MBUF		4096u
#define BYTES		(256u << 10)	/* size in bytes of a queue's ring */
#define RECORD		6u
#define SIZE		64u
/* one cycle of the card's clock, in the unit of the frame generator's period: 1/256 of a cycle */
#define CYCLE		256u
#define PATIENCE_MS	60000
#define ROUNDS		10u
#define CALLS		200u		/* calls of WAKE in the subcommand `bounded` */
/* time in us that is long enough for all interrupt messages under way to arrive */
#define SETTLE_US	100000
#define QUICK_NS	500000000	/* half the period in ns of the driver's watchdog */

#define need(_true, ...)	do { if (!(_true)) fail(__VA_ARGS__); } while (0)

struct queue {
	int fd;
	uint8_t *base;
	const volatile struct litepcie_capture_status *status;
};

static const char *device;

static void refused(int rc, int error, const char *what)
{
	need(rc == -1, "%s was not refused", what);
	need(errno == error, "%s: %s, not %s", what, strerror(errno), strerror(error));
}

/* Calls of the driver for a queue ------------------------------------------------------------- */

static int choose(int fd, uint32_t number)
{
	struct litepcie_capture_choice choice = { .queue = number };

	return ioctl(fd, LITEPCIE_IOCTL_CAPTURE_QUEUE, &choice);
}

static int ring(const struct queue *queue, uint32_t mbuf)
{
	struct litepcie_capture_ring wanted = {
		.address = (uintptr_t)queue->base, .bytes = BYTES, .mbuf_bytes = mbuf,
	};

	return ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_RING, &wanted);
}

static int start(const struct queue *queue, uint32_t flags)
{
	struct litepcie_capture_start wanted = { .flags = flags, .limit = BYTES };

	return ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_START, &wanted);
}

static int stop(const struct queue *queue, uint64_t *position)
{
	struct litepcie_capture_stop wanted = { 0 };
	int rc = ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_STOP, &wanted);

	if (position)
		*position = wanted.position;
	return rc;
}

static int generate(const struct queue *queue, uint32_t count)
{
	struct litepcie_capture_generate wanted = {
		.size = SIZE, .count = count, .period = 8 * CYCLE, .port_mask = PORTS - 1,
	};

	return ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_GENERATE, &wanted);
}

/* Let frames of port n go to queue n & 3. If @rules is 1, a rule discards those of port 3. */
static int sort(const struct queue *queue, unsigned int rules)
{
	struct litepcie_capture_sort wanted = {
		.flags = LITEPCIE_CAPTURE_SORT_ON | LITEPCIE_CAPTURE_SORT_BY_PORT, .rules = rules,
	};

	for (unsigned int n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++)
		wanted.spread[n] = n % QUEUES;
	wanted.rule[0][LITEPCIE_CAPTURE_RULE_FACTS] = 3u << LITEPCIE_CAPTURE_RULE_FACT_PORT;
	wanted.rule[0][LITEPCIE_CAPTURE_RULE_FACTS + 1] = 0xfu << LITEPCIE_CAPTURE_RULE_FACT_PORT;
	for (unsigned int n = LITEPCIE_CAPTURE_RULE_SOURCE_PORTS; n <= LITEPCIE_CAPTURE_RULE_LENGTHS;
	     n++)
		wanted.rule[0][n] = 0xffffu << LITEPCIE_CAPTURE_RULE_RANGE_MOST;
	wanted.rule[0][LITEPCIE_CAPTURE_RULE_ACTION] = 1u << LITEPCIE_CAPTURE_RULE_ACTION_ON |
						      1u << LITEPCIE_CAPTURE_RULE_ACTION_DISCARD;
	return ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted);
}

static struct litepcie_capture_info info(const struct queue *queue)
{
	static struct litepcie_capture_info found;

	found = (struct litepcie_capture_info) { .ask = LITEPCIE_CAPTURE_ASK_ACCOUNTS };
	need(!ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_INFO, &found), "INFO: %s", strerror(errno));
	return found;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* The queues of the test and their rings ------------------------------------------------------ */

static struct queue open_queue(unsigned int number)
{
	struct queue queue = { .fd = open_or_fail(device) };
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, queue.fd, 0);

	need(page != MAP_FAILED, "status page: %s", strerror(errno));
	queue.status = (struct litepcie_capture_status *)page + number;
	queue.base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(queue.base != MAP_FAILED, "memory");
	memset(queue.base, 0, BYTES);
	need(!choose(queue.fd, number), "QUEUE %u: %s", number, strerror(errno));
	need(info(&queue).queue == number && info(&queue).queues == QUEUES, "INFO of a queue");
	return queue;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/*
 * Read the pcapng blocks of a ring up to position @to. Their frames must have the numbers @first,
 * @first + 4 and so on. Returns how many frames these are.
 */
static uint32_t walk(const struct queue *queue, uint64_t to, uint32_t first)
{
	uint32_t found = 0;

	need(to <= BYTES, "a position of %llu", (unsigned long long)to);
	for (uint64_t at = 0; at < to;) {
		const uint8_t *block = queue->base + at;
		uint32_t length = word(block + 4);

		need(length >= 12 && length % 8 == 0 && length <= to - at &&
		     word(block + length - 4) == length, "a block of %u bytes at %llu", length,
		     (unsigned long long)at);
		if (word(block) == RECORD) {
			need(word(block + 44) == first + PORTS * found, "frame %u, not %u",
			     word(block + 44), first + PORTS * found);
			found++;
		}
		at += length;
	}
	return found;
}

/* Wait until the generator has made all its frames: @each frames for each of four ports. */
static void await_frames(const struct queue *queue, uint32_t each)
{
	while (info(queue).generated < PORTS * each || info(queue).generating)
		usleep(1000);
}

/*
 * Open the queues, give each queue a ring, set the sorting of frames, and start each queue, queue 0
 * as the last one.
 */
static void start_all(struct queue *queues, uint32_t flags, unsigned int rules)
{
	for (unsigned int n = QUEUES; n--;) {
		queues[n] = open_queue(n);
		need(!ring(&queues[n], MBUF), "RING %u: %s", n, strerror(errno));
		if (!n)
			need(!sort(queues, rules), "SORT: %s", strerror(errno));
		need(!start(&queues[n], flags), "START %u: %s", n, strerror(errno));
		need(queues[n].status->run == LITEPCIE_CAPTURE_RUN_RING, "the run of queue %u", n);
	}
}

/* Subcommands of the program ------------------------------------------------------------------ */

/*
 * Each queue gets the frames of its port and has its own counts of frames. A rule discards the
 * frames of port 3.
 */
static int spread(void)
{
	struct litepcie_capture_discards discards;
	struct queue queues[QUEUES];
	const uint32_t each = 300;

	start_all(queues, 0, 1);
	need(!generate(queues, PORTS * each), "GENERATE: %s", strerror(errno));
	await_frames(queues, each);
	need(!stop(queues, NULL), "STOP: %s", strerror(errno));
	for (unsigned int n = 0; n < QUEUES; n++) {
		uint32_t wanted = n < 3 ? each : 0;

		need(queues[n].status->run == LITEPCIE_CAPTURE_RUN_REST, "queue %u runs", n);
		need(walk(&queues[n], queues[n].status->position, n) == wanted, "frames of %u", n);
		need(info(&queues[n]).port[n].delivered.frames == wanted &&
		     info(&queues[n]).port[(n + 1) % PORTS].delivered.frames == 0,
		     "accounts of queue %u", n);
	}
	need(!ioctl(queues[1].fd, LITEPCIE_IOCTL_CAPTURE_DISCARDS, &discards), "DISCARDS");
	need(discards.account[0].frames == each && discards.account[0].bytes == each * SIZE &&
	     discards.account[16 + 3].frames == each, "what rules discarded");
	printf("spread: ok\n");
	return 0;
}

/*
 * Calls that need a ring fail for a file without one, and calls that need queue 0 fail for files of
 * other queues. RING and STOP of a queue that another file has fail with EBUSY, and so do RING,
 * SORT and a START of queue 1 while the capture runs.
 */
static int refuse(void)
{
	struct queue first = open_queue(0), second = open_queue(1), other = open_queue(1);

	refused(choose(first.fd, QUEUES), EINVAL, "a queue that the card has not");
	refused(start(&second, 0), EINVAL, "START without a ring");
	need(!ring(&second, MBUF), "RING: %s", strerror(errno));
	refused(ring(&other, MBUF), EBUSY, "RING of a queue that is taken");
	refused(stop(&other, NULL), EBUSY, "another file's STOP");
	refused(choose(second.fd, 2), EBUSY, "another queue for a file that has one");
	refused(ring(&first, 2 * MBUF), EINVAL, "MBUFs of another size");
	refused(sort(&second, 0), EINVAL, "SORT by the file of queue 1");
	refused(generate(&second, 1), EINVAL, "GENERATE by the file of queue 1");
	refused(sort(&first, 0), EINVAL, "SORT before RING");
	need(!ring(&first, MBUF) && !start(&second, 0), "RING, START: %s", strerror(errno));
	refused(start(&first, LITEPCIE_CAPTURE_LOSSLESS), EINVAL, "other flags than queue 1");
	need(!stop(&second, NULL) && !sort(&first, 0), "STOP, SORT: %s", strerror(errno));
	refused(start(&first, LITEPCIE_CAPTURE_NEWEST), EINVAL, "NEWEST and a queue without a ring");
	need(!start(&first, 0), "START: %s", strerror(errno));
	refused(start(&second, 0), EBUSY, "START of queue 1 while queue 0 runs");
	refused(ring(&second, MBUF), EBUSY, "RING while queue 0 runs");
	refused(sort(&first, 0), EBUSY, "SORT while it runs");
	need(!stop(&first, NULL), "STOP");
	printf("refuse: ok\n");
	return 0;
}

/*
 * Record a burst of frames that come faster than the link takes them, in a queue that may use
 * @staging bytes of the card's staging memory; 0: an equal part. Returns how many frames were lost
 * because the staging memory had no room.
 */
static uint64_t lost_of_burst(const struct queue *queue, uint32_t staging)
{
	struct litepcie_capture_start wanted = {
		.flags = LITEPCIE_CAPTURE_NEWEST | (staging ? LITEPCIE_CAPTURE_STAGING : 0),
		.staging_bytes = staging,
	};
	struct litepcie_capture_generate frames = { .size = 1500, .count = 2000 };

	need(!ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_START, &wanted), "START: %s",
	     strerror(errno));
	need(!ioctl(queue->fd, LITEPCIE_IOCTL_CAPTURE_GENERATE, &frames), "GENERATE: %s",
	     strerror(errno));
	while (info(queue).generated < frames.count || info(queue).generating)
		usleep(1000);
	need(!stop(queue, NULL), "STOP: %s", strerror(errno));
	return info(queue).port[0].lost_staging.frames;
}

/*
 * A queue may use the part of the staging memory that its START names, or else an equal part,
 * whatever an earlier START has named.
 */
static int staging(void)
{
	struct queue queue = open_queue(0);
	uint64_t least, most, equal;

	need(!ring(&queue, MBUF), "RING: %s", strerror(errno));
	least = lost_of_burst(&queue, LITEPCIE_CAPTURE_STAGING_LEAST);
	most = lost_of_burst(&queue, LITEPCIE_CAPTURE_STAGING_MOST);
	equal = lost_of_burst(&queue, 0);
	need(most < equal && equal < least, "%llu frames lost with the least, %llu with an equal "
	     "part and %llu with the most", (unsigned long long)least, (unsigned long long)equal,
	     (unsigned long long)most);
	printf("staging: ok\n");
	return 0;
}

/* STOP of queue 1 lets the card end that queue's MBUF (part of its ring). Other queues go on. */
static int alone(void)
{
	struct queue queues[QUEUES];
	const uint32_t each = 100;
	uint64_t end;

	start_all(queues, 0, 0);
	need(!generate(queues, PORTS * each), "GENERATE: %s", strerror(errno));
	await_frames(queues, each);
	need(!stop(&queues[1], &end), "STOP of queue 1: %s", strerror(errno));
	need(end % MBUF == 0 && walk(&queues[1], end, 1) == each, "frames of queue 1");
	need(queues[0].status->run == LITEPCIE_CAPTURE_RUN_RING, "queue 0 has stopped");
	need(!generate(queues, PORTS * each), "GENERATE: %s", strerror(errno));
	await_frames(queues, each);
	need(!stop(queues, NULL), "STOP of queue 0");
	need(info(queues).port[0].delivered.frames == 2 * each, "frames of queue 0");
	printf("alone: ok\n");
	return 0;
}

/*
 * A process that has queue 1 is killed. Queue 0 loses nothing, and the ring of queue 1 stays until
 * queue 0 stops. Then another file can take the queue.
 */
static int killed(void)
{
	struct queue first, second, other;
	const uint32_t each = 200;
	int ready[2], rc;
	pid_t child;
	char byte;

	need(!pipe(ready), "pipe");
	child = fork();
	if (child == 0) {
		second = open_queue(1);
		need(!ring(&second, MBUF) && !start(&second, 0), "child: %s", strerror(errno));
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	need(child > 0 && read(ready[0], &byte, 1) == 1, "child");
	first = open_queue(0);
	other = open_queue(1);
	need(!ring(&first, MBUF) && !sort(&first, 0) && !start(&first, 0), "start: %s",
	     strerror(errno));
	need(!generate(&first, PORTS * each), "GENERATE");
	need(!kill(child, SIGKILL) && waitpid(child, &rc, 0) == child, "kill");
	await_frames(&first, each);
	refused(ring(&other, MBUF), EBUSY, "RING while the card may write to the last ring");
	need(first.status->run == LITEPCIE_CAPTURE_RUN_RING && !stop(&first, NULL), "STOP");
	need(walk(&first, first.status->position, 0) == each, "frames of queue 0");
	need(!ring(&other, MBUF) && !start(&other, 0) && !start(&first, 0), "start again: %s",
	     strerror(errno));
	need(!generate(&first, PORTS * each), "GENERATE");
	await_frames(&first, each);
	need(!stop(&first, NULL), "STOP");
	need(walk(&other, other.status->position, 1) == each, "frames of queue 1");
	printf("killed: ok\n");
	return 0;
}

/* When queue 0's file is closed, the run of queue 1 ends, and poll() of queue 1's file wakes. */
static int left(void)
{
	struct queue queues[QUEUES];
	struct litepcie_capture_wake wake = { .position = BYTES, .fd = -1 };
	struct pollfd poller;

	start_all(queues, 0, 0);
	need(!ioctl(queues[1].fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), "WAKE");
	/* A mapping of the status page keeps the file open, so the mapping is removed first. */
	need(!munmap((void *)queues[0].status, 4096) && !close(queues[0].fd), "the end of queue 0");
	poller = (struct pollfd) { .fd = queues[1].fd, .events = POLLIN };
	need(poll(&poller, 1, PATIENCE_MS) == 1 && poller.revents == POLLIN, "poll(): %#x",
	     poller.revents);
	need(queues[1].status->run == LITEPCIE_CAPTURE_RUN_REST && !queues[1].status->error,
	     "the run of queue 1");
	printf("left: ok\n");
	return 0;
}

/*
 * Ask by the ioctl WAKE for a wake-up by the next frame of each queue, and send a frame to each
 * queue. Returns the time in ns until all eventfds have been signalled.
 */
static int64_t wake_all(const struct queue *queues, const int *events)
{
	int64_t begin;

	for (unsigned int n = 0; n < QUEUES; n++) {
		struct litepcie_capture_wake wake = {
			.position = queues[n].status->position, .fd = events[n],
		};

		need(!ioctl(queues[n].fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), "WAKE %u: %s", n,
		     strerror(errno));
	}
	begin = now_ns();
	need(!generate(queues, PORTS), "GENERATE: %s", strerror(errno));
	for (unsigned int n = 0; n < QUEUES; n++) {
		struct pollfd poller = { .fd = events[n], .events = POLLIN };
		uint64_t signals = 0;

		need(poll(&poller, 1, PATIENCE_MS) == 1, "queue %u is not woken", n);
		need(read(events[n], &signals, 8) == 8 && signals == 1, "%llu signals of queue %u",
		     (unsigned long long)signals, n);
	}
	return now_ns() - begin;
}

/*
 * The capture has one interrupt for all its queues. When each queue has got a frame, the eventfd of
 * each queue must be signalled once. If the interrupt is lost, the driver's watchdog signals the
 * eventfds within a second. So most rounds must take less than half a second.
 */
static int woken(void)
{
	struct queue queues[QUEUES];
	unsigned int quick = 0;
	int events[QUEUES];

	start_all(queues, 0, 0);
	for (unsigned int n = 0; n < QUEUES; n++) {
		events[n] = eventfd(0, EFD_CLOEXEC);
		need(events[n] >= 0, "eventfd: %s", strerror(errno));
	}
	for (unsigned int round = 0; round < ROUNDS; round++)
		quick += wake_all(queues, events) < QUICK_NS;
	need(!stop(queues, NULL), "STOP");
	need(quick > ROUNDS / 2, "only %u of %u rounds were quick", quick, ROUNDS);
	printf("woken: ok\n");
	return 0;
}

/*
 * Returns how many interrupt messages of the card litepcie0 the kernel has counted: the sum of the
 * rows in /proc/interrupts whose interrupt is named after this card. Such a row has a count for
 * each processor.
 */
static uint64_t messages(void)
{
	FILE *table = fopen("/proc/interrupts", "r");
	uint64_t sum = 0, count;
	char line[512], *at, *end;

	need(table, "/proc/interrupts: %s", strerror(errno));
	while (fgets(line, sizeof(line), table)) {
		at = strchr(line, ':');
		if (!at || !strstr(at, "litepcie0"))
			continue;
		for (at++; count = strtoull(at, &end, 10), end != at; at = end)
			sum += count;
	}
	fclose(table);
	return sum;
}

/*
 * A program asks by the ioctl WAKE for one wake-up when the queue has passed a position. The card
 * sends at most one interrupt message for each call of WAKE, also if the position has been passed
 * before. While no wake-up is asked for, it sends none, however many frames come.
 */
static int bounded(void)
{
	struct litepcie_capture_wake wake = { .position = 0, .fd = -1 };
	const uint32_t each = 100;
	struct queue queues[QUEUES];
	uint64_t before;

	start_all(queues, 0, 0);
	/* An interrupt message for a WAKE of an earlier program may still be on its way. */
	usleep(SETTLE_US);
	before = messages();
	need(!generate(queues, PORTS * each), "GENERATE: %s", strerror(errno));
	await_frames(queues, each);
	for (unsigned int n = 0; n < QUEUES; n++)
		while (walk(&queues[n], queues[n].status->position, n) < each)
			usleep(1000);
	need(messages() == before, "%llu messages without WAKE",
	     (unsigned long long)(messages() - before));
	for (unsigned int n = 0; n < CALLS; n++)
		need(!ioctl(queues[n % QUEUES].fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), "WAKE: %s",
		     strerror(errno));
	while (messages() == before)
		usleep(1000);
	/*
	 * Each WAKE leads to one interrupt at most, and no WAKE follows, so these frames cost no
	 * further messages.
	 */
	need(!generate(queues, PORTS * each), "GENERATE: %s", strerror(errno));
	await_frames(queues, each);
	need(!stop(queues, NULL), "STOP");
	usleep(SETTLE_US);
	need(messages() - before <= CALLS, "%llu messages for %u calls of WAKE",
	     (unsigned long long)(messages() - before), CALLS);
	printf("bounded: ok\n");
	return 0;
}

int main(int argc, char **argv)
{
	need(argc >= 3, "usage: queues PART NODE [ROUNDS SEED]");
	device = argv[2];
	if (!strcmp(argv[1], "race") && argc == 5)
		return race(device, (unsigned int)atol(argv[3]), (unsigned int)atol(argv[4]));
	if (!strcmp(argv[1], "spread"))
		return spread();
	if (!strcmp(argv[1], "refuse"))
		return refuse();
	if (!strcmp(argv[1], "staging"))
		return staging();
	if (!strcmp(argv[1], "alone"))
		return alone();
	if (!strcmp(argv[1], "killed"))
		return killed();
	if (!strcmp(argv[1], "left"))
		return left();
	if (!strcmp(argv[1], "woken"))
		return woken();
	if (!strcmp(argv[1], "bounded"))
		return bounded();
	fail("no part %s", argv[1]);
}
