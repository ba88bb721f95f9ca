/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test find_stamps() and transfer_find() of litepcie_util latency on the card that the argument
 * names, which has no registers with the time stamps of doorbell and interrupt. find_stamps() must
 * notice that, and must not use offsets of registers that it has not found. In this program the
 * compiler fills uninitialised variables with a pattern, so an offset that was never set is not 0.
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
	CHECK(transfer_find(&transfer) <= 0 && transfer.h2c.enable);
	litepcie_close(transfer.dev);
	return failed_checks != 0;
}
