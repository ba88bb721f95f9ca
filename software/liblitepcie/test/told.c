/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the channel of table.c with a stand-in for the card, which writes records and status lines
 * when the test says so. The tests check which counts the library accepts, which it refuses, and
 * when it reads a register.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "litepcie_capability.h"
#include "dma/table.h"
#include "run.h"

/* number of entries of the descriptor table of the stand-in for the card */
#define DEPTH		256u
#define COUNT		16u
#define SIZE		4096u
#define BEAT		32u
#define IOVA		0x100000000u
#define NOTICES_IOVA	0x200000000u
#define NO_ANSWER	UINT32_MAX

/*
 * Offsets of registers of the stand-in for the card. ENABLE to FLUSH are offsets from H2C or C2H.
 */
enum {
	H2C = 0x100, C2H = 0x200, ENABLE = 0, VALUE = 4, PUSH = 12, LOOP = 16, STATUS = 20, FLUSH = 28,
	RECORDS = 0x300, ENTRIES = 0x308, LINE_C2H = 0x30c, LINE_H2C = 0x314, SILENCE = 0x31c,
	CONTROL = 0x320, LOOPBACK = 0x400, COUNTERS = 0x500, RECEIVED = 0x508, CLOCK = 0x600,
	CAUSES = 0x700, CLEAR = 0x704,
};

static struct {
	uint32_t	word[0x800 / 4];
	unsigned int	reads;		/* number of the library's reads of card registers */
	/* number of those reads that were of a loop_status register */
	unsigned int	status_reads;
	/* for h2c [0] and c2h [1]: word with length and flags of each descriptor */
	uint32_t	lengths[2][64];
	unsigned int	pushed[2];
	struct litepcie_memory *memory[LITEPCIE_MEMORIES];
	/* true: records were switched on while old records were still in the memory */
	bool		dirty;
	/*
	 * true: a register of the records or status lines was written while its direction was
	 * enabled
	 */
	bool		late;
	bool		dead;
	unsigned int	sleeps;
	/* number of raised interrupts that no sleep of the library has taken yet */
	unsigned int	raised;
	/* true: another thread stops the DMA during the library's next sleep */
	bool		stops;
	bool		wanted;		/* true: the kernel wants the card back from the program */
} card;

static struct litepcie dev;

/* The stand-in for the card ------------------------------------------------------------------- */

static struct litepcie_entry *entry(uint64_t number)
{
	return (struct litepcie_entry *)card.memory[LITEPCIE_MEMORY_NOTICES]->base + number % DEPTH;
}

static struct litepcie_line *line(unsigned int at)
{
	uint64_t place = (uint64_t)card.word[at / 4] << 32 | card.word[at / 4 + 1];

	return (struct litepcie_line *)((uint8_t *)card.memory[LITEPCIE_MEMORY_NOTICES]->base +
					(place - NOTICES_IOVA));
}

static void put_record(uint64_t number, uint32_t bytes, uint32_t flags)
{
	*entry(number) = (struct litepcie_entry) { bytes, flags, number + 1 };
}

/* True if there is an old record, or an old status line of c2h, which is the last. */
static bool any_old(void)
{
	const struct litepcie_memory *memory = card.memory[LITEPCIE_MEMORY_NOTICES];

	for (size_t i = 0; i < memory->size; i == DEPTH * LITEPCIE_RECORD_SIZE - 1 ? i += 65 : i++)
		if (((const uint8_t *)memory->base)[i])
			return true;
	return false;
}

static int fake_readl(struct litepcie *unused, uint32_t offset, uint32_t *value)
{
	(void)unused;
	card.reads++;
	card.status_reads += offset == H2C + STATUS || offset == C2H + STATUS;
	*value = card.word[offset / 4];
	if (offset == H2C + ENABLE || offset == C2H + ENABLE)
		*value |= LITEPCIE_DMA_ENABLE_IDLE;
	if (offset == CLOCK)
		card.word[CLOCK / 4]++;
	if (card.dead)
		*value = NO_ANSWER;
	return 0;
}

