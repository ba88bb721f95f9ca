/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test that the two streams of a card are independent: each has a ring and options of its own, and
 * starts and stops while the other runs. The card's pattern fills c2h and checks h2c.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "litepcie_diagnostics.h"
#include "open.h"

#define WAIT_MS		20000
/* number of buffers that each call of receive() or transmit() moves, more than the c2h ring has */
#define BUFFERS		40u
#define SMALL_SIZE	4096u
#define SMALL_COUNT	16u

static struct litepcie *dev;
static struct litepcie_stream *h2c, *c2h;

static void open_both(void)
{
	const struct litepcie_stream_options small = {
		.struct_size = sizeof(small), .buffer_size = SMALL_SIZE,
		.buffer_count = SMALL_COUNT, .pattern = true, .interrupt_every = 1,
	};
	const struct litepcie_stream_options other = {
		.struct_size = sizeof(other), .pattern = true, .interrupt_every = 2,
	};
	struct litepcie_stream_info info = { .struct_size = sizeof(info) };

	CHECK_EQUAL(litepcie_stream_open(dev, LITEPCIE_C2H, &small, &c2h), 0);
	CHECK_EQUAL(litepcie_stream_open(dev, LITEPCIE_H2C, &other, &h2c), 0);
	CHECK_EQUAL(litepcie_stream_info(c2h, &info), 0);
	CHECK(info.buffer_size == SMALL_SIZE && info.buffer_count == SMALL_COUNT);
	CHECK_EQUAL(litepcie_stream_info(h2c, &info), 0);
	CHECK_EQUAL(info.buffer_size, LITEPCIE_BUFFER_SIZE);
	CHECK_EQUAL(info.buffer_count, LITEPCIE_BUFFER_COUNT);
}

/* Receive the first BUFFERS buffers of a c2h run, which must have the pattern from dword 0 on. */
static void receive(void)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	const uint8_t *ring = NULL;
	uint32_t next = 0;
	size_t wrong = 0;

	for (unsigned int n = 0; n < BUFFERS && !failed_checks; n++) {
		CHECK_EQUAL(litepcie_stream_acquire(c2h, &buffer, WAIT_MS), 1);
		if (failed_checks)
			return;
		if (!n)
			ring = buffer.data;
		CHECK_EQUAL(buffer.sequence, n);
		CHECK(buffer.data == ring + n % SMALL_COUNT * SMALL_SIZE);
		CHECK(buffer.bytes == SMALL_SIZE && buffer.flags == 0);
		for (size_t i = 0; i < SMALL_SIZE / 4; i++)
			wrong += ((const uint32_t *)buffer.data)[i] != next++;
		CHECK_EQUAL(litepcie_stream_release(c2h, 1), 0);
	}
	CHECK_EQUAL(wrong, 0);
}

/*
 * Send BUFFERS buffers of the pattern from dword *@next on, and wait until the card has received
 * them. The card's pattern checker must have found no error. *@next becomes the number of the dword
 * behind the last that was sent.
 */
static void transmit(uint32_t *next)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_pattern pattern = { .struct_size = sizeof(pattern) };

	for (unsigned int n = 0; n < BUFFERS && !failed_checks; n++) {
		CHECK_EQUAL(litepcie_stream_acquire(h2c, &buffer, WAIT_MS), 1);
		if (failed_checks)
			return;
		CHECK_EQUAL(buffer.bytes, LITEPCIE_BUFFER_SIZE);
		for (size_t i = 0; i < buffer.bytes / 4; i++)
			((uint32_t *)buffer.data)[i] = (*next)++;
		CHECK_EQUAL(litepcie_stream_release(h2c, 1), 0);
	}
	CHECK_EQUAL(litepcie_stream_drain(h2c, WAIT_MS), 0);
	CHECK_EQUAL(litepcie_pattern(dev, &pattern), 0);
	CHECK_EQUAL(pattern.errors, 0);
}

/*
 * c2h must begin each run with buffer 0 and dword 0 of the pattern: before h2c runs, while h2c
 * runs, and after h2c has stopped. The pattern in h2c must go on without a gap while c2h is stopped
 * and started again. litepcie_stream_ready() of the stopped stream must return -EINVAL while the
 * other stream runs.
 */
