// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The registers and memories that may be written to without CAP_SYS_RAWIO: a list by
 * the block types of the capability table.
 *
 * A write anywhere else is refused.  That includes blocks whose type or version this
 * driver does not know, and bytes that belong to no block.  Such a register may make
 * the card write to any address of the host, as those of the DMA and of the MSI-X
 * table do, or may take the card away from its other users.
 */

#include <linux/module.h>

#include "card.h"

#define VERSION		1	/* of a block that the list applies to */
#define ALL		0xff	/* in place of a parameter: the whole block */

/* Bits of the pattern's control register that act on one direction alone. */
#define PATTERN_C2H	BIT(0)	/* generate */
#define PATTERN_H2C	BIT(1)	/* check */

struct right {
	u16	type;
	u8	parameter;	/* with the place of the one allowed register; or ALL */
	bool	steers;		/* acts on the data of the DMA: see litepcie_owner_steer() */
};

static const struct right rights[] = {
	{ LITEPCIE_BLOCK_CONTROL, LITEPCIE_CONTROL_SCRATCH },
	/* Takes snapshots and clears.  At worst another user reads wrong figures. */
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

/* The end of the block that holds byte @at; @at itself if no block holds it. */
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
 * The right to write to @size bytes at @offset of the BAR.  It is granted if each of the
 * bytes lies in a block, and each of these blocks allows it.
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

/* The bits of the pattern's control register that act on direction @id.  Unknown bits may. */
u32 litepcie_steered(enum litepcie_direction id)
{
	return id == LITEPCIE_C2H ? ~PATTERN_H2C : ~PATTERN_C2H;
}