static void push(unsigned int way, unsigned int base)
{
	card.lengths[way][card.pushed[way]++ % 64] = card.word[(base + VALUE) / 4];
}

/* True if a register of a direction that is enabled must not be written. */
static bool is_late(uint32_t offset)
{
	if (offset == LINE_H2C || offset == LINE_H2C + 4)
		return card.word[(H2C + ENABLE) / 4];
	return offset >= RECORDS && offset < CONTROL && card.word[(C2H + ENABLE) / 4];
}

static int fake_post(struct litepcie *unused, const struct litepcie_post *posts, size_t count)
{
	(void)unused;
	for (size_t i = 0; i < count; i++) {
		uint32_t offset = posts[i].offset;

		card.word[offset / 4] = (uint32_t)posts[i].value;
		card.late |= is_late(offset);
		if (offset == CONTROL && posts[i].value & LITEPCIE_RECORDS_CONTROL_C2H_RECORDS &&
		    !card.word[(C2H + ENABLE) / 4])
			card.dirty |= any_old();
		if (offset == H2C + PUSH)
			push(0, H2C);
		if (offset == C2H + PUSH)
			push(1, C2H);
	}
	return 0;
}

static void fake_memory_free(struct litepcie *unused, unsigned int kind)
{
	(void)unused;
	if (card.memory[kind])
		free(card.memory[kind]->base);
	free(card.memory[kind]);
	card.memory[kind] = NULL;
}

static int fake_memory(struct litepcie *unused, unsigned int kind, void *place, size_t bytes,
		       struct litepcie_memory **memory, uint64_t *iova)
{
	(void)unused;
	(void)place;
	*memory = calloc(1, sizeof(**memory));
	if (!*memory || posix_memalign(&(*memory)->base, DEPTH * LITEPCIE_RECORD_SIZE, bytes))
		return -ENOMEM;
	memset((*memory)->base, 0xee, bytes);
	(*memory)->size = bytes;
	fake_memory_free(NULL, kind);
	card.memory[kind] = *memory;
	*iova = kind == LITEPCIE_MEMORY_NOTICES ? NOTICES_IOVA : IOVA + kind * 0x1000000u;
	return 0;
}

/*
 * Stand in for a back end's sleep. Back ends give up the library's lock while they sleep, and so
 * does this one if card.stops is set.
 */
static int fake_sleep(struct litepcie *unused, int timeout_ms)
{
	unsigned int raised = card.raised;

	(void)unused;
	(void)timeout_ms;
	card.sleeps++;
	card.raised = 0;
	dev.stats.interrupts += raised;
	if (card.stops) {
		card.stops = false;
		litepcie_unlock(&dev, 0);
		CHECK_EQUAL(run_stop(&dev), 0);
		litepcie_lock(&dev);
	}
	return raised != 0;
}

static int fake_asked_back(struct litepcie *unused)
{
	(void)unused;
	return card.wanted ? -ENODEV : 0;
}

static int fake_event_fd(const struct litepcie *unused)
{
	static int fd = -1;

	(void)unused;
	if (fd < 0)
		fd = eventfd(0, EFD_CLOEXEC);
	return fd;
}

static const struct litepcie_backend fake = {
	.name = "fake", .channel = &litepcie_table_channel, .readl = fake_readl, .post = fake_post,
	.memory = fake_memory, .memory_free = fake_memory_free, .sleep = fake_sleep, .event_fd = fake_event_fd,
	.asked_back = fake_asked_back,
};

static struct litepcie_dma_registers direction(uint32_t base)
{
	return (struct litepcie_dma_registers) {
		base + ENABLE, base + VALUE, base + PUSH, base + LOOP, base + STATUS, base + FLUSH,
	};
}

static void free_memory(void)
{
	litepcie_stream_close(&dev.h2c);
	litepcie_stream_close(&dev.c2h);
	fake_memory_free(&dev, LITEPCIE_MEMORY_NOTICES);
}

/*
 * Set up the handle of a card that was just opened. @records says whether the card writes records.
 */
