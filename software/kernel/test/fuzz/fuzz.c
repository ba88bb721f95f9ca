// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes calls of /dev/litepcieN without privileges, for the tests in sim/test, and tries to reach
 * each outcome that fuzz_branches.c lists. An outcome is the success of a call, or an error for one
 * certain reason.
 *
 *   fuzz DEV N SEED [GONE RESET]
 *
 * After each eight random calls some calls aim at an outcome that was reached rarely so far. After
 * N calls the program makes only calls that aim at an outcome, up to about 2 * N calls in all,
 * until each outcome that is possible with its arguments was reached N / 1000 times. The program
 * prints how often each outcome was reached.
 *
 * GONE is the descriptor of an open file whose card was removed. RESET is the descriptor of the
 * card's file `reset` in sysfs. With these two arguments calls end in ENODEV and EIO as well.
 *
 * Exit status: 0 the calls were made, 1 the program could not begin or go on (with a message on
 * stderr), 2 wrong usage.
 */
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calls.h"
#include "fuzz.h"

#define MAPS	4
#define ERRORS	134

const unsigned long requests[] = {
	LITEPCIE_IOCTL_REG, LITEPCIE_IOCTL_DMA, LITEPCIE_IOCTL_DMA_WRITER,
	LITEPCIE_IOCTL_DMA_READER, LITEPCIE_IOCTL_MMAP_DMA_INFO, LITEPCIE_IOCTL_LOCK,
	LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE, LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE,
	LITEPCIE_IOCTL_RING_SETUP, LITEPCIE_IOCTL_RING_MEMORY, LITEPCIE_IOCTL_RING_INFO,
	LITEPCIE_IOCTL_EVENT, LITEPCIE_IOCTL_BAR, LITEPCIE_IOCTL_EXPORT,
	LITEPCIE_IOCTL_ADVANCE, LITEPCIE_IOCTL_COUNTS, LITEPCIE_IOCTL_PACKETS,
};
const char *const names[] = {
	"reg", "loopback", "c2h", "h2c", "info", "lock", "c2h_update", "h2c_update",
	"setup", "memory", "ring_info", "event", "bar", "export",
	"advance", "counts", "packets", "unknown", "mmap", "read", "write", "sync", "poll", "open",
};

int fds[FDS + 1];
const char *device;

static unsigned long outcomes[CALLS][ERRORS], calls;
static unsigned int seed;

unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

const char *outcome_name(int error)
{
	return error ? strerrorname_np(error) : "ok";
}

int count(enum call call, bool ok)
{
	int error = ok ? 0 : errno < ERRORS ? errno : ERRORS - 1;

	outcomes[call][error]++;
	calls++;
	return error;
}

/* Random arguments ---------------------------------------------------------------------------- */

static unsigned int random_word(void)
{
	const unsigned int words[] = { 0, 1, 4, 0x2000, 0x1800, 0x10000, 0x1f000, 0x1fffc,
				       0x20000, 0xffffffff, 0x80000000 };

	return pick(3) ? words[pick(11)] : (unsigned int)rand_r(&seed) >> pick(31);
}

static void random_setup(struct litepcie_ring_setup *setup)
{
	*setup = (struct litepcie_ring_setup){
		.way = pick(3), .buffer_size = 4096u << pick(4), .buffer_count = 3 + pick(100),
		.buffers_per_interrupt = pick(8), .mode = pick(4), .flags = pick(3),
		.interval_us = pick(2) ? 10 * pick(200) : 0, .reserved = !pick(16),
	};
}

static void random_advance(struct litepcie_advance *advance)
{
	static unsigned int lengths[8];

	for (int i = 0; i < 8; i++)
		lengths[i] = pick(BUFFER + 2);
	*advance = (struct litepcie_advance){
		.way = pick(3), .count = pick(8) ? pick(9) : random_word(), .flags = pick(3),
		.reserved = !pick(16), .lengths = pick(2) ? (unsigned long)lengths : 0,
	};
}

/*
 * Release the file's directions and take them again, so that the driver drops their rings.
 * Otherwise a new ring could lie in the same memory as the old one, and the card would have that
 * memory mapped twice.
 */
static void take_anew(int fd)
{
	struct litepcie_ioctl_lock release = { .dma_reader_release = 1, .dma_writer_release = 1 };
	struct litepcie_ioctl_lock request = { .dma_reader_request = 1, .dma_writer_request = 1 };

	ioctl(fd, LITEPCIE_IOCTL_LOCK, &release);
	ioctl(fd, LITEPCIE_IOCTL_LOCK, &request);
}

static void random_memory(struct litepcie_ring_memory *memory)
{
	memory->address = memory_at(pick(PLACES));
	if (pick(2))
		memory->address += pick(4) ? 4096 * pick(512) : pick(4096);
	memory->reserved = !pick(16);
}

/*
 * Fill in a random argument of a call. For calls that check many fields, the fields often have
 * values that pass the driver's first checks.
 */
static void random_argument(enum call call, void *argument)
{
	unsigned char *bytes = argument;

	for (int i = 0; i < 96; i++)
		bytes[i] = pick(2) ? 0 : (unsigned char)pick(256);
	if (call == REG) {
		struct litepcie_ioctl_reg *reg = argument;

		reg->addr = pick(4) ? random_word() & ~3u : random_word();
		reg->is_write = pick(2);
	}
	if (call == C2H || call == H2C || call == LOCK)
		for (int i = 0; i < 6; i++)
			bytes[i] = pick(2);
	if (call == C2H_UPDATE || call == H2C_UPDATE)
		*(long long *)argument = pick(4) ? (int)pick(1000) - 50 :
						   (long long)random_word() << pick(33);
	if (call == SETUP || call == MEMORY)
		random_setup(argument);
	if (call == MEMORY)
		random_memory(argument);
	if (call == ADVANCE)
		random_advance(argument);
	if (call == PACKETS)
		*(struct litepcie_packets *)argument = (struct litepcie_packets){
			.way = pick(3), .flags = pick(3), .flush_us = pick(2) * random_word(),
			.reserved = { [4] = !pick(16) },
		};
	if (call == EVENT)
		((struct litepcie_event *)argument)->fd = (int)pick(64) - 2;
}

