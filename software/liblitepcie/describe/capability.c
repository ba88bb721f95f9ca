/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read and check the card's capability table when the card is opened, and compare its checksum
 * after a reset. The table says which blocks of registers and memory the card has, and at which
 * offsets. So a card whose table cannot be trusted is not opened.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "helpers.h"
#include "litepcie_capability.h"

#define NO_ANSWER	UINT32_MAX
#define RESET_MS	1000
#define MINOR_MASK	((1u << LITEPCIE_CAP_HEADER_SHIFT_MAJOR) - 1)

/* The capability table ------------------------------------------------------------------------ */

static uint32_t table_crc(const uint32_t *words, unsigned int count)
{
	const unsigned int place = LITEPCIE_CAP_HEADER_CRC;
	const uint32_t zero = 0;
	uint32_t crc = litepcie_crc32(UINT32_MAX, words, place * sizeof(*words));

	/* the checksum is computed as if the word that holds the checksum were 0 */
	crc = litepcie_crc32(crc, &zero, sizeof(zero));
	return ~litepcie_crc32(crc, words + place + 1, (count - place - 1) * sizeof(*words));
}

static int read_words(struct litepcie *dev, uint32_t *words, unsigned int from, unsigned int to)
{
	return litepcie_get_words(dev, LITEPCIE_CAP_OFFSET + 4 * from, words + from, to - from);
}

/*
 * Check the header of the capability table, which @words has. Returns -EPROTO if @words does not
 * begin with the magic number of such a table, or if the table has another major version. Returns
 * -EIO if the length of the table cannot be true, or if its first word is all ones, as it reads
 * when the card is gone or in reset.
 */
static int check_header(struct litepcie *dev, const uint32_t *words)
{
	uint32_t magic = words[LITEPCIE_CAP_HEADER_MAGIC];
	uint32_t version = words[LITEPCIE_CAP_HEADER_VERSION];
	uint32_t bytes = words[LITEPCIE_CAP_HEADER_BYTES];

	if (magic == NO_ANSWER)
		return litepcie_fail(-EIO, "%s: the capability table reads all ones: the card does "
				     "not answer; reset it, or start the board again", dev->name);
	if (magic != LITEPCIE_CAP_MAGIC)
		return litepcie_fail(-EPROTO, "%s: no capability table at BAR0 + 0x%x (0x%08x "
				     "instead of 0x%08x): this is not Lanebox's gateware",
				     dev->name, LITEPCIE_CAP_OFFSET, magic, LITEPCIE_CAP_MAGIC);
	if (version >> LITEPCIE_CAP_HEADER_SHIFT_MAJOR != LITEPCIE_CAP_MAJOR)
		return litepcie_fail(-EPROTO, "%s: the card's capability table has version %u.%u, "
				     "this library understands %u.x: use the library that came "
				     "with the gateware", dev->name,
				     version >> LITEPCIE_CAP_HEADER_SHIFT_MAJOR,
				     version & MINOR_MASK, LITEPCIE_CAP_MAJOR);
	if (bytes % LITEPCIE_CAP_ENTRY_ALIGNMENT || bytes < 4 * LITEPCIE_CAP_HEADER_WORDS ||
	    bytes > LITEPCIE_CAP_SIZE)
		return litepcie_fail(-EIO, "%s: the capability table claims %u bytes: it must be "
				     "%u to %u, in whole words of %u", dev->name, bytes,
				     4 * LITEPCIE_CAP_HEADER_WORDS, LITEPCIE_CAP_SIZE,
				     LITEPCIE_CAP_ENTRY_ALIGNMENT);
	return 0;
}

static int read_table(struct litepcie *dev, uint32_t *words)
{
	int rc = read_words(dev, words, 0, LITEPCIE_CAP_HEADER_WORDS) ?: check_header(dev, words);
	unsigned int count;

	if (rc < 0)
		return rc;
	count = words[LITEPCIE_CAP_HEADER_BYTES] / 4;
	rc = read_words(dev, words, LITEPCIE_CAP_HEADER_WORDS, count);
	if (rc == 0 && table_crc(words, count) != words[LITEPCIE_CAP_HEADER_CRC])
		return litepcie_fail(-EIO, "%s: the checksum of the capability table is 0x%08x, "
				     "not 0x%08x: reads of the card go wrong", dev->name,
				     table_crc(words, count), words[LITEPCIE_CAP_HEADER_CRC]);
	return rc;
}

