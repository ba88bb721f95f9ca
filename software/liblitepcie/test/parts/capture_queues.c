/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the captures of several queues of one card, and the words of rules. The test plays the card:
 * the registers of one queue are those of the queue that was selected last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "check.h"
#include "litepcie_capability.h"

#define QUEUES		4u
#define RING		65536u
#define MBUF		16384u
#define REGISTERS	0x1000u
#define SORTER		0x2000u
#define RUN		(1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET)
#define SEAL		(1u << LITEPCIE_CAPTURE_CONTROL_SEAL_OFFSET)

/* What the card has for each queue: its registers of one queue, and its status line in memory. */
struct queue {
	uint64_t			limit, segment, status;
	struct litepcie_capture_line	*line;
	void				*ring;
};

static struct {
	struct queue	queue[QUEUES];
	uint32_t	words[0x1000];
	unsigned int	seals;		/* of queue 1 */
	unsigned int	accounts_of;	/* queue whose accounts were read last */
} card;

static struct litepcie dev;
static struct litepcie_memory memories[LITEPCIE_MEMORIES];

static uint32_t *word(uint64_t offset)
{
	return &card.words[offset / 4];
}

static struct queue *selected(void)
{
	return &card.queue[*word(dev.map.sorter.select) % QUEUES];
}

static void card_readl(struct litepcie *ours, uint32_t offset, uint32_t *value)
{
	const struct litepcie_capture_registers *registers = &ours->map.capture;
	bool runs = *word(registers->control) & RUN;

	*value = *word(offset);
	if (offset == registers->status)
		*value = (runs ? 0 : CAPTURE_IDLE) | CAPTURE_GENERATOR_IDLE;
	if (offset == registers->position + 4 && selected()->line) {
		*value = (uint32_t)selected()->line->position;
		/* More frames come right behind a seal. */
		if (card.seals && selected() == &card.queue[1])
			selected()->line->position = *value + 64;
	}
	if (offset == registers->account_frames + 4)
		*value = 1000 * *word(ours->map.sorter.select) + *word(registers->account_control);
}

static int card_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		card_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

/* The card takes a value of 64 bits over with its lower half. */
static void take_over(uint32_t offset)
{
	const struct litepcie_capture_registers *registers = &dev.map.capture;
	uint64_t value = (uint64_t)*word(offset - 4) << 32 | *word(offset);

	if (offset == registers->limit + 4)
		selected()->limit = value;
	if (offset == registers->status_base + 4)
		selected()->status = value;
	if (offset == registers->segment_index)
		selected()->segment = (uint64_t)*word(registers->segment_base) << 32 |
				      *word(registers->segment_base + 4);
	if (offset == registers->control && *word(offset) & SEAL && selected() == &card.queue[1]) {
		card.seals++;
		selected()->line->position = (selected()->line->position + MBUF - 1) / MBUF * MBUF;
	}
}

static int card_post(struct litepcie *ours, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)by;
	(void)ours;
	for (size_t i = 0; i < count; i++) {
		*word(posts[i].offset) = (uint32_t)posts[i].value;
		take_over((uint32_t)posts[i].offset);
	}
	return 0;
}

static int card_memory(struct litepcie *ours, unsigned int kind, void *place, size_t bytes,
		       struct litepcie_memory **memory, uint64_t *iova)
{
	unsigned int queue = (kind - LITEPCIE_MEMORY_CAPTURE) / 2;

	(void)ours;
	(void)place;
	memories[kind].base = calloc(1, bytes);
	*memory = &memories[kind];
	*iova = (uint64_t)kind << 32;
	if (kind % 2 == LITEPCIE_MEMORY_CAPTURE_STATUS % 2)
		card.queue[queue].line = memories[kind].base;
	else
		card.queue[queue].ring = memories[kind].base;
	return 0;
}

static void card_memory_free(struct litepcie *ours, unsigned int kind)
{
	(void)ours;
	free(memories[kind].base);
	memories[kind].base = NULL;
}

static const struct litepcie_backend fake = {
	.name = "fake", .read_words = card_read_words, .post = card_post, .memory = card_memory,
	.memory_free = card_memory_free,
};

static struct litepcie_block block = { .type = LITEPCIE_BLOCK_CAPTURE, .version = 1 };

/* Give each register of a table two words of its own. */
static void place(uint32_t *first, const uint32_t *last, uint32_t offset)
{
	for (uint32_t *at = first; at <= last; at++, offset += 8)
		*at = offset;
}

