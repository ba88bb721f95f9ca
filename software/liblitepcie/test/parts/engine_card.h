/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for a card behind litepcie_table_channel, for test programs that call the library's
 * internal functions. The stand-in keeps what the library writes to registers, and moves no data. A
 * test plays the card's progress: it sets the words of registers, and writes records and status
 * lines by put_record() and line().
 */
#ifndef LITEPCIE_TEST_TOLD_CARD_H
#define LITEPCIE_TEST_TOLD_CARD_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "litepcie_capability.h"
#include "dma/table/table.h"
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
	/* number of the library's register reads since start_with() or a test has set it to 0 */
	unsigned int	reads;
	/* number of the reads counted in @reads that were of a loop_status register */
	unsigned int	status_reads;
	/*
	 * for h2c [0] and c2h [1]: word with length and flags of each descriptor that the card was
	 * given, by the descriptor's number modulo 64
	 */
	uint32_t	lengths[2][64];
	unsigned int	pushed[2];
	struct litepcie_memory *memory[LITEPCIE_MEMORIES];
	/*
	 * true: the library has switched the records on, before it enabled c2h, while the memory of
	 * the records or of the status line of c2h had a byte that was not 0
	 */
	bool		dirty;
	/*
	 * true: a register with an address, size or flush time of the records or status lines was
	 * written while its direction was enabled
	 */
	bool		late;
	bool		dead;		/* true: all register reads return all ones */
	/* number of reads of the register at @blocked that still fail with all ones */
	unsigned int	given_up;
	uint32_t	blocked;
	unsigned int	sleeps;
	/* number of raised interrupts that no sleep of the library has taken yet */
	unsigned int	raised;
	/*
	 * in which of the library's next sleeps the DMA is stopped, as another thread of the
	 * program could do; 1: in the next one, 0: in none
	 */
	unsigned int	stops;
	/*
	 * number of sleeps since open_card() or since a sleep in which the DMA was stopped,
	 * whichever was later
	 */
	unsigned int	sleeps_after;
	bool		wanted;		/* true: the kernel wants the program to close the card */
	bool		full;		/* true: memory() has no memory for records and status lines */
} card;

static struct litepcie dev;

static inline struct litepcie_record *entry(uint64_t number)
{
	return (struct litepcie_record *)card.memory[LITEPCIE_MEMORY_NOTICES]->base + number % DEPTH;
}

static inline struct litepcie_status_way *line(unsigned int at)
{
	uint64_t place = (uint64_t)card.word[at / 4] << 32 | card.word[at / 4 + 1];

	return (struct litepcie_status_way *)((uint8_t *)card.memory[LITEPCIE_MEMORY_NOTICES]->base +
					(place - NOTICES_IOVA));
}

static inline void put_record(uint64_t number, uint32_t bytes, uint32_t flags)
{
	*entry(number) = (struct litepcie_record) { bytes, flags, number + 1 };
}

/*
 * Returns true if a byte of the records or of the status line of c2h is not zero. The status line
 * of h2c, which lies between them, is not checked: h2c may run.
 */
static inline bool any_old(void)
{
	const struct litepcie_memory *memory = card.memory[LITEPCIE_MEMORY_NOTICES];

	for (size_t i = 0; i < memory->size; i == DEPTH * LITEPCIE_RECORD_SIZE - 1 ? i += 65 : i++)
		if (((const uint8_t *)memory->base)[i])
			return true;
	return false;
}

static inline void fake_readl(struct litepcie *unused, uint32_t offset, uint32_t *value)
{
	(void)unused;
	card.reads++;
	card.status_reads += offset == H2C + STATUS || offset == C2H + STATUS;
	*value = card.word[offset / 4];
	if (offset == H2C + ENABLE || offset == C2H + ENABLE)
		*value |= LITEPCIE_DMA_ENABLE_IDLE;
	if (offset == CLOCK)
		card.word[CLOCK / 4]++;
	if (card.dead || (offset == card.blocked && card.given_up && card.given_up--))
		*value = NO_ANSWER;
}

static inline int fake_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fake_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

