/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test map.c: the library finds the registers that it uses on cards with all blocks and on cards
 * with only the needed ones. If a card lacks a register, the sentence names the register.
 */
#include "words_card.h"

/*
 * Add the block for the sorting of frames to @queues capture queues. The registers of the block lie
 * 8 bytes apart. The block says that the card has @rules rules, and @entries entries of the spread
 * (the table that gives a frame's queue).
 */
static void add_queues(uint32_t offset, uint32_t queues, uint32_t rules, uint32_t entries)
{
	uint32_t *parameter = add_block(LITEPCIE_BLOCK_CAPTURE_QUEUES, offset, 12);

	for (uint32_t n = 0; n < LITEPCIE_CAPTURE_QUEUES_QUEUES; n++)
		parameter[n] = 8 * n;
	parameter[LITEPCIE_CAPTURE_QUEUES_QUEUES] = queues;
	parameter[LITEPCIE_CAPTURE_QUEUES_RULES] = rules;
	parameter[LITEPCIE_CAPTURE_QUEUES_ENTRIES] = entries;
	parameter[LITEPCIE_CAPTURE_QUEUES_QUOTA] = 8 * LITEPCIE_CAPTURE_QUEUES_QUEUES;
	sign_table();
}

static void add_all_blocks(void)
{
	uint32_t *capture;

	add_needed_blocks();
	add_block(LITEPCIE_BLOCK_USER, 0x4000, 2)[LITEPCIE_USER_CAUSE] = 6;
	add_block(LITEPCIE_BLOCK_RECORDS, 0x4800, 8)[LITEPCIE_RECORDS_MOST_ENTRIES] = 256;
	add_block(LITEPCIE_BLOCK_SLOT, 0x5000, 2)[LITEPCIE_SLOT_WIDTH] = 48;
	capture = add_block(LITEPCIE_BLOCK_CAPTURE, 0x5800, 12);
	capture[LITEPCIE_CAPTURE_STAGING_BYTES] = 12345;
	capture[LITEPCIE_CAPTURE_CLOCK_OFFSET] = 0x88;
	add_block(LITEPCIE_BLOCK_PLAYER, 0x6000, 2);
	add_queues(0x6800, 4, 16, 128);
	add_block(LITEPCIE_BLOCK_CAPTURE_NET, 0x7000, 3)[LITEPCIE_CAPTURE_NET_LOST] = 4;
	sign_table();
}

/* A capture block of an older gateware has no clock that can be set. */
static void an_older_capture_has_no_clock(void)
{
	begin_card();
	add_needed_blocks();
	add_block(LITEPCIE_BLOCK_CAPTURE, 0x5800, LITEPCIE_CAPTURE_CLOCK_OFFSET);
	sign_table();
	know_card();
	CHECK_EQUAL(litepcie_map_build(&dev), 0);
	CHECK(dev.map.capture.control != 0);
	CHECK_EQUAL(dev.map.capture.clock_offset, 0);
}

