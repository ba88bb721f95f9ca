/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test litepcie_table_channel: polling of the card by a timer, and buffers that are sent in part.
 */
#include <sys/timerfd.h>

#include "engine_card.h"

/* Tests of polling by a timer ----------------------------------------------------------------- */

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
	CHECK(says("poll_us of 9 us: it must be 0, or from 10 to 1000000"));
	config.poll_us = 1000001;
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("poll_us of 1000001 us"));
	config = (struct run_config) { .directions = LITEPCIE_C2H, .adaptive = true };
	CHECK_EQUAL(run_start(&dev, &config), -EINVAL);
	CHECK(says("adaptive without poll_us: set poll_us"));
}

/*
 * In a run with poll_us and without adaptive mode the library enables no interrupt cause of the
 * DMA, and no descriptor asks for an interrupt. Finished buffers are still found.
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
 * Sleep for 2 ms, in which the library's timer of 1 ms for the next poll expires. Then call
 * litepcie_dma_wait() for c2h with a timeout of 0.
 */
static int look(void)
{
	usleep(2000);
	return litepcie_dma_wait(&dev, LITEPCIE_C2H, 0);
}

/*
 * In adaptive mode the DMA's interrupts are enabled until one comes. The library must then clear
 * their causes, disable them and set a timer to poll_us, by which it polls the card. When a poll
 * finds no further finished buffer, the library must enable the interrupts again.
 */
static void an_interrupt_begins_the_looks(void)
{
	struct itimerspec timer;

	open_card(true);
	start_with((struct run_config) { .poll_us = 1000, .adaptive = true });
	CHECK(!silent(1));
	for (uint64_t round = 0; round < 3; round++) {
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 3);
		card.raised = 1;
		card.word[CLEAR / 4] = 0;
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 0);
		CHECK_EQUAL(card.word[CLEAR / 4], 3);
		CHECK_EQUAL(timerfd_gettime(dev.timer, &timer), 0);
		CHECK(!timer.it_interval.tv_sec && timer.it_interval.tv_nsec == 1000000);
		/*
		 * With dev->watched set, as by litepcie_dma_fd(), each call of look() sleeps and so
		 * takes the timer's event. Otherwise the library would find the record in memory
		 * first, and would not sleep.
		 */
		dev.watched = true;
		for (uint64_t n = 4 * round; n < 4 * round + 4; n++) {
			put_record(n, SIZE, 0);
			CHECK_EQUAL(look(), 1);
			CHECK_EQUAL(card.word[CAUSES / 4], 0);
		}
		card.word[(C2H + STATUS) / 4] = 4 * (uint32_t)round + 4;
		CHECK_EQUAL(c2h_release(&dev, 4), 0);
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 3);
	}
	CHECK_EQUAL(run_stop(&dev), 0);
	CHECK_EQUAL(card.word[CAUSES / 4], 0);
}

/*
 * When the card's register counts a c2h buffer, the record of the buffer may still be on its way to
 * memory. No interrupt comes for that record, since interrupts are disabled while the library
 * polls. So polling must not end before the record is found.
 */
static void looks_go_on_for_a_record_that_is_on_its_way(void)
{
	open_card(true);
	start_with((struct run_config) { .poll_us = 1000, .adaptive = true });
	dev.watched = true;
	card.raised = 1;
	CHECK_EQUAL(look(), 0);
	card.word[(C2H + STATUS) / 4] = 1;
	for (unsigned int n = 0; n < 3; n++) {
		CHECK_EQUAL(look(), 0);
		CHECK_EQUAL(card.word[CAUSES / 4], 0);
	}
	put_record(0, SIZE, 0);
	CHECK_EQUAL(look(), 1);
	CHECK_EQUAL(look(), 0);
	CHECK_EQUAL(card.word[CAUSES / 4], 3);
	CHECK_EQUAL(run_stop(&dev), 0);
}

/* Tests of the lengths of h2c buffers --------------------------------------------------------- */

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
 * Descriptors have the flag LAST_DISABLE (the end of the buffer is not the end of a packet) in a
 * run without packets, and lack this flag in a run with packets. A length of an h2c buffer holds
 * for one round of the ring: in the next round the buffer is whole again.
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
		litepcie_unlock(&dev);
		if (litepcie_dma_wait(&dev, LITEPCIE_H2C, 0) != 1)
			break;
	}
	CHECK_EQUAL(h2c_send(&dev, 1), -EINVAL);
	return unused;
}

/*
 * One thread stops the DMA, at another moment in each round, while another thread sends h2c buffers
 * in part. The first send after the stop returns -EINVAL.
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
 * A card whose h2c_in_flight is not 0 may count an h2c buffer as done before all its data has
 * arrived. From the first buffer of a run that is sent in part, the library must tell by the card's
 * count of received bytes which buffers the program may fill again.
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
	looks_have_their_rules();
	a_card_that_is_polled_raises_nothing(false);
	a_card_that_is_polled_raises_nothing(true);
	an_interrupt_begins_the_looks();
	looks_go_on_for_a_record_that_is_on_its_way();
	a_flush_time_has_its_rules();
	buffers_have_lengths(false);
	buffers_have_lengths(true);
	bytes_settle_short_buffers();
	a_stop_ends_lengths();
	free_memory();
	return failed_checks != 0;
}
