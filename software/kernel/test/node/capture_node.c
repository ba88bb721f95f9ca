// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests for the program node that the driver makes a capture node only for a block that it can use,
 * and that poll() of the node waits for the queue that the file has.
 */
#include "node_card.h"

/*
 * The driver does not use a capture block whose interrupt cause is also that of a DMA direction or
 * of a virtio device: a stop of the capture would disable the other's interrupt, too.
 */
void test_a_cause_of_another_block_is_refused(void)
{
	struct litepcie other = { .pdev = card.pdev, .bar0 = card.bar0 };

	other.cause[CAUSE] = &other;
	need(!litepcie_capture_probe(&other) && !other.capture, "a channel's cause is taken");
	need(strstr(said, "interrupt cause 5 is also that of another block"), "no sentence");
	other.cause[CAUSE] = NULL;
	other.virtio_causes = BIT(CAUSE);
	need(!litepcie_capture_probe(&other) && !other.capture, "a virtio device's cause is taken");
}

void test_poll_hears_of_a_queue_chosen_later(void)
{
	struct poll_table_struct table = { 0 }, own = { 0 };
	struct file *filp = node_open(), *third = file_of(3);
	unsigned int woken = 0;

	need(node_poll(filp, &table) == (EPOLLIN | EPOLLRDNORM), "a free queue could be read");
	need(!choose(filp, 2) && !ring(filp, MBUF) && !start(filp, 0), "the queue");
	need(!wake(filp, 1, -1) && !node_poll(filp, &own), "WAKE");
	need(own.count == 1 && own.wait[0] == &queue_of(2)->wait,
	     "an owner waits for other queues");
	for (unsigned int n = 0; n < table.count; n++)
		woken -= table.wait[n]->woken;
	need(!stop(filp, NULL), "STOP");
	for (unsigned int n = 0; n < table.count; n++)
		woken += table.wait[n]->woken;
	need(woken, "an epoll from before QUEUE does not hear of the file's queue");
	need(!ring(third, MBUF), "a file of another queue");
	node_close(third);
	node_close(filp);
}
