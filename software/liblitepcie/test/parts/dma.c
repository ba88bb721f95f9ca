/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the rings of dma.c with a back end that the test controls (rings_card.h): which buffers are
 * handed out to the program, which calls are refused, when buffers are handed to the card, and
 * which of them raise an interrupt.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "rings_card.h"

static void a_start_that_makes_no_sense_is_refused(void)
{
	struct litepcie_stream_options options = { .struct_size = sizeof(options) };
	struct litepcie_stream *stream;

	begin();
	CHECK_EQUAL(litepcie_stream_start(&dev.c2h), -EBUSY);
	CHECK(strstr(litepcie_why(&dev), "c2h runs already"));
	CHECK_EQUAL(litepcie_stream_open(&dev, LITEPCIE_C2H, &options, &stream), -EBUSY);
	CHECK(!stream && strstr(litepcie_why(&dev), "this handle has c2h open already"));
	CHECK_EQUAL(litepcie_stream_open(&dev, 3, &options, &stream), -EINVAL);
	CHECK(strstr(litepcie_why(&dev), "direction 0x3: choose h2c or c2h"));
	CHECK_EQUAL(litepcie_stream_stop(&dev.c2h), 0);
	litepcie_stream_close(&dev.c2h);
	options.loopback = true;
	CHECK_EQUAL(litepcie_stream_open(&dev, LITEPCIE_C2H, &options, &stream), 0);
	CHECK_EQUAL(litepcie_stream_start(stream), -EINVAL);
	CHECK(strstr(litepcie_why(&dev), "h2c runs without loopback: c2h must run in the same"));
	litepcie_stream_close(stream);
	options = (struct litepcie_stream_options) {
		.struct_size = sizeof(options), .poll_us = 100,
	};
	CHECK_EQUAL(litepcie_stream_open(&dev, LITEPCIE_C2H, &options, &stream), 0);
	CHECK_EQUAL(litepcie_stream_start(stream), -EINVAL);
	CHECK(strstr(litepcie_why(&dev), "h2c runs with poll_us 0: c2h must have the same"));
	litepcie_stream_close(&dev.h2c);
	options = (struct litepcie_stream_options) { .struct_size = sizeof(options), .limit = 1 };
	CHECK_EQUAL(litepcie_stream_open(&dev, LITEPCIE_H2C, &options, &stream), -EINVAL);
	CHECK(strstr(litepcie_why(&dev), "a limit of h2c: only c2h has one"));
	CHECK_EQUAL(litepcie_stream_send(&dev.c2h, 1), -EINVAL);
	CHECK_EQUAL(litepcie_stream_drain(&dev.c2h, 0), -EINVAL);
}

static void a_direction_that_does_not_run_gives_no_buffers(void)
{
	uint64_t first;

	begin();
	run_stop(&dev);
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), -EINVAL);
	CHECK_EQUAL(h2c_get(&dev, &first, 0), -EINVAL);
	CHECK_EQUAL(c2h_release(&dev, 0), -EINVAL);
	CHECK_EQUAL(h2c_submit(&dev, 0), -EINVAL);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), -EINVAL);
	CHECK_EQUAL(run_stop(&dev), 0);
}

static void c2h_hands_out_what_is_filled_and_no_more(void)
{
	uint64_t first = 99;

	begin();
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), 0);
	CHECK_EQUAL(c2h_peek(&dev, &first, 1), 0);
	card.on_wait = 5;
	card.wait_result = 1;
	CHECK_EQUAL(c2h_peek(&dev, &first, 1000), 5);
	CHECK_EQUAL(first, 0);
	CHECK_EQUAL(c2h_release(&dev, 6), -EINVAL);
	CHECK_EQUAL(c2h_release(&dev, 3), 0);
	CHECK_EQUAL(card.released, 3);
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), 2);
	CHECK_EQUAL(first, 3);
	CHECK(c2h_buffer(&dev, COUNT + 3) == c2h_buffer(&dev, 3));
}

