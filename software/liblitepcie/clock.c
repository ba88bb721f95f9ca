/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The time by which waits end. The monotonic clock is never set back or forward. */
#include <time.h>

#include "backend.h"

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
