// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests for the program node that each register of a queue is written for that queue, and that
 * rules and spread (the table of queues) are written to the card at a start. Also tests that the
 * card's clock is set from the host's only if the caller asks for it, and that each queue may use
 * the part of the staging memory that its caller asks for.
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

/*
 * Start and stop queue 0 with @flags. Returns how far the card's clock is then ahead of the host's.
 */
static u64 ahead_after(struct file *first, u32 flags)
{
	made.clock_ahead = 0x123456789abcdef0;
	made.clock_reads = 0;
	need(!start(first, flags), "START");
	need(!stop(first, NULL), "STOP");
	return made.clock_ahead;
}

/* Let a file read from queue 0. Returns how far the card's clock is then ahead of the host's. */
static u64 ahead_after_read(const char *target)
{
	struct file *first = node_open();
	char byte;

	strcpy(card.target, target);
	made.clock_ahead = 42;
	need(node_read(first, &byte, 1, false) == 1, "read()");
	node_close(first);
	return made.clock_ahead;
}

void test_the_clock_is_set_when_it_is_asked_for(void)
{
	struct file *first = file_of(0), *other = file_of(1);

	real_ns = 1800000000123456789;
	need(!ring(first, MBUF) && !ring(other, MBUF), "RING");
	need(start(first, LITEPCIE_CAPTURE_HOST_CLOCK) == -EOPNOTSUPP && !card.capture->running,
	     "a clock is set that cannot be set");
	clocked = true;
	card.capture->block = litepcie_block_find(&card, LITEPCIE_BLOCK_CAPTURE, 0);
	need(ahead_after(first, 0) == 0x123456789abcdef0, "a clock is set that shall go on");
	need(ahead_after(first, LITEPCIE_CAPTURE_HOST_CLOCK) == 0, "the clock is not the host's");
	made.clock_ahead = 1;
	need(!start(other, LITEPCIE_CAPTURE_HOST_CLOCK) && made.clock_ahead == 1,
	     "another queue sets the clock");
	need(!start(first, 0) && made.clock_ahead == 1, "queues that ask for two clocks");
	node_close(first);
	node_close(other);
	need(ahead_after_read("a_card") == 0, "read() leaves the clock of a card");
	need(ahead_after_read("sim") == 42, "read() sets the clock of a simulated card");
	clocked = false;
}

static long start_with(struct file *filp, u32 flags, u32 staging_bytes)
{
	struct litepcie_capture_start wanted = {
		.flags = flags, .staging_bytes = staging_bytes, .wait_cycles = 9, .limit = BYTES,
	};

	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_START, &wanted);
}

void test_each_queue_has_the_staging_memory_that_it_asked_for(void)
{
	static const u32 wrong[] = {
		0, LITEPCIE_CAPTURE_STAGING_LEAST - LITEPCIE_CAPTURE_CELL,
		LITEPCIE_CAPTURE_STAGING_LEAST + 1,
		LITEPCIE_CAPTURE_STAGING_MOST + LITEPCIE_CAPTURE_CELL,
	};
	const u32 flag = LITEPCIE_CAPTURE_STAGING, least = LITEPCIE_CAPTURE_STAGING_LEAST;
	const u32 most = LITEPCIE_CAPTURE_STAGING_MOST, cell = LITEPCIE_CAPTURE_CELL;
	struct file *first = file_of(0), *other = file_of(1);

	need(!ring(first, MBUF) && !ring(other, MBUF), "RING");
	need(start_with(first, flag, least) == -EOPNOTSUPP, "a card whose parts are equal");
	quotas = true;
	card.capture->sorter = litepcie_block_find(&card, LITEPCIE_BLOCK_CAPTURE_QUEUES, 0);
	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++)
		need(start_with(first, flag, wrong[n]) == -EINVAL, "a part that none can have");
	need(start_with(first, 0, least) == -EINVAL, "a part without the flag");
	need(!start_with(other, flag, most) && !start_with(first, flag, least), "START");
	need(made.queue[0].quota == least / cell && made.queue[1].quota == most / cell,
	     "the queues' parts");
	need(made.queue[2].quota == (1u << 20) / cell, "the part of a queue that does not run");
	need(!stop(first, NULL) && !start_with(other, 0, 0) && !start_with(first, flag, most),
	     "START of another run");
	need(made.queue[0].quota == most / cell && made.queue[1].quota == (1u << 20) / cell,
	     "the part of the run before is kept");
	node_close(first);
	node_close(other);
	quotas = false;
}