static void h2c_hands_out_the_whole_ring_and_no_more(void)
{
	uint64_t first = 99;

	begin();
	CHECK_EQUAL(h2c_get(&dev, &first, 0), COUNT);
	CHECK_EQUAL(first, 0);
	CHECK_EQUAL(h2c_submit(&dev, COUNT + 1), -EINVAL);
	CHECK_EQUAL(h2c_submit(&dev, COUNT), 0);
	CHECK_EQUAL(h2c_get(&dev, &first, 0), 0);
	CHECK_EQUAL(h2c_submit(&dev, 1), -EINVAL);
	card.on_wait = 7;
	card.wait_result = 1;
	CHECK_EQUAL(h2c_get(&dev, &first, 1000), 7);
	CHECK_EQUAL(first, COUNT);
}

/*
 * The library notes for each buffer whether its descriptor asks for an interrupt. The note of a
 * buffer that the card still has must stay when further buffers are handed to the card.
 */
static void buffers_keep_their_interrupts_until_they_are_done(void)
{
	uint64_t first;

	begin();
	card.c2h = 80;
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), 80);
	CHECK_EQUAL(c2h_release(&dev, 40), 0);
	CHECK(dev.c2h.asks[31]);
	CHECK_EQUAL(c2h_release(&dev, 40), 0);
	CHECK(dev.c2h.asks[31]);
	CHECK(dev.c2h.asks[63]);
	CHECK(!dev.c2h.asks[62]);
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
	CHECK_EQUAL(h2c_get(&dev, &first, 0), COUNT);
	CHECK_EQUAL(h2c_submit(&dev, 2), 0);
	card.received = 2 * SIZE - 1;
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	card.received = 2 * SIZE;
	CHECK_EQUAL(h2c_drain(&dev, 1), 0);
	CHECK_EQUAL(stats().h2c_done, 2);
}

/*
 * A card without h2c_in_flight counts an h2c buffer as done only when its data has arrived. On such
 * a card a drain of h2c goes by the count of buffers, and not by the card's count of received
 * bytes.
 */
static void drain_goes_by_buffers_where_these_say_enough(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C,
	};

	begin_with(&config, 0);
	CHECK_EQUAL(h2c_submit(&dev, 2), 0);
	/*
	 * the card's count of received bytes also has those of its other DMA channels, so it must
	 * not be used
	 */
	card.received = 1000 * SIZE;
	card.h2c = 1;
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK(strstr(litepcie_why(&dev), "received 4096 of 8192 bytes"));
	card.h2c = 2;
	CHECK_EQUAL(h2c_drain(&dev, 1), 0);
}

static void buffers_that_raise_an_interrupt(void)
{
	struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .c2h_limit = 250,
	};

	begin_with(&config, 0);
	CHECK_EQUAL(dev.c2h.interrupt_every, 32);
	/* the run may fill c2h_limit buffers (250), and the last of them raises an interrupt */
	CHECK_EQUAL(card.asking, 249);
	CHECK_EQUAL(h2c_submit(&dev, 70), 0);
	CHECK_EQUAL(card.asking, 63);
	CHECK_EQUAL(h2c_submit(&dev, 31), 0);
	/* 31 h2c buffers are fewer than interrupt_every, so the last of them raises an interrupt */
	CHECK_EQUAL(card.asking, 100);
	config.interrupt_every = 2 * COUNT;
	begin_with(&config, 0);
	CHECK_EQUAL(dev.c2h.interrupt_every, COUNT);
	run_stop(&dev);
	CHECK_EQUAL(run_shape(&dev, 4096, 16), 0);
	config.interrupt_every = 0;
	CHECK_EQUAL(run_start(&dev, &config), 0);
	/* by default, an interrupt comes for every half of a ring of 16 buffers */
	CHECK_EQUAL(dev.c2h.interrupt_every, 8);
}

