/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What this machine's kernel takes, in CPU time, for the system calls of one batch of buffers: those
 * that the library makes on a board, from a wait for an interrupt to the message that gives the
 * buffers back. The library is not in it. The other side is a process that keeps its processor busy
 * for PAUSE_US before each interrupt and for a quarter of that before each answer, as a board does,
 * which says what longer sleeps cost by themselves: caches and TLBs that others have filled.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS	4616	/* bytes of the message with 64 descriptors */
#define READ		68	/* one that clears the interrupt and asks for the card's count */
#define ANSWER		36
#define WARM		4	/* rounds before the first that counts */
#define WAIT_MS		20000
#define BUSY		(8u << 20)	/* bytes that the other side goes over meanwhile, as a board does */

static long long clock_ns(clockid_t id)
{
	struct timespec time;

	clock_gettime(id, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	exit(2);
}

static void take(int from, size_t size)
{
	static char bytes[DESCRIPTORS];
	ssize_t n = 1;

	for (; size && n > 0; size -= (size_t)n) {
		n = recv(from, bytes, size, 0);
		if (n < 0)
			break;
	}
	must(size == 0, "the other side");
}

static void give(int to, size_t size)
{
	static const char bytes[DESCRIPTORS];

	must(send(to, bytes, size, MSG_NOSIGNAL) == (ssize_t)size, "send");
}

static void keep_busy(long long ns)
{
	static volatile char memory[BUSY];
	long long until = clock_ns(CLOCK_MONOTONIC) + ns;

	for (unsigned int at = 0; clock_ns(CLOCK_MONOTONIC) < until;)
		for (int i = 0; i < 256; i++, at = (at + 448) % BUSY)
			memory[at]++;
}

static void board(int client, int interrupt, long long pause_ns, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		keep_busy(pause_ns);
		must(eventfd_write(interrupt, 1) == 0, "eventfd");
		take(client, READ);
		keep_busy(pause_ns / 4);
		give(client, ANSWER);
		take(client, DESCRIPTORS);
	}
	_exit(0);
}

static void sleep_for(struct pollfd *fds, nfds_t count)
{
	must(poll(fds, count, WAIT_MS) > 0, "poll");
}

static void batch(int board, int interrupt)
{
	struct pollfd both[2] = {
		{ .fd = board, .events = POLLIN }, { .fd = interrupt, .events = POLLIN },
	};
	eventfd_t count;

	sleep_for(both, 2);
	must(eventfd_read(interrupt, &count) == 0, "eventfd");
	give(board, READ);
	sleep_for(both, 1);
	take(board, ANSWER);
	give(board, DESCRIPTORS);
}

int main(int argc, char **argv)
{
	int ends[2], interrupt = eventfd(0, EFD_CLOEXEC);
	long long pause_ns, cpu = 0;
	long rounds;

	if (argc != 3) {
		fprintf(stderr, "usage: kernel_calls PAUSE_US ROUNDS\n");
		return 2;
	}
	pause_ns = atoll(argv[1]) * 1000;
	rounds = atol(argv[2]);
	must(interrupt >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socket");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		board(ends[1], interrupt, pause_ns, rounds + WARM);
	}
	close(ends[1]);
	for (long i = 0; i < rounds + WARM; i++) {
		if (i == WARM)
			cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		batch(ends[0], interrupt);
	}
	printf("cpu_ns %lld\n", (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / rounds);
	return 0;
}
