/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rings of dma.c over a back end that does what the test says: what is handed out, what is
 * refused, when the card hears of buffers, and which of them raise an interrupt.
 */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "engine.h"

#define COUNT	256u
#define SIZE	64u	/* of a buffer; nothing here looks at data */

static struct {
	uint64_t	h2c, c2h;	/* what the next poll finds */
	uint64_t	on_wait;	/* what each wait adds to both */
	int		wait_result;
	uint64_t	released, submitted;	/* buffers that the card has heard of */
	uint64_t	asking;			/* number of the last that raises an interrupt */
	uint64_t	received;
} card;

/* All registers are this one: its halves, the upper one first. */
static int fake_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	(void)dev;
	*value = (uint32_t)(offset & 4 ? card.received : card.received >> 32);
	return 0;
}

static int fake_writel(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	(void)dev;
	(void)offset;
	(void)value;
	return 0;
}

static int fake_start(struct litepcie *dev, bool loopback)
{
	(void)dev;
	(void)loopback;
	return 0;
}

static int fake_run(struct litepcie *dev)
{
	(void)dev;
	return 0;
}

static int fake_poll(struct litepcie *dev)
{
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

static int fake_post(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
		     uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		if (table->asks[n & (COUNT - 1)])
			card.asking = n;
	if (table == &dev->h2c_table)
		card.submitted = first + count;
	else
		card.released = first + count - COUNT;	/* the ring was given at the start */
	return 0;
}

static int fake_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	(void)dev;
	(void)size;
	(void)count;
	return 0;
}

static const struct litepcie_channel channel = {
	.setup = fake_setup, .start = fake_start, .run = fake_run, .stop = fake_run,
	.post = fake_post, .poll = fake_poll, .sleep = fake_wait,
};

static const struct litepcie_backend fake = {
	.name = "fake", .channel = &channel, .readl = fake_readl, .writel = fake_writel,
	.sleep = fake_sleep,
};

static struct litepcie dev;

static void begin_with(const struct litepcie_dma_config *config, uint32_t in_flight)
{
	static uint8_t ring[2][COUNT * SIZE];

	litepcie_engine_free(&dev);
	memset(&card, 0, sizeof(card));
	memset(&dev, 0, sizeof(dev));
	dev.backend = &fake;
	dev.buffer_size = SIZE;
	dev.buffer_count = COUNT;
	dev.bar_size[0] = 0x20000;
	dev.h2c.base = ring[0];
	dev.c2h.base = ring[1];
	dev.card.table_depth = COUNT;
	dev.map.h2c_in_flight = in_flight;
	pthread_mutex_init(&dev.lock, NULL);
	pthread_cond_init(&dev.woken, NULL);
	CHECK_EQUAL(litepcie_dma_start(&dev, config), 0);
}

static void begin_batched(unsigned int batch)
{
	const struct litepcie_dma_config config = {
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
	struct litepcie_stats stats;

	litepcie_stats(&dev, &stats);
	return stats;
}

static void a_start_that_makes_no_sense_is_refused(void)
{
	struct litepcie_dma_config config = { .directions = LITEPCIE_C2H };

	begin();
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), -EBUSY);
	CHECK_EQUAL(litepcie_dma_stop(&dev), 0);
	config.loopback = true;
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), -EINVAL);
	config.directions = 0;
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), -EINVAL);
	config.directions = 4;
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), -EINVAL);
	CHECK(litepcie_why(&dev)[0]);
}

static void a_direction_that_does_not_run_gives_no_buffers(void)
{
	uint64_t first;

	begin();
	litepcie_dma_stop(&dev);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), -EINVAL);
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), -EINVAL);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 0), -EINVAL);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 0), -EINVAL);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), -EINVAL);
	CHECK_EQUAL(litepcie_dma_stop(&dev), 0);
}

static void c2h_hands_out_what_is_filled_and_no_more(void)
{
	uint64_t first = 99;

	begin();
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), 0);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 1), 0);
	card.on_wait = 5;
	card.wait_result = 1;
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 1000), 5);
	CHECK_EQUAL(first, 0);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 6), -EINVAL);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 3), 0);
	CHECK_EQUAL(card.released, 3);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), 2);
	CHECK_EQUAL(first, 3);
	CHECK(litepcie_c2h_buffer(&dev, COUNT + 3) == litepcie_c2h_buffer(&dev, 3));
}

static void h2c_hands_out_the_whole_ring_and_no_more(void)
{
	uint64_t first = 99;

	begin();
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), COUNT);
	CHECK_EQUAL(first, 0);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, COUNT + 1), -EINVAL);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, COUNT), 0);
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), 0);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 1), -EINVAL);
	card.on_wait = 7;
	card.wait_result = 1;
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 1000), 7);
	CHECK_EQUAL(first, COUNT);
}

