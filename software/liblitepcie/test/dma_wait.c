/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the calls that wait for DMA or for the user's interrupt, on the card that the first argument
 * names. With a negative timeout a wait for DMA ends when buffers are finished, when another thread
 * stops the DMA, or when a signal comes. A wait for the user's interrupt ends when this interrupt
 * comes, or when another thread switches it off. With a timeout of 0 a call does not wait. The
 * second argument is an offset in BAR0: the logic in the user slot raises its interrupt when a
 * program writes there. Without this argument no wait for the user's interrupt is tested.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "liblitepcie.h"
#include "open.h"
#include "run.h"

/*
 * time in ms after which begin() checks that a thread still waits; it is several times
 * LITEPCIE_WAIT_SLICE_MS, after which the library reads the card's counts
 */
#define LONG_MS		700
/*
 * CPU time in us below which a waiting thread must stay within LONG_MS; on an idle machine a thread
 * that never sleeps would take about LONG_MS, which is twice as much
 */
#define BUSY_US		350000
/*
 * longest time in ms from a stop, a signal, or the switching off of the user's interrupt to the end
 * of the wait, on a busy machine; an idle machine takes far less
 */
#define SOON_MS		5000

struct wait {
	const char	*name;
	int		(*call)(struct litepcie *dev, int timeout_ms);
	unsigned int	directions;
	struct litepcie	*dev;
	_Atomic int	rc;
};

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int peek(struct litepcie *dev, int timeout_ms)
{
	uint64_t first;

	return c2h_peek(dev, &first, timeout_ms);
}

static int get(struct litepcie *dev, int timeout_ms)
{
	uint64_t first;

	return h2c_get(dev, &first, timeout_ms);
}

static int wait_c2h(struct litepcie *dev, int timeout_ms)
{
	return litepcie_dma_wait(dev, LITEPCIE_C2H, timeout_ms);
}

static int wait_both(struct litepcie *dev, int timeout_ms)
{
	return litepcie_dma_wait(dev, LITEPCIE_H2C | LITEPCIE_C2H, timeout_ms);
}

static void *run_for_ever(void *context)
{
	struct wait *wait = context;

	wait->rc = wait->call(wait->dev, -1);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
}

/*
 * Submit h2c buffers until none has been free for LONG_MS milliseconds. The data comes back through
 * the loopback into c2h. No c2h buffer is released, so both rings stay full.
 */
static void fill_h2c(struct litepcie *dev)
{
	uint64_t first;
	int count;

	while ((count = h2c_get(dev, &first, LONG_MS)) > 0)
		CHECK_EQUAL(h2c_submit(dev, (unsigned int)count), 0);
	CHECK_EQUAL(count, 0);
}

static void start(struct litepcie *dev, unsigned int directions, bool pattern)
{
	bool fill = directions & LITEPCIE_H2C;
	const struct run_config config = {
		.directions = directions, .pattern = pattern, .loopback = fill,
	};

	CHECK_EQUAL(run_start(dev, &config), 0);
	if (fill)
		fill_h2c(dev);
}

/*
 * Start a thread that makes the call @wait->call, and check that it still waits after LONG_MS and
 * has used little CPU time. The CPU time is checked with the back end "sim" only. Tests run the
 * other back ends in the guest of a virtual machine, where a register read of a simulated card
 * counts as CPU time of the thread.
 */
static pthread_t begin(struct wait *wait)
{
	clockid_t clock;
	pthread_t thread;

	wait->rc = 1000;
	pthread_create(&thread, NULL, run_for_ever, wait);
	usleep(LONG_MS * 1000);
	CHECK_EQUAL(wait->rc, 1000);
	if (strcmp(litepcie_backend(wait->dev), "sim") == 0 && wait->rc == 1000 &&
	    pthread_getcpuclockid(thread, &clock) == 0)
		CHECK(clock_us(clock) < BUSY_US);
	return thread;
}

static void end(struct wait *wait, pthread_t thread, int64_t began_us, int expected)
{
	pthread_join(thread, NULL);
	CHECK(clock_us(CLOCK_MONOTONIC) - began_us < SOON_MS * 1000);
	CHECK_EQUAL(wait->rc, expected);
	printf("dma_wait: %s ends with %d\n", wait->name, wait->rc);
}

