// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests those files of the driver that implement the capture's device node, on the card with four
 * queues that node_card.c makes up. The tests show that a queue belongs to one file, that each
 * register of a queue is written for that queue, that rules and spread (the table of queues) are
 * written to the card at a start, and that waiting threads are woken once. node_leave.c has the
 * tests in which files are closed or the card is removed, and node_read.c those of read().
 *
 * With the arguments `random SEED COUNT STEPS` the program runs COUNT random sequences instead, see
 * node_random.c.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include "node_card.h"
#include "sequences.h"

static u8 rings[LITEPCIE_CAPTURE_QUEUES][BYTES] __attribute__((aligned(4096)));

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

static unsigned int number_of(struct file *filp)
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

static struct litepcie_capture_info info(struct file *filp, u32 ask)
{
	static struct litepcie_capture_info found;

	found = (struct litepcie_capture_info){ .ask = ask };
	need(!node_call(filp, LITEPCIE_IOCTL_CAPTURE_INFO, &found), "INFO fails");
	return found;
}

/* Tests of the owners of queues --------------------------------------------------------------- */

static void test_a_queue_has_one_file(void)
{
	struct file *owner = file_of(2), *other = file_of(2), *first = node_open();

	need(choose(owner, QUEUES) == -EINVAL, "a queue is chosen that the card does not have");
	need(start(owner, 0) == -EINVAL && limit(owner, 1) == -EINVAL && sort(first) == -EINVAL,
	     "a file without a ring is let start, limit or sort");
	need(!ring(owner, MBUF) && queue_of(2)->owner == owner->private_data,
	     "the file does not get its queue");
	need(ring(other, MBUF) == -EBUSY, "a second file of the same queue is let in");
	need(start(other, 0) == -EBUSY && stop(other, NULL) == -EBUSY, "another file starts it");
	need(limit(other, 1) == -EBUSY && wake(other, 1, -1) == -EBUSY, "another file moves it");
	need(node_read(other, rings[0], 1, false) == -EBUSY, "another file reads it");
	need(choose(owner, 1) == -EBUSY && number_of(owner) == 2, "the owner changes its queue");
	need(sort(owner) == -EINVAL, "a file of another queue than 0 sorts");
	need(ring(first, 2 * MBUF) == -EINVAL, "rings of one card have MBUFs of two sizes");
	need(!ring(first, MBUF), "queue 0 is not free");
	need(info(other, 0).queue == 2 && info(other, 0).queues == QUEUES, "INFO of another file");
	node_close(owner);
	need(!ring(other, MBUF), "the queue is not free when its file is closed");
	node_close(other);
	node_close(first);
}

static void test_arguments_are_checked(void)
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

/*
 * The driver does not use a capture block whose interrupt cause is also that of a DMA direction or
 * of a virtio device: a stop of the capture would disable the other's interrupt, too.
 */
static void test_a_cause_of_another_block_is_refused(void)
{
	struct litepcie other = { .pdev = card.pdev, .bar0 = card.bar0 };

	other.cause[CAUSE] = &other;
	need(!litepcie_capture_probe(&other) && !other.capture, "a channel's cause is taken");
	need(strstr(said, "interrupt cause 5 is also that of another block"), "no sentence");
	other.cause[CAUSE] = NULL;
	other.virtio_causes = BIT(CAUSE);
	need(!litepcie_capture_probe(&other) && !other.capture, "a virtio device's cause is taken");
}

/* Tests of runs of the capture ---------------------------------------------------------------- */

static void test_each_register_is_that_of_its_queue(void)
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

/* Tests of waits for a position --------------------------------------------------------------- */

static void test_wake_tells_once(void)
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

static void test_poll_hears_of_a_queue_chosen_later(void)
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

/* Tests of the counts of frames --------------------------------------------------------------- */

static void test_accounts_are_those_of_the_queue(void)
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

static void test_the_generator_belongs_to_queue_0(void)
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
