/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the captures of several queues of one card, also by two threads. The test imitates the card:
 * an access to a register that each queue has reaches the queue whose number was last written to
 * the register sorter.select.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "check.h"
#include "litepcie_capability.h"

#define QUEUES		4u
#define RING		65536u
#define MBUF		16384u
#define ROUNDS		50u		/* rounds of a test in which two threads meet */
#define REGISTERS	0x1000u
#define SORTER		0x2000u
#define NET		0x3000u
#define CLOCK		0x3800u
#define RUN		(1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET)
#define SEAL		(1u << LITEPCIE_CAPTURE_CONTROL_SEAL_OFFSET)

/*
 * The card's state of one queue: the registers of which each queue has its own, and the memory of
 * its status line and its ring.
 */
struct queue {
	uint64_t			limit, segment, status;
	uint32_t			quota;
	struct litepcie_capture_line	*line;
	void				*ring;
};

static struct {
	struct queue	queue[QUEUES];
	uint32_t	words[0x1000];
	/* how often the library has let the card seal (complete) the current MBUF of queue 1 */
	unsigned int	seals;
	/* bytes of a frame that comes to queue 1 right after the next seal */
	uint64_t	behind;
	/*
	 * bytes of frames that come to queue 1 right after the next read of the upper half of its
	 * position
	 */
	uint64_t	comes;
	/* number of reads of the lower half of a position that still fail with all ones */
	unsigned int	given_up;
	/*
	 * capture that the test stops, in place of another thread, right before the library's next
	 * write to the register net.control; NULL: none
	 */
	struct litepcie_capture *stopped;
	/*
	 * copying: true while the card copies its counts of frames. unread: number of counts in the
	 * last copy that the library has not read yet.
	 */
	bool		copying;
	unsigned int	unread;
	/*
	 * number of copies that the card made while a thread had not read all counts of the copy
	 * before
	 */
	unsigned int	overwritten;
	/*
	 * ahead: ns, modulo 2^64, by which the card's clock is ahead of the host's; clock_reads: number
	 * of reads of the card's clock
	 */
	uint64_t	ahead;
	unsigned int	clock_reads;
} card;

/* the time of the host's clock, CLOCK_REALTIME, which moves only while the card's clock is read */
static uint64_t host_now_ns = 1800000000123456789;

/* Stands for the C library's function of this name. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, clock, now);
	now->tv_sec = (time_t)(host_now_ns / 1000000000);
	now->tv_nsec = (long)(host_now_ns % 1000000000);
	return 0;
}

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

/*
 * Write @position to the status line of the selected queue, which another thread may read at the
 * same time.
 */
static void put_position(uint64_t position)
{
	__atomic_store_n(&selected()->line->position, position, __ATOMIC_RELEASE);
}

/*
 * Let another thread run in the middle of a register access. The library must hold the handle's
 * lock here, so another thread that accesses registers waits. Without the lock the accesses of the
 * two threads could mix, and checks of the tests could fail.
 */
static void let_others_come(void)
{
	sched_yield();
}

static void card_readl(struct litepcie *ours, uint32_t offset, uint32_t *value)
{
	const struct litepcie_capture_registers *registers = &ours->map.capture;
	bool runs = *word(registers->control) & RUN;

	*value = *word(offset);
	if (offset == registers->control)
		let_others_come();
	if (offset == registers->status) {
		*value = (runs ? 0 : CAPTURE_IDLE) | CAPTURE_GENERATOR_IDLE |
			 (card.copying ? CAPTURE_ACCOUNTS_BUSY : 0);
		card.copying = false;
	}
	/* Of the reads of the card's clock only one in six reaches the card at once. */
	if (offset == registers->clock_low && registers->clock_low) {
		if (++card.clock_reads % 6)
			host_now_ns += 1000;
		*word(registers->clock_high) = (uint32_t)((host_now_ns + card.ahead) >> 32);
		*value = (uint32_t)(host_now_ns + card.ahead);
	}
	if (offset == registers->position && selected()->line) {
		*value = (uint32_t)(selected()->line->position >> 32);
		if (card.comes && selected() == &card.queue[1]) {
			put_position(selected()->line->position + card.comes);
			card.comes = 0;
		}
	}
	if (offset == registers->position + 4 && selected()->line) {
		*value = (uint32_t)selected()->line->position;
		/*
		 * The library reads this register to learn where queue 1 was sealed. Then the
		 * position in the status line of queue 1 moves on, since more frames come.
		 */
		if (card.given_up && card.given_up--)
			*value = UINT32_MAX;
		else if (card.seals && selected() == &card.queue[1] && *value)
			put_position(selected()->line->position + 64);
	}
	if (offset == registers->account_bytes + 4)
		card.unread--;
	if (offset == registers->account_frames + 4)
		*value = 1000 * *word(ours->map.sorter.select) + *word(registers->account_control);
}

