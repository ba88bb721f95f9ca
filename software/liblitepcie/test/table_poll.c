/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the modes in which the library learns of finished buffers, on the card that the argument
 * names: by interrupt, by polling with a timer, and by polling that begins after an interrupt
 * (adaptive). In each mode every word that comes back through the loopback is compared, in a run
 * with waits and in a run with poll() on the library's descriptor. A wait for which no buffer comes
 * must last for its timeout, and a stop must end a wait. In a run with polling and without adaptive
 * mode the library must count no interrupt.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "open.h"
#include "run.h"

#define WAIT_MS	20000
#define SIZE	4096u
#define COUNT	16u
#define BUFFERS	200u

static const struct mode {
	const char	*name;
	unsigned int	poll_us;
	bool		adaptive;
} modes[] = {
	{ "by interrupt", 0, false },
	{ "adaptive", 200, true },
	{ "by polling", 200, false },
	{ "by polling rarely", 50000, false },
};

static struct litepcie *dev;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void start(const struct mode *mode, unsigned int directions, unsigned int every)
{
	const struct run_config config = {
		.directions = directions, .loopback = directions & LITEPCIE_H2C,
		.interrupt_every = every, .poll_us = mode->poll_us, .adaptive = mode->adaptive,
	};

	CHECK_EQUAL(run_start(dev, &config), 0);
}

/*
 * Wait in poll() on the library's descriptor, then call litepcie_dma_wait() with a timeout of 0,
 * and repeat both until litepcie_dma_wait() finds c2h buffers or fails, or until WAIT_MS are over
 * after a poll(). Returns the last result of litepcie_dma_wait(), which is 0 if no buffer came.
 */
static int wait_by_descriptor(void)
{
	struct pollfd event = { .fd = litepcie_dma_fd(dev), .events = POLLIN };
	int64_t deadline = now_ms() + WAIT_MS;
	int rc = 0;

	while (rc == 0 && now_ms() < deadline) {
		poll(&event, 1, WAIT_MS);
		rc = litepcie_dma_wait(dev, LITEPCIE_C2H, 0);
	}
	return rc;
}

static void fill(uint32_t *data, uint32_t buffer)
{
	for (uint32_t i = 0; i < SIZE / 4; i++)
		data[i] = buffer * 2654435761u ^ i;
}

static size_t count_wrong(const uint32_t *data, uint32_t buffer)
{
	size_t wrong = 0;

	for (uint32_t i = 0; i < SIZE / 4; i++)
		wrong += data[i] != (buffer * 2654435761u ^ i);
	return wrong;
}

/*
 * Send @buffers buffers through the loopback, of which at most @ahead are under way at a time, and
 * compare each word that comes back. If @by_descriptor is true, the program waits for c2h in poll()
 * on the library's descriptor. Returns the number of buffers that came back.
 */
static uint32_t go_round(uint32_t ahead, uint32_t buffers, bool by_descriptor)
{
	uint32_t sent = 0, seen = 0;
	size_t wrong = 0;
	uint64_t first;

	while (seen < buffers) {
		int count;

		for (; sent < buffers && sent < seen + ahead; sent++) {
			if (h2c_get(dev, &first, WAIT_MS) <= 0)
				return seen;
			fill(h2c_buffer(dev, first), sent);
			CHECK_EQUAL(h2c_submit(dev, 1), 0);
		}
		/*
		 * Look for a filled c2h buffer before poll(): the wait for a free h2c buffer may
		 * have cleared the descriptor, although the interrupt was that of c2h.
		 */
		count = c2h_peek(dev, &first, by_descriptor ? 0 : WAIT_MS);
		if (count == 0 && by_descriptor && wait_by_descriptor() > 0)
			count = c2h_peek(dev, &first, 0);
		if (count <= 0)
			return seen;
		for (int i = 0; i < count; i++, seen++)
			wrong += count_wrong(c2h_buffer(dev, seen), seen);
		CHECK_EQUAL(c2h_release(dev, (unsigned int)count), 0);
	}
	CHECK_EQUAL(wrong, 0);
	return seen;
}

static void every_word_comes(const struct mode *mode)
{
	uint32_t buffers = mode->poll_us > 1000 ? 20 : BUFFERS;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	start(mode, LITEPCIE_H2C | LITEPCIE_C2H, 1);
	CHECK_EQUAL(go_round(1, buffers / 4, false), buffers / 4);
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	CHECK_EQUAL(run_stop(dev), 0);
	start(mode, LITEPCIE_H2C | LITEPCIE_C2H, 4);
	CHECK_EQUAL(go_round(COUNT, buffers, true), buffers);
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.interrupts_missed, 0);
	if (mode->poll_us && !mode->adaptive)
		CHECK(stats.interrupts <= 0 && stats.woken_by_timeout == 0);
	else
		CHECK(stats.interrupts > 0 || stats.interrupts == -1);
	printf("table_poll: %s: %u buffers, %lld interrupts\n", mode->name, buffers,
	       (long long)stats.interrupts);
}

/* Check that a wait of 300 ms for which no buffer comes lasts for at least 300 ms. */
static void an_idle_wait_sleeps(const struct mode *mode)
{
	int64_t began;

	start(mode, LITEPCIE_C2H, 1);
	began = now_ms();
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 300), 0);
	CHECK(now_ms() - began >= 300);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(run_stop(dev), 0);
}

static void *stop_later(void *unused)
{
	usleep(300000);
	CHECK_EQUAL(run_stop(dev), 0);
	return unused;
}

static void a_stop_ends_a_wait(const struct mode *mode)
{
	pthread_t thread;

	start(mode, LITEPCIE_C2H, 1);
	pthread_create(&thread, NULL, stop_later, NULL);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, -1), -ECANCELED);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (!open_device(&dev, argc == 2, argv[1], "usage: table_poll DEVICE"))
		return 2;
	CHECK_EQUAL(run_shape(dev, SIZE, COUNT), 0);
	for (size_t n = 0; n < sizeof(modes) / sizeof(*modes); n++) {
		every_word_comes(&modes[n]);
		an_idle_wait_sleeps(&modes[n]);
		a_stop_ends_a_wait(&modes[n]);
	}
	litepcie_close(dev);
	return failed_checks != 0;
}
