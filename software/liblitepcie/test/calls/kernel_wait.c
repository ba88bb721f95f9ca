/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how the "kernel" back end reads counts and waits: for buffers, and for the interrupt of the
 * user's logic.
 */
#include <poll.h>

#include "calls.h"

/* Tests of counts and waits ------------------------------------------------------------------- */

static int64_t interrupts_of_a_run(unsigned int directions)
{
	const struct run_config config = {
		.directions = directions,
	};
	struct litepcie *dev = open_card();
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(run_start(dev, &config), 0);
	driver.interrupts[0] += 5;
	driver.interrupts[1] += 70;
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	litepcie_close(dev);
	return stats.interrupts;
}

/*
 * stats.interrupts, the library's count of a run's interrupts, must come from the driver's counters
 * in sysfs. Without these counters it must be -1.
 */
static void interrupts_are_the_drivers_own_count(void)
{
	driver_reset();
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_C2H), -1);
	driver_reset();
	driver.counts = true;
	driver.interrupts[0] = 1000;
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_C2H), 70);
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_H2C), 5);
	CHECK_EQUAL(interrupts_of_a_run(LITEPCIE_H2C | LITEPCIE_C2H), 75);
}

/*
 * Wait until another thread has called poll() on the device, for about 10 s at most. If a buffer
 * were finished before that, the thread's wait would need no poll(), and driver.polls would stay 0.
 */
static void wait_for_poll(void)
{
	for (int i = 0; !driver.polls && i < 10000; i++)
		usleep(1000);
}

static void *finish_later(void *way)
{
	wait_for_poll();
	driver_finish(way != NULL, 1);
	return NULL;
}

/*
 * A wait that sleeps must make one call of the driver: a poll() that the interrupt ends. A wait
 * must make no call if a buffer is finished already. A wait with a timeout of 0 must not call
 * poll().
 */
static void a_wait_is_one_call(unsigned int direction)
{
	const struct run_config config = {
		.directions = direction, .interrupt_every = 1,
	};
	bool c2h = direction == LITEPCIE_C2H;
	struct litepcie *dev = run_card(&config);
	pthread_t thread;
	unsigned int calls;

	if (!c2h)
		CHECK_EQUAL(h2c_submit(dev, 4), 0);
	calls = driver.calls;
	pthread_create(&thread, NULL, finish_later, c2h ? dev : NULL);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 10000), 1);
	pthread_join(thread, NULL);
	CHECK_EQUAL(driver.polls, 1);
	CHECK_EQUAL(driver.calls, calls);
	driver_finish(c2h, 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 10000), 1);
	CHECK_EQUAL(driver.polls + driver.calls, calls + 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 0), 0);
	CHECK_EQUAL(driver.polls, 1);
	litepcie_close(dev);
}

static void *wait_for_c2h(void *context)
{
	struct litepcie *dev = context;

	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 10000), 1);
	return NULL;
}

/*
 * Each of two threads waits for its own direction. The poll() of the thread for c2h wakes late.
 * That thread must still find its buffers, although the thread for h2c has updated the counts of
 * both directions meanwhile.
 */
static void each_thread_waits_for_its_own(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	pthread_t thread;

	driver.doze_ms = 50;
	pthread_create(&thread, NULL, wait_for_c2h, dev);
	wait_for_poll();
	driver.doze_ms = 1;
	driver_finish(1, 5);
	/* each of these waits for h2c also brings the counts of c2h up to date */
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_H2C, 1), 0);
	pthread_join(thread, NULL);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.woken_by_timeout, 0);
	litepcie_close(dev);
}

/*
 * The card finishes buffers, and no interrupt comes. When its sleep is over, the library asks the
 * card for its counts, and counts an interrupt as missed if one was due.
 */
