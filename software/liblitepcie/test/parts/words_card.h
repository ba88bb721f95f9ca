/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for a card, for tests of the sources that read and use the capability table. Its BAR0
 * is an array of words, in which a test builds the table. Writes to registers are only noted.
 */
#ifndef LITEPCIE_TEST_WORDS_CARD_H
#define LITEPCIE_TEST_WORDS_CARD_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "check.h"
#include "litepcie_capability.h"

static struct {
	uint32_t	word[LITEPCIE_BAR0_SIZE / 4];
	/* number of the next reads that return all ones, as of a card that does not answer */
	unsigned int	silent;
	/* offset and value of the last write [0] and of the write before it [1] */
	uint32_t	written[2][2];
	/* number of the next free word of the capability table that the test builds */
	unsigned int	end;
} card;

static struct litepcie dev;

static void card_readl(struct litepcie *unused, uint32_t offset, uint32_t *value)
{
	(void)unused;
	*value = card.silent ? UINT32_MAX : card.word[offset / 4];
	card.silent -= card.silent > 0;
}

static int card_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		card_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

static int card_post(struct litepcie *unused, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)unused;
	(void)by;
	for (size_t i = 0; i < count; i++) {
		memcpy(card.written[1], card.written[0], sizeof(card.written[0]));
		card.written[0][0] = (uint32_t)posts[i].offset;
		card.written[0][1] = (uint32_t)posts[i].value;
	}
	return 0;
}

static const struct litepcie_backend words_backend = {
	.name = "words", .read_words = card_read_words, .post = card_post,
};

static inline uint32_t *table(void)
{
	return card.word + LITEPCIE_CAP_OFFSET / 4;
}

/*
 * Free the handle's lists of an earlier card, and begin a capability table with a header and no
 * block. Also called at the end of a test program, to free the lists.
 */
static inline void begin_card(void)
{
	free(dev.blocks);
	free(dev.registers);
	memset(&dev, 0, sizeof(dev));
	memset(&card, 0, sizeof(card));
	dev.backend = &words_backend;
	dev.name = (char *)"words";
	dev.bar_size[0] = LITEPCIE_BAR0_SIZE;
	pthread_mutex_init(&dev.lock, NULL);
	table()[LITEPCIE_CAP_HEADER_MAGIC] = LITEPCIE_CAP_MAGIC;
	table()[LITEPCIE_CAP_HEADER_VERSION] = LITEPCIE_CAP_MAJOR << 16;
	memcpy(table() + LITEPCIE_CAP_HEADER_TARGET, "a_target", 8);
	card.end = LITEPCIE_CAP_HEADER_WORDS;
}

/* Write the size and the checksum of the capability table, as it is now, to its header. */
static inline void sign_table(void)
{
	uint32_t crc = UINT32_MAX;

	table()[LITEPCIE_CAP_HEADER_BYTES] = 4 * card.end;
	table()[LITEPCIE_CAP_HEADER_CRC] = 0;
	for (unsigned int i = 0; i < 32 * card.end; i++) {
		crc ^= (table()[i / 32] >> i % 32 & 1);
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	table()[LITEPCIE_CAP_HEADER_CRC] = ~crc;
}

/*
 * Add a block with @count parameters, all of which are 0, and update the table's checksum. Returns
 * the address of the parameters.
 */
static inline uint32_t *add_block_at(unsigned int type, unsigned int version, unsigned int index,
				     unsigned int bar, uint32_t offset, unsigned int count)
{
	uint32_t *entry = table() + card.end;
	unsigned int words = LITEPCIE_CAP_ENTRY_WORDS + count + count % 2;

	entry[LITEPCIE_CAP_ENTRY_TYPE] = version << 16 | type;
	entry[LITEPCIE_CAP_ENTRY_LENGTH] = index << 24 | bar << 16 | 4 * words;
	entry[LITEPCIE_CAP_ENTRY_OFFSET] = offset;
	entry[LITEPCIE_CAP_ENTRY_SIZE] = 0x800;
	card.end += words;
	table()[LITEPCIE_CAP_HEADER_BLOCKS]++;
	sign_table();
	return entry + LITEPCIE_CAP_ENTRY_WORDS;
}

/* Add the first block of @type, in version 1, whose registers begin at @offset of BAR0. */
static inline uint32_t *add_block(unsigned int type, uint32_t offset, unsigned int count)
{
	return add_block_at(type, 1, 0, 0, offset, count);
}

/*
 * Add the blocks without which litepcie_open() refuses a card, and the control block, which the
 * library does not need.
 */
static inline void add_needed_blocks(void)
{
	uint32_t *parameter;

	add_block(LITEPCIE_BLOCK_CONTROL, 0x0000, 0);
	add_block(LITEPCIE_BLOCK_IDENTIFIER, 0x0800, 0);
	add_block(LITEPCIE_BLOCK_ENDPOINT, 0x1000, 4)[LITEPCIE_ENDPOINT_KIND] =
		LITEPCIE_ENDPOINT_KIND_LANEBOX;
	add_block(LITEPCIE_BLOCK_INTERRUPTS, 0x1800, 0);
	parameter = add_block(LITEPCIE_BLOCK_DMA, 0x2000, 12);
	parameter[LITEPCIE_DMA_TABLE_DEPTH] = 256;
	parameter[LITEPCIE_DMA_H2C_CAUSE] = 3;
	parameter[LITEPCIE_DMA_C2H_CAUSE] = 4;
	parameter[LITEPCIE_DMA_H2C_BUFFERED] = 4096;
	add_block(LITEPCIE_BLOCK_DEVICE_TIME, 0x2800, 3)[LITEPCIE_DEVICE_TIME_TICK_PS] = 4000;
	add_block(LITEPCIE_BLOCK_COUNTERS, 0x3000, 0);
	add_block(LITEPCIE_BLOCK_PATTERN, 0x3800, 0);
	sign_table();
}

/* Let the library read the capability table and build its list of registers. */
static inline void know_card(void)
{
	CHECK_EQUAL(litepcie_capability_read(&dev), 0);
	CHECK_EQUAL(litepcie_registers_build(&dev), 0);
}

/* Check that a call has failed with @error and a sentence in which @words stand. */
#define CHECK_REFUSED(call, error, words) do { \
	CHECK_EQUAL(call, error); \
	if (!strstr(litepcie_why(&dev), words)) { \
		fprintf(stderr, "%s:%d: \"%s\" is not in \"%s\"\n", __FILE__, __LINE__, words, \
			litepcie_why(&dev)); \
		failed_checks++; \
	} \
} while (0)

#endif /* LITEPCIE_TEST_WORDS_CARD_H */
