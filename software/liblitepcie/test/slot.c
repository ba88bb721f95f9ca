/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Print what litepcie_slot() returns at the beginning and at the end of this program, and what
 * litepcie_diagnose() says before DMA runs, before data is sent, and while DMA hangs. DMA hangs
 * when h2c data goes through the user slot, and no c2h buffer is released. Also print the sentence
 * of a drain that fails then. The first argument names the card. A second argument says that the
 * logic in the user slot sends back all data: then the program also releases the c2h buffers, DMA
 * must go on, and the program prints litepcie_diagnose() once more.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "open.h"
#include "run.h"

#define SIZE		4096u
#define COUNT		16u
#define LONG_MS		300

static void show_side(const char *name, const struct litepcie_slot_side *side)
{
	printf(" %s %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, name, side->valid,
	       side->ready, side->since, side->beats, side->packets, side->stalls);
}

static void show_slot(struct litepcie *dev)
{
	struct litepcie_slot slot = { .struct_size = sizeof(slot) };
	int rc = litepcie_slot(dev, &slot);

	if (rc < 0) {
		printf("slot: %d %s\n", rc, litepcie_why(dev));
		return;
	}
	printf("slot: %" PRIu64, slot.time);
	show_side("h2c", &slot.h2c);
	show_side("c2h", &slot.c2h);
	putchar('\n');
}

static void show(struct litepcie *dev, const char *when, unsigned int directions)
{
	char text[LITEPCIE_WHY_SIZE], cut[12] = "...........";

	litepcie_diagnose(dev, directions, text, sizeof(text));
	litepcie_diagnose(dev, directions, cut, 8);
	CHECK(strlen(cut) < 8 && memcmp(cut, text, strlen(cut)) == 0);
	litepcie_diagnose(dev, directions, cut, 0);
	printf("%s: %s\n", when, text);
}

/* Submit h2c buffers until none has been free for LONG_MS milliseconds. */
static void fill(struct litepcie *dev)
{
	uint64_t first;
	int free;

	while ((free = h2c_get(dev, &first, LONG_MS)) > 0) {
		for (int i = 0; i < free; i++)
			memset(h2c_buffer(dev, first + (uint64_t)i), 0x5a, SIZE);
		CHECK_EQUAL(h2c_submit(dev, (unsigned int)free), 0);
	}
	CHECK_EQUAL(free, 0);
}

/* Release c2h buffers until no more come within LONG_MS milliseconds. */
static void take_back(struct litepcie *dev)
{
	uint64_t first;
	int count;

	while ((count = c2h_peek(dev, &first, LONG_MS)) > 0)
		CHECK_EQUAL(c2h_release(dev, (unsigned int)count), 0);
	CHECK_EQUAL(count, 0);
}

static void hang(struct litepcie *dev, bool loopback)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .interrupt_every = 1,
	};

	CHECK_EQUAL(run_shape(dev, SIZE, COUNT), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 50), 0);
	show(dev, "nothing", config.directions);
	fill(dev);
	show(dev, "hung", config.directions);
	show(dev, "h2c", LITEPCIE_H2C);
	CHECK_EQUAL(h2c_drain(dev, 20), -ETIMEDOUT);
	printf("drain: %s\n", litepcie_why(dev));
	if (loopback) {
		take_back(dev);
		CHECK_EQUAL(h2c_drain(dev, 10 * LONG_MS), 0);
		show(dev, "done", config.directions);
	}
	show_slot(dev);
	CHECK_EQUAL(run_stop(dev), 0);
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	if (!open_device(&dev, argc >= 2, argv[1], "usage: slot DEVICE [loopback]"))
		return 2;
	show_slot(dev);
	show(dev, "idle", LITEPCIE_H2C | LITEPCIE_C2H);
	hang(dev, argc > 2);
	litepcie_close(dev);
	return failed_checks != 0;
}
