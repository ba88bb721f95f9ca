// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Measures how many instructions the processor needs for the driver's work. The program is made for
 * QEMU's option -icount shift=0, with which an instruction takes 1 ns. In the commands that have a
 * WAY, the card's generator fills the c2h ring, and the program does not look at the data.
 *
 *   cost clock				count a loop of known length, to check the clock
 *   cost WAY DEV REGISTER VALUE BUFFERS	take BUFFERS of 8 KiB; writing VALUE to REGISTER starts
 * 					the generator. WAY is one of
 * 	abi	LitePCIe's zero copy: poll(), and counts read and set by ioctl()
 * 	read	LitePCIe's copy: read() of the data that is there
 * 	poll	as abi, but with the card's count in the mapped status page and the program's
 * 		in the mapped index page, if the driver has these pages
 *   cost calls WAY DEV REGISTER VALUE BUFFERS	count the system calls that WAY makes, and the
 * 					bytes that its read() and write() move. WAY may also be
 * 					`index`, which is poll without poll(): the program reads
 * 					the status page again and again. The instructions of
 * 					`index` are not counted, since they only show how long
 * 					the card takes.
 *   cost disk DEV DISK			write a ring to a disk, see cost_disk.c
 *   cost run NAME CHUNK BYTES PROGRAM...	what PROGRAM costs, which writes BYTES bytes in
 * 					chunks of CHUNK bytes
 *
 * Busy time is the time of the clock minus the time that the kernel counts as idle, from the
 * beginning of a measurement to its end. So busy time includes whatever the program does to wait.
 * `most` is the largest number of filled buffers that the program found at once, or that one call
 * of read() returned. If the guest's clock left out so much time that the card filled more buffers
 * than the ring has, `most` would show that, except with `read`.
 *
 * Exit status: 0 the measurement is done, 1 it failed or WAY is unknown (with a message on stderr),
 * 2 other wrong usage.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "cost.h"

static int fd;
/* The c2h part of the driver's status page (counts by the card); NULL: it is not mapped. */
static const struct litepcie_status_way *status_page;
/*
 * The c2h part of the file's index page (counts by the program). NULL: it is not mapped, since the
 * program takes buffers without it, or the driver has no such page.
 */
static struct litepcie_index_way *index_page;
/* largest number of filled c2h buffers that the program has found at a time */
static uint64_t most;

static void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

/*
 * Make a system call that marks the beginning or the end of the counted part, for a tracer of this
 * process.
 */
static void mark(void)
{
	syscall(SYS_getppid);
}

static void found(uint64_t buffers)
{
	if (buffers > most)
		most = buffers;
}

/* The ways by which a program takes buffers (WAY of the usage) -------------------------------- */

static void take_abi(uint64_t buffers)
{
	struct litepcie_ioctl_dma_writer writer = { .enable = 1 };
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	uint64_t done = 0;

	while (done < buffers) {
		struct litepcie_ioctl_mmap_dma_update update;

		need(poll(&poller, 1, 20000) == 1, "poll");
		need(!ioctl(fd, LITEPCIE_IOCTL_DMA_WRITER, &writer), "counts");
		found((uint64_t)writer.hw_count - done);
		done = (uint64_t)writer.hw_count;
		update.sw_count = writer.hw_count;
		need(!ioctl(fd, LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE, &update), "update");
	}
}

static void take_read(uint64_t buffers)
{
	static char buffer[128 * BUFFER];
	uint64_t done = 0;

	while (done < buffers) {
		ssize_t got = read(fd, buffer, sizeof(buffer));

		need(got > 0, "read");
		found((uint64_t)got / BUFFER);
		done += (uint64_t)got / BUFFER;
	}
}

static struct litepcie_index_way *map_index(void)
{
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };
	struct litepcie_status *status;
	struct litepcie_index *page;

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	status = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)info.status_offset);
	need(status != MAP_FAILED, "status page");
	status_page = &status->way[LITEPCIE_WAY_C2H];
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)info.index_offset);
	need(page != MAP_FAILED, "index page");
	return &page->way[LITEPCIE_WAY_C2H];
}

/*
 * Take the c2h buffers that the mapped status page reports as filled, without a system call.
 * Returns false if no buffer is ready.
 */
static bool consume(uint64_t *done)
{
	uint64_t hardware = __atomic_load_n(&status_page->buffers, __ATOMIC_ACQUIRE);

	if (hardware == *done)
		return false;
	found(hardware - *done);
	*done = hardware;
	__atomic_store_n(&index_page->software, *done, __ATOMIC_RELEASE);
	return true;
}

static void take_index(uint64_t buffers)
{
	uint64_t done = 0;

	if (!index_page)
		fail("index: this driver has no index page");
	while (done < buffers)
		consume(&done);
}

static void take_poll(uint64_t buffers)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	uint64_t done = 0;

	if (!index_page) {
		take_abi(buffers);
		return;
	}
	while (done < buffers)
		if (!consume(&done))
			need(poll(&poller, 1, 20000) == 1, "poll");
}

static const struct taking {
	const char *name;
	void (*take)(uint64_t buffers);
	/* true: this way of taking buffers uses the index page, if the driver has one */
	bool indexed;
	/* true: this way of taking buffers sleeps until the card has filled some */
	bool waits;
} takings[] = {
	{ "abi", take_abi, false, true }, { "read", take_read, false, true },
	{ "poll", take_poll, true, true }, { "index", take_index, true, false },
};

