// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests for the program node that a thread or an eventfd that waits for a position of a queue is
 * woken once, when the card has passed the position or the run has ended.
 */
#include "node_card.h"

void test_wake_tells_once(void)
{
	struct file *first = file_of(0), *other = file_of(1);

	need(!ring(first, MBUF) && !ring(other, MBUF) && !sort(first), "the queues");
	need(!wake(other, 100, 1) && events[1].signals == 1, "WAKE at rest does not wake at once");
	need(!start(other, 0) && !wake(other, 100, 1), "WAKE before the run");
	need(!start(first, 0) && !wake(first, 200, 0), "WAKE");
	need(!node_poll(first, NULL) && !node_poll(other, NULL), "poll() says POLLIN too early");
	frame(1, 64);
	need(events[1].signals == 1, "an eventfd is signalled before its position has been passed");
	frame(1, 64);
	need(events[1].signals == 2 && !events[0].signals, "the eventfd, or another queue's");
	need(node_poll(other, NULL) & EPOLLIN && !node_poll(first, NULL), "poll()");
	frame(1, 64);
	need(events[1].signals == 2, "one WAKE signals twice");
	need(wake(other, 500, 7) == -EBADF && wake(other, 500, -2) == -EINVAL, "a bad eventfd");
	need(!wake(other, 500, -1) && !events[1].references, "the eventfd is kept");
	made.deaf = true;
	frame(0, 256);
	need(!events[0].signals, "the test's interrupt was not lost");
	outside = true;
	litepcie_capture_watch(&card.capture->watchdog.work);
	outside = made.deaf = false;
	need(events[0].signals == 1, "a lost interrupt is not made up for");
	need(!wake(first, ~0ull, 0), "WAKE for the end of the run");
	need(!stop(first, NULL) && events[0].signals == 2, "the end of the run signals no eventfd");
	node_close(first);
	node_close(other);
	need(!events[0].references && !events[1].references, "an eventfd is kept by closed files");
}