static void make_card(uint32_t queues)
{
	memset(&card, 0, sizeof(card));
	memset(&dev, 0, sizeof(dev));
	dev.backend = &fake;
	dev.name = "fake";
	dev.bar_size[0] = sizeof(card.words);
	dev.card.clock_hz = 250000000;
	dev.blocks = &block;
	dev.block_count = 1;
	place(&dev.map.capture.control, &dev.map.capture.account_bytes, REGISTERS);
	place(&dev.map.sorter.select, &dev.map.sorter.discard_bytes, SORTER);
	dev.map.capture.staging_bytes = 4096;
	dev.map.sorter.queues = queues;
	pthread_mutex_init(&dev.lock, NULL);
}

static struct litepcie_capture *open_queue(unsigned int queue, bool newest)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING, .mbuf_bytes = MBUF,
		.queue = queue, .newest = newest,
	};
	struct litepcie_capture *capture = NULL;

	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
	return capture;
}

static void has_sentence(const char *words)
{
	CHECK(strstr(litepcie_why(&dev), words) != NULL);
	if (!strstr(litepcie_why(&dev), words))
		fprintf(stderr, "not \"%s\" but \"%s\"\n", words, litepcie_why(&dev));
}

/* Queues -------------------------------------------------------------------------------------- */

/* Each queue gets its own ring, line and limit, and queue 0 begins and ends the run of all. */
static void all_queues_run_together(void)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_capture *captures[QUEUES];

	make_card(QUEUES);
	CHECK_EQUAL(litepcie_capture_queues(&dev), QUEUES);
	for (unsigned int n = QUEUES; n--;) {
		captures[n] = open_queue(n, false);
		CHECK(!(*word(dev.map.capture.control) & RUN));
		CHECK_EQUAL(litepcie_capture_start(captures[n]), 0);
	}
	CHECK(*word(dev.map.capture.control) & RUN);
	for (unsigned int n = 0; n < QUEUES; n++) {
		uint64_t kind = LITEPCIE_MEMORY_CAPTURE + 2 * n;

		CHECK_EQUAL(card.queue[n].segment, kind << 32);
		CHECK_EQUAL(card.queue[n].status, (kind + 1) << 32);
		CHECK_EQUAL(card.queue[n].limit, RING);
		card.queue[n].line->position = MBUF * (n + 1);
		CHECK_EQUAL(litepcie_capture_next(captures[n], &span, 0), 1);
		CHECK(span.data == card.queue[n].ring);
		CHECK_EQUAL(litepcie_capture_release(captures[n], MBUF), 0);
		CHECK_EQUAL(card.queue[n].limit, RING + MBUF);
	}
	CHECK_EQUAL(litepcie_capture_start(captures[0]), -EBUSY);
	CHECK_EQUAL(litepcie_capture_stop(captures[0]), 0);
	/* What came before the stop is given, and then the end is told. */
	for (unsigned int n = 1; n < QUEUES; n++) {
		for (unsigned int left = n; left; left--)
			CHECK_EQUAL(litepcie_capture_next(captures[n], &span, -1), 1);
		CHECK_EQUAL(litepcie_capture_next(captures[n], &span, -1), -EPIPE);
		CHECK_EQUAL(litepcie_capture_stop(captures[n]), 0);
	}
	for (unsigned int n = 0; n < QUEUES; n++)
		litepcie_capture_close(captures[n]);
	CHECK(!litepcie_has_capture(&dev));
}

/* A queue can end alone. The library does not give data behind its seal. */
static void a_queue_ends_alone(void)
{
	struct litepcie_capture *first, *second;
	struct litepcie_span span = { .struct_size = sizeof(span) };

	make_card(QUEUES);
	first = open_queue(0, false);
	second = open_queue(1, false);
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	card.queue[1].line->position = MBUF + 64;
	CHECK_EQUAL(litepcie_capture_stop(second), 0);
	CHECK_EQUAL(card.seals, 1);
	CHECK_EQUAL(card.queue[1].line->position, 2 * MBUF + 64);
	CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 1);
	CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 1);
	CHECK(span.sealed);
	CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 0);
	CHECK(*word(dev.map.capture.control) & RUN);
	litepcie_capture_close(second);
	/* Its memory stays until queue 0 stops, since the card may write there. */
	CHECK(memories[LITEPCIE_MEMORY_CAPTURE + 2].base);
	second = NULL;
	{
		struct litepcie_capture_config config = { .struct_size = sizeof(config), .queue = 1 };

		CHECK_EQUAL(litepcie_capture_open(&dev, &config, &second), -EBUSY);
		has_sentence("the card may still write to the last ring of queue 1");
	}
	CHECK_EQUAL(litepcie_capture_stop(first), 0);
	CHECK(!memories[LITEPCIE_MEMORY_CAPTURE + 2].base);
	second = open_queue(1, false);
	litepcie_capture_close(second);
	litepcie_capture_close(first);
}