static void open_card(bool records)
{
	pthread_condattr_t monotonic;

	free_memory();
	memset(&card, 0, sizeof(card));
	if (dev.timer > 0)
		close(dev.timer);
	if (dev.news > 0)
		close(dev.news);
	memset(&dev, 0, sizeof(dev));
	dev.timer = dev.news = -1;
	dev.backend = &fake;
	dev.bar_size[0] = sizeof(card.word);
	dev.card = (struct litepcie_card) {
		.table_depth = DEPTH, .clock_hz = 250000000, .tick_ps = 4000, .data_width = 8 * BEAT,
	};
	litepcie_streams_init(&dev);
	dev.map.h2c = direction(H2C);
	dev.map.c2h = direction(C2H);
	dev.map.loopback = LOOPBACK;
	dev.map.irq_enable = CAUSES;
	dev.map.irq_clear = CLEAR;
	dev.map.h2c_cause = 1;
	dev.map.c2h_cause = 2;
	dev.map.counters_control = COUNTERS;
	dev.map.streams[STREAM_RC][STREAM_PAYLOAD_BYTES] = RECEIVED;
	dev.map.time_low = CLOCK;
	dev.map.time_high = CLOCK + 4;
	if (records)
		dev.map.notices = (struct litepcie_notice_registers) {
			RECORDS, ENTRIES, { LINE_H2C, LINE_C2H }, SILENCE, CONTROL,
		};
	pthread_mutex_init(&dev.lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&dev.woken, &monotonic);
	pthread_condattr_destroy(&monotonic);
	CHECK_EQUAL(run_shape(&dev, SIZE, COUNT), 0);
}

static void start_with(struct run_config config)
{
	if (!config.directions)
		config.directions = LITEPCIE_H2C | LITEPCIE_C2H;
	CHECK_EQUAL(run_start(&dev, &config), 0);
	card.reads = card.status_reads = 0;
}

static void begin(void)
{
	open_card(true);
	start_with((struct run_config) { 0 });
}

static bool says(const char *words)
{
	return strstr(litepcie_why(&dev), words) != NULL;
}

/* Start and stop ------------------------------------------------------------------------------ */

/*
 * The library puts the ring of records at a multiple of its size, and gives each status line a
 * cache line of its own. All of this memory is zeroed before the card may write to it.
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

/* Counts from memory -------------------------------------------------------------------------- */

/*
 * Each record counts as a filled c2h buffer, with or without a status line. The library reads no
 * register for it, even over several rounds of the ring.
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
	 * this record is of the next round of the ring, and lies in the place of the first record
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

/* When registers are read --------------------------------------------------------------------- */

/*
 * A long wait without a new record reads the card's registers, to find a card that has lost its
 * state. So does a program that has looked with a timeout of 0 for that long.
 */
static void a_silent_card_is_asked(void)
{
	begin();
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, LITEPCIE_WAIT_SLICE_MS), 0);
	CHECK(card.status_reads > 0);
	card.dead = true;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, LITEPCIE_WAIT_SLICE_MS), -EIO);
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
 * The library finds a record that is already in memory without a sleep, but now and then it sleeps
 * for 0 ms, to take pending interrupts. After litepcie_dma_fd() it sleeps at every wait.
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
	CHECK_EQUAL(litepcie_dma_fd(&dev), fake_event_fd(&dev));
	card.sleeps = 0;
	for (uint64_t n = 4 * COUNT; n < 5 * COUNT; n++) {
		put_record(n, SIZE, 0);
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	}
	CHECK_EQUAL(card.sleeps, COUNT);
	CHECK_EQUAL(card.reads, 0);
}

/*
 * With a timeout of 0, peek and get find what the card has done since: without a wait before, and
 * without a change of the descriptor of litepcie_dma_fd(). Now and then they take pending
 * interrupts, but not after litepcie_dma_fd(), since that would clear the descriptor. A card that
 * is gone is noticed.
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
	CHECK_EQUAL(litepcie_dma_fd(&dev), fake_event_fd(&dev));
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

/* Waits and stops ----------------------------------------------------------------------------- */

