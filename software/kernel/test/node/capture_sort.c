// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests for the program node that counts of frames are those of the right port and rule, and that
 * the generator of test frames belongs to the file of queue 0.
 */
#include "node_card.h"

void test_accounts_are_those_of_the_queue(void)
{
	static struct litepcie_capture_discards discards;
	struct litepcie_capture_info found;
	struct file *filp = file_of(3);

	found = info(filp, LITEPCIE_CAPTURE_ASK_ACCOUNTS);
	need(made.snapshot && found.port[2].lost_ring.frames == 4000 + 8 + 2, "INFO's accounts");
	need(found.port[15].lost_staging.frames == 4000 + 60 + 3, "the last account");
	need(found.most_segments == SEGMENTS && found.generated == 7, "INFO");
	made.snapshot = false;
	need(!node_call(filp, LITEPCIE_IOCTL_CAPTURE_DISCARDS, &discards), "DISCARDS");
	for (u32 n = 0; n < ARRAY_SIZE(discards.account); n++)
		need(discards.account[n].frames == n && discards.account[n].bytes == n + 100,
		     "an account of discarded frames is another one's");
	node_close(filp);
}

void test_the_generator_belongs_to_queue_0(void)
{
	struct litepcie_capture_generate wanted = { .size = 64, .period = 1, .seed = 4 };
	struct file *first = file_of(0), *other = file_of(1);

	need(!ring(first, MBUF) && !ring(other, MBUF), "RING");
	need(node_call(other, LITEPCIE_IOCTL_CAPTURE_GENERATE, &wanted) == -EINVAL, "another file");
	need(!node_call(first, LITEPCIE_IOCTL_CAPTURE_GENERATE, &wanted), "GENERATE");
	need(made.generator[0] && made.generator[1] == 64 && made.generator[4] == 4,
	     "its settings");
	node_close(other);
	need(made.generator[0], "the end of another file stops the generator");
	node_close(first);
	need(!made.generator[0], "the generator goes on behind the end of its file");
}