/* Random calls -------------------------------------------------------------------------------- */

static void random_ioctl(int fd)
{
	enum call call = pick(UNKNOWN + 1);
	unsigned long request = call == UNKNOWN ?
		_IOC(pick(4), 'S', 128 + pick(128), pick(100)) : requests[call];
	unsigned char argument[16384] = { 0 };
	void *pointer = argument;

	random_argument(call, argument);
	if (pick(8) == 0)
		pointer = pick(2) ? NULL : (void *)0xffff800000000000ul;
	if ((call == C2H || call == H2C) && pick(16))
		small_ring(fd, call == C2H ? LITEPCIE_WAY_C2H : LITEPCIE_WAY_H2C);
	if (call == MEMORY)
		take_anew(fd);
	if (count(call, ioctl(fd, request, pointer) == 0) == 0 && call == EXPORT)
		close(((struct litepcie_export *)argument)->fd);
}

static void *maps[MAPS];
static size_t sizes[MAPS];

static void unmap(unsigned int slot)
{
	if (maps[slot])
		munmap(maps[slot], sizes[slot]);
	maps[slot] = NULL;
}

void unmap_all(void)
{
	for (unsigned int slot = 0; slot < MAPS; slot++)
		unmap(slot);
}

static void random_mmap(int fd)
{
	unsigned int slot = pick(MAPS);
	const off_t offsets[] = { 0, RING, 4096, 2 * RING, -4096, (off_t)pick(16) << 40 };

	unmap(slot);
	sizes[slot] = pick(4) ? RING : 4096 * (1 + pick(1000));
	maps[slot] = mmap(NULL, sizes[slot], (int)pick(4), pick(8) ? MAP_SHARED : MAP_PRIVATE, fd,
			  offsets[pick(6)]);
	count(MMAP, maps[slot] != MAP_FAILED);
	if (maps[slot] == MAP_FAILED)
		maps[slot] = NULL;
	else if (sizes[slot] > 4096 && pick(4) == 0) {
		/*
		 * Unmap only the first page of the mapping now. The rest of it is unmapped by a
		 * later call.
		 */
		munmap(maps[slot], 4096);
		maps[slot] += 4096;
		sizes[slot] -= 4096;
	}
}

static void random_data(int fd)
{
	static char buffer[32 * BUFFER];
	size_t size = pick(4) ? BUFFER * (1 + pick(32)) : 1 + pick(BUFFER);
	void *pointer = pick(8) ? buffer : (void *)8;

	if (pick(2))
		count(READ, read(fd, pointer, size) >= 0);
	else
		count(WRITE, write(fd, pointer, size) >= 0);
}

static void random_step(void)
{
	unsigned int slot = pick(fds[FDS] < 0 ? FDS : FDS + 1);
	struct pollfd poller = { .fd = fds[slot], .events = POLLIN | POLLOUT };

	switch (pick(10)) {
	case 0:
		slot = pick(FDS);
		close(fds[slot]);
		fds[slot] = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		count(OPEN, fds[slot] >= 0);
		break;
	case 1:
		random_mmap(fds[slot]);
		break;
	case 2:
	case 3:
		random_data(fds[slot]);
		break;
	case 4:
		count(POLL, poll(&poller, 1, 0) >= 0);
		break;
	default:
		random_ioctl(fds[slot]);
	}
}

static void print_outcomes(void)
{
	for (int call = 0; call < CALLS; call++)
		for (int error = 0; error < ERRORS; error++)
			if (outcomes[call][error])
				printf("fuzz %s %s %lu\n", names[call], outcome_name(error),
				       outcomes[call][error]);
}

/* Print the fuzz test's progress after each fiftieth of N calls, for a person who watches it. */
static void print_progress(unsigned long wanted)
{
	static unsigned long next;

	if (calls < next)
		return;
	next += wanted / 50 + 1;
	fprintf(stderr, "fuzz: %lu of %lu calls, each branch %lu times or oftener\n", calls, wanted,
		branches_least());
}

static int fuzz(unsigned long wanted)
{
	const struct rlimit limit = { 64u << 20, 64u << 20 };

	for (int i = 0; i < FDS; i++) {
		fds[i] = open_or_fail(device);
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	/*
	 * Limit locked memory. The limit must allow the rings that files and mappings keep, and be
	 * less than half a gigabyte, the smallest ring for which fuzz_branches.c expects ENOMEM.
	 */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(65534))
		fail("setuid: %s", strerror(errno));
	calls_init();
	memory_init();
	while (calls < wanted || (calls < 2 * wanted && branches_least() < wanted / 1000)) {
		print_progress(wanted);
		for (int i = 0; i < 8 && calls < wanted; i++)
			random_step();
		branches_step();
	}
	print_outcomes();
	branches_print();
	printf("calls %lu\n", calls);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 6) {
		fprintf(stderr, "usage: fuzz DEV N SEED [GONE RESET]\n");
		return 2;
	}
	device = argv[1];
	seed = (unsigned int)atol(argv[3]);
	away_init(argc > 4 ? atoi(argv[4]) : -1, argc > 4 ? atoi(argv[5]) : -1);
	return fuzz(strtoul(argv[2], NULL, 0));
}