static int card_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		card_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

/*
 * Do what a write to the register at @offset does in the card. The limit and the address of the
 * status line, of 64 bits each, take effect with the write of their lower half, and the address of
 * the ring with the write of segment_index.
 */
static void take_over(uint32_t offset)
{
	const struct litepcie_capture_registers *registers = &dev.map.capture;
	uint64_t value = (uint64_t)*word(offset - 4) << 32 | *word(offset);

	if (offset == registers->limit + 4)
		selected()->limit = value;
	if (registers->clock_offset && offset == registers->clock_offset + 4)
		card.ahead += value;
	if (offset == registers->status_base + 4)
		selected()->status = value;
	if (dev.map.sorter.quota && offset == dev.map.sorter.quota)
		selected()->quota = *word(offset);
	if (offset == registers->segment_index)
		selected()->segment = (uint64_t)*word(registers->segment_base) << 32 |
				      *word(registers->segment_base + 4);
	if (offset == registers->control && *word(offset) & SEAL && selected() == &card.queue[1]) {
		card.seals++;
		put_position((selected()->line->position + MBUF - 1) / MBUF * MBUF + card.behind);
		card.behind = 0;
	}
	if (offset == registers->account_control && *word(offset) & CAPTURE_SNAPSHOT) {
		card.overwritten += card.unread != 0;
		card.unread = LITEPCIE_CAPTURE_PORTS * LITEPCIE_CAPTURE_FATES;
		card.copying = true;
	}
}

/*
 * Stop card.stopped as another thread may do between two register accesses of the library, when the
 * handle's lock is free.
 */
static void stop_in_between(struct litepcie *ours)
{
	struct litepcie_capture *stopped = card.stopped;

	card.stopped = NULL;
	litepcie_unlock(ours);
	CHECK_EQUAL(litepcie_capture_stop(stopped), 0);
	litepcie_lock(ours);
}

static int card_post(struct litepcie *ours, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)by;
	let_others_come();
	for (size_t i = 0; i < count; i++) {
		if (posts[i].offset == ours->map.net.control && card.stopped)
			stop_in_between(ours);
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

/* Give each register from @first to @last an offset, with room for two words. */
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
	place(&dev.map.net.control, &dev.map.net.lost, NET);
	dev.map.capture.staging_bytes = 4096;
	dev.map.sorter.queues = queues;
	pthread_mutex_init(&dev.lock, NULL);
	pthread_mutex_init(&dev.counting, NULL);
}

static struct litepcie_capture *open_queue(unsigned int queue, bool newest)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING, .mbuf_bytes = MBUF,
		.queue = queue, .newest = newest, .rest_ms = 2000,
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

/* Tests of several queues --------------------------------------------------------------------- */

/*
 * Each queue gets its own ring, status line and limit. The start of queue 0 begins the run of all
 * queues that were started before, and the stop of queue 0 ends it.
 */
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
	/*
	 * After the stop of queue 0 the other queues still return the data from before the stop.
	 * Then litepcie_capture_next() returns -EPIPE: the run has ended.
	 */
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

static int open_with_staging(unsigned int queue, uint32_t bytes, bool newest,
			     struct litepcie_capture **capture)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = 4 * RING, .mbuf_bytes = MBUF,
		.queue = queue, .newest = newest, .staging_bytes = bytes, .rest_ms = 2000,
	};

	return litepcie_capture_open(&dev, &config, capture);
}

/*
 * Each queue may use the part of the staging memory that its settings name. A queue without such a
 * setting, and one that is not started, gets an equal part, also after a run that gave it another.
 */