/*
 * A release hands buffers to the card only when a whole batch of them is held back. A flush, a
 * drain, and a wait while the card has less than half a ring left hand over all buffers that are
 * held back in their direction.
 */
static void batches_are_handed_over_together(void)
{
	uint64_t first;

	begin_batched(8);
	card.c2h = 20;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(c2h_release(&dev, 7), 0);
	CHECK_EQUAL(card.released, 0);
	CHECK_EQUAL(c2h_release(&dev, 1), 0);
	CHECK_EQUAL(card.released, 8);
	CHECK_EQUAL(c2h_release(&dev, 3), 0);
	CHECK_EQUAL(card.released, 8);
	CHECK_EQUAL(run_flush(&dev, LITEPCIE_C2H), 0);
	CHECK_EQUAL(card.released, 11);
	CHECK_EQUAL(h2c_submit(&dev, 7), 0);
	CHECK_EQUAL(card.submitted, 0);
	CHECK_EQUAL(c2h_release(&dev, 7), 0);
	CHECK_EQUAL(c2h_peek(&dev, &first, 0), 2);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	/*
	 * the 7 c2h buffers that were released last are held back, as the card still has more than
	 * half of the ring to fill
	 */
	CHECK_EQUAL(card.released, 11);
	card.c2h = 140;
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 1);
	CHECK_EQUAL(litepcie_dma_wait(&dev, LITEPCIE_C2H, 0), 0);
	CHECK_EQUAL(card.released, 18);
	CHECK_EQUAL(card.submitted, 0);	/* a wait for c2h hands over no h2c buffers */
	CHECK_EQUAL(h2c_drain(&dev, 1), -ETIMEDOUT);
	CHECK_EQUAL(card.submitted, 7);
	CHECK_EQUAL(stats().batches, 4);
}

static void rings_have_shapes_that_the_card_can_have(void)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H, .batch = 9,
	};

	begin();
	CHECK_EQUAL(litepcie_reset(&dev), -EBUSY);
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK_EQUAL(run_shape(&dev, 4095, 16), -EINVAL);
	CHECK_EQUAL(run_shape(&dev, 2048, 16), -EINVAL);
	CHECK_EQUAL(run_shape(&dev, 8 << 20, 16), -EINVAL);
	CHECK_EQUAL(run_shape(&dev, 4096, 8), -EINVAL);
	CHECK_EQUAL(run_shape(&dev, 4096, 24), -EINVAL);
	CHECK_EQUAL(run_shape(&dev, 4096, 2 * COUNT), -EINVAL);
	CHECK_EQUAL(run_shape(&dev, 4096, 16), 0);
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	config.batch = 8;
	CHECK_EQUAL(run_start(&dev, &config), 0);
}

/* Tests of rings in the program's own memory -------------------------------------------------- */

#define PAGE	4096u
#define RING	(16u * PAGE)

static bool says(const char *words)
{
	return strstr(litepcie_why(&dev), words) != NULL;
}

/*
 * Get memory for a ring, with a read-only page before it and an inaccessible page behind it.
 * Returns the address of the ring.
 */
static uint8_t *get_pages(int flags)
{
	uint8_t *pages = mmap(NULL, RING + 2 * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS,
			      -1, 0);

	CHECK_EQUAL(mprotect(pages, PAGE, PROT_READ), 0);
	CHECK_EQUAL(mprotect(pages + PAGE + RING, PAGE, PROT_NONE), 0);
	return pages + PAGE;
}

static void at_rest(void)
{
	begin();
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK_EQUAL(run_shape(&dev, PAGE, 16), 0);
}

