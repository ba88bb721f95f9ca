/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test litepcie_table_channel: which counts of the card the library accepts and which it refuses,
 * when it reads a register, and what ends a wait.
 */
#include <time.h>

#include "engine_card.h"

/*
 * A wait in which the library must read the card's registers. It is longer than one slice: on a
 * busy machine the first sleep of a wait is cut short by the time that passed since its begin, and
 * the library counts only a whole slice as silence.
 */
#define SILENCE_MS	(2 * LITEPCIE_WAIT_SLICE_MS)

/* Tests of start and stop --------------------------------------------------------------------- */

/*
 * The library must tell the card addresses for records and status lines: the ring of records lies
 * at a multiple of its size, and each status line has a cache line of its own. The memory of the
 * records and of the status line of c2h must be cleared before the card may write to it.
 */
static void the_card_is_told_where_to_write(void)
{
	uint8_t *records, *h2c, *c2h;

	begin();
	records = (uint8_t *)entry(0);
	h2c = (uint8_t *)line(LINE_H2C);
	c2h = (uint8_t *)line(LINE_C2H);
	CHECK_EQUAL(card.word[RECORDS / 4], NOTICES_IOVA >> 32);
	CHECK_EQUAL(card.word[RECORDS / 4 + 1] % (DEPTH * LITEPCIE_RECORD_SIZE), 0);
	CHECK_EQUAL(1u << card.word[ENTRIES / 4], DEPTH);
	CHECK(h2c >= records + DEPTH * LITEPCIE_RECORD_SIZE && c2h >= h2c + 64);
	CHECK((uintptr_t)h2c % 64 == 0 && (uintptr_t)c2h % 64 == 0);
	CHECK_EQUAL(card.word[CONTROL / 4], 7);
	CHECK_EQUAL(card.word[SILENCE / 4], 0);
	CHECK(!card.dirty && !card.late);

	put_record(0, SIZE, 0);
	line(LINE_C2H)->buffers = 1;
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK_EQUAL(card.word[CONTROL / 4], 0);
	start_with((struct run_config) {
		.directions = LITEPCIE_C2H, .packets = true, .flush_us = 20,
	});
	CHECK_EQUAL(card.word[CONTROL / 4], LITEPCIE_RECORDS_CONTROL_C2H_RECORDS |
					    LITEPCIE_RECORDS_CONTROL_C2H_STATUS);
	CHECK_EQUAL(card.word[SILENCE / 4], 20 * 250);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(run_stop(&dev), 0);
	start_with((struct run_config) { .directions = LITEPCIE_H2C });
	CHECK_EQUAL(card.word[CONTROL / 4], LITEPCIE_RECORDS_CONTROL_H2C_STATUS);
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK(!card.dirty && !card.late);
}

static void *ask_for_info(void *info)
{
	CHECK_EQUAL(litepcie_stream_info(run_stream(&dev, LITEPCIE_C2H), info), 0);
	return NULL;
}

/*
 * litepcie_stream_info() may be called while another thread changes the stream under the handle's
 * lock. The call must wait for the lock, and then return what that thread has set.
 */
static void information_is_of_one_moment(void)
{
	struct litepcie_stream_info info = { .struct_size = sizeof(info) };
	const struct timespec pause = { .tv_nsec = 20000000 };
	pthread_t thread;
	uint64_t before;

	begin();
	litepcie_lock(&dev);
	before = dev.c2h.iova;
	CHECK_EQUAL(pthread_create(&thread, NULL, ask_for_info, &info), 0);
	nanosleep(&pause, NULL);
	dev.c2h.iova = before + 0x1000;
	litepcie_unlock(&dev);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(info.address, before + 0x1000);
	dev.c2h.iova = before;
}

