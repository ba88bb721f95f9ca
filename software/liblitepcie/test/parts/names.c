/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test names.c: which registers the library knows by the blocks in a card's capability table, how a
 * register is found by its name, and what a read or write by name does.
 */
#include "words_card.h"

static uint32_t offset_of(const char *name)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };

	return litepcie_register_find(&dev, name, &found) < 0 ? UINT32_MAX : found.offset;
}

static void registers_lie_where_their_blocks_lie(void)
{
	begin_card();
	add_needed_blocks();
	add_block_at(LITEPCIE_BLOCK_DMA, 1, 1, 0, 0x6000, 12);
	know_card();
	CHECK_EQUAL(offset_of("ctrl_scratch"), 0x0004);
	CHECK_EQUAL(offset_of("pcie_dma0_reader_enable"), 0x2020);
	CHECK_EQUAL(offset_of("pcie_dma1_reader_enable"), 0x6020);
	CHECK_EQUAL(offset_of("pcie_dma#_reader_enable"), UINT32_MAX);
	for (unsigned int i = 1; i < dev.register_count; i++)
		CHECK(dev.registers[i - 1].offset <= dev.registers[i].offset);
}

/*
 * The capability table gives the library no registers of a block whose version is not 1, since they
 * may lie elsewhere in that block, nor of a block that is not in BAR0.
 */
static void a_block_that_the_library_does_not_know_gives_no_names(void)
{
	begin_card();
	add_needed_blocks();
	add_block_at(LITEPCIE_BLOCK_REBOOT, 2, 0, 0, 0x6000, 0);
	add_block_at(LITEPCIE_BLOCK_FLASH, 1, 0, 2, 0x6800, 0);
	know_card();
	for (unsigned int i = 0; i < dev.register_count; i++)
		CHECK(dev.registers[i].offset < 0x6000);
}

static void a_block_that_is_there_twice_is_refused(void)
{
	begin_card();
	add_needed_blocks();
	add_block(LITEPCIE_BLOCK_CONTROL, 0x7000, 0);
	CHECK_EQUAL(litepcie_capability_read(&dev), 0);
	CHECK_REFUSED(litepcie_registers_build(&dev), -EPROTO, "names a block twice");
}

static void a_wrong_name_is_told_the_nearest(void)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	uint64_t value;

	begin_card();
	add_needed_blocks();
	know_card();
	CHECK_REFUSED(litepcie_register_find(&dev, "ctrl_scrap", &found), -ENOENT,
		      "the nearest is ctrl_scratch");
	/*
	 * if several names begin with the same number of characters of the wrong name, the error
	 * names the one with the lowest offset
	 */
	CHECK_REFUSED(litepcie_register_find(&dev, "pcie_dma0_x", &found), -ENOENT,
		      "the nearest is pcie_dma0_writer_enable");
	CHECK_REFUSED(litepcie_register_read(&dev, "", &value), -ENOENT,
		      "the nearest is ctrl_scratch");
	CHECK_EQUAL(litepcie_register(&dev, 0, &found), 0);
	CHECK_REFUSED(litepcie_register(&dev, dev.register_count, &found), -ENOENT, "are known");
}

static void values_are_read_whole(void)
{
	uint64_t value = 0;

	begin_card();
	add_needed_blocks();
	know_card();
	card.word[0x0004 / 4] = 0x12345678;
	CHECK_EQUAL(litepcie_register_read(&dev, "ctrl_scratch", &value), 0);
	CHECK_EQUAL(value, 0x12345678);
	card.word[0x3004 / 4] = 0xa;
	card.word[0x3008 / 4] = 0xb;
	CHECK_EQUAL(litepcie_register_read(&dev, "pcie_counters_time", &value), 0);
	CHECK_EQUAL(value, 0xa0000000bLL);
}

static void values_are_written_in_order_or_refused(void)
{
	begin_card();
	add_needed_blocks();
	know_card();
	CHECK_EQUAL(litepcie_register_write(&dev, "pcie_dma0_reader_table_value", 0xc0000000dLL), 0);
	CHECK_EQUAL(card.written[1][0], 0x2024);
	CHECK_EQUAL(card.written[1][1], 0xc);
	CHECK_EQUAL(card.written[0][0], 0x2028);
	CHECK_EQUAL(card.written[0][1], 0xd);
	CHECK_EQUAL(litepcie_register_write(&dev, "ctrl_scratch", UINT32_MAX), 0);
	CHECK_REFUSED(litepcie_register_write(&dev, "ctrl_scratch", 1ULL << 32), -ERANGE, "32 bits");
	CHECK_REFUSED(litepcie_register_write(&dev, "ctrl_bus_errors", 0), -EACCES, "only be read");
	CHECK_EQUAL(card.written[0][0], 0x0004);
}

/*
 * A register of more than two words cannot be read as one value. A register can be added twice only
 * with the same offset and size.
 */
static void a_long_register_is_read_by_its_words(void)
{
	struct litepcie_register wide = { .name = "wide", .offset = 0x5000, .words = 3 };
	uint64_t value;

	begin_card();
	add_needed_blocks();
	know_card();
	CHECK_EQUAL(litepcie_register_add(&dev, &wide), 0);
	CHECK_EQUAL(litepcie_register_add(&dev, &wide), 0);
	wide.offset = 0x5004;
	CHECK_EQUAL(litepcie_register_add(&dev, &wide), -EPROTO);
	CHECK_REFUSED(litepcie_register_read(&dev, "wide", &value), -EOPNOTSUPP, "has 3 words");
}

int main(void)
{
	registers_lie_where_their_blocks_lie();
	a_block_that_the_library_does_not_know_gives_no_names();
	a_block_that_is_there_twice_is_refused();
	a_wrong_name_is_told_the_nearest();
	values_are_read_whole();
	values_are_written_in_order_or_refused();
	a_long_register_is_read_by_its_words();
	begin_card();
	return failed_checks != 0;
}