static void a_place_must_be_good(void)
{
	uint8_t *pages = get_pages(MAP_PRIVATE);

	at_rest();
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages + 64, RING), -EINVAL);
	CHECK(says("it must be a multiple of a page, 4096 bytes"));
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, RING - 1), -EINVAL);
	CHECK(says("of 65535 bytes: a ring of 16 buffers of 4096 bytes takes 65536"));
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages - PAGE, RING), -EFAULT);
	CHECK(says("not all of its 65536 bytes are memory that this program may read and write"));
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages + PAGE, RING), -EFAULT);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, SIZE_MAX), -EFAULT);
	CHECK_EQUAL(munmap(pages + RING, PAGE), 0);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages + PAGE, RING), -EFAULT);
	CHECK(!dev.c2h.options.memory);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_H2C, pages, RING), 0);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, RING), -EINVAL);
	CHECK(says("the other direction's ring lies at"));
	CHECK_EQUAL(run_place(&dev, LITEPCIE_H2C, NULL, 0), 0);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, RING), 0);
	munmap(pages - PAGE, RING + PAGE);
}

static void a_back_end_may_want_private_memory(void)
{
	struct litepcie_backend exchanging = fake;
	uint8_t *pages = get_pages(MAP_SHARED);

	at_rest();
	exchanging.exchanges = true;
	dev.backend = &exchanging;
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, RING), -EOPNOTSUPP);
	CHECK(says("is shared memory") && says("MAP_PRIVATE"));
	dev.backend = &fake;
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, RING), 0);
	munmap(pages - PAGE, RING + 2 * PAGE);
}

/*
 * A ring lies in the memory that the program names. New sizes that are too large for this memory
 * are refused, and the ring keeps its old sizes. Without such memory the ring lies in the library's
 * memory again, and can be exported.
 */
static void a_ring_goes_where_it_is_placed(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H,
	};
	uint8_t *pages = get_pages(MAP_PRIVATE);
	uint8_t *own;
	int fd = 0;

	at_rest();
	own = c2h_buffer(&dev, 0);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, pages, RING), 0);
	CHECK(c2h_buffer(&dev, 0) == pages && h2c_buffer(&dev, 0) != pages);
	CHECK_EQUAL(run_shape(&dev, PAGE, 32), -EINVAL);
	CHECK(says("of 65536 bytes: a ring of 32 buffers of 4096 bytes takes 131072"));
	CHECK_EQUAL(run_count(&dev), 16);
	CHECK_EQUAL(run_export(&dev, LITEPCIE_C2H, &fd), -EINVAL);
	CHECK(says("c2h is not running") && fd == -1);
	CHECK_EQUAL(run_start(&dev, &config), 0);
	CHECK(c2h_buffer(&dev, 17) == pages + PAGE);
	CHECK_EQUAL(run_export(&dev, LITEPCIE_C2H, &fd), -EADDRINUSE);
	CHECK(says("the c2h ring lies in this program's own memory"));
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK_EQUAL(run_place(&dev, LITEPCIE_C2H, NULL, 77), 0);
	CHECK_EQUAL(run_shape(&dev, PAGE, 32), 0);
	CHECK_EQUAL(run_start(&dev, &config), 0);
	CHECK(c2h_buffer(&dev, 0) == own);
	CHECK_EQUAL(run_export(&dev, LITEPCIE_C2H, &fd), 0);
	CHECK_EQUAL(fd, 1234);
	munmap(pages - PAGE, RING + 2 * PAGE);
}

int main(void)
{
	a_place_must_be_good();
	a_back_end_may_want_private_memory();
	a_ring_goes_where_it_is_placed();
	batches_are_handed_over_together();
	rings_have_shapes_that_the_card_can_have();
	a_start_that_makes_no_sense_is_refused();
	a_direction_that_does_not_run_gives_no_buffers();
	c2h_hands_out_what_is_filled_and_no_more();
	h2c_hands_out_the_whole_ring_and_no_more();
	buffers_keep_their_interrupts_until_they_are_done();
	progress_without_an_interrupt_is_counted();
	drain_waits_for_the_bytes_themselves();
	drain_goes_by_buffers_where_these_say_enough();
	buffers_that_raise_an_interrupt();
	close_streams();
	return failed_checks != 0;
}
