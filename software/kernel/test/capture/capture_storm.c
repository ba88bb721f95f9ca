// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes random calls of the capture's node by several open files, of which one at a time may own
 * queue 0. Most arguments are valid, so that a call often reaches the card.
 *
 * No run has the flag LOSSLESS, with which frames wait for room in the ring. STOP of a run with
 * LOSSLESS could take half a second: the driver waits so long for room before it switches LOSSLESS
 * off.
 */
#include "capture_storm.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../uapi/litepcie_capture_node.h"
#include "calls.h"

#define FILES	3u
#define ERRORS	134
#define HUGE	(2u << 20)
#define BYTES	(256u << 10)
#define MBUF	(16u << 10)

enum call {
	RING_CALL, START, STOP, LIMIT, WAKE, GENERATE, INFO, UNKNOWN, READ, MMAP, MPROTECT, POLL,
	OPEN, CALLS
};

static const char *const names[CALLS] = {
	"ring", "start", "stop", "limit", "wake", "generate", "info", "unknown", "read", "mmap",
	"mprotect", "poll", "open",
};
static const unsigned long requests[] = {
	LITEPCIE_IOCTL_CAPTURE_RING, LITEPCIE_IOCTL_CAPTURE_START, LITEPCIE_IOCTL_CAPTURE_STOP,
	LITEPCIE_IOCTL_CAPTURE_LIMIT, LITEPCIE_IOCTL_CAPTURE_WAKE,
	LITEPCIE_IOCTL_CAPTURE_GENERATE, LITEPCIE_IOCTL_CAPTURE_INFO,
};

union argument {
	struct litepcie_capture_ring		ring;
	struct litepcie_capture_start		start;
	struct litepcie_capture_stop		stop;
	struct litepcie_capture_limit		limit;
	struct litepcie_capture_wake		wake;
	struct litepcie_capture_generate	generate;
	struct litepcie_capture_info		info;
};

static unsigned long outcomes[CALLS][ERRORS];
static const char *node;
static unsigned int state;
/*
 * two pieces of memory of 2 MiB, in which rings are asked for. @huge: in one huge page, if the
 * kernel has one; @small: in pages of 4 KiB
 */
static uint8_t *huge, *small;
static int event;

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&state) % below;
}

static void count(enum call call, bool done)
{
	outcomes[call][done ? 0 : errno < ERRORS ? errno : ERRORS - 1]++;
}

/* Random arguments of calls ------------------------------------------------------------------- */

static struct litepcie_capture_ring random_ring(void)
{
	uint64_t places[] = { (uintptr_t)huge, (uintptr_t)small, 4096, (uintptr_t)huge + 8 };

	return (struct litepcie_capture_ring) {
		.address = places[pick(2) ? 0 : 1 + pick(3)], .mbuf_bytes = pick(8) ? MBUF : 5000,
		.bytes = pick(4) ? BYTES : UINT64_C(4096) << pick(20), .reserved = !pick(16),
	};
}

static struct litepcie_capture_start random_start(void)
{
	return (struct litepcie_capture_start) {
		.limit = pick(8) ? BYTES / 4 * pick(5) : BYTES + 1,
		.flags = pick(8) ? 0 : pick(2) ? LITEPCIE_CAPTURE_NEWEST : 1u << pick(32) &
			 ~LITEPCIE_CAPTURE_LOSSLESS,
		.wait_cycles = pick(1000), .snap = pick(2) * pick(20000), .staging_bytes = !pick(16),
	};
}

static void random_argument(enum call call, union argument *argument)
{
	uint64_t far = UINT64_C(1) << pick(64);

	memset(argument, 0, sizeof(*argument));
	if (call == RING_CALL)
		argument->ring = random_ring();
	if (call == START)
		argument->start = random_start();
	if (call == STOP)
		argument->stop.position = !pick(8);
	if (call == LIMIT)
		argument->limit.limit = pick(4) ? pick(4 * BYTES) : far;
	if (call == WAKE)
		argument->wake = (struct litepcie_capture_wake) {
			.position = pick(4) ? pick(BYTES) : far,
			.fd = pick(4) ? event : (int)pick(100) - 2,
		};
	if (call == GENERATE)
		argument->generate = (struct litepcie_capture_generate) {
			.size = pick(8) ? 60 + pick(2000) : pick(20000), .count = pick(1000),
			.period = pick(1u << 16), .port_mask = pick(20),
		};
	if (call == INFO)
		argument->info.ask = pick(3);
}

/* Random calls of the capture node ------------------------------------------------------------ */

static void call_ioctl(int fd, enum call call)
{
	union argument argument;
	void *pointer = pick(16) ? &argument : (void *)0xffff800000000000ul;
	unsigned long request = call == UNKNOWN ? _IOC(_IOC_WRITE, 'S', 128 + pick(64), 8) :
						  requests[call];

	random_argument(call, &argument);
	count(call, ioctl(fd, request, call == UNKNOWN ? &argument : pointer) == 0);
}

static void call_mmap(int fd)
{
	int prot = pick(2) ? PROT_READ : PROT_READ | PROT_WRITE;
	void *page = mmap(NULL, pick(4) ? 4096 : 8192, prot, pick(4) ? MAP_SHARED : MAP_PRIVATE,
			  fd, pick(4) ? 0 : 4096);

	count(MMAP, page != MAP_FAILED);
	if (page == MAP_FAILED)
		return;
	count(MPROTECT, mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
	munmap(page, 4096);
}

static void open_file(int *fd)
{
	*fd = open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	count(OPEN, *fd >= 0);
	if (*fd < 0)
		fail("%s: %s", node, strerror(errno));
}

static void step(int *fd)
{
	struct pollfd poller = { .fd = *fd, .events = POLLIN };
	static char data[10000];
	unsigned int what = pick(20);

	if (what == 0) {
		close(*fd);
		open_file(fd);
	} else if (what == 1) {
		call_mmap(*fd);
	} else if (what == 2) {
		count(POLL, poll(&poller, 1, 0) >= 0);
	} else if (what < 5) {
		count(READ, read(*fd, pick(4) ? data : (char *)8, 1 + pick(10000)) >= 0);
	} else {
		call_ioctl(*fd, pick(UNKNOWN + 1));
	}
}

static uint8_t *memory(int advice)
{
	uint8_t *all = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (all == MAP_FAILED)
		fail("memory: %s", strerror(errno));
	all += HUGE - (uintptr_t)all % HUGE;
	madvise(all, HUGE, advice);
	memset(all, 0, HUGE);
	return all;
}

int storm(const char *device, unsigned long wanted, unsigned int seed)
{
	const struct rlimit locked = { 8u << 20, 8u << 20 };
	int fds[FILES];

	node = device;
	state = seed;
	huge = memory(MADV_HUGEPAGE);
	small = memory(MADV_NOHUGEPAGE);
	event = eventfd(0, EFD_CLOEXEC);
	if (event < 0 || setrlimit(RLIMIT_MEMLOCK, &locked) || setuid(65534))
		fail("eventfd(), setrlimit() or setuid(): %s", strerror(errno));
	for (unsigned int i = 0; i < FILES; i++)
		open_file(&fds[i]);
	/* The first file makes most calls, so that it often owns queue 0 of the capture. */
	for (unsigned long i = 0; i < wanted; i++)
		step(&fds[pick(2) ? 0 : pick(FILES)]);
	for (int call = 0; call < CALLS; call++)
		for (int error = 0; error < ERRORS; error++)
			if (outcomes[call][error])
				printf("storm %s %s %lu\n", names[call],
				       error ? strerrorname_np(error) : "ok",
				       outcomes[call][error]);
	return 0;
}
