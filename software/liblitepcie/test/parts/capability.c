/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test capability.c: a capability table is read as it was written. A table that cannot be true, and
 * a table with one wrong bit, is refused with a sentence. The argument is the seed, and may be
 * missing.
 */
#include "seed.h"
#include "words_card.h"

/*
 * number of tables with one wrong bit that the test reads, and also number of tables with one
 * random word
 */
#define DAMAGES	3000u

static void a_table_is_read_as_it_was_written(void)
{
	const struct litepcie_block *block;
	uint32_t *parameter;

	begin_card();
	add_needed_blocks();
	parameter = add_block_at(LITEPCIE_BLOCK_MEMORY, 7, 200, 5, 0xfffff000, 3);
	parameter[0] = 11;
	parameter[2] = 13;
	sign_table();
	CHECK_EQUAL(litepcie_capability_read(&dev), 0);
	CHECK_EQUAL(dev.card.blocks, 9);
	CHECK_EQUAL(dev.card.channels, 1);
	CHECK_EQUAL(dev.card.table_depth, 256);
	CHECK_EQUAL(dev.card.tick_ps, 4000);
	CHECK(strcmp(dev.card.target, "a_target") == 0);
	CHECK(strcmp(dev.card.endpoint, "lanebox") == 0);
	CHECK_EQUAL(strlen(dev.card.digest), 64);
	block = litepcie_find_block(&dev, LITEPCIE_BLOCK_MEMORY, 200);
	CHECK(block);
	if (!block)
		return;
	CHECK_EQUAL(block->version, 7);
	CHECK_EQUAL(block->bar, 5);
	CHECK_EQUAL(block->offset, 0xfffff000);
	CHECK_EQUAL(block->size, 0x800);
	/* an entry of the table is padded to a multiple of 8 bytes, so 3 parameters become 4 */
	CHECK_EQUAL(block->parameters, 4);
	CHECK_EQUAL(block->parameter[0], 11);
	CHECK_EQUAL(block->parameter[2], 13);
}

/*
 * An entry may have more parameters than a struct litepcie_block holds. Its first
 * LITEPCIE_PARAMETERS must be kept, and the next entry must be found.
 */
static void parameters_beyond_the_struct_are_left_out(void)
{
	uint32_t *parameter;

	begin_card();
	add_needed_blocks();
	parameter = add_block(LITEPCIE_BLOCK_MEMORY, 0, LITEPCIE_PARAMETERS + 2);
	parameter[LITEPCIE_PARAMETERS - 1] = 5;
	add_block(LITEPCIE_BLOCK_MSIX, 0, 0);
	sign_table();
	CHECK_EQUAL(litepcie_capability_read(&dev), 0);
	CHECK_EQUAL(litepcie_find_block(&dev, LITEPCIE_BLOCK_MEMORY, 0)->parameters,
		    LITEPCIE_PARAMETERS);
	CHECK_EQUAL(litepcie_find_block(&dev, LITEPCIE_BLOCK_MEMORY, 0)->parameter[15], 5);
	CHECK(litepcie_find_block(&dev, LITEPCIE_BLOCK_MSIX, 0));
}

/*
 * Put @value into word @word of a good table, write the right checksum unless @word is the size or
 * the checksum, and read the table.
 */
static int read_with(unsigned int word, uint32_t value)
{
	begin_card();
	add_needed_blocks();
	table()[word] = value;
	if (word != LITEPCIE_CAP_HEADER_CRC && word != LITEPCIE_CAP_HEADER_BYTES)
		sign_table();
	return litepcie_capability_read(&dev);
}