static void each_queue_gets_its_part_of_the_staging_memory(void)
{
	const uint32_t equal = LITEPCIE_CAPTURE_STAGING_MOST / QUEUES, cell = LITEPCIE_CAPTURE_CELL;
	const uint32_t least = LITEPCIE_CAPTURE_STAGING_LEAST;
	struct litepcie_capture_config config = { .struct_size = sizeof(config) };
	struct litepcie_capture *first, *second;

	make_card(QUEUES);
	dev.map.capture.staging_bytes = equal;
	dev.map.sorter.quota = 0x3c00;
	card.queue[3].quota = 1;
	CHECK_EQUAL(open_with_staging(0, least, false, &first), 0);
	CHECK_EQUAL(open_with_staging(1, 0, false, &second), 0);
	CHECK_EQUAL(litepcie_capture_settings(second, &config), 0);
	CHECK_EQUAL(config.staging_bytes, equal);
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	CHECK_EQUAL(card.queue[0].quota, least / cell);
	for (unsigned int n = 1; n < QUEUES; n++)
		CHECK_EQUAL(card.queue[n].quota, equal / cell);
	litepcie_capture_close(first);
	litepcie_capture_close(second);
	CHECK_EQUAL(open_with_staging(0, LITEPCIE_CAPTURE_STAGING_MOST, false, &first), 0);
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	CHECK_EQUAL(card.queue[0].quota, LITEPCIE_CAPTURE_STAGING_MOST / cell);
	litepcie_capture_close(first);
}

static void a_part_of_the_staging_memory_that_cannot_be_is_refused(void)
{
	const uint32_t wrong[] = {
		LITEPCIE_CAPTURE_STAGING_LEAST - LITEPCIE_CAPTURE_CELL,
		LITEPCIE_CAPTURE_STAGING_LEAST + 1,
		LITEPCIE_CAPTURE_STAGING_MOST + LITEPCIE_CAPTURE_CELL,
	};
	struct litepcie_capture *capture;

	make_card(QUEUES);
	CHECK_EQUAL(open_with_staging(0, LITEPCIE_CAPTURE_STAGING_LEAST, false, &capture),
		    -EOPNOTSUPP);
	has_sentence("each queue of the card has 4096 bytes of the staging memory");
	dev.map.sorter.quota = 0x3c00;
	for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
		CHECK_EQUAL(open_with_staging(0, wrong[n], false, &capture), -EINVAL);
		has_sentence("it must be a multiple of 4096 from 32768 to 1048576");
	}
	CHECK_EQUAL(open_with_staging(0, 2 * RING, true, &capture), -EINVAL);
	has_sentence("it must have 524288 or more, four times the queue's staging memory");
	CHECK_EQUAL(open_with_staging(0, RING, true, &capture), 0);
	litepcie_capture_close(capture);
}

/*
 * A queue other than 0 can be stopped alone: its last MBUF (part of the ring) is sealed, and the
 * library returns no data of the queue behind that seal. The run of the other queues goes on.
 */
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
	/*
	 * The memory of queue 1 stays after its close until queue 0 stops, since the card may still
	 * write to it.
	 */
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

/*
 * A frame comes to queue 1 after the seal of its stop, and then none. The stop must not wait for
 * more frames to fill the MBUF that this frame has begun.
 */
static void a_frame_behind_the_seal_is_sealed(void)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_capture *first, *second;

	make_card(QUEUES);
	first = open_queue(0, false);
	second = open_queue(1, false);
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	card.queue[1].line->position = 64;
	card.behind = 64;
	CHECK_EQUAL(litepcie_capture_stop(second), 0);
	CHECK_EQUAL(card.seals, 2);
	while (litepcie_capture_next(second, &span, 0) == 1)
		;
	CHECK_EQUAL(span.position + span.bytes, 2 * MBUF);
	litepcie_capture_close(second);
	litepcie_capture_close(first);
}

/*
 * Another thread stops queue 1 while the start of queue 0 has given the card the ring of queue 1
 * already, and has not begun the run yet. litepcie_capture_next() must give no data that the run
 * then writes to that ring.
 */
static void a_stop_before_the_run_begins_ends_the_data(void)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_capture *first, *second;

	make_card(QUEUES);
	first = open_queue(0, false);
	second = open_queue(1, false);
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	card.stopped = second;
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	CHECK(!card.stopped && card.queue[1].limit == RING);
	card.queue[1].line->position = MBUF;
	CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 0);
	litepcie_capture_close(second);
	/* The memory of queue 1 is kept, since the card may still write to it. */
	CHECK(memories[LITEPCIE_MEMORY_CAPTURE + 2].base);
	CHECK_EQUAL(litepcie_capture_stop(first), 0);
	litepcie_capture_close(first);
}

