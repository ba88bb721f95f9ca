/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The clock for timeouts, and the sleep of a waiting thread. The monotonic clock is used, since
 * nobody can set it.
 */
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"

int64_t litepcie_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t litepcie_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : litepcie_now_ms() + timeout_ms;
}

int litepcie_slice(int64_t deadline)
{
	int64_t left = deadline - litepcie_now_ms();

	if (left <= 0)
		return 0;
	return left < LITEPCIE_WAIT_SLICE_MS ? (int)left : LITEPCIE_WAIT_SLICE_MS;
}

int litepcie_poll(struct litepcie *dev, struct pollfd *fds, unsigned int count, int timeout_ms)
{
	int rc, error;

	litepcie_unlock(dev);
	rc = poll(fds, count, timeout_ms);
	error = errno;
	litepcie_lock(dev);
	if (rc < 0)
		return litepcie_fail_errno(error, "the wait for an interrupt");
	return rc;
}

uint64_t litepcie_take_event(int fd)
{
	uint64_t count;

	return fd >= 0 && read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}
