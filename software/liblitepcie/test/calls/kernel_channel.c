/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how the "kernel" back end hands buffers to the driver, in whole buffers, in packets, and
 * with a length for each h2c buffer. Also test litepcie_features() with several drivers.
 */
#include "calls.h"

/* Tests of handing buffers over to the driver ------------------------------------------------- */

/*
 * The start of a run hands the whole c2h ring (256 buffers) to the driver by one call. Later each
 * batch of released buffers takes one call, until the driver has c2h_limit buffers. The card of
 * this test writes no records, and the library finds filled buffers on the driver's status page
 * without a call.
 */
static void c2h_is_handed_over_in_batches(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .batch = 8, .interrupt_every = 4, .c2h_limit = 270,
	};
	struct litepcie *dev = run_card(&config);
	unsigned int calls;
	uint64_t first;

	CHECK(driver.per_interrupt[1] == 4 && driver.flags[1] == LITEPCIE_RING_INDEXED);
	CHECK(driver.advanced[1] == 256 && driver.advances[1] == 1);
	driver_finish(1, 8);
	calls = driver.calls + driver.polls;
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 8);
	CHECK_EQUAL(c2h_release(dev, 7), 0);
	CHECK_EQUAL(driver.calls + driver.polls, calls);
	CHECK_EQUAL(c2h_release(dev, 1), 0);
	CHECK_EQUAL(driver.calls + driver.polls, calls + 1);
	CHECK(driver.advanced[1] == 264 && driver.notify[1]);
	driver_finish(1, 8);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 8);
	CHECK_EQUAL(c2h_release(dev, 8), 0);
	/*
	 * the library has handed over c2h buffers up to c2h_limit, and asked for an interrupt of
	 * the last
	 */
	CHECK(driver.advanced[1] == 270 && driver.notify[1]);
	driver_finish(1, 254);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 254);
	CHECK_EQUAL(c2h_release(dev, 254), 0);
	CHECK_EQUAL(driver.advances[1], 3);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK(!driver.looped);
	litepcie_close(dev);
}

/*
 * If fewer h2c buffers than interrupt_every are handed over at once, the library asks for an
 * interrupt of the last of them, since no other buffer may follow for a while.
 */
static void h2c_announces_the_end_of_a_short_batch(void)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C, .interrupt_every = 16,
	};
	struct litepcie *dev = run_card(&config);
	uint64_t first;

	CHECK(driver.advances[0] == 0 && driver.advanced[0] == 0);
	CHECK_EQUAL(h2c_get(dev, &first, 0), 256);
	CHECK_EQUAL(h2c_submit(dev, 3), 0);
	CHECK(driver.advanced[0] == 3 && driver.notify[0]);
	CHECK_EQUAL(h2c_submit(dev, 20), 0);
	CHECK(driver.advanced[0] == 23 && !driver.notify[0]);
	CHECK_EQUAL(h2c_submit(dev, 233), 0);
	CHECK_EQUAL(h2c_get(dev, &first, 0), 0);
	driver_finish(0, 100);
	CHECK_EQUAL(h2c_get(dev, &first, 1000), 100);
	CHECK_EQUAL(first, 256);
	litepcie_close(dev);
	CHECK(!driver.owned[0]);
}

/* Tests of packets and of lengths of buffers -------------------------------------------------- */

/*
 * Returns true if the card whose BAR0 the test has loaded writes records (its reports of finished
 * c2h buffers). A run with packets needs a card that does.
 */
static bool has_records(void)
{
	struct litepcie *dev = open_card();
	struct litepcie_block block = { .struct_size = sizeof(block) };
	bool has = litepcie_block_find(dev, LITEPCIE_BLOCK_RECORDS, 0, &block) == 0;

	litepcie_close(dev);
	return has;
}

/*
 * litepcie_features() must be right with Lanebox's driver, whether or not it can use the card's
 * records, and with LitePCIe's. @able: the card writes records.
 */
static void features_are_told(bool able)
{
	struct litepcie *dev;

	driver_reset();
	driver.records = true;
	dev = open_card();
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_STREAMS);
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_PACKETS) == !able);
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_BAR_MAP);
	litepcie_close(dev);

	driver_reset();
	dev = open_card();
	CHECK(litepcie_features(dev) & LITEPCIE_HAS_STREAMS);
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_PACKETS));
	litepcie_close(dev);

	driver_reset();
	driver.stock = true;
	dev = open_card();
	CHECK(!(litepcie_features(dev) & (LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_PACKETS)));
	CHECK(!(litepcie_features(dev) & LITEPCIE_HAS_USER_INTERRUPT));
	litepcie_close(dev);
}