/*
 * The stop of queue 1 reads its position, of 64 bits, while more frames come. If the lower half
 * wraps between the reads of the two halves, the data of the queue must still end at the position
 * that the card has reached (2^32 in this test).
 */
static void a_position_that_wraps_is_read_as_one_value(void)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_capture *first, *second;

	make_card(QUEUES);
	first = open_queue(0, true);
	second = open_queue(1, true);
	CHECK_EQUAL(litepcie_capture_start(second), 0);
	CHECK_EQUAL(litepcie_capture_start(first), 0);
	card.queue[1].line->position = UINT32_MAX - MBUF + 1;
	CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 1);
	card.comes = MBUF;
	CHECK_EQUAL(litepcie_capture_stop(second), 0);
	while (litepcie_capture_next(second, &span, 0) == 1)
		;
	CHECK(span.sealed);
	CHECK_EQUAL(span.position + span.bytes, UINT64_C(1) << 32);
	litepcie_capture_close(second);
	litepcie_capture_close(first);
}

/*
 * At the stop of queue 1, reads of its position fail with all ones. If a later read succeeds, the
 * stop succeeds. If none does, the stop returns -EIO. The data from before the stop must then still
 * be given, and no data that comes later.
 */
static void a_position_that_is_not_read_ends_no_data_early(void)
{
	for (unsigned int given_up = 1; given_up <= LITEPCIE_READS; given_up++) {
		struct litepcie_span span = { .struct_size = sizeof(span) };
		struct litepcie_capture *first, *second;
		bool fails = given_up == LITEPCIE_READS;

		make_card(QUEUES);
		first = open_queue(0, false);
		second = open_queue(1, false);
		CHECK_EQUAL(litepcie_capture_start(second), 0);
		CHECK_EQUAL(litepcie_capture_start(first), 0);
		card.queue[1].line->position = MBUF;
		CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 1);
		card.queue[1].line->position = 2 * MBUF;
		card.given_up = given_up;
		CHECK_EQUAL(litepcie_capture_stop(second), fails ? -EIO : 0);
		if (fails)
			has_sentence("the card does not answer");
		CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 1);
		if (fails) {
			card.queue[1].line->position = 3 * MBUF;
			CHECK_EQUAL(litepcie_capture_next(second, &span, 0), 0);
		}
		litepcie_capture_close(second);
		litepcie_capture_close(first);
	}
}

/*
 * A start of another queue is refused while queue 0 runs: only the start of queue 0 gives the card
 * the rings and limits of the queues.
 */
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

/*
 * litepcie_capture_stats() returns the counts of frames of the capture's own queue, whichever queue
 * was selected in the card before.
 */
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

/*
 * The card has one setting of each mode and size for all queues. So the start of queue 0 is refused
 * if a started queue has another mode or size than queue 0.
 */
static void all_queues_have_one_mode(void)
{
	static const struct litepcie_capture_config others[] = {
		{ .ring_bytes = RING, .mbuf_bytes = MBUF, .keep_bad = true },
		{ .ring_bytes = RING, .mbuf_bytes = MBUF, .lossless = true },
		{ .ring_bytes = RING, .mbuf_bytes = MBUF, .newest = true },
		{ .ring_bytes = RING, .mbuf_bytes = MBUF, .net = true },
		{ .ring_bytes = RING, .mbuf_bytes = MBUF / 2 },
		{ .ring_bytes = 2 * RING, .mbuf_bytes = MBUF },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct litepcie_capture_config config = others[i];
		struct litepcie_capture *first, *second = NULL;

		make_card(QUEUES);
		first = open_queue(0, false);
		config.struct_size = sizeof(config);
		config.queue = 1;
		CHECK_EQUAL(litepcie_capture_open(&dev, &config, &second), 0);
		CHECK_EQUAL(litepcie_capture_start(second), 0);
		CHECK_EQUAL(litepcie_capture_start(first), -EINVAL);
		has_sentence("queue 1: ring_bytes, mbuf_bytes, keep_bad, lossless, newest and net must");
		litepcie_capture_close(second);
		litepcie_capture_close(first);
	}
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
	/*
	 * With the setting `newest` (old data in the rings is overwritten) and sorting, the card
	 * would also write frames to a queue that was not started. So queue 0 can start only if all
	 * queues are started.
	 */
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

/*
 * The library must let the card sort frames to queues only from the start to the stop of queue 0:
 * after the stop the rings' memory may be freed.
 */
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

/*
 * Check that the first data that the library returns of a queue begins at @position. With
 * @position 0 the library must return none.
 */
static void begins_at(struct litepcie_capture *capture, uint64_t position)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };

	CHECK_EQUAL(litepcie_capture_next(capture, &span, 0), position != 0);
	CHECK_EQUAL(span.position, position);
}