/*
 * An interrupt from before a run is not counted in the run. Error counts that the library read once
 * stay known after the run, even if the card's status line has lost them.
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
 * The library holds back less than a batch of buffers. But before a sleep it hands them over if the
 * card would run out of buffers.
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
 * A drain of h2c waits until the user's logic has taken all data, since a stop would lose the data
 * that is left.
 */
static void a_drain_waits_for_the_logic(void)
{
	begin();
	dev.map.h2c_tells_taken = true;
	CHECK_EQUAL(h2c_submit(&dev, 1), 0);
	line(LINE_H2C)->buffers = 1;
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK(says("its logic has not taken it"));
	card.word[(H2C + ENABLE) / 4] |= 4;
	CHECK_EQUAL(h2c_drain(&dev, 1), 0);
}

/*
 * Another thread stops the DMA in each sleep, where a call gives up the lock. The call must notice
 * that stop.
 */
static void a_stop_is_heard_of_in_each_sleep(void)
{
	begin();
	card.stops = true;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -ECANCELED);
	begin();
	CHECK_EQUAL(h2c_submit(&dev, 1), 0);
	card.stops = true;
	CHECK_EQUAL(h2c_drain(&dev, 1000), -ECANCELED);
	begin();
	for (uint64_t n = 0; card.sleeps == 0 || n == 0; n++) {
		put_record(n, SIZE, 0);
		card.sleeps = 0;
		card.stops = true;
		if (litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000) != 1)
			break;
		CHECK_EQUAL(c2h_release(&dev, 1), 0);
	}
	CHECK(card.sleeps != 0 && says("another thread stopped the DMA"));
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
 * Check that one thread sleeps for all waiting threads, and wakes all of them if it finds a record.
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
	litepcie_unlock(&dev, 0);
	for (unsigned int n = 0; n < 3; n++)
		pthread_join(threads[n], NULL);
	CHECK_EQUAL(dev.stats.woken_by_timeout, 0);
}

/*
 * A thread that waits while another one sleeps for it waits for its whole timeout. The timeout in
 * this test runs over the end of a second, where tv_nsec wraps.
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
	litepcie_unlock(&dev, 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	CHECK((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 >= 99);
}

/* Looks by timer ------------------------------------------------------------------------------ */

static bool silent(unsigned int way)
{
	for (unsigned int n = 0; n < card.pushed[way]; n++)
		if (!(card.lengths[way][n] & LITEPCIE_DESCRIPTOR_IRQ_DISABLE))
			return false;
	return true;
}

static void looks_have_their_rules(void)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H, .poll_us = 9,
	};

	open_card(true);
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("a look every 9 us: it must be from 10 to 1000000"));
	config.poll_us = 1000001;
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("a look every 1000001 us"));
	config = (struct run_config) { .directions = LITEPCIE_C2H, .adaptive = true };
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("adaptive looks without a time between two"));
}

/*
 * In a run with poll_us the library enables no interrupt cause, and no descriptor asks for an
 * interrupt. Finished buffers are still found.
 */
static void a_card_that_is_polled_raises_nothing(bool records)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	uint64_t first;

	open_card(records);
	start_with((struct run_config) { .poll_us = 10 });
	CHECK_EQUAL(h2c_submit(&dev, 3), 0);
	CHECK(silent(0) && silent(1) && card.pushed[0] == 3 && card.pushed[1] == COUNT);
	CHECK_EQUAL(card.word[CAUSES / 4], 0);
	CHECK_EQUAL(c2h_peek(&dev, &first, 5), 0);
	card.word[(C2H + STATUS) / 4] = 2;
	if (records) {
		put_record(0, SIZE, 0);
		put_record(1, SIZE, 0);
		line(LINE_C2H)->buffers = 2;
	}
	CHECK(c2h_peek(&dev, &first, 1000) > 0);
	CHECK(!records || card.reads == 0);
	card.reads = 0;
	CHECK_EQUAL(run_stop(&dev), 0);
	litepcie_stats(&dev, &stats);
	CHECK(stats.woken_by_timeout == 0 && stats.interrupts_missed == 0);
	CHECK_EQUAL(stats.interrupts_expected, 0);
	start_with((struct run_config) { 0 });
	CHECK_EQUAL(card.word[CAUSES / 4], 3);
}