static const struct taking *find_taking(const char *name)
{
	for (size_t i = 0; i < sizeof(takings) / sizeof(*takings); i++)
		if (!strcmp(takings[i].name, name))
			return &takings[i];
	fail("%s: ways are abi, read, poll and index", name);
}

/* Counting instructions ----------------------------------------------------------------------- */

/*
 * Set up a c2h ring for which the program writes its count to the index page. LitePCIe's own driver
 * does not know LITEPCIE_IOCTL_RING_SETUP. With that driver index_page stays NULL.
 */
static void set_up_index(void)
{
	struct litepcie_ring_setup setup = {
		.way = LITEPCIE_WAY_C2H, .buffer_size = BUFFER, .buffer_count = RING / BUFFER,
		.buffers_per_interrupt = BUFFERS_PER_INTERRUPT, .flags = LITEPCIE_RING_INDEXED,
	};
	int rc = ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup);

	need(!rc || errno == ENOTTY, "setup");
	if (!rc)
		index_page = map_index();
}

static void start(const struct taking *taking, const char *device, char **generator)
{
	struct litepcie_ioctl_reg reg = {
		.addr = (uint32_t)strtoul(generator[0], NULL, 0),
		.val = (uint32_t)strtoul(generator[1], NULL, 0), .is_write = 1,
	};
	struct litepcie_ioctl_lock lock = { .dma_writer_request = 1 };

	fd = open_or_fail(device);
	loopback(fd, 0);
	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) && lock.dma_writer_status, "lock");
	if (taking->indexed)
		set_up_index();
	need(!run_c2h(fd, 1, NULL), "start");
	need(!ioctl(fd, LITEPCIE_IOCTL_REG, &reg), "generator");
}

static void stop(char **generator)
{
	struct litepcie_ioctl_reg reg = {
		.addr = (uint32_t)strtoul(generator[0], NULL, 0), .is_write = 1,
	};

	ioctl(fd, LITEPCIE_IOCTL_REG, &reg);
	run_c2h(fd, 0, NULL);
	close(fd);
}

static int cost(const struct taking *taking, const char *device, char **generator)
{
	uint64_t buffers = strtoull(generator[2], NULL, 0), begin, used, from;

	if (!taking->waits)
		fail("%s does not sleep: its instructions are as many as the card takes time",
		     taking->name);
	start(taking, device, generator);
	from = now();
	begin = busy();
	taking->take(buffers);
	used = busy() - begin;
	printf("cost %s instructions=%llu nanoseconds=%llu bytes=%llu most=%llu\n", taking->name,
	       (unsigned long long)used, (unsigned long long)(now() - from),
	       (unsigned long long)buffers * BUFFER, (unsigned long long)most);
	stop(generator);
	return 0;
}

/* Counting system calls ----------------------------------------------------------------------- */

struct seen {
	unsigned long calls, copied;
	int marks;
};

/*
 * Called at each stop of the traced child, before a system call (@entering) and after it. Count
 * the calls, and the bytes that read() and write() moved, between the two marks.
 */
static void look(pid_t child, bool entering, struct seen *seen)
{
	struct user_regs_struct registers;

	need(!ptrace(PTRACE_GETREGS, child, 0, &registers), "registers");
	if (entering && registers.orig_rax == SYS_getppid)
		seen->marks++;
	else if (seen->marks == 1 && entering)
		seen->calls++;
	else if (seen->marks == 1 && (registers.orig_rax == SYS_read ||
				      registers.orig_rax == SYS_write))
		seen->copied += (long)registers.rax > 0 ? registers.rax : 0;
}

static void trace(pid_t child, struct seen *seen)
{
	bool entering = true;
	int status;

	need(waitpid(child, &status, 0) == child, "child");
	for (;;) {
		need(!ptrace(PTRACE_SYSCALL, child, 0, 0), "trace");
		need(waitpid(child, &status, 0) == child, "child");
		if (WIFEXITED(status))
			break;
		look(child, entering, seen);
		entering = !entering;
	}
	if (WEXITSTATUS(status) || seen->marks < 2)
		fail("the traced process ended with %d after %d marks", WEXITSTATUS(status),
		     seen->marks);
}

static int calls(const struct taking *taking, const char *device, char **generator)
{
	uint64_t buffers = strtoull(generator[2], NULL, 0);
	struct seen seen = { 0 };
	pid_t child = fork();

	if (child == 0) {
		need(!ptrace(PTRACE_TRACEME, 0, 0, 0), "trace");
		raise(SIGSTOP);
		start(taking, device, generator);
		mark();
		taking->take(buffers);
		mark();
		stop(generator);
		exit(0);
	}
	trace(child, &seen);
	printf("calls %s calls=%lu copied=%lu bytes=%llu\n", taking->name, seen.calls, seen.copied,
	       (unsigned long long)buffers * BUFFER);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "clock"))
		return cost_clock();
	if (argc == 4 && !strcmp(argv[1], "disk"))
		return cost_disk(argv[2], argv[3]);
	if (argc > 5 && !strcmp(argv[1], "run"))
		return cost_run(argv[2], strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0), argv + 5);
	if (argc == 6)
		return cost(find_taking(argv[1]), argv[2], argv + 3);
	if (argc == 7 && !strcmp(argv[1], "calls"))
		return calls(find_taking(argv[2]), argv[3], argv + 4);
	fprintf(stderr, "usage: cost clock | disk DEV DISK | run NAME CHUNK BYTES PROGRAM... |\n"
		"       [calls] abi|read|poll DEV REGISTER VALUE BUFFERS | calls index DEV ...\n");
	return 2;
}
