/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A back end without a card, for the test dma.c. The test sets the numbers of finished buffers in
 * the struct `card`, and checks there which buffers the library has handed to the card.
 */
#ifndef LITEPCIE_TEST_RINGS_CARD_H
#define LITEPCIE_TEST_RINGS_CARD_H

#include <errno.h>
#include <string.h>

#include "check.h"
#include "dma/engine/engine.h"
#include "run.h"

#define COUNT	256u
#define SIZE	4096u

static struct {
	/* numbers of finished h2c and c2h buffers that the library's next poll of the card finds */
	uint64_t	h2c, c2h;
	/* number of buffers by which each call of the channel's sleep() raises @h2c and @c2h */
	uint64_t	on_wait;
	int		wait_result;
	/*
	 * numbers of released c2h buffers and submitted h2c buffers that the library has handed to
	 * the card
	 */
	uint64_t	released, submitted;
	/*
	 * number of the last buffer that the library has handed over with the request for an
	 * interrupt; one number for both directions: the later hand-over replaces the earlier
	 */
	uint64_t	asking;
	uint64_t	received;
} card;

/*
 * Stand in for a register read. Each register has one half of card.received, the card's count of
 * received bytes: the upper half at a multiple of 8, and the lower half 4 bytes behind it.
 */
static void fake_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	(void)dev;
	*value = (uint32_t)(offset & 4 ? card.received : card.received >> 32);
}

static int fake_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fake_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

static int fake_write(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		      enum litepcie_post_by by)
{
	(void)dev;
	(void)posts;
	(void)count;
	(void)by;
	return 0;
}

static int fake_run(struct litepcie_stream *stream)
{
	(void)stream;
	return 0;
}

static int fake_progress(struct litepcie *dev, enum litepcie_ask ask)
{
	(void)ask;
	dev->h2c.hw = card.h2c;
	dev->c2h.hw = card.c2h;
	return 0;
}

static int fake_sleep(struct litepcie *dev, int timeout_ms)
{
	(void)dev;
	(void)timeout_ms;
	return 0;
}

static int fake_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	(void)dev;
	(void)directions;
	(void)timeout_ms;
	card.h2c += card.on_wait;
	card.c2h += card.on_wait;
	return card.wait_result;
}

static int fake_post(struct litepcie_stream *stream, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		if (stream->asks[n & (COUNT - 1)])
			card.asking = n;
	if (stream->direction == LITEPCIE_H2C)
		card.submitted = first + count;
	else
		/*
		 * at the start of a run the library hands over the whole c2h ring, which the
		 * program has not released
		 */
		card.released = first + count - COUNT;
	return 0;
}

/* Put the ring into the memory that the program has named, or else into static memory. */
static int fake_setup(struct litepcie_stream *stream)
{
	static uint8_t ring[2][COUNT * SIZE];
	static struct litepcie_memory memory[2];
	bool c2h = stream->direction == LITEPCIE_C2H;

	stream->base = stream->options.memory ? stream->options.memory : ring[c2h];
	memory[c2h].placed = stream->options.memory;
	stream->memory = &memory[c2h];
	return 0;
}

static void fake_free(struct litepcie_stream *stream)
{
	(void)stream;
}

static int fake_export(const struct litepcie_stream *stream)
{
	return stream->direction == LITEPCIE_C2H ? 1234 : -EIO;
}

static const struct litepcie_channel channel = {
	.setup = fake_setup, .free = fake_free, .start = fake_run, .run = fake_run,
	.stop = fake_run, .post = fake_post, .progress = fake_progress, .sleep = fake_wait,
	.export = fake_export,
};

static const struct litepcie_backend fake = {
	.name = "fake", .channel = &channel, .read_words = fake_read_words, .post = fake_write,
	.sleep = fake_sleep,
};

static struct litepcie dev;

static void close_streams(void)
{
	litepcie_stream_close(&dev.h2c);
	litepcie_stream_close(&dev.c2h);
}

static void begin_with(const struct run_config *config, uint32_t in_flight)
{
	close_streams();
	memset(&card, 0, sizeof(card));
	memset(&dev, 0, sizeof(dev));
	dev.backend = &fake;
	litepcie_streams_init(&dev);
	dev.bar_size[0] = 0x20000;
	dev.card.table_depth = COUNT;
	dev.map.h2c_in_flight = in_flight;
	pthread_mutex_init(&dev.lock, NULL);
	pthread_cond_init(&dev.woken, NULL);
	CHECK_EQUAL(run_shape(&dev, SIZE, COUNT), 0);
	CHECK_EQUAL(run_start(&dev, config), 0);
}

static void begin_batched(unsigned int batch)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .batch = batch,
	};

	begin_with(&config, SIZE);
}

static void begin(void)
{
	begin_batched(0);
}

static struct litepcie_stats stats(void)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	litepcie_stats(&dev, &stats);
	return stats;
}

#endif /* LITEPCIE_TEST_RINGS_CARD_H */
