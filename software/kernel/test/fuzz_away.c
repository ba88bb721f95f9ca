// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The card is away: for one file for ever, for all of them while it is being reset.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "fuzz.h"

#define RESET_MS	10000	/* until it has begun */

char gone_path[32];
int reset_fd = -1;

static pthread_t resetter;

/* As root: a node that was removed is open to nobody. */
void away_init(int gone, int reset)
{
	fds[FDS] = gone;
	reset_fd = reset;
	if (gone < 0)
		return;
	if (fchmod(gone, 0666) || fcntl(gone, F_SETFL, O_NONBLOCK))
		fail("descriptor %d: %s", gone, strerror(errno));
	snprintf(gone_path, sizeof(gone_path), "/proc/self/fd/%d", gone);
}

/* What the kernel thinks of it is no matter: QEMU's root ports do not report the link. */
static void *reset(void *unused)
{
	return pwrite(reset_fd, "1", 1, 0) < 0 ? unused : NULL;
}

/* The direction has come to its end, which the user is told. */
static void wait_stopped(short way)
{
	struct pollfd poller = { .fd = fds[0], .events = way };

	for (int i = 0; i < RESET_MS; i++) {
		if (poll(&poller, 1, 0) == 1 && poller.revents & POLLERR)
			return;
		usleep(1000);
	}
	fail("poll() for %#x: events %#x, not POLLERR; register: %s", way, poller.revents,
	     ioctl(fds[0], LITEPCIE_IOCTL_REG, &(struct litepcie_ioctl_reg){ .addr = 4 }) ?
	     strerror(errno) : "there");
}

/* The card is away, and both directions, which ran, are stopped when this returns. */
void reset_begin(void)
{
	struct litepcie_ioctl_reg reg = { .addr = 4 };

	if (pthread_create(&resetter, NULL, reset, NULL))
		fail("no thread: %s", strerror(errno));
	for (int i = 0; i < RESET_MS; i++) {
		if (ioctl(fds[0], LITEPCIE_IOCTL_REG, &reg) && errno == EIO) {
			wait_stopped(POLLIN);
			wait_stopped(POLLOUT);
			return;
		}
		usleep(1000);
	}
	fail("the card is there %d ms after it was to be reset", RESET_MS);
}

void reset_end(void)
{
	pthread_join(resetter, NULL);
}