static inline void push(unsigned int way, unsigned int base)
{
	card.lengths[way][card.pushed[way]++ % 64] = card.word[(base + VALUE) / 4];
}

/*
 * True if the register at @offset has an address, size or flush time of the records or status line
 * of a direction that is enabled. It must not be written then.
 */
static inline bool is_late(uint32_t offset)
{
	if (offset == LINE_H2C || offset == LINE_H2C + 4)
		return card.word[(H2C + ENABLE) / 4];
	return offset >= RECORDS && offset < CONTROL && card.word[(C2H + ENABLE) / 4];
}

static inline int fake_post(struct litepcie *unused, const struct litepcie_post *posts,
			    size_t count, enum litepcie_post_by by)
{
	(void)unused;
	(void)by;
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

static inline void fake_memory_free(struct litepcie *unused, unsigned int kind)
{
	(void)unused;
	if (card.memory[kind])
		free(card.memory[kind]->base);
	free(card.memory[kind]);
	card.memory[kind] = NULL;
}

static inline int fake_memory(struct litepcie *unused, unsigned int kind, void *place, size_t bytes,
		       struct litepcie_memory **memory, uint64_t *iova)
{
	(void)unused;
	(void)place;
	if (card.full && kind == LITEPCIE_MEMORY_NOTICES)
		return -ENOMEM;
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
 * Stand in for a back end's sleep. Back ends release the handle's lock while they sleep, and
 * another thread may stop the DMA then. In the sleep that card.stops chooses, this function does
 * that itself.
 */
static inline int fake_sleep(struct litepcie *unused, int timeout_ms)
{
	unsigned int raised = card.raised;

	(void)unused;
	(void)timeout_ms;
	card.sleeps++;
	card.sleeps_after++;
	card.raised = 0;
	dev.stats.interrupts += raised;
	if (card.stops && --card.stops == 0) {
		litepcie_unlock(&dev);
		CHECK_EQUAL(run_stop(&dev), 0);
		litepcie_lock(&dev);
		card.sleeps_after = 0;
	}
	return raised != 0;
}

static inline int fake_state(struct litepcie *unused)
{
	(void)unused;
	return card.wanted ? -ENODEV : 0;
}

static const struct litepcie_backend fake = {
	.name = "fake", .channel = &litepcie_table_channel,
	.read_words = fake_read_words, .post = fake_post,
	.memory = fake_memory, .memory_free = fake_memory_free, .sleep = fake_sleep,
	.state = fake_state,
};

static inline struct litepcie_dma_registers direction(uint32_t base)
{
	return (struct litepcie_dma_registers) {
		base + ENABLE, base + VALUE, base + PUSH, base + LOOP, base + STATUS, base + FLUSH,
	};
}

static inline void free_memory(void)
{
	litepcie_stream_close(&dev.h2c);
	litepcie_stream_close(&dev.c2h);
	fake_memory_free(&dev, LITEPCIE_MEMORY_NOTICES);
}

/*
 * Set up the handle of a card that was just opened, with both streams open. @records says whether
 * the card writes records.
 */
static inline void open_card(bool records)
{
	static int interrupt = -1;
	pthread_condattr_t monotonic;

	free_memory();
	memset(&card, 0, sizeof(card));
	if (dev.timer > 0)
		close(dev.timer);
	if (dev.news > 0)
		close(dev.news);
	memset(&dev, 0, sizeof(dev));
	dev.timer = dev.news = -1;
	if (interrupt < 0)
		interrupt = eventfd(0, EFD_CLOEXEC);
	dev.interrupt = interrupt;
	dev.backend = &fake;
	dev.able = LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_PACKETS;
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

static inline void start_with(struct run_config config)
{
	if (!config.directions)
		config.directions = LITEPCIE_H2C | LITEPCIE_C2H;
	CHECK_EQUAL(run_start(&dev, &config), 0);
	card.reads = card.status_reads = 0;
}

static inline void begin(void)
{
	open_card(true);
	start_with((struct run_config) { 0 });
}

static inline bool says(const char *words)
{
	return strstr(litepcie_why(&dev), words) != NULL;
}

#endif /* LITEPCIE_TEST_TOLD_CARD_H */
