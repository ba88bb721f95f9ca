/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test requests and their answers, one at a time, through logic in the user slot
 * (sim/test/blocks/accumulator.py). The logic's answer to a beat is the exclusive or of all beats
 * so far, so a beat that is lost, torn or sent twice makes every later answer wrong. Each request
 * is a page of 4 KiB, and the logic raises one interrupt after each page.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "open.h"
#include "run.h"

#define PAGE	4096u
#define BUFFERS	16u
#define BEAT	32u	/* bytes of one beat of the card's data path */
#define WAIT_MS	20000
#define NOT_MS	50

/* exclusive or of all beats that the test has sent to the card so far */
static uint8_t before[BEAT];

/*
 * Returns word @word of request @request. No two requests are equal, nor are two beats of one
 * request.
 */
static uint32_t request_word(uint32_t request, uint32_t word)
{
	uint32_t x = request * 0x9e3779b9u ^ word * 0x85ebca6bu;

	return x ^ x >> 15;
}

static void send(struct litepcie *dev, uint32_t request, uint8_t *answer)
{
	uint64_t first = 0;
	uint32_t *data;

	CHECK(h2c_get(dev, &first, WAIT_MS) > 0);
	CHECK_EQUAL(first, request);
	data = h2c_buffer(dev, first);
	for (uint32_t i = 0; i < PAGE / 4; i++)
		data[i] = request_word(request, i);
	for (uint32_t i = 0; i < PAGE; i++)
		answer[i] = before[i % BEAT] ^= ((uint8_t *)data)[i];
	CHECK_EQUAL(h2c_submit(dev, 1), 0);
}

/* Take from c2h the card's answer to @request. Returns true if the answer is right. */
static bool receive(struct litepcie *dev, uint32_t request, const uint8_t *answer)
{
	uint64_t first = 0;
	bool right;

	CHECK_EQUAL(c2h_peek(dev, &first, WAIT_MS), 1);
	CHECK_EQUAL(first, request);
	right = memcmp(c2h_buffer(dev, first), answer, PAGE) == 0;
	CHECK_EQUAL(c2h_release(dev, 1), 0);
	return right;
}

static void ask(struct litepcie *dev, unsigned int requests)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .interrupt_every = 1,
	};
	static uint8_t answer[PAGE];
	unsigned int right = 0;
	uint64_t beats = 0;

	CHECK_EQUAL(run_shape(dev, PAGE, BUFFERS), 0);
	CHECK_EQUAL(litepcie_register_write(dev, "user_clear", 0), 0);
	CHECK_EQUAL(litepcie_user_enable(dev, true), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	for (unsigned int n = 0; n < requests && !failed_checks; n++) {
		send(dev, n, answer);
		right += receive(dev, n, answer);
		CHECK_EQUAL(litepcie_user_wait(dev, WAIT_MS), 1);
	}
	CHECK_EQUAL(litepcie_user_wait(dev, NOT_MS), 0);
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(litepcie_user_enable(dev, false), 0);
	CHECK_EQUAL(litepcie_register_read(dev, "user_beats", &beats), 0);
	CHECK_EQUAL(beats, (uint64_t)requests * (PAGE / BEAT));
	CHECK_EQUAL(right, requests);
	printf("requests: %u of %u answers right\n", right, requests);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	if (!open_device(&dev, argc == 4, argv[1], "usage: requests DEVICE CSR_JSON NUMBER"))
		return 2;
	CHECK_EQUAL(litepcie_csr_load(dev, argv[2]), 0);
	ask(dev, (unsigned int)strtoul(argv[3], NULL, 0));
	litepcie_close(dev);
	return failed_checks != 0;
}
