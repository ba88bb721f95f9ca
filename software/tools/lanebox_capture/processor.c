/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A processor takes up to some hundred microseconds to leave a deep idle state. A program writes
 * the longest time that is acceptable, in microseconds, to /dev/cpu_dma_latency. While the program
 * has this file open, the kernel avoids all idle states that take longer to leave. So the setting
 * ends when the program ends, even if the program is killed.
 */
#include "processor.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define LATENCY	"/dev/cpu_dma_latency"

/* processors that processor_remember() has stored; empty: none are stored */
static cpu_set_t remembered;

void processor_remember(void)
{
	if (sched_getaffinity(0, sizeof(remembered), &remembered) < 0)
		CPU_ZERO(&remembered);
}

void processor_unpin(void)
{
	if (CPU_COUNT(&remembered))
		sched_setaffinity(0, sizeof(remembered), &remembered);
}

bool processor_pin(struct util *util, unsigned int number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (number < CPU_SETSIZE)
		CPU_SET(number, &set);
	if (number < CPU_SETSIZE && sched_setaffinity(0, sizeof(set), &set) == 0)
		return true;
	util_fail(util, "--cpu %u: %s", number, number >= CPU_SETSIZE || errno == EINVAL ?
		  "this machine has no such processor, or the program may not run on it" :
		  strerror(errno));
	return false;
}

int processor_keep_awake(void)
{
	const int32_t us = 0;
	int fd = open(LATENCY, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, &us, sizeof(us)) != sizeof(us)) {
		close(fd);
		fd = -1;
	}
	return fd;
}