/* litepcie_stream_info() must return the bus address of the stream's ring, for h2c and for c2h. */
static void the_address_of_each_ring_is_told(void)
{
	struct litepcie_stream_info info = { .struct_size = sizeof(info) };

	begin();
	CHECK_EQUAL(litepcie_stream_info(run_stream(&dev, LITEPCIE_C2H), &info), 0);
	CHECK_EQUAL(info.address, IOVA + LITEPCIE_MEMORY_C2H * 0x1000000u);
	CHECK_EQUAL(litepcie_stream_info(run_stream(&dev, LITEPCIE_H2C), &info), 0);
	CHECK_EQUAL(info.address, IOVA + LITEPCIE_MEMORY_H2C * 0x1000000u);
	CHECK_EQUAL(run_stop(&dev), 0);
}

/*
 * If the back end has no memory for the records, a stream cannot be opened, and the memory of its
 * ring must be given back.
 */
static void a_stream_without_records_keeps_no_ring(void)
{
	open_card(true);
	free_memory();
	dev.notices.records = NULL;
	card.full = true;
	CHECK_EQUAL(run_shape(&dev, SIZE, COUNT), -ENOMEM);
	CHECK(!card.memory[LITEPCIE_MEMORY_H2C] && !card.memory[LITEPCIE_MEMORY_C2H]);
	CHECK(!dev.h2c.memory && !dev.c2h.memory);
}

/* Tests of counts that the card writes to memory ---------------------------------------------- */

/*
 * Each new record counts as a filled c2h buffer, whether or not a status line counts it, too. The
 * library reads no register, even over several rounds of the ring of records.
 */
static void records_say_what_is_filled(void)
{
	uint64_t first = 0;

	begin();
	for (uint64_t n = 0; n < 3 * DEPTH; n++) {
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
		put_record(n, SIZE, 0);
		if (n % 5 == 0)
			line(LINE_C2H)->buffers = n + 1;
		CHECK_EQUAL(c2h_peek(&dev, &first, 1000), 1);
		CHECK_EQUAL(first, n);
		CHECK_EQUAL(c2h_release(&dev, 1), 0);
	}
	for (uint64_t n = 0; n < COUNT; n++)
		put_record(3 * DEPTH + n, SIZE, 0);
	CHECK_EQUAL(c2h_peek(&dev, &first, 1000), COUNT);
	CHECK_EQUAL(card.reads, 0);
}

static void the_line_says_what_is_fetched(void)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	uint64_t first = 0;

	begin();
	for (uint64_t n = 0; n < 3 * DEPTH; n += COUNT) {
		CHECK_EQUAL(h2c_submit(&dev, COUNT), 0);
		line(LINE_H2C)->buffers = n + 3;
		CHECK_EQUAL(h2c_get(&dev, &first, 1000), 3);
		line(LINE_H2C)->buffers = n + COUNT;
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 1);
	}
	line(LINE_H2C)->errors = 5;
	line(LINE_C2H)->errors = 2;
	litepcie_stats(&dev, &stats);
	CHECK(stats.h2c_errors == 5 && stats.c2h_errors == 2 && stats.h2c_done == 3 * DEPTH);
	CHECK_EQUAL(card.reads, 0);
	line(LINE_H2C)->errors = 6;
	CHECK_EQUAL(run_stop(&dev), 0);
	litepcie_stats(&dev, &stats);
	CHECK(stats.h2c_errors == 6 && stats.c2h_errors == 2);
}

