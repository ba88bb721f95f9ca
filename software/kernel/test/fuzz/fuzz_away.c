// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Provides a card that cannot be used, for the calls of the program fuzz: for one open file the
 * card was removed, and the card of all other files can be reset.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "fuzz.h"

#define RESET_MS	10000	/* longest wait in ms until a reset of the card has begun */

char gone_path[32];
int reset_fd = -1;

static pthread_t resetter;

/*
 * Store the descriptors @gone, a file whose card was removed, and @reset, the card's file `reset`
 * in sysfs. The device node of @gone has been removed, too, and its mode lets only root open it
 * again. So this function is called as root, and changes the mode to let every user open it.
 */
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

/*
 * Thread that resets the card. The kernel's answer does not matter: QEMU's root ports do not
 * report the link, so the kernel may call the reset a failure.
 */
static void *reset(void *unused)
{
	return pwrite(reset_fd, "1", 1, 0) < 0 ? unused : NULL;
}

/* Wait until poll() reports that the run of direction @way (POLLIN or POLLOUT) has failed. */
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

/*
 * Begin a reset of the card. When this function returns, the card is in reset: the driver refuses
 * register accesses with EIO, and the runs of both directions have ended.
 */
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
