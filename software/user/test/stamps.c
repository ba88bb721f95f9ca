/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The latency command on the card named by the argument, whose gateware is too old to stamp its
 * interrupts. The command must notice that, and must not use the result of a search that failed.
 * The Makefile makes the compiler fill uninitialised variables with a pattern, which would then
 * show.
 */
#include "../litepcie_util/latency_transfer.c"
#include "check.h"

double progress_now(void)
{
	return 0;
}

double util_tick_ns(const struct litepcie *dev)
{
	(void)dev;
	return 4;
}

int main(int argc, char **argv)
{
	struct transfer transfer = { 0 };
	char why[LITEPCIE_WHY_SIZE];

	if (argc != 2 || litepcie_open(&transfer.dev, argv[1], why) < 0) {
		fprintf(stderr, "%s\n", argc != 2 ? "usage: stamps DEVICE" : why);
		return 2;
	}
	find_stamps(&transfer);
	CHECK(!transfer.stamped);
	CHECK_EQUAL(transfer.doorbell, 0);
	CHECK_EQUAL(transfer.interrupt, 0);
	CHECK(transfer_find(&transfer, transfer.dev) <= 0 && transfer.h2c.enable);
	litepcie_close(transfer.dev);
	return failed_checks != 0;
}