/* Blocks of the capability table -------------------------------------------------------------- */

static struct litepcie_block parse_block(const uint32_t *entry, unsigned int words)
{
	uint32_t type = entry[LITEPCIE_CAP_ENTRY_TYPE], length = entry[LITEPCIE_CAP_ENTRY_LENGTH];
	struct litepcie_block block = {
		.type = (uint16_t)type,
		.version = type >> LITEPCIE_CAP_ENTRY_SHIFT_VERSION,
		.index = length >> LITEPCIE_CAP_ENTRY_SHIFT_INDEX,
		.bar = (uint8_t)(length >> LITEPCIE_CAP_ENTRY_SHIFT_BAR),
		.offset = entry[LITEPCIE_CAP_ENTRY_OFFSET],
		.size = entry[LITEPCIE_CAP_ENTRY_SIZE],
		.parameters = words - LITEPCIE_CAP_ENTRY_WORDS,
	};

	if (block.parameters > LITEPCIE_PARAMETERS)
		block.parameters = LITEPCIE_PARAMETERS;
	memcpy(block.parameter, entry + LITEPCIE_CAP_ENTRY_WORDS, 4 * block.parameters);
	return block;
}

static int parse_blocks(struct litepcie *dev, const uint32_t *words)
{
	unsigned int end = words[LITEPCIE_CAP_HEADER_BYTES] / 4;
	unsigned int count = words[LITEPCIE_CAP_HEADER_BLOCKS];
	unsigned int at = LITEPCIE_CAP_HEADER_WORDS;

	if (count > (end - at) / LITEPCIE_CAP_ENTRY_WORDS)
		return litepcie_fail(-EIO, "%s: %u blocks do not fit into the capability table",
				     dev->name, count);
	dev->blocks = calloc(count ? count : 1, sizeof(*dev->blocks));
	if (!dev->blocks)
		return litepcie_fail_memory("the blocks of the capability table",
					    count * sizeof(*dev->blocks));
	for (unsigned int i = 0; i < count; i++) {
		unsigned int length = 0;

		if (at + LITEPCIE_CAP_ENTRY_WORDS <= end)
			length = (uint16_t)words[at + LITEPCIE_CAP_ENTRY_LENGTH];
		if (length % LITEPCIE_CAP_ENTRY_ALIGNMENT ||
		    length < 4 * LITEPCIE_CAP_ENTRY_WORDS || length > 4 * (end - at))
			return litepcie_fail(-EIO, "%s: block %u of the capability table has %u "
					     "bytes: reads of the card go wrong", dev->name, i,
					     length);
		dev->blocks[dev->block_count++] = parse_block(words + at, length / 4);
		at += length / 4;
	}
	return 0;
}

/* The card's description from its blocks ------------------------------------------------------ */

static uint32_t parameter(const struct litepcie *dev, unsigned int type, unsigned int number)
{
	const struct litepcie_block *block = litepcie_find_block(dev, type, 0);

	/* an older card's table may have fewer parameters for a block: a missing one counts as 0 */
	return block && number < block->parameters ? block->parameter[number] : 0;
}

static const char *endpoint_name(uint32_t kind)
{
	if (kind == LITEPCIE_ENDPOINT_KIND_LITEPCIE)
		return "litepcie";
	return kind == LITEPCIE_ENDPOINT_KIND_LANEBOX ? "lanebox" : "unknown";
}