static void what_cannot_be_is_not_believed(void)
{
	struct run_record record;

	begin();
	CHECK_EQUAL(h2c_submit(&dev, 4), 0);
	line(LINE_H2C)->buffers = 5;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 1000), -EIO);
	CHECK(says("finished 5 buffers of h2c, but it was given 4; it has lost its state"));
	begin();
	line(LINE_C2H)->buffers = COUNT + 1;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -EIO);
	CHECK(says("finished 17 buffers of c2h, but it was given 16"));
	begin();
	put_record(0, SIZE, 0);
	put_record(2, SIZE, 0);
	line(LINE_C2H)->buffers = 2;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -EIO);
	CHECK(says("filled 2 c2h buffers, but the last has no record"));
	line(LINE_C2H)->buffers = 3;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), 1);
	CHECK_EQUAL(c2h_record(&dev, 1, &record), -EIO);
	CHECK(says("c2h buffer 1 is filled, but has no record"));
	begin();
	/*
	 * this record is of buffer DEPTH, in the next round of the ring of records, and lies in the
	 * place of the record of buffer 0
	 */
	put_record(DEPTH, SIZE, 0);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	for (uint64_t n = 0; n < COUNT + 1; n++)
		put_record(n, SIZE, 0);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), 1);
	/* the record of a buffer that was never handed over to the card does not count */
	CHECK_EQUAL(dev.c2h.hw, COUNT);
}

static void a_record_has_length_and_flags(void)
{
	struct run_record record = { 0 };
	uint64_t first;

	begin();
	put_record(0, 77, LITEPCIE_RECORD_LAST);
	put_record(1, 96, LITEPCIE_RECORD_FLUSHED);
	put_record(2, SIZE + 1, 0);
	CHECK_EQUAL(c2h_peek(&dev, &first, 1000), 3);
	CHECK_EQUAL(c2h_record(&dev, 0, &record), 0);
	CHECK(record.bytes == 77 && record.flags == LITEPCIE_RECORD_LAST);
	CHECK_EQUAL(c2h_record(&dev, 1, &record), 0);
	CHECK(record.bytes == 96 && record.flags == LITEPCIE_RECORD_FLUSHED);
	CHECK_EQUAL(c2h_record(&dev, 2, &record), -EIO);
	CHECK(says("says 4097 bytes: a buffer has 4096"));
	CHECK_EQUAL(c2h_release(&dev, 1), 0);
}

/* Tests of when registers are read ------------------------------------------------------------ */

/*
 * After LITEPCIE_WAIT_SLICE_MS without a new record the library reads the card's registers, to
 * notice a card that has lost its state. That holds for one wait of this length, and for calls with
 * a timeout of 0 that are made for so long.
 */
static void a_silent_card_is_asked(void)
{
	begin();
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, SILENCE_MS), 0);
	CHECK(card.status_reads > 0);
	card.dead = true;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, SILENCE_MS), -EIO);
	CHECK(says("it has lost its state"));
	begin();
	for (int i = 0; i < 100; i++)
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(card.reads, 0);
	usleep((LITEPCIE_WAIT_SLICE_MS + 1) * 1000);
	put_record(0, SIZE, 0);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(card.reads, 0);
	usleep((LITEPCIE_WAIT_SLICE_MS + 1) * 1000);
	card.dead = true;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), -EIO);
}

/*
 * Let the next @count reads of the register at @offset fail. They return all ones, as a root port
 * does when it gives a read up.
 */
static void give_up(uint32_t offset, unsigned int count)
{
	card.blocked = offset;
	card.given_up = count;
}

/*
 * One or two reads of the card's count fail with all ones. The run must not end, the failed reads
 * must count no buffer as finished, and the library must make the read again.
 */
static void a_count_that_is_given_up_says_nothing(void)
{
	uint64_t first = 0;

	begin();
	give_up(C2H + STATUS, 1);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, SILENCE_MS), 0);
	CHECK_EQUAL(card.given_up, 0);
	CHECK_EQUAL(dev.c2h.hw, 0);
	open_card(false);
	start_with((struct run_config) { 0 });
	card.word[(C2H + STATUS) / 4] = 3;
	give_up(C2H + STATUS, 2);
	CHECK_EQUAL(c2h_peek(&dev, &first, 1000), 3);
	CHECK_EQUAL(card.given_up, 0);
	/*
	 * After 2^32 - 1 buffers the register has the true value all ones, which the library must
	 * accept.
	 */
	dev.c2h.done = UINT32_MAX - 1;
	dev.c2h.posted = UINT32_MAX + UINT64_C(9);
	card.word[(C2H + STATUS) / 4] = UINT32_MAX;
	CHECK_EQUAL(litepcie_table_behind(&dev), 1);
}

