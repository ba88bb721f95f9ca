// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Which registers and memories a user of the card may write to, without
 * CAP_SYS_RAWIO: a list of what is allowed, by the types of the capability table.
 *
 * All else is refused: a block whose type or version this driver does not know,
 * and bytes that belong to no block.  A register that is not in the list may
 * make the card write to any address of the host, as those of the DMA and the
 * MSI-X table do, or may take the card away from its other users.
 */

#include <linux/module.h>

#include "card.h"

#define VERSION		1	/* of the blocks in the list */
#define ALL		0xff

/* Bits of the pattern's control register that act on one direction alone. */
#define PATTERN_C2H	BIT(0)	/* generate */
#define PATTERN_H2C	BIT(1)	/* check */

struct right {
	u16	type;
	u8	parameter;	/* of the one register that is allowed, or ALL */
	bool	steers;		/* what the card's DMA carries: see litepcie_owner_steer() */
};

static const struct right rights[] = {
	{ LITEPCIE_BLOCK_CONTROL, LITEPCIE_CONTROL_SCRATCH },
	/* Snapshot and clear.  The worst is that another user's figures are wrong. */
	{ LITEPCIE_BLOCK_COUNTERS, LITEPCIE_COUNTERS_CONTROL },
	{ LITEPCIE_BLOCK_PATTERN, LITEPCIE_PATTERN_CONTROL, .steers = true },
	{ LITEPCIE_BLOCK_MEMORY, ALL },
	{ LITEPCIE_BLOCK_USER, ALL },
	{ LITEPCIE_BLOCK_USER_WINDOW, ALL },
};

struct span {
	u64	start, end;
};

static const struct right *right_to(const struct litepcie_block *block)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(rights); i++)
		if (rights[i].type == block->type && block->version == VERSION)
			return &rights[i];
	return NULL;
}

static struct span place_of(const struct litepcie_block *block)
{
	return (struct span){ block->offset, (u64)block->offset + block->size };
}

/* The part of the block that is allowed; empty if there is none. */
static struct span allowed_in(const struct litepcie_block *block, const struct right *right)
{
	struct span range = place_of(block);
	u64 place;

	if (!right)
		return (struct span){ };
	if (right->parameter == ALL)
		return range;
	/* An older table may lack the parameter, and 0 would be another register. */
	if (right->parameter >= block->parameters)
		return (struct span){ };
	place = range.start + litepcie_parameter(block, right->parameter);
	if (place + sizeof(u32) > range.end)
		return (struct span){ };
	return (struct span){ place, place + sizeof(u32) };
}

/* Where the block ends that holds byte @at; @at itself if none does. */
static u64 end_of_block(struct litepcie *card, unsigned int bar, u64 at)
{
	for (unsigned int i = 0; i < card->block_count; i++) {
		struct span place = place_of(&card->blocks[i]);

		if (card->blocks[i].bar == bar && at >= place.start && at < place.end)
			return place.end;
	}
	return at;
}

/*
 * What a user may do with these bytes of the BAR: all of them lie in blocks, and
 * each block allows the part that is asked for.
 */
enum litepcie_right litepcie_right(struct litepcie *card, unsigned int bar, u64 offset, u64 size)
{
	enum litepcie_right answer = LITEPCIE_RIGHT_WRITE;
	u64 end = offset + size;

	for (unsigned int i = 0; i < card->block_count; i++) {
		const struct litepcie_block *block = &card->blocks[i];
		const struct right *right = right_to(block);
		struct span allowed = allowed_in(block, right);
		struct span place = place_of(block);
		u64 from = max(offset, place.start), to = min(end, place.end);

		if (block->bar != bar || from >= to)
			continue;
		if (from < allowed.start || to > allowed.end)
			return LITEPCIE_RIGHT_NONE;
		if (right->steers)
			answer = LITEPCIE_RIGHT_STEER;
	}
	for (u64 at = offset, next; at < end; at = next) {
		next = end_of_block(card, bar, at);
		if (next == at)
			return LITEPCIE_RIGHT_NONE;
	}
	return answer;
}

/* The bits of a register that steers which act on direction @id: unknown ones act on both. */
u32 litepcie_steered(enum litepcie_direction id)
{
	return id == LITEPCIE_C2H ? ~PATTERN_H2C : ~PATTERN_C2H;
}
