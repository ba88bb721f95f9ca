/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test a run in which the card's 32-bit counts of descriptors may wrap, through the card's
 * loopback. Every word that comes back is compared, and the library's counts of buffers must be
 * right at the end. The card (first argument) begins each run with AHEAD (second argument) in its
 * count of descriptors. advance() sets the library's counts as if AHEAD buffers had been moved.
 */
#include <stdlib.h>

#include "helpers.h"
#include "check.h"
#include "open.h"
#include "run.h"

#define SIZE	4096u
#define COUNT	16u
#define WAIT_MS	20000

static uint32_t expected(uint64_t buffer, size_t word)
{
	return (uint32_t)(buffer * 2654435761u) ^ (uint32_t)word;
}

/*
 * Set the library's counts of one direction, right after its start, as if it had moved @ahead
 * buffers in this run, and the program had acquired and released all of them.
 */
static void advance(struct litepcie_stream *stream, uint64_t ahead)
{
	litepcie_count_set(&stream->hw, ahead);
	litepcie_count_set(&stream->sw, ahead);
	stream->acquired = stream->handed = ahead;
	stream->posted += ahead;
	stream->done += ahead;
}

/*
 * Begin a run in both directions. At most @deep buffers will be under way at a time. If @deep is
 * below 4, the card interrupts for each buffer: with an interrupt for every 4th c2h buffer, a wait
 * for c2h would last until the library reads the card's counts.
 */
static void begin(struct litepcie *dev, uint64_t ahead, unsigned int deep)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .loopback = true,
		.interrupt_every = deep < 4 ? 1 : 4,
	};

	CHECK_EQUAL(run_shape(dev, SIZE, COUNT), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	advance(&dev->h2c, ahead);
	advance(&dev->c2h, ahead);
	dev->h2c.received_before -= ahead * SIZE;
}

static void send(struct litepcie *dev, uint64_t number)
{
	uint64_t first = 0;
	uint32_t *data;

	CHECK(h2c_get(dev, &first, WAIT_MS) > 0);
	CHECK(first == number);
	data = h2c_buffer(dev, first);
	for (size_t i = 0; i < SIZE / 4; i++)
		data[i] = expected(number, i);
	CHECK_EQUAL(h2c_submit(dev, 1), 0);
}

static void receive(struct litepcie *dev, uint64_t number)
{
	const uint32_t *data;
	uint64_t first = 0, wrong = 0;

	CHECK(c2h_peek(dev, &first, WAIT_MS) > 0);
	CHECK(first == number);
	data = c2h_buffer(dev, first);
	for (size_t i = 0; i < SIZE / 4; i++)
		wrong += data[i] != expected(number, i);
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(c2h_release(dev, 1), 0);
}

/*
 * Send 5 * COUNT buffers through the loopback from buffer number @ahead on, with at most @deep
 * under way at a time.
 */
static void cross(struct litepcie *dev, uint64_t ahead, unsigned int deep)
{
	uint64_t end = ahead + 5 * COUNT, sent = ahead;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	begin(dev, ahead, deep);
	for (uint64_t seen = ahead; seen < end && !failed_checks; seen++) {
		for (; sent < end && sent < seen + deep; sent++)
			send(dev, sent);
		receive(dev, seen);
	}
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	litepcie_stats(dev, &stats);
	CHECK(stats.h2c_submitted == end && stats.h2c_done == end);
	CHECK(stats.c2h_done == end && stats.c2h_released == end);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.interrupts_missed, 0);
	printf("wraps: from %llu, %u deep\n", (unsigned long long)ahead, deep);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;
	uint64_t ahead;

	if (!open_device(&dev, argc == 3, argv[1], "usage: wraps DEVICE AHEAD"))
		return 2;
	ahead = strtoull(argv[2], NULL, 0);
	cross(dev, ahead, 1);
	cross(dev, ahead, COUNT / 2);
	cross(dev, ahead, COUNT);
	litepcie_close(dev);
	return failed_checks != 0;
}