/*
 * litepcie_change() reads a register and writes it back. If two reads fail with all ones, it must
 * read again. If all reads fail, it must return -EIO and write nothing.
 */
static void what_is_given_up_is_not_written_back(void)
{
	begin();
	dev.name = (char *)"told";
	card.word[CAUSES / 4] = 0x13;
	give_up(CAUSES, 2);
	CHECK_EQUAL(litepcie_change(&dev, CAUSES, 3, 1), 0);
	CHECK_EQUAL(card.word[CAUSES / 4], 0x11);
	give_up(CAUSES, UINT32_MAX);
	CHECK_EQUAL(litepcie_change(&dev, CAUSES, 3, 2), -EIO);
	CHECK(says("the card does not answer"));
	CHECK_EQUAL(card.word[CAUSES / 4], 0x11);
}

/*
 * A start writes to the register pattern_control. If the reads of this register fail, the start
 * must fail, and c2h must not be enabled. A later start must succeed.
 */
static void a_start_that_fails_starts_nothing(void)
{
	const struct run_config c2h = { .directions = LITEPCIE_C2H };

	open_card(true);
	dev.name = (char *)"told";
	dev.map.pattern_control = 4;
	give_up(4, UINT32_MAX);
	CHECK_EQUAL(run_start(&dev, &c2h), -EIO);
	CHECK(says("the card does not answer"));
	CHECK(!dev.c2h.active && !card.pushed[1] && !card.word[(C2H + ENABLE) / 4]);
	card.given_up = 0;
	CHECK_EQUAL(run_start(&dev, &c2h), 0);
	CHECK_EQUAL(card.pushed[1], COUNT);
}

static unsigned int refusals;

static int refuse(struct litepcie *unused, const struct litepcie_post *posts, size_t count,
		  enum litepcie_post_by by)
{
	(void)unused, (void)posts, (void)count, (void)by;
	return litepcie_fail(-EIO, "refusal %u", ++refusals);
}

/*
 * If a start fails, the library stops the stream. If this stop fails, too, the sentence of
 * litepcie_why() must be that of the start.
 */
static void a_stop_that_fails_keeps_the_sentence_of_the_start(void)
{
	const struct run_config c2h = { .directions = LITEPCIE_C2H };
	struct litepcie_backend refusing = fake;

	refusing.post = refuse;
	open_card(true);
	CHECK_EQUAL(run_open(&dev, LITEPCIE_C2H, &c2h), 0);
	dev.backend = &refusing;
	CHECK_EQUAL(litepcie_stream_start(&dev.c2h), -EIO);
	CHECK(says("refusal 1") && refusals > 1);
	dev.backend = &fake;
}

/*
 * A wait finds a record that is already in memory without a sleep. Only after each 16th such wait
 * the thread sleeps for 0 ms, to take pending interrupts. After litepcie_dma_fd() every wait
 * sleeps, since it must clear the descriptor.
 */
static void a_look_at_memory_saves_sleeps(void)
{
	begin();
	card.sleeps = 0;
	for (uint64_t n = 0; n < 4 * COUNT; n++) {
		put_record(n, SIZE, 0);
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), 1);
		CHECK_EQUAL(c2h_release(&dev, 1), 0);
	}
	CHECK(card.sleeps >= 1 && card.sleeps <= COUNT);
	CHECK_EQUAL(litepcie_dma_fd(&dev), dev.interrupt);
	card.sleeps = 0;
	for (uint64_t n = 4 * COUNT; n < 5 * COUNT; n++) {
		put_record(n, SIZE, 0);
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	}
	CHECK_EQUAL(card.sleeps, COUNT);
	CHECK_EQUAL(card.reads, 0);
}

