// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests rings in a process's own memory when the process forks, unmaps the memory or is killed, or
 * when the card is removed or reset, during DMA.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "memory.h"

#define FLOWS	64	/* number of received c2h buffers after which data counts as flowing */

/* Tests of a process that forks, unmaps its ring, or is killed -------------------------------- */

static void both_in(char *h2c, char *c2h)
{
	need(!set_up(LITEPCIE_WAY_H2C, h2c, BUFFER, RING / BUFFER) &&
	     !set_up(LITEPCIE_WAY_C2H, c2h, BUFFER, RING / BUFFER), "ring in own memory");
	fill(h2c, RING);
	start();
	wait_received(FLOWS);
}

/*
 * Check that after a fork() the child has copies of rings in the program's own memory, and that the
 * parent still sees what the card writes.
 */
static void leave_fork(char *h2c, char *c2h)
{
	pid_t child;
	int status;

	both_in(h2c, c2h);
	child = fork();
	if (child == 0) {
		memset(h2c, 0x55, RING);
		memset(c2h, 0x55, RING);
		_exit(0);
	}
	need(child > 0 && waitpid(child, &status, 0) == child && !status, "child");
	memset(c2h, 0, RING);
	wait_received(received() + 2 * RING / BUFFER);
	stop();
	compare(c2h, h2c, RING, "after fork()");
	printf("leave: fork\n");
}

/*
 * After a process has unmapped the memory of its c2h ring, the card still writes to the pages of
 * the ring. It must not write to the huge pages that the kernel allocates next.
 */
static void leave_munmap(char *h2c, char *c2h)
{
	char *next;

	both_in(h2c, c2h);
	need(!munmap(c2h, RING), "munmap");
	next = memory(16 * RING, MADV_HUGEPAGE);
	memset(next, 0x77, 16 * RING);
	wait_received(received() + 2 * RING / BUFFER);
	stop();
	for (size_t i = 0; i < 16 * RING; i++)
		if (next[i] != 0x77)
			fail("byte %zu of memory that is not the card's is %#x", i, next[i]);
	release();
	need(!munmap(next, 16 * RING), "munmap");
	printf("leave: munmap\n");
}

/*
 * A process with rings in its own memory is killed. Another process that has the card open can then
 * take the directions and run DMA with LitePCIe's rings.
 */
static void leave_killed(const char *device)
{
	pid_t child;
	int status, ready[2];
	char byte;

	need(!pipe(ready), "pipe");
	child = fork();
	if (child == 0) {
		fd = open_or_fail(device);
		take();
		both_in(memory(RING, MADV_HUGEPAGE), memory(RING, MADV_HUGEPAGE));
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	need(child > 0 && read(ready[0], &byte, 1) == 1, "child");
	need(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child, "kill");
	take();
	need(!(info_of(0).setup.flags & LITEPCIE_RING_MEMORY) && info_of(1).ring_bytes == RING,
	     "LitePCIe's ring after its owner was killed");
	start();
	wait_received(FLOWS);
	stop();
	printf("leave: killed\n");
}

int leave(const char *device)
{
	char *h2c = memory(RING, MADV_HUGEPAGE), *c2h = memory(RING, MADV_HUGEPAGE);

	take();
	leave_fork(h2c, c2h);
	leave_munmap(h2c, c2h);
	need_pinned(0, "after the release");
	leave_killed(device);
	return 0;
}

/* Tests of own memory on a card that is removed or reset -------------------------------------- */

/*
 * Run DMA with rings in the program's own memory until the card cannot be used any more. With @away
 * the program ends as soon as the card is being reset, else when the card was removed.
 */
int hold(const char *flag, bool away)
{
	struct pollfd poller = { .fd = fd };

	take();
	both_in(memory(RING, MADV_HUGEPAGE), memory(RING, MADV_HUGEPAGE));
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	if (away) {
		while (!run_c2h(fd, 1, NULL))
			usleep(1000);
		need(errno == EIO, "start while the card is away");
		return 0;
	}
	need(poll(&poller, 1, 6 * PATIENCE_MS) == 1 && poller.revents & (POLLHUP | POLLERR),
	     "poll() until the card goes");
	refused(run_c2h(fd, 1, NULL), ENODEV, "start without a card");
	return 0;
}