static void describe(struct litepcie *dev, const uint32_t *words)
{
	struct litepcie_card *card = &dev->card;
	const uint8_t *digest = (const uint8_t *)(words + LITEPCIE_CAP_HEADER_DIGEST);

	memcpy(card->target, words + LITEPCIE_CAP_HEADER_TARGET, sizeof(card->target) - 1);
	for (unsigned int i = 0; i < 4 * LITEPCIE_CAP_DIGEST_WORDS; i++)
		snprintf(card->digest + 2 * i, 3, "%02x", digest[i]);
	snprintf(card->endpoint, sizeof(card->endpoint), "%s",
		 endpoint_name(parameter(dev, LITEPCIE_BLOCK_ENDPOINT, LITEPCIE_ENDPOINT_KIND)));
	card->blocks = dev->block_count;
	while (litepcie_find_block(dev, LITEPCIE_BLOCK_DMA, card->channels))
		card->channels++;
	card->data_width = parameter(dev, LITEPCIE_BLOCK_ENDPOINT, LITEPCIE_ENDPOINT_DATA_WIDTH);
	card->address_width = parameter(dev, LITEPCIE_BLOCK_DMA, LITEPCIE_DMA_ADDRESS_WIDTH);
	card->table_depth = parameter(dev, LITEPCIE_BLOCK_DMA, LITEPCIE_DMA_TABLE_DEPTH);
	card->read_tags = parameter(dev, LITEPCIE_BLOCK_ENDPOINT, LITEPCIE_ENDPOINT_READ_TAGS);
	card->clock_hz = parameter(dev, LITEPCIE_BLOCK_ENDPOINT, LITEPCIE_ENDPOINT_CLOCK_HZ);
	card->tick_ps = parameter(dev, LITEPCIE_BLOCK_DEVICE_TIME, LITEPCIE_DEVICE_TIME_TICK_PS);
}

int litepcie_capability_read(struct litepcie *dev)
{
	uint32_t words[LITEPCIE_CAP_SIZE / 4] = { 0 };
	int rc = read_table(dev, words) ?: parse_blocks(dev, words);

	if (rc == 0)
		describe(dev, words);
	if (rc == 0 && !dev->card.tick_ps)
		rc = litepcie_fail(-EPROTO, "%s: the card does not say how long a tick of its time "
				   "is", dev->name);
	dev->table_crc = words[LITEPCIE_CAP_HEADER_CRC];
	return rc;
}

/*
 * Check after a reset that the header of the capability table is right and has the checksum that
 * was read when the card was opened. With another checksum another card or other gateware is there,
 * and the function returns -EIO.
 */
int litepcie_card_check(struct litepcie *dev)
{
	uint32_t words[LITEPCIE_CAP_SIZE / 4], first = 0;
	int rc = 0;

	/* A card may take up to a second to answer after a reset (PCI Express base 4.0, 6.6.1). */
	for (int64_t deadline = litepcie_now_ms() + RESET_MS; rc == 0;) {
		rc = litepcie_get(dev, LITEPCIE_CAP_OFFSET, &first);
		if (first != NO_ANSWER || litepcie_now_ms() > deadline)
			break;
	}
	rc = rc ?: read_words(dev, words, 0, LITEPCIE_CAP_HEADER_WORDS) ?: check_header(dev, words);
	if (rc == 0 && words[LITEPCIE_CAP_HEADER_CRC] != dev->table_crc)
		return litepcie_fail(-EIO, "%s: after the reset it is another card: open it again",
				     dev->name);
	return rc;
}

const struct litepcie_block *litepcie_find_block(const struct litepcie *dev, unsigned int type,
						 unsigned int index)
{
	for (unsigned int i = 0; i < dev->block_count; i++)
		if (dev->blocks[i].type == type && dev->blocks[i].index == index)
			return &dev->blocks[i];
	return NULL;
}

int litepcie_card(const struct litepcie *dev, struct litepcie_card *card)
{
	return litepcie_struct_out(card, &dev->card, sizeof(dev->card), "litepcie_card");
}

int litepcie_block(struct litepcie *dev, unsigned int number, struct litepcie_block *block)
{
	if (number >= dev->block_count)
		return litepcie_fail(-ENOENT, "block %u: the card has %u", number,
				     dev->block_count);
	return litepcie_struct_out(block, &dev->blocks[number], sizeof(*block), "litepcie_block");
}

int litepcie_block_find(struct litepcie *dev, unsigned int type, unsigned int index,
			struct litepcie_block *block)
{
	const struct litepcie_block *found = litepcie_find_block(dev, type, index);

	if (!found)
		return litepcie_fail(-ENOENT, "the card has no block of type %u with number %u",
				     type, index);
	return litepcie_struct_out(block, found, sizeof(*found), "litepcie_block");
}
