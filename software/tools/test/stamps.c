/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the latency command on the card that the argument names, whose gateware is too old to stamp
 * its interrupts. The command must notice that, and must not use the result of a search that
 * failed. The Makefile makes the compiler fill uninitialised variables with a pattern, so that a
 * use would show.
 */
#include "../litepcie_util/latency/latency_transfer.c"
#include "../litepcie_util/streams.c"
#include "check.h"
#include "open.h"

double util_tick_ns(const struct litepcie *dev)
{
	(void)dev;
	return 4;
}

int main(int argc, char **argv)
{
	struct transfer transfer = { 0 };

	if (!open_device(&transfer.dev, argc == 2, argv[1], "usage: stamps DEVICE"))
		return 2;
	find_stamps(&transfer);
	CHECK(!transfer.stamped);
	CHECK_EQUAL(transfer.doorbell, 0);
	CHECK_EQUAL(transfer.interrupt, 0);
	CHECK(transfer_find(&transfer, transfer.dev) <= 0 && transfer.h2c.enable);
	litepcie_close(transfer.dev);
	return failed_checks != 0;
}