static void each_runs_while_the_other_starts_and_stops(void)
{
	uint32_t next = 0;

	CHECK_EQUAL(litepcie_stream_start(c2h), 0);
	receive();
	CHECK_EQUAL(litepcie_stream_start(h2c), 0);
	transmit(&next);
	CHECK_EQUAL(litepcie_stream_stop(c2h), 0);
	CHECK_EQUAL(litepcie_stream_ready(c2h, 0), -EINVAL);
	transmit(&next);
	CHECK_EQUAL(litepcie_stream_start(c2h), 0);
	receive();
	transmit(&next);
	CHECK_EQUAL(litepcie_stream_stop(h2c), 0);
	CHECK_EQUAL(litepcie_stream_ready(h2c, 0), -EINVAL);
	CHECK_EQUAL(litepcie_stream_stop(h2c), 0);
	CHECK_EQUAL(litepcie_stream_stop(c2h), 0);
	CHECK_EQUAL(litepcie_stream_start(c2h), 0);
	receive();
	CHECK_EQUAL(litepcie_stream_stop(c2h), 0);
}

/*
 * A program may have several buffers acquired. litepcie_stream_release() gives them back in order,
 * and refuses to give back more than are acquired.
 */
static void several_buffers_are_held(void)
{
	struct litepcie_buffer first = { .struct_size = sizeof(first) };
	struct litepcie_buffer second = { .struct_size = sizeof(second) };

	CHECK_EQUAL(litepcie_stream_start(c2h), 0);
	CHECK_EQUAL(litepcie_stream_acquire(c2h, &first, WAIT_MS), 1);
	CHECK_EQUAL(litepcie_stream_acquire(c2h, &second, WAIT_MS), 1);
	CHECK(first.sequence == 0 && second.sequence == 1 && first.data != second.data);
	CHECK_EQUAL(litepcie_stream_release(c2h, 3), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "release of 3 c2h buffers: only 2 are acquired"));
	CHECK_EQUAL(litepcie_stream_release(c2h, 2), 0);
	second.struct_size = 0;
	CHECK(litepcie_stream_ready(c2h, WAIT_MS) > 0);
	CHECK_EQUAL(litepcie_stream_acquire(c2h, &second, 0), -EINVAL);
	second.struct_size = sizeof(second);
	CHECK_EQUAL(litepcie_stream_acquire(c2h, &second, 0), 1);
	CHECK_EQUAL(second.sequence, 2);
	CHECK_EQUAL(litepcie_stream_stop(c2h), 0);
}

static atomic_int result;

static void *wait_for_h2c(void *unused)
{
	result = litepcie_dma_wait(dev, LITEPCIE_H2C, WAIT_MS);
	return unused;
}

/* The wait of a thread for h2c must end when h2c is stopped, and not when c2h is stopped. */
static void a_wait_ends_with_its_own_stream(void)
{
	pthread_t thread;

	result = 1;
	CHECK_EQUAL(litepcie_stream_start(h2c), 0);
	CHECK_EQUAL(litepcie_stream_start(c2h), 0);
	pthread_create(&thread, NULL, wait_for_h2c, NULL);
	usleep(300000);
	CHECK_EQUAL(litepcie_stream_stop(c2h), 0);
	usleep(300000);
	CHECK_EQUAL(result, 1);
	CHECK_EQUAL(litepcie_stream_stop(h2c), 0);
	pthread_join(thread, NULL);
	CHECK_EQUAL(result, -ECANCELED);
}

int main(int argc, char **argv)
{
	if (!open_device(&dev, argc == 2, argv[1], "usage: apart DEVICE"))
		return 2;
	open_both();
	each_runs_while_the_other_starts_and_stops();
	several_buffers_are_held();
	a_wait_ends_with_its_own_stream();
	litepcie_stream_close(c2h);
	litepcie_stream_close(h2c);
	open_both();
	litepcie_close(dev);
	return failed_checks != 0;
}