/*
 * Wait until the library's next look by the timer is due, then call the library with a timeout of
 * 0.
 */
static int look(void)
{
	usleep(2000);
	return litepcie_dma_wait(&dev, LITEPCIE_C2H, 0);
}

/*
 * In adaptive mode the DMA's interrupts are enabled until one comes, disabled while looks find
 * buffers, and then enabled again.
 */
static void an_interrupt_begins_the_looks(void)
{
	open_card(true);
	start_with((struct run_config) { .poll_us = 1000, .adaptive = true });
	CHECK(!silent(1));
	for (uint64_t round = 0; round < 3; round++) {
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 3);
		card.raised = 1;
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 0);
		/* if dev->watched is not set, the library would look at memory before it waits */
		dev.watched = true;
		for (uint64_t n = 4 * round; n < 4 * round + 4; n++) {
			put_record(n, SIZE, 0);
			CHECK_EQUAL(look(), 1);
			CHECK_EQUAL(card.word[CAUSES / 4], 0);
		}
		CHECK_EQUAL(c2h_release(&dev, 4), 0);
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 3);
	}
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK_EQUAL(card.word[CAUSES / 4], 0);
}

/* Lengths of buffers -------------------------------------------------------------------------- */

static uint32_t bytes_of(unsigned int way, unsigned int n)
{
	return card.lengths[way][n] & 0xffffff;
}

static void a_flush_time_has_its_rules(void)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H, .flush_us = 1,
	};

	open_card(true);
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("a flush time of 1 us without packets"));
	config.packets = true;
	config.flush_us = 1000001;
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("a flush time of 1000001 us: it must be at most 1000000"));
	config.flush_us = 1000000;
	CHECK_EQUAL(run_start(&dev, &config), 0);
	CHECK_EQUAL(card.word[SILENCE / 4], 250000000);
}

/*
 * Descriptors have the flag LAST_DISABLE only without packets. A length belongs to its buffer for
 * one round of the ring: in the next round the buffers are whole again.
 */
static void buffers_have_lengths(bool packets)
{
	uint32_t flag = packets ? 0 : LITEPCIE_DESCRIPTOR_LAST_DISABLE;

	open_card(true);
	start_with((struct run_config) { .packets = packets, .batch = 2 });
	CHECK_EQUAL(bytes_of(1, 0), SIZE);
	CHECK_EQUAL(h2c_submit(&dev, 3), 0);
	CHECK_EQUAL(h2c_send(&dev, 77), 0);
	CHECK_EQUAL(h2c_submit(&dev, 2), 0);
	CHECK_EQUAL(h2c_send(&dev, SIZE), 0);
	CHECK_EQUAL(h2c_send(&dev, 1), 0);
	line(LINE_H2C)->buffers = card.word[(H2C + STATUS) / 4] = 8;
	CHECK_EQUAL(h2c_submit(&dev, 8), 0);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 1);
	CHECK_EQUAL(h2c_submit(&dev, 8), 0);
	CHECK_EQUAL(card.pushed[0], 24);
	for (unsigned int n = 0; n < 24; n++) {
		CHECK_EQUAL(bytes_of(0, n), n == 3 ? 77 : n == 7 ? 1 : SIZE);
		CHECK_EQUAL(card.lengths[0][n] & LITEPCIE_DESCRIPTOR_LAST_DISABLE, flag);
	}
	for (unsigned int n = 0; n < COUNT; n++)
		CHECK_EQUAL(card.lengths[1][n] & LITEPCIE_DESCRIPTOR_LAST_DISABLE, flag);
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK(says("received 24654 of 90190 bytes"));
	line(LINE_H2C)->buffers = card.word[(H2C + STATUS) / 4] = 24;
	CHECK_EQUAL(h2c_drain(&dev, 1), 0);
}

