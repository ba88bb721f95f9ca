/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test a reset of the card by a second handle (`other`) while a stream of the first handle (`dev`)
 * runs. Only behind the kernel driver can two handles have a card open at the same time. Calls on
 * the stream must return -EIO with a sentence, and the stream can be stopped and started again.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "liblitepcie.h"
#include "run.h"

#define WAIT_MS	20000
#define BUFFERS	8u

static struct litepcie *dev, *other;

/*
 * Take the first @buffers c2h buffers of a run and check that each begins with the dword that the
 * card's pattern has there.
 */
static void take(unsigned int buffers)
{
	uint32_t words = (uint32_t)run_size(dev) / 4;
	uint64_t first = 0;

	for (unsigned int n = 0; n < buffers && !failed_checks; n++) {
		CHECK(c2h_peek(dev, &first, WAIT_MS) > 0);
		CHECK_EQUAL(first, n);
		CHECK_EQUAL(*(uint32_t *)c2h_buffer(dev, first), n * words);
		CHECK_EQUAL(c2h_release(dev, 1), 0);
	}
}

static void *reset_later(void *unused)
{
	usleep(100000);
	CHECK_EQUAL(litepcie_reset(other), 0);
	return unused;
}

static bool says(const char *direction)
{
	char words[80];

	snprintf(words, sizeof(words), "the card was reset while %s ran: stop and start it again",
		 direction);
	return strstr(litepcie_why(dev), words) != NULL;
}

/*
 * Check a reset of the card while the program does not wait for c2h. Its next waits must return
 * -EIO as soon as no filled buffer is left, and c2h must work again after a stop and a start.
 */
static void c2h_ends(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .pattern = true, .interrupt_every = 1,
	};
	uint64_t first;
	int rc;

	CHECK_EQUAL(run_start(dev, &config), 0);
	take(BUFFERS);
	CHECK_EQUAL(litepcie_reset(other), 0);
	/* c2h buffers that were filled before the reset may still come first */
	for (rc = 1; rc > 0;) {
		rc = c2h_peek(dev, &first, WAIT_MS);
		if (rc > 0)
			rc = c2h_release(dev, (unsigned int)rc) == 0 ? 1 : -EIO;
	}
	CHECK_EQUAL(rc, -EIO);
	CHECK(says("c2h"));
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), -EIO);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	take(BUFFERS);
	CHECK_EQUAL(run_stop(dev), 0);
}

/* Check that a reset of the card ends a wait for h2c that has no timeout. */
static void h2c_ends(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C,
	};
	pthread_t thread;

	CHECK_EQUAL(run_start(dev, &config), 0);
	pthread_create(&thread, NULL, reset_later, NULL);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_H2C, -1), -EIO);
	CHECK(says("h2c"));
	pthread_join(thread, NULL);
	CHECK_EQUAL(h2c_submit(dev, 1), -EIO);
	CHECK(says("h2c"));
	CHECK_EQUAL(run_stop(dev), 0);
}

int main(int argc, char **argv)
{
	char why[LITEPCIE_WHY_SIZE];

	if (argc != 2 || litepcie_open(&dev, argv[1], why, sizeof(why)) < 0 ||
	    litepcie_open(&other, argv[1], why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", argc != 2 ? "usage: resets /dev/litepcieN" : why);
		return 2;
	}
	for (int round = 0; round < 3 && !failed_checks; round++) {
		c2h_ends();
		h2c_ends();
	}
	litepcie_close(other);
	litepcie_close(dev);
	return failed_checks != 0;
}