/* On a card with all blocks the offsets in dev.map must lie in the blocks of their registers. */
static void all_registers_of_a_full_card_are_found(void)
{
	const struct litepcie_map *map = &dev.map;

	begin_card();
	add_all_blocks();
	know_card();
	CHECK_EQUAL(litepcie_map_build(&dev), 0);
	CHECK_EQUAL(map->identifier, 0x0800);
	CHECK_EQUAL(map->time_low, 0x2800);
	CHECK_EQUAL(map->irq_clear, 0x1804);
	CHECK_EQUAL(map->c2h.enable, 0x2000);
	CHECK_EQUAL(map->c2h.push, 0x200c);
	CHECK_EQUAL(map->h2c.enable, 0x2020);
	CHECK_EQUAL(map->h2c.flush, 0x203c);
	CHECK_EQUAL(map->loopback, 0x2040);
	CHECK_EQUAL(map->streams[0][0], 0x300c);
	CHECK(map->streams[STREAM_RC][STREAM_PAYLOAD_BYTES] > map->streams[2][5]);
	CHECK(map->notices.control >= 0x4800 && map->notices.line[0] != map->notices.line[1]);
	CHECK(map->notices.line[0] >= 0x4800 && map->notices.line[1] >= 0x4800);
	CHECK(map->slot.now >= 0x5000 && map->slot.c2h.stalls > map->slot.h2c.stalls);
	CHECK_EQUAL(map->slot.mask, 0xffffffffffffLL);
	CHECK(map->capture.control >= 0x5800 && map->capture.account_bytes > map->capture.control);
	CHECK_EQUAL(map->capture.staging_bytes, 12345);
	CHECK_EQUAL(map->capture.clock_offset, 0x5888);
	CHECK_EQUAL(map->capture.clock_low, 0x5894);
	CHECK_EQUAL(map->capture.clock_high, 0x5898);
	CHECK(map->player.control >= 0x6000 && map->player.ended > map->player.control);
	CHECK_EQUAL(map->sorter.select, 0x6800);
	CHECK_EQUAL(map->sorter.discard_bytes, 0x6838);
	CHECK_EQUAL(map->sorter.queues, 4);
	CHECK_EQUAL(map->sorter.quota, 0x6840);
	CHECK_EQUAL(map->net.control, 0x7000);
	CHECK_EQUAL(map->net.lost, 0x7004);
	CHECK_EQUAL(map->user_cause, 1 << 6);
	CHECK_EQUAL(map->h2c_cause, 1 << 3);
	CHECK_EQUAL(map->c2h_cause, 1 << 4);
	CHECK_EQUAL(map->h2c_in_flight, 4096);
	CHECK(!map->h2c_tells_taken);
}

static void a_card_may_lack_what_not_every_card_has(void)
{
	begin_card();
	add_needed_blocks();
	know_card();
	CHECK_EQUAL(litepcie_map_build(&dev), 0);
	CHECK_EQUAL(dev.map.notices.control, 0);
	CHECK_EQUAL(dev.map.slot.now, 0);
	CHECK_EQUAL(dev.map.capture.control, 0);
	CHECK_EQUAL(dev.map.sorter.queues, 0);
	CHECK_EQUAL(dev.map.player.control, 0);
	CHECK_EQUAL(dev.map.user_cause, 0);
}

/*
 * The library must not use the records of a card if their ring has fewer entries than the card's
 * descriptor table: a record could be overwritten before it is read.
 */
static void records_without_room_are_not_used(void)
{
	begin_card();
	add_needed_blocks();
	add_block(LITEPCIE_BLOCK_RECORDS, 0x4800, 8)[LITEPCIE_RECORDS_MOST_ENTRIES] = 255;
	sign_table();
	know_card();
	CHECK_EQUAL(litepcie_map_build(&dev), 0);
	CHECK_EQUAL(dev.map.notices.control, 0);
}

static void a_block_of_another_version_is_not_used(void)
{
	begin_card();
	add_needed_blocks();
	add_block_at(LITEPCIE_BLOCK_SLOT, 2, 0, 0, 0x5000, 2)[LITEPCIE_SLOT_WIDTH] = 48;
	add_block_at(LITEPCIE_BLOCK_PLAYER, 2, 0, 0, 0x6000, 2);
	add_block_at(LITEPCIE_BLOCK_RECORDS, 2, 0, 0, 0x4800, 8)[LITEPCIE_RECORDS_MOST_ENTRIES] =
		256;
	sign_table();
	know_card();
	CHECK_EQUAL(litepcie_map_build(&dev), 0);
	CHECK_EQUAL(dev.map.slot.now, 0);
	CHECK_EQUAL(dev.map.player.control, 0);
	CHECK_EQUAL(dev.map.notices.control, 0);
}

/*
 * If a card's number of capture queues, of rules for sorting frames, or of entries of the spread
 * (the table that gives a frame's queue) is not one that the library can use, the library uses the
 * card as one with a single queue.
 */
