/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test kernel/counts.c on a status page that the test writes: which counts the library takes over,
 * which it refuses, and when it sets dev->silent_ms to 0.
 */
#include <string.h>

#include "kernel/counts.c"

#include "check.h"

static struct litepcie_status page;
static bool asks[8];
static struct kernel kernel = { .status = &page };
static struct litepcie dev = { .priv = &kernel, .name = (char *)"fake" };

/* Stand-ins for the other files of the back end ----------------------------------------------- */

unsigned int kernel_way(const struct litepcie_stream *stream)
{
	return stream->direction == LITEPCIE_C2H ? LITEPCIE_WAY_C2H : LITEPCIE_WAY_H2C;
}

int kernel_ioctl(struct litepcie *ours, unsigned long request, void *arg, const char *doing)
{
	(void)ours, (void)request, (void)arg, (void)doing;
	return 0;
}

/* Tests --------------------------------------------------------------------------------------- */

static bool says(const char *words)
{
	return strstr(litepcie_why(&dev), words) != NULL;
}

/*
 * If the status page shows progress of h2c, the library must set dev->silent_ms to 0, so that it
 * does not read the card's registers for a while. If the page's count has not grown, dev->silent_ms
 * must stay as it is.
 */
static void progress_of_h2c_ends_the_silence(void)
{
	struct litepcie_status_way *way = &page.way[LITEPCIE_WAY_H2C];

	dev.h2c.active = true;
	dev.h2c.posted = 8;
	dev.h2c.asks = asks;
	dev.h2c.options.buffer_count = 8;
	way->run = LITEPCIE_RUN_HELD;
	way->buffers = 3;
	dev.silent_ms = 1000;
	CHECK_EQUAL(kernel_progress(&dev, LITEPCIE_ASK_MEMORY), 0);
	CHECK_EQUAL(dev.h2c.hw, 3);
	CHECK_EQUAL(dev.silent_ms, 0);
	dev.silent_ms = 1000;
	CHECK_EQUAL(kernel_progress(&dev, LITEPCIE_ASK_MEMORY), 0);
	CHECK_EQUAL(dev.h2c.hw, 3);
	CHECK_EQUAL(dev.silent_ms, 1000);
}

static void what_cannot_be_is_refused(void)
{
	struct litepcie_status_way *way = &page.way[LITEPCIE_WAY_H2C];

	way->buffers = 9;
	CHECK_EQUAL(kernel_progress(&dev, LITEPCIE_ASK_MEMORY), -EIO);
	CHECK(says("the card has finished 9 buffers of h2c, but it was given 8"));
	way->run = LITEPCIE_RUN_REST;
	CHECK_EQUAL(kernel_progress(&dev, LITEPCIE_ASK_MEMORY), -EIO);
	CHECK(says("the card was reset while h2c ran"));
	way->error = -ENODEV;
	CHECK_EQUAL(kernel_progress(&dev, LITEPCIE_ASK_MEMORY), -ENODEV);
	CHECK(says("the card is gone"));
	CHECK_EQUAL(dev.h2c.hw, 3);
}

int main(void)
{
	litepcie_streams_init(&dev);
	progress_of_h2c_ends_the_silence();
	what_cannot_be_is_refused();
	return failed_checks != 0;
}
