// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests for the program node that each register of a queue is written for that queue, and that
 * rules and spread (the table of queues) are written to the card at a start.
 */
#include "node_card.h"

void test_each_register_is_that_of_its_queue(void)
{
	struct file *files[QUEUES];

	for (unsigned int n = 0; n < QUEUES; n++) {
		files[n] = file_of(n);
		contiguous = n ? MBUF : 4 * MBUF;
		need(!ring(files[n], MBUF), "RING");
	}
	need(!sort(files[0]), "SORT");
	for (unsigned int n = QUEUES; n--;)
		need(!start(files[n], 0), "START");
	need(made.sort == (3 | 2 << LITEPCIE_CAPTURE_QUEUES_RULES_PLACE), "the card does not sort");
	for (u32 n = 0; n < 2 * LITEPCIE_RULE_WORDS; n++)
		need(made.rule[n] == n + 1, "a word of a rule is at another place");
	need(made.wait == 9 && made.mbuf_log2 == 12 && made.enabled, "the card's settings");
	for (unsigned int n = 0; n < QUEUES; n++) {
		need(made.queue[n].limit == BYTES, "START does not give the queue its limit");
		for (unsigned int i = 0; i <= n; i++)
			frame(n, 64);
	}
	for (unsigned int n = 0; n < QUEUES; n++) {
		u64 position = 64 * (n + 1);

		need(litepcie_capture_position(queue_of(n)) == position, "a status line");
		need(rings[n][position - 1] == n + 1 && !rings[n][position],
		     "another ring's frame");
		need(!limit(files[n], BYTES + position), "LIMIT");
		need(made.queue[n].limit == BYTES + position, "another queue gets the limit");
		need(queue_of(n)->status->limit == BYTES + position, "the status page's limit");
		need(limit(files[n], BYTES + position + 1) == -EINVAL, "a limit beyond the ring");
		need(!limit(files[n], 1) && made.queue[n].limit == BYTES + position, "it shrinks");
		need(start(files[n], 0) == -EBUSY && ring(files[n], MBUF) == -EBUSY, "it runs");
	}
	need(sort(files[0]) == -EBUSY, "frames are sorted otherwise while the capture runs");
	frame(0, 2 * MBUF);
	need(rings[0][2 * MBUF] == 1 && !rings[0][2 * MBUF + 64], "the segments' addresses");
	for (unsigned int n = 0; n < QUEUES; n++)
		node_close(files[n]);
}