static void a_lost_interrupt_is_found(unsigned int direction)
{
	const struct run_config config = {
		.directions = direction,
	};
	int way = direction == LITEPCIE_C2H;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie *dev;

	driver_reset();
	driver.counts = true;
	dev = open_card();
	CHECK_EQUAL(run_start(dev, &config), 0);
	if (direction == LITEPCIE_H2C)
		CHECK_EQUAL(h2c_submit(dev, 100), 0);
	/*
	 * the card has finished 31 buffers; the first buffer that asks for an interrupt is the
	 * 32nd, which is not finished
	 */
	driver.hardware[way] = 31;
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 1000), 1);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(way ? stats.c2h_done : stats.h2c_done, 31);
	CHECK(stats.interrupts_missed == 0 && stats.woken_by_timeout == 1);
	driver.hardware[way] = 100;
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 1000), 1);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(way ? stats.c2h_done : stats.h2c_done, 100);
	CHECK(stats.interrupts_missed == 1 && stats.woken_by_timeout == 2);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_close(dev);
}

/*
 * A card that was reset moves no more data. The driver reports that as an error of the run, which
 * it has stopped (@rests) or not. In both cases a wait for the stream returns -EIO, and so do a
 * submit and a drain of h2c. The program may stop the stream and start it again.
 */
static void a_reset_reaches_its_user(unsigned int direction, bool rests)
{
	const struct run_config config = {
		.directions = direction,
	};
	bool c2h = direction == LITEPCIE_C2H;
	struct litepcie *dev = run_card(&config);
	uint64_t first;

	driver_finish(c2h, c2h ? 3 : 0);
	driver_abort(-EIO, rests);
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, -1), -EIO);
	CHECK(says(dev, c2h ? "the card was reset while c2h ran: stop and start it again" :
			      "the card was reset while h2c ran: stop and start it again"));
	CHECK_EQUAL(litepcie_dma_wait(dev, direction, 0), -EIO);
	if (!c2h) {
		CHECK_EQUAL(h2c_submit(dev, 1), -EIO);
		CHECK(says(dev, "the card was reset while h2c ran"));
		CHECK_EQUAL(h2c_drain(dev, 1000), -EIO);
	}
	CHECK(!driver.looped);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	if (c2h) {
		driver_finish(1, 2);
		CHECK_EQUAL(c2h_peek(dev, &first, 1000), 2);
		CHECK_EQUAL(first, 0);
	}
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_close(dev);
}

/*
 * If the driver has ended a run without an error, a wait for the run must return -EIO, and the
 * library must not use the driver's counts of that run.
 */
static void a_run_that_has_ended_is_over(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	driver_finish(1, 3);
	driver_abort(0, true);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 1000), -EIO);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_done, 0);
	litepcie_close(dev);
}

/*
 * A call of litepcie_dma_wait() that finds buffers must clear the descriptor of litepcie_dma_fd(),
 * so that poll() finds it readable only after the next buffer.
 */
static void a_look_makes_the_event_wait(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct pollfd event = { .fd = litepcie_dma_fd(dev), .events = POLLIN };

	CHECK_EQUAL(poll(&event, 1, 0), 0);
	for (int n = 0; n < 2; n++) {
		driver_finish(1, 1);
		CHECK_EQUAL(poll(&event, 1, 0), 1);
		CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 1);
		CHECK_EQUAL(poll(&event, 1, 0), 0);
	}
	litepcie_close(dev);
}

/*
 * With a timeout of 0, c2h_peek() and h2c_get() of run.h find the finished buffers that the driver
 * has counted on the status page, without a poll(). The descriptor of litepcie_dma_fd() stays
 * readable, since it may have announced progress of the other direction. If a reset of the card has
 * ended the run, c2h_peek() returns -EIO.
 */
