// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests ioctl() and mmap() of the capture's node with wrong arguments, for the program node. A call
 * that the driver refuses must not change the queue.
 */
#include "node_card.h"

void test_arguments_are_checked(void)
{
	struct litepcie_capture_choice choice = { .reserved = { 0, 0, 1 } };
	struct litepcie_capture_limit to = { .reserved = 1 };
	struct litepcie_capture_sort wanted = { .flags = LITEPCIE_CAPTURE_SORT_ON, .rules = 16 };
	struct file *first = file_of(0);

	need(node_call(first, LITEPCIE_IOCTL_CAPTURE_QUEUE, &choice) == -EINVAL, "QUEUE");
	need(node_call(first, LITEPCIE_IOCTL_CAPTURE_LIMIT, &to) == -EINVAL, "LIMIT");
	need(node_call(first, LITEPCIE_IOCTL_CAPTURE_LIMIT, NULL) == -EFAULT, "a bad pointer");
	need(node_call(first, _IOW('S', 79, int), &to) == -ENOTTY, "a number that is unknown");
	need(node_call(first, _IOW('S', 79, int), NULL) == -ENOTTY, "its argument is copied");
	need(node_call(first, _IOC(_IOC_WRITE, 'S', 79, 8192), NULL) == -ENOTTY, "memory for it");
	need(!ring(first, MBUF), "RING");
	wanted.spread[127] = QUEUES;
	need(node_call(first, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted) == -EINVAL, "a spread's queue");
	wanted.spread[127] = 0;
	wanted.rule[15][LITEPCIE_CAPTURE_RULE_ACTION] =
		1u << LITEPCIE_CAPTURE_RULE_ACTION_HAS_QUEUE |
		QUEUES << LITEPCIE_CAPTURE_RULE_ACTION_QUEUE;
	need(node_call(first, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted) == -EINVAL, "a rule's queue");
	wanted.rule[15][LITEPCIE_CAPTURE_RULE_ACTION] = 0;
	wanted.rules = 17;
	need(node_call(first, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted) == -EINVAL, "17 rules");
	need(node_mmap(first, VM_SHARED, PAGE_SIZE) == 0, "the status page cannot be mapped");
	need(node_mmap(first, VM_SHARED | VM_WRITE, PAGE_SIZE) == -EPERM, "it can be written to");
	need(node_mmap(first, VM_SHARED, 2 * PAGE_SIZE) == -EINVAL, "more than it can be mapped");
	node_close(first);
}
