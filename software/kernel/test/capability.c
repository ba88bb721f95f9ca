// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests capability.c of the driver on a capability table in memory. The blocks of a DMA channel
 * must be found by the channel's index, whatever the order of the table, and also if another
 * channel has no such block. A block of a version that the driver does not know must be told from
 * one that it knows.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uapi/litepcie_capability.h"

#define LITEPCIE_CARD_H

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64, resource_size_t;
typedef uint32_t __le32;

#define GFP_KERNEL		0
#define PCI_STD_NUM_BARS	6
#define USEC_PER_SEC		1000000u
#define BAR0_SIZE		(1u << 20)

#define dev_err(_dev, ...)	((void)(_dev), fprintf(stderr, __VA_ARGS__))
#define dev_warn(_dev, ...)	((void)(_dev), fprintf(stderr, __VA_ARGS__))
#define kmalloc(_bytes, _gfp)	malloc(_bytes)
#define kcalloc(_n, _bytes, _gfp) calloc(_n, _bytes)
#define readl(_address)		(*(const u32 *)(_address))
#define cpu_to_le32(_value)	(_value)
#define swab32(_value)		__builtin_bswap32(_value)
#define div_u64(_a, _b)		((_a) / (_b))

struct device {
	int nothing;
};

struct pci_dev {
	struct device dev;
};

struct litepcie_block {
	u16		type, version;
	u8		index, bar;
	u32		offset, size;
	unsigned int	parameters;
	const u32	*parameter;
};

struct litepcie {
	struct pci_dev		*pdev;
	u8			*bar0;
	resource_size_t		bar0_size;
	u32			*table;
	struct litepcie_block	*blocks;
	unsigned int		block_count;
	char			target[4 * LITEPCIE_CAP_TARGET_WORDS];
	char			digest[8 * LITEPCIE_CAP_DIGEST_WORDS + 1];
};

static resource_size_t pci_resource_len(const struct pci_dev *pdev, unsigned int bar)
{
	(void)pdev;
	return bar ? 0 : BAR0_SIZE;
}

static u32 crc32_le(u32 crc, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < 8 * count; i++) {
		crc ^= bytes[i / 8] >> i % 8 & 1;
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last);
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n);
const struct litepcie_block *litepcie_block_find(struct litepcie *card, u16 type,
						 unsigned int index);

/*
 * GCC does not know %pa, a printk() format that only the kernel has, so its format warnings are
 * off.
 */
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "../capability.c"

static u8 bar0[BAR0_SIZE] __attribute__((aligned(8)));

static void need(bool true_, const char *what)
{
	if (true_)
		return;
	fprintf(stderr, "capability: %s\n", what);
	exit(1);
}

/*
 * Write a capability table of blocks without parameters. Block n has its registers in page n + 1
 * of BAR0.
 */
static void write_table(const u32 (*blocks)[2], u32 count)
{
	u32 *table = (u32 *)(bar0 + LITEPCIE_CAP_OFFSET);
	u32 bytes = 4 * (LITEPCIE_CAP_HEADER_WORDS + count * LITEPCIE_CAP_ENTRY_WORDS);

	table[LITEPCIE_CAP_HEADER_MAGIC] = LITEPCIE_CAP_MAGIC;
	table[LITEPCIE_CAP_HEADER_VERSION] = LITEPCIE_CAP_MAJOR << 16;
	table[LITEPCIE_CAP_HEADER_BYTES] = bytes;
	table[LITEPCIE_CAP_HEADER_BLOCKS] = count;
	for (u32 n = 0; n < count; n++) {
		u32 *entry = table + LITEPCIE_CAP_HEADER_WORDS + n * LITEPCIE_CAP_ENTRY_WORDS;

		entry[LITEPCIE_CAP_ENTRY_TYPE] = 1u << 16 | blocks[n][0];
		entry[LITEPCIE_CAP_ENTRY_LENGTH] = blocks[n][1] << 24 | 4 * LITEPCIE_CAP_ENTRY_WORDS;
		entry[LITEPCIE_CAP_ENTRY_OFFSET] = (n + 1) << 12;
		entry[LITEPCIE_CAP_ENTRY_SIZE] = 1u << 12;
	}
	table[LITEPCIE_CAP_HEADER_CRC] = checksum(table, bytes);
}

/*
 * litepcie_block_is_known() must be true only for a block in BAR0, of the version that the driver
 * was written for, whose entry in the capability table has enough parameters. The caller gives the
 * number of the last parameter that it uses.
 */
static void a_block_of_another_version_is_not_known(void)
{
	struct litepcie_block block = { .version = LITEPCIE_CAP_BLOCK_VERSION, .parameters = 3 };

	need(litepcie_block_is_known(&block, 2), "a block with 3 parameters is not known up to number 2");
	need(!litepcie_block_is_known(&block, 3), "a block is known whose last parameter is missing");
	block.version++;
	need(!litepcie_block_is_known(&block, 2), "a block of a later version is known");
	block.version = 0;
	need(!litepcie_block_is_known(&block, 2), "a block of version 0 is known");
	block.version = LITEPCIE_CAP_BLOCK_VERSION;
	block.bar = 2;
	need(!litepcie_block_is_known(&block, 2), "a block in BAR2 is known, but registers are in BAR0");
}

int main(void)
{
	static const u32 blocks[][2] = {
		{ LITEPCIE_BLOCK_MODERATION, 1 }, { LITEPCIE_BLOCK_DMA, 1 },
		{ LITEPCIE_BLOCK_RECORDS, 1 }, { LITEPCIE_BLOCK_DMA, 0 },
		{ LITEPCIE_BLOCK_MODERATION, 0 },
	};
	static struct pci_dev pdev;
	struct litepcie card = { .pdev = &pdev, .bar0 = bar0, .bar0_size = BAR0_SIZE };

	write_table(blocks, sizeof(blocks) / sizeof(*blocks));
	need(!litepcie_capability_read(&card), "the table is refused");
	for (u32 n = 0; n < card.block_count; n++) {
		const struct litepcie_block *found =
			litepcie_block_find(&card, (u16)blocks[n][0], blocks[n][1]);

		need(found == &card.blocks[n] && found->offset == (n + 1) << 12,
		     "a channel has another channel's block");
	}
	need(!litepcie_block_find(&card, LITEPCIE_BLOCK_RECORDS, 0),
	     "a channel without records has another channel's");
	need(litepcie_capability_same(&card), "the same table is taken for another one");
	a_block_of_another_version_is_not_known();
	free(card.blocks);
	free(card.table);
	printf("capability: ok\n");
	return 0;
}