static void queues_of_another_size_are_not_used(void)
{
	static const uint32_t sizes[][3] = { { 0, 16, 128 }, { 17, 16, 128 }, { 4, 32, 128 },
					     { 4, 16, 64 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin_card();
		add_needed_blocks();
		add_queues(0x6800, sizes[i][0], sizes[i][1], sizes[i][2]);
		know_card();
		CHECK_EQUAL(litepcie_map_build(&dev), 0);
		CHECK_EQUAL(dev.map.sorter.queues, 0);
	}
}

/*
 * The library needs a mask with as many bits as the counters of the user slot's monitor have. It
 * must be right for each width in the capability table. A width of 0 or 64 must not lead to a shift
 * by 64 bits, which is undefined in C.
 */
static void any_width_of_the_slot_s_counters_has_a_mask(void)
{
	static const uint32_t widths[] = { 0, 1, 48, 63, 64 };
	static const uint64_t masks[] = {
		UINT64_MAX, 1, 0xffffffffffff, UINT64_MAX >> 1, UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		begin_card();
		add_needed_blocks();
		add_block(LITEPCIE_BLOCK_SLOT, 0x5000, 2)[LITEPCIE_SLOT_WIDTH] = widths[i];
		sign_table();
		know_card();
		CHECK_EQUAL(litepcie_map_build(&dev), 0);
		CHECK_EQUAL(dev.map.slot.mask, masks[i]);
	}
}

/* A handle of DMA channel 1 must use the registers and the interrupt causes of that channel. */
static void a_channel_has_registers_of_its_own(void)
{
	uint32_t *parameter;

	begin_card();
	add_all_blocks();
	parameter = add_block_at(LITEPCIE_BLOCK_DMA, 1, 1, 0, 0x6800, 12);
	parameter[LITEPCIE_DMA_H2C_CAUSE] = 8;
	parameter[LITEPCIE_DMA_C2H_CAUSE] = 9;
	parameter[LITEPCIE_DMA_H2C_SETTLED] = 1;
	parameter[LITEPCIE_DMA_H2C_TAKEN] = 1;
	sign_table();
	dev.channel = 1;
	know_card();
	CHECK_EQUAL(litepcie_map_build(&dev), 0);
	CHECK_EQUAL(dev.map.c2h.enable, 0x6800);
	CHECK_EQUAL(dev.map.h2c_cause, 1 << 8);
	CHECK_EQUAL(dev.map.h2c_in_flight, 0);
	CHECK(dev.map.h2c_tells_taken);
	CHECK_EQUAL(dev.map.notices.control, 0);
}

static void what_is_missing_is_named(void)
{
	begin_card();
	add_needed_blocks();
	dev.channel = 2;
	know_card();
	CHECK_REFUSED(litepcie_map_build(&dev), -EPROTO, "no DMA channel 2; it has 1");
	dev.channel = 0;
	dev.register_count--;
	CHECK_REFUSED(litepcie_map_build(&dev), -EPROTO, "no register pattern_h2c_first_error");
	begin_card();
	add_block(LITEPCIE_BLOCK_DEVICE_TIME, 0x2800, 3)[LITEPCIE_DEVICE_TIME_TICK_PS] = 1;
	sign_table();
	know_card();
	CHECK_REFUSED(litepcie_map_build(&dev), -EPROTO, "no identifier");
}

int main(void)
{
	an_older_capture_has_no_clock();
	all_registers_of_a_full_card_are_found();
	a_card_may_lack_what_not_every_card_has();
	records_without_room_are_not_used();
	a_block_of_another_version_is_not_used();
	queues_of_another_size_are_not_used();
	any_width_of_the_slot_s_counters_has_a_mask();
	a_channel_has_registers_of_its_own();
	what_is_missing_is_named();
	begin_card();
	return failed_checks != 0;
}
