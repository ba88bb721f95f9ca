// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests those files of the driver that implement the capture's device node, on the card with four
 * queues that node_card.c makes up. This file has the calls of a program, the tests of runs, and
 * the list of all tests. The other tests are in files with the names of the driver's own, such as
 * capture_owner.c.
 *
 * With the arguments `random SEED COUNT STEPS` the program runs COUNT random sequences instead, see
 * node_random.c.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include "node_card.h"
#include "sequences.h"

u8 rings[LITEPCIE_CAPTURE_QUEUES][BYTES] __attribute__((aligned(4096)));

/* Functions that make the calls of a program -------------------------------------------------- */

struct litepcie_capture_queue *queue_of(unsigned int n)
{
	return &card.capture->queue[n];
}

long choose(struct file *filp, unsigned int queue)
{
	struct litepcie_capture_choice choice = { .queue = queue };

	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_QUEUE, &choice);
}

struct file *file_of(unsigned int queue)
{
	struct file *filp = node_open();

	need(!choose(filp, queue), "QUEUE fails");
	return filp;
}

unsigned int number_of(struct file *filp)
{
	return ((struct litepcie_capture_file *)filp->private_data)->queue->number;
}

long ring(struct file *filp, u32 mbuf)
{
	struct litepcie_capture_ring wanted = {
		.address = (uintptr_t)rings[number_of(filp)], .bytes = BYTES, .mbuf_bytes = mbuf,
	};

	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_RING, &wanted);
}

long start(struct file *filp, u32 flags)
{
	struct litepcie_capture_start wanted = { .flags = flags, .wait_cycles = 9, .limit = BYTES };

	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_START, &wanted);
}

long stop(struct file *filp, u64 *position)
{
	struct litepcie_capture_stop wanted = { 0 };
	long rc = node_call(filp, LITEPCIE_IOCTL_CAPTURE_STOP, &wanted);

	if (position)
		*position = wanted.position;
	return rc;
}

long limit(struct file *filp, u64 to)
{
	struct litepcie_capture_limit wanted = { .limit = to };

	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_LIMIT, &wanted);
}

long wake(struct file *filp, u64 position, int fd)
{
	struct litepcie_capture_wake wanted = { .position = position, .fd = fd };

	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_WAKE, &wanted);
}

/*
 * Let frames of port n go to queue n modulo QUEUES. Two rules are set, too, whose words count up
 * from 1.
 */
long sort(struct file *filp)
{
	struct litepcie_capture_sort wanted = {
		.flags = LITEPCIE_CAPTURE_SORT_ON | LITEPCIE_CAPTURE_SORT_BY_PORT, .rules = 2,
	};

	for (u32 n = 0; n < 2 * LITEPCIE_RULE_WORDS; n++)
		(&wanted.rule[0][0])[n] = n + 1;
	for (unsigned int n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++)
		wanted.spread[n] = n % QUEUES;
	return node_call(filp, LITEPCIE_IOCTL_CAPTURE_SORT, &wanted);
}

struct litepcie_capture_info info(struct file *filp, u32 ask)
{
	static struct litepcie_capture_info found;

	found = (struct litepcie_capture_info){ .ask = ask };
	need(!node_call(filp, LITEPCIE_IOCTL_CAPTURE_INFO, &found), "INFO fails");
	return found;
}

/* Tests of runs of the capture ---------------------------------------------------------------- */

static void test_queues_of_a_run_have_the_same_flags(void)
{
	struct file *first = file_of(0), *other = file_of(1);

	need(!ring(first, MBUF) && !ring(other, MBUF) && !start(other, 0), "the queues");
	need(start(first, LITEPCIE_CAPTURE_LOSSLESS) == -EINVAL, "flags of two kinds");
	need(!made.enabled && !card.capture->running, "a start that is refused begins a run");
	need(!stop(other, NULL) && !sort(first), "STOP of a queue that waits for its run");
	need(start(first, LITEPCIE_CAPTURE_NEWEST) == -EINVAL, "NEWEST with a queue at rest");
	need(!start(first, LITEPCIE_CAPTURE_KEEP_BAD), "START");
	need(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_KEEP_BAD, "the flag is not the card's");
	need(info(first, 0).flags == LITEPCIE_CAPTURE_KEEP_BAD, "INFO's flags");
	need(info(first, 0).start_flags == 2 * LITEPCIE_CAPTURE_STAGING - 1,
	     "INFO does not have all flags");
	node_close(first);
	node_close(other);
}