/* A queue cannot join a run: the card would write to its ring by the limit of an earlier run. */
static void a_queue_cannot_join_a_run(void)
{
	struct litepcie_capture *first, *second;

	make_card(QUEUES);
	first = open_queue(0, false);
	second = open_queue(1, false);
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	CHECK_EQUAL(litepcie_capture_start(second), -EBUSY);
	has_sentence("the capture of queue 0 runs: start queue 1 before it");
	CHECK_EQUAL(litepcie_capture_stop(first), 0);
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	litepcie_capture_close(second);
	litepcie_capture_close(first);
}

/* Accounts are those of the capture's queue, whichever was selected before. */
static void accounts_are_of_the_queue(void)
{
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	struct litepcie_capture *first, *third;

	make_card(QUEUES);
	first = open_queue(0, false);
	third = open_queue(2, false);
	CHECK_EQUAL(litepcie_capture_stats(third, &stats), 0);
	CHECK_EQUAL(stats.port[5].lost_ring.frames, 2000 + 4 * 5 + 2);
	CHECK_EQUAL(litepcie_capture_stats(first, &stats), 0);
	CHECK_EQUAL(stats.port[5].lost_ring.frames, 4 * 5 + 2);
	litepcie_capture_close(third);
	litepcie_capture_close(first);
}

static void refusals_have_a_sentence(void)
{
	struct litepcie_capture_config config = { .struct_size = sizeof(config), .queue = QUEUES };
	struct litepcie_sorting sorting = { .struct_size = sizeof(sorting) };
	struct litepcie_generator generator = { .struct_size = sizeof(generator), .size = 64 };
	struct litepcie_capture *capture, *second;

	make_card(QUEUES);
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), -EINVAL);
	has_sentence("queue 4: the card has 4");
	capture = open_queue(0, true);
	second = open_queue(1, true);
	config.queue = 1;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &second), -EBUSY);
	has_sentence("this handle has a capture of queue 1 already");
	second = dev.captures[1];
	CHECK_EQUAL(litepcie_capture_sort(second, &sorting), -EINVAL);
	has_sentence("belongs to the capture of queue 0, and this is queue 1");
	CHECK_EQUAL(litepcie_capture_generate(second, &generator), -EINVAL);
	sorting.spread[127] = 4;
	CHECK_EQUAL(litepcie_capture_sort(capture, &sorting), -EINVAL);
	has_sentence("entry 127 of the spread names queue 4: the card has 4 queues");
	sorting.spread[127] = 3;
	CHECK_EQUAL(litepcie_capture_sort(capture, &sorting), 0);
	/* With `newest` a queue without a ring would be written to. */
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), -EINVAL);
	has_sentence("queue 2 is not");
	litepcie_capture_close(second);
	litepcie_capture_close(capture);
	make_card(0);
	capture = open_queue(0, false);
	CHECK_EQUAL(litepcie_capture_queues(&dev), 1);
	CHECK_EQUAL(litepcie_capture_sort(capture, &sorting), -EOPNOTSUPP);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK_EQUAL(litepcie_capture_sort(capture, NULL), -EBUSY);
	litepcie_capture_close(capture);
}

