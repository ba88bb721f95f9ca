/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test interrupts of logic in the user slot that raises one for each write to the BAR and offset in
 * the arguments: alone, together with running DMA, whose interrupts may share one MSI with those of
 * the logic, and after a reset of the card.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "liblitepcie.h"
#include "open.h"
#include "run.h"

#define SOON_MS	10000
#define NOT_MS	50
#define BUFFERS	96
#define ROUNDS	24

static unsigned int bar;
static uint64_t place;

static void raise_one(struct litepcie *dev)
{
	const uint32_t word = 1;

	CHECK_EQUAL(litepcie_bar_write(dev, bar, place, &word, sizeof(word)), 0);
}

static void pause_a_while(void)
{
	const struct timespec while_ms = { .tv_nsec = 2 * NOT_MS * 1000000L };

	nanosleep(&while_ms, NULL);
}

static void one_that_is_not_enabled_is_refused(struct litepcie *dev)
{
	CHECK_EQUAL(litepcie_user_wait(dev, 0), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "is off: switch it on before a wait") != NULL);
}

static void each_ends_one_wait(struct litepcie *dev)
{
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
	raise_one(dev);
	CHECK_EQUAL(litepcie_user_wait(dev, SOON_MS), 1);
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
	raise_one(dev);
	pause_a_while();
	CHECK_EQUAL(litepcie_user_wait(dev, 0), 1);
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *raise_later(void *dev)
{
	pause_a_while();
	raise_one(dev);
	return NULL;
}

/*
 * Check by the shortest of three waits in litepcie_user_wait() that the interrupt's message (MSI)
 * ends a wait. The interrupt comes after 100 ms, and the wait must last less than 200 ms: without
 * the message, the library would not notice the interrupt before 200 ms.
 */
static void the_message_itself_ends_the_wait(struct litepcie *dev)
{
	int64_t least = SOON_MS;

	for (int i = 0; i < 3; i++) {
		int64_t began = now_ms();
		pthread_t thread;

		CHECK_EQUAL(pthread_create(&thread, NULL, raise_later, dev), 0);
		CHECK_EQUAL(litepcie_user_wait(dev, SOON_MS), 1);
		if (now_ms() - began < least)
			least = now_ms() - began;
		pthread_join(thread, NULL);
	}
	CHECK(least >= 2 * NOT_MS && least < 4 * NOT_MS);
}

static void several_count_as_one(struct litepcie *dev)
{
	for (int i = 0; i < 3; i++)
		raise_one(dev);
	pause_a_while();
	CHECK_EQUAL(litepcie_user_wait(dev, SOON_MS), 1);
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
}

static void what_came_while_they_were_off_is_forgotten(struct litepcie *dev)
{
	CHECK_EQUAL(litepcie_user_enable(dev, false), 0);
	raise_one(dev);
	CHECK_EQUAL(litepcie_user_wait(dev, 0), -EINVAL);
	pause_a_while();
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
}

static void *receive(void *context)
{
	struct litepcie *dev = context;
	uint64_t seen = 0, first;

	while (seen < BUFFERS) {
		int count = c2h_peek(dev, &first, SOON_MS);

		CHECK(count > 0);
		if (count <= 0)
			break;
		CHECK_EQUAL(c2h_release(dev, (unsigned int)count), 0);
		seen += (uint64_t)count;
	}
	return NULL;
}

/*
 * Two threads wait, one for c2h buffers and one for the user's interrupt. Neither may miss its own
 * event, although, except behind the kernel driver, one thread sleeps for both.
 */
static void the_dma_goes_on_beside(struct litepcie *dev)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .pattern = true, .c2h_limit = BUFFERS,
		.interrupt_every = 2,
	};
	pthread_t thread;

	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK_EQUAL(pthread_create(&thread, NULL, receive, dev), 0);
	for (int i = 0; i < ROUNDS; i++) {
		raise_one(dev);
		CHECK_EQUAL(litepcie_user_wait(dev, SOON_MS), 1);
	}
	pthread_join(thread, NULL);
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
	CHECK_EQUAL(run_stop(dev), 0);
}

static void a_reset_switches_them_off(struct litepcie *dev)
{
	CHECK_EQUAL(litepcie_reset(dev), 0);
	CHECK_EQUAL(litepcie_user_wait(dev, 0), -EINVAL);
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	raise_one(dev);
	CHECK_EQUAL(litepcie_user_wait(dev, SOON_MS), 1);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	if (!open_device(&dev, argc == 4, argv[1], "usage: user DEVICE BAR OFFSET"))
		return 2;
	bar = (unsigned int)strtoul(argv[2], NULL, 0);
	place = strtoull(argv[3], NULL, 0);
	one_that_is_not_enabled_is_refused(dev);
	each_ends_one_wait(dev);
	the_message_itself_ends_the_wait(dev);
	several_count_as_one(dev);
	what_came_while_they_were_off_is_forgotten(dev);
	the_dma_goes_on_beside(dev);
	a_reset_switches_them_off(dev);
	litepcie_close(dev);
	return failed_checks != 0;
}
