/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test streams in two threads: one fills h2c, and the other empties c2h. In one run a third thread
 * reads the device time and the counts meanwhile. Every word that comes back through the card's
 * loopback is compared, for rings of several sizes and batches of several sizes. Also test the
 * descriptor for poll(), calls with a timeout of 0, and a reset of the card.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "open.h"
#include "run.h"

#define WAIT_MS	20000

static struct litepcie *dev;
static uint64_t buffers;
static atomic_bool finished;

/*
 * Returns the value that the 32-bit word number @word of buffer number @buffer must have, in h2c
 * and in c2h.
 */
static uint32_t expected(uint64_t buffer, size_t word)
{
	return (uint32_t)(buffer * 2654435761u) ^ (uint32_t)word;
}

static void *fill(void *unused)
{
	size_t words = run_size(dev) / 4;
	uint64_t first = 0, sent = 0;

	while (sent < buffers) {
		int count = h2c_get(dev, &first, WAIT_MS);
		uint32_t *data = h2c_buffer(dev, first);

		CHECK(count > 0);
		if (count <= 0)
			break;
		CHECK_EQUAL(first, sent);
		for (size_t i = 0; i < words; i++)
			data[i] = expected(sent, i);
		CHECK_EQUAL(h2c_submit(dev, 1), 0);
		sent++;
	}
	CHECK_EQUAL(run_flush(dev, LITEPCIE_H2C), 0);
	return unused;
}

static void *empty(void *unused)
{
	size_t words = run_size(dev) / 4, wrong = 0;
	uint64_t first = 0, seen = 0;

	while (seen < buffers) {
		int count = c2h_peek(dev, &first, WAIT_MS);
		const uint32_t *data = c2h_buffer(dev, first);

		CHECK(count > 0);
		if (count <= 0)
			break;
		CHECK_EQUAL(first, seen);
		for (size_t i = 0; i < words; i++)
			wrong += data[i] != expected(seen, i);
		CHECK_EQUAL(c2h_release(dev, 1), 0);
		seen++;
	}
	CHECK_EQUAL(wrong, 0);
	return unused;
}

static void *look(void *unused)
{
	uint64_t before = 0, now = 0;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	while (!atomic_load(&finished)) {
		CHECK_EQUAL(litepcie_time(dev, &now), 0);
		CHECK(now > before);
		before = now;
		litepcie_stats(dev, &stats);
		CHECK(stats.c2h_done >= stats.c2h_released);
	}
	return unused;
}

static void both_ways(size_t size, unsigned int count, unsigned int batch, bool third)
{
	struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .loopback = true, .batch = batch,
		.c2h_limit = buffers,
	};
	pthread_t threads[3];
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(run_shape(dev, size, count), 0);
	CHECK_EQUAL(run_size(dev), size);
	CHECK_EQUAL(run_count(dev), count);
	CHECK_EQUAL(run_start(dev, &config), 0);
	atomic_store(&finished, false);
	pthread_create(&threads[0], NULL, fill, NULL);
	pthread_create(&threads[1], NULL, empty, NULL);
	if (third)
		pthread_create(&threads[2], NULL, look, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	atomic_store(&finished, true);
	if (third)
		pthread_join(threads[2], NULL);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_released, buffers);
	printf("streams: %llu buffers of %zu bytes compared, rings of %u, batches of %u\n",
	       (unsigned long long)stats.c2h_released, size, count, batch);
}

/*
 * A program may wait for c2h by poll() on the descriptor of litepcie_dma_fd(). This test asks for
 * the descriptor @late_us microseconds after the start, when all 4 buffers and their interrupts may
 * have come already. The first poll() must find the descriptor readable all the same.
 */
static void an_event_tells_of_news(unsigned int late_us)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H, .pattern = true, .c2h_limit = 4, .interrupt_every = 1,
	};
	struct pollfd event = { .events = POLLIN };
	uint64_t first, seen = 0;

	CHECK_EQUAL(run_start(dev, &config), 0);
	usleep(late_us);
	event.fd = litepcie_dma_fd(dev);
	CHECK(event.fd >= 0);
	while (seen < 4) {
		int count;

		CHECK_EQUAL(poll(&event, 1, WAIT_MS), 1);
		CHECK(litepcie_dma_wait(dev, LITEPCIE_C2H, 0) >= 0);
		count = c2h_peek(dev, &first, 0);
		CHECK(count >= 0);
		if (count < 0 || event.revents != POLLIN)
			break;
		CHECK_EQUAL(c2h_release(dev, (unsigned int)count), 0);
		seen += (uint64_t)count;
	}
	CHECK_EQUAL(seen, 4);
	CHECK_EQUAL(run_stop(dev), 0);
}

/*
 * Check that c2h_peek() (run.h) with a timeout of 0 finds all c2h buffers of a run in which the
 * program makes no call that waits for the card's buffers.
 */
static void a_look_finds_news(void)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H, .pattern = true, .c2h_limit = 4,
	};
	uint64_t first, seen = 0;

	CHECK_EQUAL(run_start(dev, &config), 0);
	for (int ms = 0; ms < WAIT_MS && seen < 4; ms++) {
		int count = c2h_peek(dev, &first, 0);

		CHECK(count >= 0);
		if (count < 0)
			break;
		CHECK_EQUAL(c2h_release(dev, (unsigned int)count), 0);
		seen += (uint64_t)count;
		usleep(1000);
	}
	CHECK_EQUAL(seen, 4);
	CHECK_EQUAL(run_stop(dev), 0);
}

static void a_reset_leaves_a_card_that_works(void)
{
	uint64_t value = 0;

	CHECK_EQUAL(litepcie_register_write(dev, "ctrl_scratch", 0x0badcafe), 0);
	CHECK_EQUAL(litepcie_reset(dev), 0);
	CHECK_EQUAL(litepcie_register_read(dev, "ctrl_scratch", &value), 0);
	CHECK_EQUAL(value, 0x12345678);
	both_ways(8192, 32, 4, false);
}

int main(int argc, char **argv)
{
	if (!open_device(&dev, argc == 3, argv[1], "usage: streams DEVICE BUFFERS"))
		return 2;
	buffers = strtoull(argv[2], NULL, 0);
	both_ways(8192, 256, 1, false);
	both_ways(4096, 16, 8, false);
	both_ways(65536, 64, 16, false);
	both_ways(8192, 64, 16, true);
	an_event_tells_of_news(0);
	an_event_tells_of_news(300000);
	a_look_finds_news();
	a_reset_leaves_a_card_that_works();
	litepcie_close(dev);
	return failed_checks != 0;
}