static void a_look_without_a_wait_finds_news(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct pollfd event = { .fd = litepcie_dma_fd(dev), .events = POLLIN };
	unsigned int polls = driver.polls;
	uint64_t first;

	CHECK_EQUAL(h2c_submit(dev, 256), 0);
	CHECK_EQUAL(h2c_get(dev, &first, 0), 0);
	CHECK_EQUAL(c2h_peek(dev, &first, 0), 0);
	driver_finish(0, 2);
	driver_finish(1, 3);
	CHECK_EQUAL(c2h_peek(dev, &first, 0), 3);
	CHECK(h2c_get(dev, &first, 0) == 2 && first == 256);
	CHECK_EQUAL(poll(&event, 1, 0), 1);
	CHECK_EQUAL(c2h_release(dev, 3), 0);
	CHECK(driver.polls == polls);
	driver_abort(-EIO, true);
	CHECK_EQUAL(c2h_peek(dev, &first, 0), -EIO);
	CHECK(says(dev, "the card was reset"));
	litepcie_close(dev);
}

/*
 * The descriptor of litepcie_dma_fd() must be readable at once if buffers are finished before the
 * program asks for the descriptor. After a wait has cleared the descriptor, a second call of
 * litepcie_dma_fd() must not make it readable.
 */
static void a_late_event_tells_of_what_came_before(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct pollfd event = { .events = POLLIN };

	driver_finish(1, 1);
	event.fd = litepcie_dma_fd(dev);
	CHECK_EQUAL(poll(&event, 1, 0), 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(poll(&event, 1, 0), 0);
	CHECK_EQUAL(litepcie_dma_fd(dev), event.fd);
	CHECK_EQUAL(poll(&event, 1, 0), 0);
	litepcie_close(dev);
}

static void a_card_that_goes_ends_a_wait(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);

	driver.gone = true;
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, -1), -ENODEV);
	driver_abort(-ENODEV, true);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, -1), -ENODEV);
	CHECK(says(dev, "the card is gone"));
	litepcie_close(dev);
}

/*
 * If the driver's status page counts more buffers than the card was given, a wait returns -EIO, and
 * the library does not use the count.
 */
static void more_than_was_given_is_refused(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	struct litepcie *dev = run_card(&config);
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	driver_finish(1, 257);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 1000), -EIO);
	CHECK(says(dev, "257 buffers of c2h, but it was given 256"));
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_done, 0);
	litepcie_close(dev);
}

/* Tests of interrupts of the user's logic ----------------------------------------------------- */

static void *call_later(void *unused)
{
	usleep(20000);
	driver_call();
	return unused;
}

static void the_user_s_interrupt_is_an_event(void)
{
	struct litepcie *dev;
	pthread_t thread;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK(driver.event[2] >= 0);
	CHECK_EQUAL(litepcie_user_wait(dev, 10), 0);
	driver_call();
	driver_call();
	CHECK_EQUAL(litepcie_user_wait(dev, -1), 1);
	CHECK_EQUAL(litepcie_user_wait(dev, 10), 0);
	pthread_create(&thread, NULL, call_later, NULL);
	CHECK_EQUAL(litepcie_user_wait(dev, 5000), 1);
	pthread_join(thread, NULL);
	driver_call();
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK_EQUAL(litepcie_user_wait(dev, 0), 0);
	driver.gone = true;
	CHECK_EQUAL(litepcie_user_wait(dev, -1), -ENODEV);
	driver.gone = false;
	CHECK_EQUAL(litepcie_user_enable(dev, false), 0);
	CHECK_EQUAL(driver.event[2], -1);
	litepcie_close(dev);
}

int test_waits(void)
{
	interrupts_are_the_drivers_own_count();
	for (unsigned int way = LITEPCIE_H2C; way <= LITEPCIE_C2H; way++) {
		a_wait_is_one_call(way);
		a_lost_interrupt_is_found(way);
		a_reset_reaches_its_user(way, true);
		a_reset_reaches_its_user(way, false);
	}
	each_thread_waits_for_its_own();
	a_run_that_has_ended_is_over();
	a_look_makes_the_event_wait();
	a_look_without_a_wait_finds_news();
	a_late_event_tells_of_what_came_before();
	a_card_that_goes_ends_a_wait();
	more_than_was_given_is_refused();
	the_user_s_interrupt_is_an_event();
	return failed_checks;
}