/*
 * With a timeout of 0, c2h_peek() and h2c_get() (run.h) find the buffers that the card has finished
 * since the last call. In some of the calls they sleep for 0 ms, to take pending interrupts. After
 * litepcie_dma_fd() they never do, since that would clear the descriptor of litepcie_dma_fd().
 * After LITEPCIE_WAIT_SLICE_MS without progress a call must notice that the card does not answer.
 */
static void a_look_without_a_wait_finds_news(bool records)
{
	uint64_t first;

	open_card(records);
	start_with((struct run_config) { 0 });
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), 0);
	CHECK_EQUAL(h2c_submit(&dev, COUNT), 0);
	CHECK_EQUAL(h2c_get(&dev, &first, 0), 0);
	card.word[(C2H + STATUS) / 4] = 2;
	card.word[(H2C + STATUS) / 4] = 3;
	if (records) {
		put_record(0, SIZE, 0);
		put_record(1, SIZE, 0);
		line(LINE_H2C)->buffers = 3;
	}
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), 2);
	CHECK(h2c_get(&dev, &first, 0) == 3 && first == COUNT);
	CHECK_EQUAL(card.reads != 0, !records);
	CHECK_EQUAL(c2h_release(&dev, 2), 0);
	card.sleeps = 0;
	for (int n = 0; n < 64; n++)
		CHECK_EQUAL(c2h_peek(&dev, &first, 0), 0);
	CHECK(card.sleeps >= 1 && card.sleeps <= 4);
	CHECK_EQUAL(litepcie_dma_fd(&dev), dev.interrupt);
	card.sleeps = 0;
	for (int n = 0; n < 64; n++)
		CHECK_EQUAL(c2h_peek(&dev, &first, 0), 0);
	CHECK_EQUAL(card.sleeps, 0);
	usleep((LITEPCIE_WAIT_SLICE_MS + 1) * 1000);
	card.dead = true;
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), -EIO);
}

static void without_records_the_register_counts(void)
{
	struct run_config packets = {
		.directions = LITEPCIE_C2H, .packets = true,
	};
	struct run_record record = { 0 };
	uint64_t first;

	open_card(false);
	CHECK(!card.memory[LITEPCIE_MEMORY_NOTICES]);
	CHECK_EQUAL(run_start(&dev, &packets), -EOPNOTSUPP);
	CHECK(says("whole buffers only"));
	start_with((struct run_config) { 0 });
	card.word[(C2H + STATUS) / 4] = COUNT;
	CHECK_EQUAL(c2h_peek(&dev, &first, 1000), COUNT);
	CHECK(card.status_reads > 0);
	CHECK_EQUAL(c2h_record(&dev, COUNT - 1, &record), 0);
	CHECK(record.bytes == SIZE && record.flags == 0);
	CHECK_EQUAL(card.word[CONTROL / 4], 0);
}

/* Tests of waits that a stop ends ------------------------------------------------------------- */

/*
 * An interrupt from before a run must not be counted in the run. A count of errors that the library
 * has read once in a run must stay in its statistics after the stop, even if the status line has
 * lost the count.
 */
static void a_run_has_its_own_counts(void)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	open_card(true);
	card.raised = 1;
	start_with((struct run_config) { 0 });
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	litepcie_stats(&dev, &stats);
	CHECK_EQUAL(stats.interrupts, 0);
	line(LINE_H2C)->errors = 3;
	litepcie_stats(&dev, &stats);
	line(LINE_H2C)->errors = 0;
	CHECK_EQUAL(run_stop(&dev), 0);
	litepcie_stats(&dev, &stats);
	CHECK_EQUAL(stats.h2c_errors, 3);
}

/*
 * The library keeps released buffers back until there is a batch of them. But if the card has less
 * than half a ring of buffers left in a direction, a wait for that direction hands over the buffers
 * that are kept back, before it sleeps.
 */
