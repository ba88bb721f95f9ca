// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Counts instructions by the guest's clock, for the program cost.
 */
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "cost.h"

#define LOOP		20000000ull
#define IDLE_SECONDS	3
#define LOOK_MS		200
#define MOST_LOOKS	150
/* the guest counts as quiet if it is busy for less than 1/QUIET of the time */
#define QUIET		100

uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t number_after(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	if (!found)
		fail("/proc/timer_list has no %s", name);
	return strtoull(strchr(found, ':') + 1, NULL, 10);
}

/*
 * Returns the idle time of the guest's first processor in nanoseconds, as the kernel's scheduler
 * tick counts it. The time of interrupts while idle is not included.
 */
static uint64_t idle(void)
{
	static char text[65536];
	int file = open("/proc/timer_list", O_RDONLY);
	size_t size = 0;
	ssize_t got;

	if (file < 0)
		fail("/proc/timer_list: %s", strerror(errno));
	while (size < sizeof(text) - 1 && (got = read(file, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)got;
	close(file);
	text[size] = 0;
	/*
	 * The kernel has two sums of a processor's idle time: iowait_sleeptime is the time in which
	 * a task waited for I/O, such as that of a disk, and idle_sleeptime is the rest.
	 */
	return number_after(text, ".idle_sleeptime") + number_after(text, ".iowait_sleeptime");
}

uint64_t busy(void)
{
	uint64_t slept = idle();

	return now() - slept;
}

void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/*
 * Wait until the guest is quiet, since a kernel such as Linux 6.12 still works in the background
 * for seconds after it has begun to run programs.
 */
static void wait_until_quiet(void)
{
	for (int looks = 0; looks < MOST_LOOKS; looks++) {
		uint64_t begin = now(), worked = busy();

		sleep_ms(LOOK_MS);
		if ((busy() - worked) * QUIET < now() - begin)
			return;
	}
	fail("the guest does not come to rest: something works in it all the time");
}

/*
 * Print three numbers: the measured instructions of a loop of known length divided by that length,
 * the instructions that a measurement itself takes, and the instructions of an idle guest in a
 * second.
 */
int cost_clock(void)
{
	uint64_t count = LOOP, begin, loop, nothing;

	wait_until_quiet();
	begin = now();
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(count));
	loop = now() - begin;
	begin = busy();
	nothing = busy() - begin;
	begin = busy();
	sleep_ms(1000 * IDLE_SECONDS);
	printf("clock loop=%.4f nothing=%llu idle_second=%llu\n", (double)loop / (2.0 * LOOP),
	       (unsigned long long)nothing,
	       (unsigned long long)(busy() - begin - nothing) / IDLE_SECONDS);
	return 0;
}
