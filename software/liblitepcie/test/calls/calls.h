/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Declarations for the source files of the test program `calls`. */
#ifndef LITEPCIE_TEST_CALLS_H
#define LITEPCIE_TEST_CALLS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "helpers.h"
#include "driver.h"
#include "litepcie.h"
#include "litepcie_capability.h"
#include "../run.h"

/*
 * Run the tests of kernel_map_bars.c, kernel_ring.c, kernel_channel.c or kernel_wait.c. @memory is
 * the offset of the card's memory in BAR0. Returns how many of their checks failed.
 */
int test_bars(uint32_t memory);
int test_rings(void);
int test_buffers(void);
int test_waits(void);

static inline struct litepcie *open_card(void)
{
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;

	if (litepcie_open(&dev, DRIVER_DEVICE, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		exit(1);
	}
	return dev;
}

static inline bool says(struct litepcie *dev, const char *words)
{
	return strstr(litepcie_why(dev), words) != NULL;
}

static inline struct litepcie *run_card(const struct run_config *config)
{
	struct litepcie *dev;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(run_start(dev, config), 0);
	return dev;
}

#endif /* LITEPCIE_TEST_CALLS_H */