static void a_table_that_cannot_be_true_is_refused(void)
{
	const unsigned int length = LITEPCIE_CAP_HEADER_WORDS + LITEPCIE_CAP_ENTRY_LENGTH;

	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_MAGIC, UINT32_MAX), -EIO, "all ones");
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_MAGIC, 0), -EPROTO, "no capability table");
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_VERSION, 2 << 16 | 7), -EPROTO, "version 2.7");
	CHECK_EQUAL(read_with(LITEPCIE_CAP_HEADER_VERSION, LITEPCIE_CAP_MAJOR << 16 | 0xffff), 0);
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_BYTES, 0), -EIO, "claims 0 bytes");
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_BYTES, 8 * 16 + 4), -EIO, "132 bytes");
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_BYTES, LITEPCIE_CAP_SIZE + 8), -EIO, "4104");
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_CRC, 1), -EIO, "not 0x00000001");
	CHECK_REFUSED(read_with(LITEPCIE_CAP_HEADER_BLOCKS, 1000), -EIO, "1000 blocks");
	CHECK_REFUSED(read_with(length, 12), -EIO, "block 0 of the capability table has 12 bytes");
	CHECK_REFUSED(read_with(length, 20), -EIO, "has 20 bytes");
	CHECK_REFUSED(read_with(length, 0x8000), -EIO, "has 32768 bytes");
	begin_card();
	CHECK_REFUSED((sign_table(), litepcie_capability_read(&dev)), -EPROTO, "a tick of its");
}

/*
 * A table with one wrong bit must always be refused. A table with one random word and a right
 * checksum may be refused or read. In both cases the library must access no memory beyond the
 * table: in a build with sanitizers such an access would end the test.
 */
static void random_damage_is_survived(void)
{
	unsigned int refused = 0;

	for (unsigned int i = 0; i < DAMAGES; i++) {
		begin_card();
		add_needed_blocks();
		table()[(unsigned int)rand() % card.end] ^= 1u << rand() % 32;
		CHECK(litepcie_capability_read(&dev) < 0);

		begin_card();
		add_needed_blocks();
		table()[LITEPCIE_CAP_HEADER_BLOCKS + (unsigned int)rand() % (card.end - 4)] =
			rand() % 2 ? (uint32_t)rand() : (uint32_t)rand() % 64;
		sign_table();
		refused += litepcie_capability_read(&dev) < 0;
	}
	CHECK(refused > DAMAGES / 20 && refused < DAMAGES);
}

/*
 * After a reset litepcie_card_check() waits while the card does not answer, for a second at most.
 * If the card then has a table with another checksum than before, the function must return -EIO.
 */
static void a_reset_is_awaited_and_the_card_recognised(void)
{
	begin_card();
	add_needed_blocks();
	CHECK_EQUAL(litepcie_capability_read(&dev), 0);
	card.silent = 5;
	CHECK_EQUAL(litepcie_card_check(&dev), 0);
	card.silent = UINT32_MAX;
	CHECK_REFUSED(litepcie_card_check(&dev), -EIO, "all ones");
	card.silent = 0;
	add_block(LITEPCIE_BLOCK_USER, 0x4000, 1);
	CHECK_REFUSED(litepcie_card_check(&dev), -EIO, "another card");
}

static void a_block_is_found_by_number_and_by_type(void)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	begin_card();
	add_needed_blocks();
	CHECK_EQUAL(litepcie_capability_read(&dev), 0);
	CHECK_EQUAL(litepcie_block(&dev, 7, &block), 0);
	CHECK_EQUAL(block.type, LITEPCIE_BLOCK_PATTERN);
	CHECK_REFUSED(litepcie_block(&dev, 8, &block), -ENOENT, "block 8: the card has 8");
	CHECK_EQUAL(litepcie_block_find(&dev, LITEPCIE_BLOCK_DMA, 0, &block), 0);
	CHECK_EQUAL(block.offset, 0x2000);
	CHECK_REFUSED(litepcie_block_find(&dev, LITEPCIE_BLOCK_DMA, 1, &block), -ENOENT, "number 1");
}

int main(int argc, char **argv)
{
	take_seed("capability", argc > 1 ? argv[1] : NULL);
	a_table_is_read_as_it_was_written();
	parameters_beyond_the_struct_are_left_out();
	a_table_that_cannot_be_true_is_refused();
	random_damage_is_survived();
	a_reset_is_awaited_and_the_card_recognised();
	a_block_is_found_by_number_and_by_type();
	begin_card();
	return failed_checks != 0;
}
