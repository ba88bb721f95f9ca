// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Reads the capability table in BAR0, which lists the gateware's blocks: BAR, offset and size.
 *
 * The driver refuses a card if the table's version or checksum is wrong, or if a block does not lie
 * within its BAR.  A BAR to which the host has given no addresses is not checked.  Blocks of types
 * that the driver does not know are skipped.
 */

#include <linux/crc32.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "card.h"

#define CAP(word)	(LITEPCIE_CAP_OFFSET + 4 * (word))
#define MINOR_MASK	((1u << LITEPCIE_CAP_HEADER_SHIFT_MAJOR) - 1)

static u32 header(struct litepcie *card, unsigned int word)
{
	return readl(card->bar0 + CAP(word));
}

/*
 * Check that the card has a capability table of a version that the driver knows.  *@bytes gets the
 * length of the table.  Returns 0, or -ENODEV, -EIO or -EINVAL, whose reason is logged.
 */
static int check_header(struct litepcie *card, u32 *bytes)
{
	struct device *dev = &card->pdev->dev;
	u32 magic, version;

	if (card->bar0_size < LITEPCIE_CAP_OFFSET + LITEPCIE_CAP_SIZE) {
		dev_err(dev, "BAR0 has %pa bytes, too few for the capability table of a Lanebox card: not driven\n",
			&card->bar0_size);
		return -ENODEV;
	}
	magic = header(card, LITEPCIE_CAP_HEADER_MAGIC);
	if (magic == ~0u) {
		dev_err(dev, "the card does not answer (all ones): check its power and link, then rescan the bus\n");
		return -EIO;
	}
	if (magic != LITEPCIE_CAP_MAGIC) {
		dev_err(dev, "no capability table at BAR0 + %#x (%#010x instead of %#010x): not driven; LitePCIe's own driver is for other gateware\n",
			LITEPCIE_CAP_OFFSET, magic, LITEPCIE_CAP_MAGIC);
		return -ENODEV;
	}
	version = header(card, LITEPCIE_CAP_HEADER_VERSION);
	if (version >> LITEPCIE_CAP_HEADER_SHIFT_MAJOR != LITEPCIE_CAP_MAJOR) {
		dev_err(dev, "the capability table has version %u.%u, this driver knows %u: update the driver\n",
			version >> LITEPCIE_CAP_HEADER_SHIFT_MAJOR, version & MINOR_MASK,
			LITEPCIE_CAP_MAJOR);
		return -ENODEV;
	}
	*bytes = header(card, LITEPCIE_CAP_HEADER_BYTES);
	if (*bytes < 4 * LITEPCIE_CAP_HEADER_WORDS || *bytes > LITEPCIE_CAP_SIZE ||
	    *bytes % LITEPCIE_CAP_ENTRY_ALIGNMENT) {
		dev_err(dev, "the capability table says it has %u bytes: not driven\n", *bytes);
		return -EINVAL;
	}
	return 0;
}

static u32 checksum(const u32 *words, u32 bytes)
{
	u32 crc = ~0;

	for (unsigned int i = 0; i < bytes / 4; i++) {
		__le32 word = cpu_to_le32(i == LITEPCIE_CAP_HEADER_CRC ? 0 : words[i]);

		crc = crc32_le(crc, (unsigned char *)&word, sizeof(word));
	}
	return ~crc;
}

/* Unpack a text that has four characters in each 32-bit word, the first in the lowest byte. */
static void unpack_text(char *text, const u32 *words, unsigned int count)
{
	for (unsigned int i = 0; i < 4 * count; i++)
		text[i] = words[i / 4] >> (8 * (i % 4));
	text[4 * count - 1] = '\0';
}

static void unpack_identity(struct litepcie *card)
{
	const u32 *digest = card->table + LITEPCIE_CAP_HEADER_DIGEST;

	unpack_text(card->target, card->table + LITEPCIE_CAP_HEADER_TARGET,
		    LITEPCIE_CAP_TARGET_WORDS);
	for (unsigned int i = 0; i < LITEPCIE_CAP_DIGEST_WORDS; i++)
		sprintf(card->digest + 8 * i, "%08x", swab32(digest[i]));
}

/* Decode the entry at word @word.  Returns its length in words, or 0 if it is not valid. */
static unsigned int unpack_block(struct litepcie_block *block, const u32 *table,
				 unsigned int word, unsigned int words)
{
	const u32 *entry = table + word;
	unsigned int length;

	if (word + LITEPCIE_CAP_ENTRY_WORDS > words)
		return 0;
	length = (u16)entry[LITEPCIE_CAP_ENTRY_LENGTH];
	if (length % LITEPCIE_CAP_ENTRY_ALIGNMENT || length < 4 * LITEPCIE_CAP_ENTRY_WORDS ||
	    length > 4 * (words - word))
		return 0;
	block->type = entry[LITEPCIE_CAP_ENTRY_TYPE];
	block->version = entry[LITEPCIE_CAP_ENTRY_TYPE] >> LITEPCIE_CAP_ENTRY_SHIFT_VERSION;
	block->bar = entry[LITEPCIE_CAP_ENTRY_LENGTH] >> LITEPCIE_CAP_ENTRY_SHIFT_BAR;
	block->index = entry[LITEPCIE_CAP_ENTRY_LENGTH] >> LITEPCIE_CAP_ENTRY_SHIFT_INDEX;
	block->offset = entry[LITEPCIE_CAP_ENTRY_OFFSET];
	block->size = entry[LITEPCIE_CAP_ENTRY_SIZE];
	block->parameter = entry + LITEPCIE_CAP_ENTRY_WORDS;
	block->parameters = length / 4 - LITEPCIE_CAP_ENTRY_WORDS;
	return length / 4;
}