static void *send_until_stopped(void *unused)
{
	uint64_t sent = 0;

	while (h2c_send(&dev, 1 + sent % SIZE) == 0) {
		sent++;
		if (sent % 8)
			continue;
		litepcie_lock(&dev);
		if (dev.h2c.active)
			line(LINE_H2C)->buffers = sent;
		litepcie_unlock(&dev, 0);
		if (litepcie_dma_wait(&dev, LITEPCIE_H2C, 0) != 1)
			break;
	}
	CHECK_EQUAL(h2c_send(&dev, 1), -EINVAL);
	return unused;
}

/*
 * Another thread stops the DMA at various moments while this thread sends buffers with lengths. The
 * next send after the stop returns -EINVAL.
 */
static void a_stop_ends_lengths(void)
{
	pthread_t thread;

	for (int i = 0; i < 50; i++) {
		open_card(true);
		start_with((struct run_config) { .directions = LITEPCIE_H2C });
		pthread_create(&thread, NULL, send_until_stopped, NULL);
		usleep((unsigned int)i * 20);
		CHECK_EQUAL(run_stop(&dev), 0);
		pthread_join(thread, NULL);
	}
}

/*
 * If the card counts an h2c buffer as done before its data has arrived, the card's count of
 * received bytes says which buffers the program may fill again.
 */
static void bytes_settle_short_buffers(void)
{
	uint64_t first;

	open_card(false);
	dev.map.h2c_in_flight = 2 * SIZE;
	start_with((struct run_config) { .directions = LITEPCIE_H2C });
	CHECK_EQUAL(h2c_send(&dev, 77), -EINVAL);
	CHECK(says("must be a multiple of 32"));
	CHECK_EQUAL(h2c_submit(&dev, 4), 0);
	card.word[(H2C + STATUS) / 4] = 4;
	CHECK_EQUAL(h2c_get(&dev, &first, 0), COUNT - 4);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 1);
	CHECK_EQUAL(dev.h2c.hw, 2);
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(h2c_send(&dev, BEAT), 0);
	card.word[(H2C + STATUS) / 4] = 14;
	card.word[RECEIVED / 4 + 1] = 4 * SIZE + 3 * BEAT;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 1);
	CHECK_EQUAL(dev.h2c.hw, 7);
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	card.word[RECEIVED / 4 + 1] = 4 * SIZE + 10 * BEAT;
	CHECK_EQUAL(h2c_drain(&dev, 1), 0);
	CHECK_EQUAL(h2c_send(&dev, 2 * BEAT), 0);
	card.word[(H2C + STATUS) / 4] = 15;
	card.word[RECEIVED / 4 + 1] += 2 * BEAT;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 1);
	CHECK_EQUAL(dev.h2c.hw, 15);
}

int main(void)
{
	the_card_is_told_where_to_write();
	records_say_what_is_filled();
	the_line_says_what_is_fetched();
	what_cannot_be_is_not_believed();
	a_record_has_length_and_flags();
	a_silent_card_is_asked();
	a_look_at_memory_saves_sleeps();
	a_look_without_a_wait_finds_news(true);
	a_look_without_a_wait_finds_news(false);
	without_records_the_register_counts();
	a_run_has_its_own_counts();
	a_wait_hands_over_what_the_card_runs_out_of();
	a_drain_waits_for_the_logic();
	a_stop_is_heard_of_in_each_sleep();
	a_card_that_is_asked_back_ends_a_wait();
	news_wakes_all();
	who_follows_sleeps();
	looks_have_their_rules();
	a_card_that_is_polled_raises_nothing(false);
	a_card_that_is_polled_raises_nothing(true);
	an_interrupt_begins_the_looks();
	a_flush_time_has_its_rules();
	buffers_have_lengths(false);
	buffers_have_lengths(true);
	bytes_settle_short_buffers();
	a_stop_ends_lengths();
	free_memory();
	return failed_checks != 0;
}