static void a_stop_ends_it(struct wait *wait)
{
	pthread_t thread;
	int64_t began;

	start(wait->dev, wait->directions, false);
	thread = begin(wait);
	began = clock_us(CLOCK_MONOTONIC);
	CHECK_EQUAL(run_stop(wait->dev), 0);
	end(wait, thread, began, -ECANCELED);
	CHECK_EQUAL(litepcie_dma_wait(wait->dev, wait->directions, -1), -EINVAL);
}

static void a_signal_ends_it(struct wait *wait)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t thread;
	int64_t began;

	sigaction(SIGUSR1, &action, NULL);
	start(wait->dev, wait->directions, false);
	thread = begin(wait);
	began = clock_us(CLOCK_MONOTONIC);
	/*
	 * Send the signal again and again, since a signal that comes between two sleeps of the
	 * waiting thread does not end the wait.
	 */
	for (int i = 0; i < 50 && wait->rc == 1000; i++) {
		pthread_kill(thread, SIGUSR1);
		usleep(20000);
	}
	end(wait, thread, began, -EINTR);
	CHECK_EQUAL(run_stop(wait->dev), 0);
}

/*
 * Two threads wait at the same time, and a stop must end both waits. With the back end "kernel"
 * each thread sleeps in the driver. With another back end only one thread sleeps for the card, and
 * wakes the other.
 */
static void a_stop_ends_two(struct litepcie *dev)
{
	struct wait first = { "the first of two", wait_c2h, 0, dev, 0 };
	struct wait second = { "the second of two", wait_both, 0, dev, 0 };
	pthread_t threads[2];
	int64_t began;

	start(dev, LITEPCIE_H2C | LITEPCIE_C2H, false);
	threads[0] = begin(&first);
	threads[1] = begin(&second);
	began = clock_us(CLOCK_MONOTONIC);
	CHECK_EQUAL(run_stop(dev), 0);
	end(&first, threads[0], began, -ECANCELED);
	end(&second, threads[1], began, -ECANCELED);
}

static void data_ends_it(struct litepcie *dev)
{
	start(dev, LITEPCIE_C2H, true);
	CHECK(peek(dev, -1) > 0);
	CHECK_EQUAL(run_stop(dev), 0);
}

static void no_time_is_a_look(struct litepcie *dev)
{
	int64_t began;

	start(dev, LITEPCIE_C2H, false);
	began = clock_us(CLOCK_MONOTONIC);
	CHECK_EQUAL(wait_c2h(dev, 0), 0);
	CHECK_EQUAL(peek(dev, 0), 0);
	CHECK(clock_us(CLOCK_MONOTONIC) - began < LONG_MS * 1000);
	CHECK_EQUAL(run_stop(dev), 0);
}

static void switching_off_ends_the_user_s(struct litepcie *dev, uint32_t bell)
{
	struct wait wait = { "the user's", litepcie_user_wait, 0, dev, 0 };
	pthread_t thread;
	int64_t began;

	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK_EQUAL(litepcie_writel(dev, bell, 1), 0);
	CHECK_EQUAL(litepcie_user_wait(dev, -1), 1);
	thread = begin(&wait);
	began = clock_us(CLOCK_MONOTONIC);
	CHECK_EQUAL(litepcie_user_enable(dev, false), 0);
	end(&wait, thread, began, -ECANCELED);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	if (!open_device(&dev, argc >= 2, argv[1], "usage: dma_wait DEVICE [OFFSET]"))
		return 2;
	a_stop_ends_it(&(struct wait) { "wait c2h", wait_c2h, LITEPCIE_C2H, dev, 0 });
	a_stop_ends_it(&(struct wait) { "peek", peek, LITEPCIE_C2H, dev, 0 });
	CHECK_EQUAL(run_shape(dev, 4096, 16), 0);
	a_stop_ends_it(&(struct wait) { "get", get, LITEPCIE_H2C | LITEPCIE_C2H, dev, 0 });
	a_stop_ends_it(&(struct wait) {
		"drain", h2c_drain, LITEPCIE_H2C | LITEPCIE_C2H, dev, 0,
	});
	a_stop_ends_two(dev);
	a_signal_ends_it(&(struct wait) { "signalled", wait_c2h, LITEPCIE_C2H, dev, 0 });
	data_ends_it(dev);
	no_time_is_a_look(dev);
	if (argc > 2)
		switching_off_ends_the_user_s(dev, (uint32_t)strtoul(argv[2], NULL, 0));
	litepcie_close(dev);
	return failed_checks != 0;
}