static void progress_without_an_interrupt_is_counted(void)
{
	begin();
	card.on_wait = 1;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), 1);
	CHECK_EQUAL(stats().woken_by_timeout, 1);
	card.wait_result = 1;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), 1);
	CHECK_EQUAL(stats().woken_by_timeout, 1);
	card.wait_result = -ENODEV;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 1000), -ENODEV);
}

static void drain_waits_for_the_bytes_themselves(void)
{
	uint64_t first;

	begin();
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), COUNT);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 2), 0);
	card.received = 2 * SIZE - 1;
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), -ETIMEDOUT);
	card.received = 2 * SIZE;
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), 0);
	CHECK_EQUAL(stats().h2c_done, 2);
}

/* Where a buffer is done when its data is in the card, nothing else need be counted. */
static void drain_goes_by_buffers_where_these_say_enough(void)
{
	const struct litepcie_dma_config config = { .directions = LITEPCIE_H2C };

	begin_with(&config, 0);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 2), 0);
	card.received = 1000 * SIZE;	/* somebody else's */
	card.h2c = 1;
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK(strstr(litepcie_why(&dev), "received 64 of 128 bytes"));
	card.h2c = 2;
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), 0);
}

static void buffers_that_raise_an_interrupt(void)
{
	struct litepcie_dma_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .c2h_limit = 250,
	};

	begin_with(&config, 0);
	CHECK_EQUAL(dev.interrupt_every, 32);
	CHECK_EQUAL(card.asking, 249);		/* the last of all */
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 70), 0);
	CHECK_EQUAL(card.asking, 63);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 31), 0);
	CHECK_EQUAL(card.asking, 100);		/* the last of a short batch */
	config.interrupt_every = 2 * COUNT;
	begin_with(&config, 0);
	CHECK_EQUAL(dev.interrupt_every, COUNT);
	litepcie_dma_stop(&dev);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4096, 16), 0);
	config.interrupt_every = 0;
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), 0);
	CHECK_EQUAL(dev.interrupt_every, 8);	/* half the ring */
}

/* The card hears of a whole batch, or of everything that is held back, never of less. */
static void batches_are_handed_over_together(void)
{
	uint64_t first;

	begin_batched(8);
	card.c2h = 20;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 7), 0);
	CHECK_EQUAL(card.released, 0);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 1), 0);
	CHECK_EQUAL(card.released, 8);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 3), 0);
	CHECK_EQUAL(card.released, 8);
	CHECK_EQUAL(litepcie_dma_flush(&dev, LITEPCIE_C2H), 0);
	CHECK_EQUAL(card.released, 11);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 7), 0);
	CHECK_EQUAL(card.submitted, 0);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 7), 0);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), 2);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(card.released, 11);	/* more than half the ring is still to be filled */
	card.c2h = 140;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(card.released, 18);
	CHECK_EQUAL(card.submitted, 0);	/* another thread's */
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK_EQUAL(card.submitted, 7);
	CHECK_EQUAL(stats().batches, 4);
}

static void rings_have_shapes_that_the_card_can_have(void)
{
	struct litepcie_dma_config config = { .directions = LITEPCIE_C2H, .batch = 9 };

	begin();
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4096, 16), -EBUSY);
	CHECK_EQUAL(litepcie_reset(&dev), -EBUSY);
	CHECK_EQUAL(litepcie_dma_stop(&dev), 0);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4095, 16), -EINVAL);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 2048, 16), -EINVAL);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 8 << 20, 16), -EINVAL);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4096, 8), -EINVAL);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4096, 24), -EINVAL);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4096, 2 * COUNT), -EINVAL);
	CHECK_EQUAL(litepcie_ring_setup(&dev, 4096, 16), 0);
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), -EINVAL);
	config.batch = 8;
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), 0);
}

int main(void)
{
	batches_are_handed_over_together();
	rings_have_shapes_that_the_card_can_have();
	a_start_that_makes_no_sense_is_refused();
	a_direction_that_does_not_run_gives_no_buffers();
	c2h_hands_out_what_is_filled_and_no_more();
	h2c_hands_out_the_whole_ring_and_no_more();
	progress_without_an_interrupt_is_counted();
	drain_waits_for_the_bytes_themselves();
	drain_goes_by_buffers_where_these_say_enough();
	buffers_that_raise_an_interrupt();
	litepcie_engine_free(&dev);
	return failed_checks != 0;
}