static void packets_take_a_card_and_a_driver(bool able)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .packets = true,
	};
	const struct run_config whole = {
		.directions = LITEPCIE_C2H,
	};
	struct run_record record = { 0 };
	struct litepcie *dev;
	uint64_t first;

	driver_reset();
	dev = open_card();
	CHECK_EQUAL(run_start(dev, &config), -EOPNOTSUPP);
	CHECK(says(dev, able ? "the driver cannot use the card's records" :
			       "the card writes no records"));
	CHECK(!driver.owned[1]);
	CHECK_EQUAL(run_start(dev, &whole), 0);
	driver_finish(1, 1);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 1);
	CHECK_EQUAL(c2h_record(dev, 0, &record), 0);
	CHECK(record.bytes == 8192 && record.flags == 0);
	litepcie_close(dev);
}

static struct litepcie *run_packets(bool packets, unsigned int flush_us)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .packets = packets,
		.flush_us = flush_us, .batch = 4,
	};
	struct litepcie *dev;

	driver_reset();
	driver.records = true;
	dev = open_card();
	CHECK_EQUAL(run_shape(dev, 4096, 16), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	return dev;
}

static void each_start_says_whether_there_are_packets(void)
{
	litepcie_close(run_packets(true, 50));
	CHECK(driver.packets[0] == LITEPCIE_PACKETS_ON && driver.packets[1] == LITEPCIE_PACKETS_ON);
	CHECK(driver.flush_us[0] == 0 && driver.flush_us[1] == 50);
	driver.packets[0] = driver.packets[1] = 77;
	litepcie_close(run_packets(false, 0));
	CHECK(driver.packets[0] == 0 && driver.packets[1] == 0);
}

/*
 * The library must find filled c2h buffers by their records in memory, without a call to the
 * driver, before and after the driver's status page counts these buffers. If the page counts a
 * buffer that has no record, a wait must return -EIO.
 */
static void records_come_without_a_call(void)
{
	struct litepcie *dev = run_packets(true, 0);
	struct run_record record = { 0 };
	unsigned int calls = driver.calls;
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };
	uint64_t first;

	for (uint64_t n = 0; n < 3; n++)
		driver_record(n, 64 + (uint32_t)n, LITEPCIE_RECORD_LAST);
	CHECK_EQUAL(c2h_peek(dev, &first, 1000), 3);
	CHECK_EQUAL(c2h_record(dev, 2, &record), 0);
	CHECK(record.bytes == 66 && record.flags == LITEPCIE_RECORD_LAST);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 0);
	driver_finish(1, 3);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), 0);
	driver_errors(1, 2);
	driver_errors(0, 1);
	CHECK(driver.calls == calls && driver.polls == 0);
	driver_finish(1, 1);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_C2H, 0), -EIO);
	CHECK(says(dev, "filled 4 c2h buffers, but the last has no record"));
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK(stats.c2h_errors == 2 && stats.h2c_errors == 1);
	litepcie_close(dev);
}

/*
 * From the first batch in which an h2c buffer is sent only in part, the library gives the driver
 * the lengths of the buffers of each batch: in one call, or in two calls if the batch wraps round
 * the end of the ring. For earlier batches of the run it gives no lengths.
 */
static void buffers_have_lengths(void)
{
	static const uint32_t wanted[] = { 0, 0, 0, 0, 4096, 77, 4096, 4096 };
	struct litepcie *dev = run_packets(true, 0);

	CHECK_EQUAL(h2c_submit(dev, 4), 0);
	CHECK_EQUAL(h2c_submit(dev, 1), 0);
	CHECK_EQUAL(h2c_send(dev, 77), 0);
	CHECK_EQUAL(h2c_submit(dev, 2), 0);
	CHECK_EQUAL(driver.advances[0], 2);
	for (unsigned int n = 0; n < 8; n++)
		CHECK_EQUAL(driver.lengths[n], wanted[n]);
	driver_finish(0, 8);
	CHECK_EQUAL(litepcie_dma_wait(dev, LITEPCIE_H2C, 1000), 1);
	CHECK_EQUAL(h2c_submit(dev, 6), 0);
	for (uint32_t n = 14; n < 18; n++)
		CHECK_EQUAL(h2c_send(dev, n), 0);
	CHECK(driver.advances[0] == 5 && driver.notify[0]);
	for (uint32_t n = 14; n < 18; n++)
		CHECK_EQUAL(driver.lengths[n], n);
	driver_finish(0, 10);
	CHECK_EQUAL(h2c_drain(dev, 1000), 0);
	litepcie_close(dev);
}

int test_buffers(void)
{
	c2h_is_handed_over_in_batches();
	h2c_announces_the_end_of_a_short_batch();
	features_are_told(has_records());
	packets_take_a_card_and_a_driver(has_records());
	if (has_records()) {
		each_start_says_whether_there_are_packets();
		records_come_without_a_call();
		buffers_have_lengths();
	}
	return failed_checks;
}
