/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The rings of dma.c over a back end that does what the test says: what is handed out, what is
 * refused, and what a free-running card overtakes is counted and never handed out.
 */
#include <errno.h>
#include <string.h>

#include "backend.h"
#include "check.h"

#define COUNT	256u
#define SIZE	64u	/* of a buffer; nothing here looks at data */

static struct {
	uint64_t	h2c, c2h;	/* what the next poll finds */
	uint64_t	on_wait;	/* what each wait adds to both */
	int		wait_result;
	unsigned int	released, submitted;
	uint64_t	received;
} card;

static int fake_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	(void)dev;
	(void)offset;
	*value = 0;
	return 0;
}

static int fake_writel(struct litepcie *dev, uint32_t offset, uint32_t value)
{
	(void)dev;
	(void)offset;
	(void)value;
	return 0;
}

static int fake_start(struct litepcie *dev, const struct litepcie_dma_config *config)
{
	(void)dev;
	(void)config;
	return 0;
}

static int fake_stop(struct litepcie *dev)
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

static int fake_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	(void)dev;
	(void)directions;
	(void)timeout_ms;
	card.h2c += card.on_wait;
	card.c2h += card.on_wait;
	return card.wait_result;
}

static int fake_release(struct litepcie *dev)
{
	card.released = (unsigned int)dev->c2h.sw;
	return 0;
}

static int fake_submit(struct litepcie *dev)
{
	card.submitted = (unsigned int)dev->h2c.sw;
	return 0;
}

static int fake_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	dev->buffer_size = size;
	dev->buffer_count = count;
	return 0;
}

static int fake_received(struct litepcie *dev, uint64_t *bytes)
{
	(void)dev;
	*bytes = card.received;
	return 0;
}

static struct litepcie_engine engine = {
	.start = fake_start, .stop = fake_stop, .poll = fake_poll, .wait = fake_wait,
	.c2h_release = fake_release, .h2c_submit = fake_submit, .h2c_received = fake_received,
	.setup = fake_setup,
};

static const struct litepcie_backend fake = {
	.name = "fake", .engine = &engine, .readl = fake_readl, .writel = fake_writel,
};

static struct litepcie dev;

static void begin_batched(bool freerunning, unsigned int batch)
{
	static uint8_t ring[2][COUNT * SIZE];
	struct litepcie_dma_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .batch = batch,
	};

	memset(&card, 0, sizeof(card));
	memset(&dev, 0, sizeof(dev));
	engine.freerunning = freerunning;
	dev.backend = &fake;
	dev.buffer_size = SIZE;
	dev.buffer_count = COUNT;
	dev.bar_size[0] = 0x20000;
	dev.h2c.base = ring[0];
	dev.c2h.base = ring[1];
	dev.card.table_depth = COUNT;
	pthread_mutex_init(&dev.lock, NULL);
	pthread_cond_init(&dev.woken, NULL);
	CHECK_EQUAL(litepcie_dma_start(&dev, &config), 0);
}

static void begin(bool freerunning)
{
	begin_batched(freerunning, 0);
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

	begin(false);
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

	begin(false);
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

	begin(false);
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

	begin(false);
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
	begin(false);
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

	begin(false);
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), COUNT);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, 2), 0);
	card.received = 2 * SIZE - 1;
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), -ETIMEDOUT);
	card.received = 2 * SIZE;
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), 0);
	CHECK_EQUAL(stats().h2c_done, 2);
}

static void a_card_that_runs_free_loses_what_is_not_taken_in_time(void)
{
	uint64_t first;

	begin(true);
	card.c2h = 100;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), 100);
	CHECK_EQUAL(litepcie_c2h_release(&dev, 100), 0);
	card.c2h = 1000;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), COUNT / 4);
	CHECK_EQUAL(first, 1000 - COUNT / 4);
	CHECK_EQUAL(stats().c2h_lost, 1000 - COUNT / 4 - 100);
}

static void what_was_overwritten_while_in_use_proves_nothing(void)
{
	uint64_t first;

	begin(true);
	card.c2h = 32;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_c2h_peek(&dev, &first, 0), 32);
	card.c2h = 192;	/* the guard of 64 still holds */
	CHECK_EQUAL(litepcie_c2h_release(&dev, 16), 0);
	card.c2h = 16 + 193;
	CHECK_EQUAL(litepcie_c2h_release(&dev, 16), -EOVERFLOW);
	CHECK_EQUAL(stats().c2h_lost, 16);
	CHECK_EQUAL(stats().c2h_released, 32);
}

static void a_card_that_runs_free_sends_what_is_not_filled_in_time(void)
{
	uint64_t first;

	begin(true);
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), COUNT);
	CHECK_EQUAL(litepcie_h2c_submit(&dev, COUNT), 0);
	card.h2c = 300;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C, 0), 1);
	CHECK_EQUAL(litepcie_h2c_get(&dev, &first, 0), COUNT - 64);
	CHECK_EQUAL(first, 364);
	CHECK_EQUAL(stats().h2c_late, 364 - COUNT);
	CHECK_EQUAL(litepcie_h2c_drain(&dev, 1), -EOPNOTSUPP);
}

static atomic_bool counted;

static void *count_for_ever(void *unused)
{
	while (!atomic_load(&counted))
		CHECK(stats().c2h_lost + stats().h2c_late < UINT64_MAX / 2);
	return unused;
}

/* What a free-running card overtook is counted while another thread reads the counts. */
static void counts_are_read_by_any_thread(void)
{
	pthread_t reader;
	uint64_t first;

	begin(true);
	atomic_store(&counted, false);
	pthread_create(&reader, NULL, count_for_ever, NULL);
	for (int i = 0; i < 200; i++) {
		card.c2h += COUNT;
		card.h2c += COUNT;
		CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_H2C | LITEPCIE_C2H, 0), 1);
		CHECK(litepcie_c2h_peek(&dev, &first, 0) > 0);
		CHECK(litepcie_h2c_get(&dev, &first, 0) > 0);
	}
	atomic_store(&counted, true);
	pthread_join(reader, NULL);
	CHECK(stats().c2h_lost > 0 && stats().h2c_late > 0);
}

/* The card hears of a whole batch, or of everything that is held back, never of less. */
static void batches_are_handed_over_together(void)
{
	uint64_t first;

	begin_batched(false, 8);
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

	begin(false);
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
	a_card_that_runs_free_loses_what_is_not_taken_in_time();
	what_was_overwritten_while_in_use_proves_nothing();
	a_card_that_runs_free_sends_what_is_not_filled_in_time();
	counts_are_read_by_any_thread();
	return failed_checks != 0;
}