/* A run sorts frames, and the card sorts none when the rings' memory is freed. */
static void the_card_sorts_only_while_it_runs(void)
{
	struct litepcie_sorting sorting = { .struct_size = sizeof(sorting), .rules = 1 };
	struct litepcie_capture *capture;

	make_card(QUEUES);
	CHECK_EQUAL(litepcie_capture_rule(&dev, "port=3 queue=2", sorting.rule[0]), 0);
	capture = open_queue(0, false);
	CHECK_EQUAL(litepcie_capture_sort(capture, &sorting), 0);
	CHECK_EQUAL(*word(dev.map.sorter.control), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK_EQUAL(*word(dev.map.sorter.control), 0x101);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	CHECK_EQUAL(*word(dev.map.sorter.control), 0);
	litepcie_capture_close(capture);
}

/* Rules --------------------------------------------------------------------------------------- */

static void rules_have_their_words(void)
{
	static const struct {
		const char *text;
		struct { unsigned int at; uint32_t value; } words[6];
	} rules[] = {
		{ "port=3 queue=2", { { 0, 3 }, { 1, 0xf }, { 15, 0x80120000 } } },
		{ "vlan=5 tagged discard", { { 0, 0x10050000 }, { 1, 0x1fff0000 },
					     { 15, 0x80200000 } } },
		{ "!ipv4, ipv6 snap=96", { { 0, 0x20 }, { 1, 0x30 }, { 15, 0x80000060 } } },
		{ "proto=udp dport=53 sport=1024-65535 discard",
		  { { 0, 0x1100 }, { 1, 0xff00 }, { 12, 0xffff0400 }, { 13, 0x350035 },
		    { 15, 0x80200000 } } },
		{ "ethertype=0x88b5 queue=1", { { 2, 0x88b5 }, { 3, 0xffff }, { 15, 0x80110000 } } },
		{ "flags=2 queue=1", { { 2, 0x20000 }, { 3, 0x20000 }, { 15, 0x80110000 } } },
		{ "flags=0x10/0x12 queue=1", { { 2, 0x100000 }, { 3, 0x120000 },
					       { 15, 0x80110000 } } },
		{ "src=10.1.2.3/8 queue=1", { { 0, 0x10 }, { 1, 0x10 }, { 4, 0x0a000000 },
					      { 6, 0xff000000 }, { 15, 0x80110000 } } },
		{ "dst=192.168.1.2 queue=1", { { 0, 0x10 }, { 1, 0x10 }, { 8, 0xc0a80102 },
					       { 10, 0xffffffff }, { 15, 0x80110000 } } },
		{ "dst=2001:db8:1::/48 queue=1", { { 0, 0x20 }, { 1, 0x20 }, { 8, 0x20010db8 },
						   { 9, 0x00010000 }, { 10, 0xffffffff },
						   { 11, 0xffff0000 } } },
		{ "length=60-1514 snap=64 queue=0", { { 14, 0x05ea003c }, { 15, 0x80100040 } } },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		uint32_t words[LITEPCIE_RULE_WORDS];

		CHECK_EQUAL(litepcie_capture_rule(&dev, rules[i].text, words), 0);
		for (size_t n = 0; n < 6 && (!n || rules[i].words[n].at); n++) {
			CHECK_EQUAL(words[rules[i].words[n].at], rules[i].words[n].value);
			words[rules[i].words[n].at] = 0;
		}
	}
}

static void wrong_rules_have_a_sentence(void)
{
	static const char *const wrong[][2] = {
		{ "port=16 discard", "port=16: it must be a number from 0 to 15" },
		{ "vlan=x discard", "vlan=x: it must be a number from 0 to 4095" },
		{ "vlan= discard", "vlan=: it must be a number" },
		{ "port=3", "does nothing: it must have queue=, snap= or discard" },
		{ "", "does nothing" },
		{ "queue=1 discard", "discards frames, so it can have neither" },
		{ "queue=16", "queue=16: it must be a number from 0 to 15" },
		{ "snap=0", "snap=0: it must be 1 or more" },
		{ "sport=5-4 discard", "sport=5-4: the second number must not be below the first" },
		{ "src=10.1 discard", "src=10.1: it must be an address" },
		{ "src=10.0.0.0/33 discard", "src=10.0.0.0/33: the card compares from 0 to 32 bits" },
		{ "dst=::1/65 discard", "the card compares from 0 to 64 bits" },
		{ "colour=red discard", "colour: there is no such word of a rule" },
		{ "blue discard", "blue: there is no such word of a rule" },
		{ "proto=ospf discard", "proto=ospf: it must be a number from 0 to 255" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint32_t words[LITEPCIE_RULE_WORDS];

		CHECK_EQUAL(litepcie_capture_rule(&dev, wrong[i][0], words), -EINVAL);
		has_sentence(wrong[i][1]);
	}
}

int main(void)
{
	all_queues_run_together();
	a_queue_ends_alone();
	a_queue_cannot_join_a_run();
	accounts_are_of_the_queue();
	refusals_have_a_sentence();
	the_card_sorts_only_while_it_runs();
	rules_have_their_words();
	wrong_rules_have_a_sentence();
	return failed_checks != 0;
}