static void a_wait_hands_over_what_the_card_runs_out_of(void)
{
	uint64_t first;

	open_card(true);
	start_with((struct run_config) { .batch = COUNT / 2 });
	CHECK_EQUAL(h2c_submit(&dev, 1), 0);
	CHECK_EQUAL(card.pushed[0], 0);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 0);
	CHECK_EQUAL(card.pushed[0], 1);
	for (unsigned int n = 0; n < COUNT - 1; n++)
		put_record(n, SIZE, 0);
	CHECK_EQUAL(c2h_peek(&dev, &first, 1000), COUNT - 1);
	CHECK_EQUAL(c2h_release(&dev, COUNT / 2 - 1), 0);
	CHECK_EQUAL(card.pushed[1], COUNT);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(card.pushed[1], COUNT + COUNT / 2 - 1);
}

/*
 * If a register of the card tells whether the user's logic has taken all h2c data, a drain of h2c
 * must wait for that: a stop would drop data that was not taken. Until the register says so, the
 * drain must return -ETIMEDOUT.
 */
static void a_drain_waits_for_the_logic(void)
{
	begin();
	dev.map.h2c_tells_taken = true;
	CHECK_EQUAL(h2c_submit(&dev, 1), 0);
	line(LINE_H2C)->buffers = 1;
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK(says("its logic has not taken it"));
	/* a read that fails with all ones does not say that the logic has taken the data */
	card.dead = true;
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	card.dead = false;
	card.word[(H2C + ENABLE) / 4] |= 4;
	CHECK_EQUAL(h2c_drain(&dev, 1), 0);
}

/*
 * A call releases the handle's lock while it sleeps, and another thread may stop the DMA then. Each
 * call that sleeps must notice the stop and return -ECANCELED: a wait, a drain, and a wait that has
 * found a record and sleeps for 0 ms only to take interrupts.
 */
static void a_stop_is_heard_of_in_each_sleep(void)
{
	begin();
	card.stops = 1;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -ECANCELED);
	begin();
	CHECK_EQUAL(h2c_submit(&dev, 1), 0);
	card.stops = 1;
	CHECK_EQUAL(h2c_drain(&dev, 1000), -ECANCELED);
	begin();
	for (uint64_t n = 0; card.sleeps == 0 || n == 0; n++) {
		put_record(n, SIZE, 0);
		card.sleeps = 0;
		card.stops = 1;
		if (litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000) != 1)
			break;
		CHECK_EQUAL(c2h_release(&dev, 1), 0);
	}
	CHECK(card.sleeps != 0 && says("another thread stopped the DMA"));
}

/*
 * The card fills c2h buffers, and their interrupts are lost. The library waits a second for an
 * interrupt before it counts one as missed. A stop by another thread ends this wait.
 */
static void a_stop_ends_the_wait_for_a_lost_interrupt(void)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	begin();
	dev.watched = true;
	for (uint64_t n = 0; n < COUNT; n++)
		put_record(n, SIZE, 0);
	card.sleeps = 0;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), 1);
	litepcie_stats(&dev, &stats);
	CHECK_EQUAL(stats.interrupts_missed, 1);
	CHECK_EQUAL(card.sleeps, 2 + 1000 / LITEPCIE_WAIT_SLICE_MS);
	begin();
	dev.watched = true;
	for (uint64_t n = 0; n < COUNT; n++)
		put_record(n, SIZE, 0);
	card.stops = 4;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -ECANCELED);
	CHECK_EQUAL(card.sleeps_after, 0);
	dev.watched = false;
}

/*
 * The program has called litepcie_dma_fd(), and c2h runs. A start or a stop of h2c must take no
 * interrupt, so that the descriptor stays readable: the interrupt may be that of c2h.
 */