/*
 * With the setting `newest`, other queues than 0 have all of their rings when the stop of queue 0
 * has ended the run, although they are not stopped themselves. During the run the library returns
 * no data that the staging memory may have overwritten, and none if the stop of queue 0 fails: the
 * last line of a queue may be missing then. A queue that was stopped alone has only the data that
 * the run has not overwritten since.
 */
static void the_end_of_the_run_leaves_all_of_the_rings(void)
{
	struct litepcie_capture *captures[QUEUES];

	for (unsigned int fails = 0; fails < 2; fails++) {
		make_card(QUEUES);
		for (unsigned int n = QUEUES; n--;) {
			captures[n] = open_queue(n, true);
			CHECK_EQUAL(litepcie_capture_start(captures[n]), 0);
			card.queue[n].line->position = RING + MBUF;
		}
		begins_at(captures[2], 2 * MBUF);
		CHECK_EQUAL(litepcie_capture_stop(captures[3]), 0);
		card.queue[3].line->position += fails ? RING : MBUF;
		card.queue[0].line->position += fails ? 64 : 0;
		CHECK_EQUAL(litepcie_capture_stop(captures[0]), fails ? -EIO : 0);
		begins_at(captures[1], fails ? 2 * MBUF : MBUF);
		CHECK_EQUAL(captures[1]->overwritten, fails ? 2 * MBUF : MBUF);
		begins_at(captures[3], fails ? 0 : 2 * MBUF);
		CHECK_EQUAL(captures[3]->overwritten, fails ? RING + MBUF : 2 * MBUF);
		for (unsigned int n = 0; n < QUEUES; n++)
			litepcie_capture_close(captures[n]);
	}
}

/* Tests of one thread for each queue ---------------------------------------------------------- */

static pthread_barrier_t begin;

static void *stop_queue(void *capture)
{
	pthread_barrier_wait(&begin);
	return (void *)(intptr_t)litepcie_capture_stop(capture);
}

/*
 * Two threads stop queues 0 and 1 at the same time. The stop of queue 1 writes the card's control
 * register, and must not set its bit RUN again after the stop of queue 0 has cleared it.
 */
static void a_run_that_has_ended_stays_so(void)
{
	make_card(QUEUES);
	pthread_barrier_init(&begin, NULL, 2);
	for (unsigned int round = 0; round < ROUNDS && !failed_checks; round++) {
		struct litepcie_capture *first = open_queue(0, false);
		struct litepcie_capture *second = open_queue(1, false);
		pthread_t thread;
		void *stopped;

		CHECK_EQUAL(litepcie_capture_start(second), 0);
		CHECK_EQUAL(litepcie_capture_start(first), 0);
		CHECK_EQUAL(pthread_create(&thread, NULL, stop_queue, second), 0);
		pthread_barrier_wait(&begin);
		CHECK_EQUAL(litepcie_capture_stop(first), 0);
		CHECK_EQUAL(pthread_join(thread, &stopped), 0);
		CHECK(!stopped);
		CHECK(!(*word(dev.map.capture.control) & RUN));
		litepcie_capture_close(second);
		litepcie_capture_close(first);
	}
	pthread_barrier_destroy(&begin);
}

/* Thread: read the counts of a capture again and again. Returns NULL if all calls succeed. */
static void *ask_for_accounts(void *capture)
{
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	int rc = 0;

	pthread_barrier_wait(&begin);
	for (unsigned int round = 0; rc == 0 && round < ROUNDS; round++)
		rc = litepcie_capture_stats(capture, &stats);
	return (void *)(intptr_t)rc;
}

/*
 * Two threads read counts of frames at the same time. Each must read the whole copy that the card
 * has made for it before the other thread lets the card make the next copy.
 */