static void test_the_net_device_needs_a_capability(void)
{
	struct file *first = file_of(0);

	need(!ring(first, MBUF), "the queue");
	need(start(first, LITEPCIE_CAPTURE_NET) == -EPERM && !made.net && !card.capture->running,
	     "the host's network traffic is captured without CAP_NET_RAW");
	need(!start(first, 0) && !made.net && !stop(first, NULL), "a run without NET");
	allowed = true;
	need(!start(first, LITEPCIE_CAPTURE_NET), "NET with CAP_NET_RAW");
	need(made.net == LITEPCIE_CAPTURE_NET_BIT_ON, "NET does not reach the card");
	made.net_lost = 5;
	need(info(first, 0).net_lost == 5 && info(first, 0).flags == LITEPCIE_CAPTURE_NET, "INFO");
	need(!stop(first, NULL) && !made.net, "frames are copied behind the stop");
	need(!start(first, 0) && !made.net && !stop(first, NULL), "NET of the run before");
	card.capture->net = NULL;
	need(start(first, LITEPCIE_CAPTURE_NET) == -EOPNOTSUPP, "NET without a net device");
	need(!start(first, 0) && !stop(first, NULL), "a run of a card without a net device");
	card.capture->net = litepcie_capture_find_net(&card);
	need(card.capture->net, "the block is not found");
	no_net = true;
	need(!litepcie_capture_find_net(&card), "a block is found that is not there");
	no_net = allowed = false;
	node_close(first);
}

static void test_the_stop_of_a_queue_seals_it(void)
{
	struct file *first = file_of(0), *other = file_of(1);
	u64 position;

	need(!ring(first, MBUF) && !ring(other, MBUF) && !sort(first), "the queues");
	need(!start(other, 0) && !start(first, 0), "START");
	frame(0, 100);
	frame(1, 100);
	need(!stop(other, &position) && position == MBUF, "STOP of a queue does not seal its MBUF");
	need(made.queue[1].seals && !made.queue[0].seals, "another queue is sealed");
	need(made.control & LITEPCIE_CAPTURE_BIT_CONTROL_RUN, "the others' run ends, too");
	need(queue_of(1)->status->run == LITEPCIE_CAPTURE_RUN_REST, "the status page's run");
	need(start(other, 0) == -EBUSY, "a queue begins anew while its ring may be written to");
	need(limit(other, BYTES + 1) == -EINVAL, "LIMIT of a queue that has been stopped");
	made.quiet = true;
	frame(0, 100);
	made.late = 4;
	need(!stop(first, &position) && position == 200, "STOP returns before the last line");
	made.quiet = false;
	need(!made.enabled && made.sort == 0, "interrupts or sorting go on behind the stop");
	need(!stop(first, NULL), "a second STOP fails");
	need(!start(other, 0) && !start(first, 0), "no second run");
	need(!litepcie_capture_position(queue_of(0)), "a position of the run before");
	frame(1, 100);
	made.behind = 100;
	need(!stop(other, &position) && position == 2 * MBUF, "STOP leaves an MBUF open");
	node_close(other);
	node_close(first);
}

/* The list of the tests ----------------------------------------------------------------------- */

static void run(const char *name, void (*test)(void))
{
	part = name;
	made = (struct made_card){ 0 };
	memset(rings, 0, sizeof(rings));
	memset(events, 0, sizeof(events));
	card = (struct litepcie){ .pdev = card.pdev, .bar0 = card.bar0, .target = "test" };
	entry_error = 0;
	contiguous = 0;
	need(!litepcie_capture_probe(&card) && card.capture->queues == QUEUES, "the probe");
	litepcie_capture_map(&card);
	test();
	outside = true;
	need(!card.capture->watchdog.pending || card.lost,
	     "a watchdog goes on behind the last run");
	litepcie_capture_abort(&card, -ENODEV);
	litepcie_capture_unmap(&card);
	litepcie_capture_put(&card);
	outside = false;
	need(!allocated && !pinned && !mapped, "memory, a pin or a mapping is left");
}

#define RUN(_test)	run(#_test, _test)

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "random"))
		return run_sequences("node", run, random_steps, argv + 2);
	RUN(test_a_queue_has_one_file);
	RUN(test_arguments_are_checked);
	RUN(test_a_cause_of_another_block_is_refused);
	RUN(test_each_register_is_that_of_its_queue);
	RUN(test_the_clock_is_set_when_it_is_asked_for);
	RUN(test_each_queue_has_the_staging_memory_that_it_asked_for);
	RUN(test_queues_of_a_run_have_the_same_flags);
	RUN(test_the_net_device_needs_a_capability);
	RUN(test_the_stop_of_a_queue_seals_it);
	RUN(test_wake_tells_once);
	RUN(test_poll_hears_of_a_queue_chosen_later);
	RUN(test_accounts_are_those_of_the_queue);
	RUN(test_the_generator_belongs_to_queue_0);
	RUN(test_reading);
	RUN(test_reading_waits);
	RUN(test_reading_ends_with_an_error);
	RUN(test_reading_ends_with_the_card);
	RUN(test_closing);
	RUN(test_dead_owners);
	RUN(test_a_reset);
	RUN(test_a_power_cut);
	RUN(test_a_lost_card);
	RUN(test_a_stuck_card);
	puts("node: ok");
	return 0;
}