static void news_of_one_stream_outlive_a_start_and_a_stop_of_the_other(void)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	begin();
	CHECK_EQUAL(litepcie_stream_stop(&dev.h2c), 0);
	CHECK_EQUAL(litepcie_dma_fd(&dev), dev.interrupt);
	card.raised = 1;
	CHECK_EQUAL(litepcie_stream_start(&dev.h2c), 0);
	CHECK_EQUAL(card.raised, 1);
	CHECK_EQUAL(litepcie_stream_stop(&dev.h2c), 0);
	CHECK_EQUAL(card.raised, 1);
	CHECK_EQUAL(litepcie_stream_stop(&dev.c2h), 0);
	CHECK_EQUAL(card.raised, 0);
	litepcie_stats(&dev, &stats);
	CHECK_EQUAL(stats.interrupts, 1);
}

static void a_card_that_is_asked_back_ends_a_wait(void)
{
	begin();
	card.wanted = true;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -ENODEV);
}

static void *wait_for_c2h(void *unused)
{
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 10000), 1);
	return unused;
}

/*
 * One thread sleeps for all waiting threads of a handle. When it finds a record, it must wake all
 * of them.
 */
static void news_wakes_all(void)
{
	pthread_t threads[3];

	begin();
	dev.sleeper = true;
	for (unsigned int n = 0; n < 3; n++)
		pthread_create(&threads[n], NULL, wait_for_c2h, NULL);
	usleep(LITEPCIE_WAIT_SLICE_MS * 500);
	litepcie_lock(&dev);
	put_record(0, SIZE, 0);
	dev.sleeper = false;
	litepcie_sleep_once(&dev, LITEPCIE_C2H, 0);
	litepcie_unlock(&dev);
	for (unsigned int n = 0; n < 3; n++)
		pthread_join(threads[n], NULL);
	CHECK_EQUAL(dev.stats.woken_by_timeout, 0);
}

/*
 * If another thread sleeps already, litepcie_sleep_once() waits for that thread. Here nothing wakes
 * the caller, so it must wait for its whole timeout of 100 ms. The timeout runs over the end of a
 * second, where tv_nsec wraps: with a wrong sum the wait would end at once.
 */
static void who_follows_sleeps(void)
{
	struct timespec from, to;

	begin();
	dev.sleeper = true;
	do {
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &from);
	} while (from.tv_nsec < 950000000);
	litepcie_lock(&dev);
	CHECK_EQUAL(litepcie_sleep_once(&dev, LITEPCIE_C2H, 100), 0);
	litepcie_unlock(&dev);
	clock_gettime(CLOCK_MONOTONIC, &to);
	CHECK((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 >= 99);
}

int main(void)
{
	the_card_is_told_where_to_write();
	the_address_of_each_ring_is_told();
	a_stream_without_records_keeps_no_ring();
	information_is_of_one_moment();
	records_say_what_is_filled();
	the_line_says_what_is_fetched();
	what_cannot_be_is_not_believed();
	a_record_has_length_and_flags();
	a_silent_card_is_asked();
	a_count_that_is_given_up_says_nothing();
	what_is_given_up_is_not_written_back();
	a_start_that_fails_starts_nothing();
	a_stop_that_fails_keeps_the_sentence_of_the_start();
	a_look_at_memory_saves_sleeps();
	a_look_without_a_wait_finds_news(true);
	a_look_without_a_wait_finds_news(false);
	without_records_the_register_counts();
	a_run_has_its_own_counts();
	a_wait_hands_over_what_the_card_runs_out_of();
	a_drain_waits_for_the_logic();
	a_stop_is_heard_of_in_each_sleep();
	a_stop_ends_the_wait_for_a_lost_interrupt();
	news_of_one_stream_outlive_a_start_and_a_stop_of_the_other();
	a_card_that_is_asked_back_ends_a_wait();
	news_wakes_all();
	who_follows_sleeps();
	free_memory();
	return failed_checks != 0;
}