static void accounts_are_of_one_moment(void)
{
	struct litepcie_capture *first, *third;
	pthread_t thread;
	void *failed;

	make_card(QUEUES);
	pthread_barrier_init(&begin, NULL, 2);
	first = open_queue(0, false);
	third = open_queue(2, false);
	CHECK_EQUAL(pthread_create(&thread, NULL, ask_for_accounts, third), 0);
	CHECK(!ask_for_accounts(first));
	CHECK_EQUAL(pthread_join(thread, &failed), 0);
	CHECK(!failed);
	CHECK_EQUAL(card.overwritten, 0);
	litepcie_capture_close(third);
	litepcie_capture_close(first);
	pthread_barrier_destroy(&begin);
}

/* Start and stop a capture with the setting @clock. Returns how far the card's clock is ahead. */
static uint64_t ahead_after(unsigned int queue, uint32_t clock)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = RING, .mbuf_bytes = MBUF,
		.queue = queue, .rest_ms = 2000, .clock = clock,
	};
	struct litepcie_capture *capture = NULL;

	card.ahead = 0x123456789abcdef0;
	card.clock_reads = 0;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), 0);
	CHECK_EQUAL(litepcie_capture_start(capture), 0);
	CHECK_EQUAL(litepcie_capture_settings(capture, &config), 0);
	if (!queue)
		CHECK_EQUAL(config.clock, card.ahead ? LITEPCIE_CLOCK_CARD : LITEPCIE_CLOCK_HOST);
	CHECK_EQUAL(litepcie_capture_stop(capture), 0);
	litepcie_capture_close(capture);
	return card.ahead;
}

/*
 * The start of queue 0 sets the card's clock to the host's time if the setting asks for that, and
 * by default if the card is not a simulated one. The settings then say whose time it is. Of several
 * comparisons the most accurate one counts.
 */
static void the_clock_is_set_as_the_settings_say(void)
{
	struct litepcie_capture_config config = { .struct_size = sizeof(config) };
	struct litepcie_capture *capture = NULL;
	const uint64_t kept = 0x123456789abcdef0;

	make_card(QUEUES);
	CHECK_EQUAL(ahead_after(0, LITEPCIE_CLOCK_AUTO), kept);
	config.clock = LITEPCIE_CLOCK_HOST;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), -EOPNOTSUPP);
	has_sentence("clock of the card's capture block cannot be set");
	config.clock = LITEPCIE_CLOCK_HOST + 1;
	CHECK_EQUAL(litepcie_capture_open(&dev, &config, &capture), -EINVAL);
	has_sentence("clock 3: it must be at most 2");
	dev.map.capture.clock_offset = CLOCK;
	dev.map.capture.clock_low = CLOCK + LITEPCIE_CAPTURE_GROUP_CLOCK_LOW;
	dev.map.capture.clock_high = CLOCK + LITEPCIE_CAPTURE_GROUP_CLOCK_HIGH;
	CHECK_EQUAL(ahead_after(0, LITEPCIE_CLOCK_CARD), kept);
	CHECK_EQUAL(ahead_after(0, LITEPCIE_CLOCK_HOST), 0);
	CHECK_EQUAL(ahead_after(0, LITEPCIE_CLOCK_AUTO), 0);
	CHECK_EQUAL(ahead_after(1, LITEPCIE_CLOCK_HOST), kept);
	strcpy(dev.card.target, "sim");
	CHECK_EQUAL(ahead_after(0, LITEPCIE_CLOCK_AUTO), kept);
	CHECK_EQUAL(ahead_after(0, LITEPCIE_CLOCK_HOST), 0);
}

int main(void)
{
	all_queues_run_together();
	each_queue_gets_its_part_of_the_staging_memory();
	a_part_of_the_staging_memory_that_cannot_be_is_refused();
	a_queue_ends_alone();
	a_frame_behind_the_seal_is_sealed();
	a_stop_before_the_run_begins_ends_the_data();
	a_position_that_wraps_is_read_as_one_value();
	a_position_that_is_not_read_ends_no_data_early();
	a_queue_cannot_join_a_run();
	accounts_are_of_the_queue();
	all_queues_have_one_mode();
	refusals_have_a_sentence();
	the_card_sorts_only_while_it_runs();
	the_end_of_the_run_leaves_all_of_the_rings();
	a_run_that_has_ended_stays_so();
	accounts_are_of_one_moment();
	the_clock_is_set_as_the_settings_say();
	return failed_checks != 0;
}