static bool in_its_bar(struct litepcie *card, const struct litepcie_block *block)
{
	resource_size_t size;

	if (block->bar >= PCI_STD_NUM_BARS)
		return false;
	size = pci_resource_len(card->pdev, block->bar);
	/*
	 * The host has given this BAR no addresses.  The function returns true nevertheless, since
	 * the card works without the blocks in this BAR.
	 */
	if (!size && block->bar) {
		dev_warn(&card->pdev->dev, "BAR%u has no address: what lies there cannot be reached\n",
			 block->bar);
		return true;
	}
	return block->offset <= size && block->size <= size - block->offset;
}

static int unpack_blocks(struct litepcie *card, u32 bytes)
{
	unsigned int count = card->table[LITEPCIE_CAP_HEADER_BLOCKS];
	unsigned int word = LITEPCIE_CAP_HEADER_WORDS;

	if (count > bytes / (4 * LITEPCIE_CAP_ENTRY_WORDS))
		return -EINVAL;
	card->blocks = kcalloc(count, sizeof(*card->blocks), GFP_KERNEL);
	if (!card->blocks)
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		unsigned int taken = unpack_block(&card->blocks[i], card->table, word, bytes / 4);

		if (!taken || !in_its_bar(card, &card->blocks[i]))
			return -EINVAL;
		word += taken;
	}
	card->block_count = count;
	return 0;
}

/*
 * Read and check the capability table, and list its blocks in card->blocks.  Returns 0 or -errno.
 * The reason is logged, except for -ENOMEM.  card.c frees table and blocks together with the card,
 * after an error, too.
 */
int litepcie_capability_read(struct litepcie *card)
{
	struct device *dev = &card->pdev->dev;
	u32 bytes, sum;
	int err;

	err = check_header(card, &bytes);
	if (err)
		return err;
	card->table = kmalloc(bytes, GFP_KERNEL);
	if (!card->table)
		return -ENOMEM;
	for (unsigned int i = 0; i < bytes / 4; i++)
		card->table[i] = header(card, i);
	sum = checksum(card->table, bytes);
	if (sum != card->table[LITEPCIE_CAP_HEADER_CRC]) {
		dev_err(dev, "the capability table is damaged (checksum %#010x, not %#010x): load the gateware again\n",
			sum, card->table[LITEPCIE_CAP_HEADER_CRC]);
		return -EINVAL;
	}
	err = unpack_blocks(card, bytes);
	if (err == -EINVAL)
		dev_err(dev, "the capability table has a block that is not valid: the card is not driven\n");
	if (!err)
		unpack_identity(card);
	return err;
}

/*
 * Returns true if the header of the card's capability table is the same as at the probe.  The
 * header has a checksum of the table and a digest of the gateware's sources, so the gateware is
 * then taken for the same.
 */
bool litepcie_capability_same(struct litepcie *card)
{
	for (unsigned int i = 0; i < LITEPCIE_CAP_HEADER_WORDS; i++)
		if (header(card, i) != card->table[i])
			return false;
	return true;
}

/*
 * Returns the block of type @type with index @index, or NULL if the gateware has none.  The blocks
 * of a DMA channel have the channel's index.  A channel may lack some of them.
 */
const struct litepcie_block *litepcie_block_find(struct litepcie *card, u16 type,
						 unsigned int index)
{
	for (unsigned int i = 0; i < card->block_count; i++)
		if (card->blocks[i].type == type && card->blocks[i].index == index)
			return &card->blocks[i];
	return NULL;
}

/*
 * Returns true if the block lies in BAR0, has the version for which the driver was written, and has
 * all parameters up to number @last.  The registers of another version may mean something else, so
 * the driver does not use such a block.
 */
bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last)
{
	return !block->bar && block->version == LITEPCIE_CAP_BLOCK_VERSION &&
	       block->parameters > last;
}

/*
 * Returns parameter @n of the block, or 0 if the block's entry has fewer parameters, as that of
 * older gateware may.
 */
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n)
{
	return n < block->parameters ? block->parameter[n] : 0;
}

/*
 * Returns how many cycles the clock of the card's PCIe endpoint has in @microseconds, rounded down,
 * or 0 if the table does not give the clock's frequency.
 */
u64 litepcie_cycles(struct litepcie *card, u32 microseconds)
{
	const struct litepcie_block *endpoint =
		litepcie_block_find(card, LITEPCIE_BLOCK_ENDPOINT, 0);
	u32 hz = endpoint ? litepcie_parameter(endpoint, LITEPCIE_ENDPOINT_CLOCK_HZ) : 0;

	return div_u64((u64)microseconds * hz, USEC_PER_SEC);
}
