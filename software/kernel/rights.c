// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Lists the registers and memories that a process without CAP_SYS_RAWIO may write to, by the block
 * types of the capability table.
 *
 * A write to any other place is refused.  That includes blocks whose type or version this driver
 * does not know, and bytes that belong to no block.  Some of the registers to which writes are
 * refused can make the card write to any address of the host, as those of the DMA and of the MSI-X
 * table can.  Others can disturb the other users of the card.
 */

#include <linux/module.h>

#include "card.h"

/* value of @parameter in struct right: all of the block may be written to */
#define ALL		0xff

struct right {
	u16	type;
	/*
	 * number of the block's parameter that has the offset of the register that may be written
	 * to; ALL: all of the block may be written to
	 */
	u8	parameter;
	/*
	 * true: bits of the register act on a direction, and the right does not allow a change of
	 * these bits while another file owns that direction
	 */
	bool	steers;
};

static const struct right rights[] = {
	{ LITEPCIE_BLOCK_CONTROL, LITEPCIE_CONTROL_SCRATCH },
	/*
	 * The control register of the counters takes snapshots and clears counters.  At worst a
	 * write makes another user read wrong figures.
	 */
	{ LITEPCIE_BLOCK_COUNTERS, LITEPCIE_COUNTERS_CONTROL },
	{ LITEPCIE_BLOCK_PATTERN, LITEPCIE_PATTERN_CONTROL, .steers = true },
	/*
	 * Every user of the card may read a transceiver module's memory, for which registers of the
	 * card must be written to.  A write to a module and a reset of the module need
	 * CAP_SYS_RAWIO, since these may end another user's link.  Two users who read a module at
	 * the same time may get each other's bytes.
	 */
	{ LITEPCIE_BLOCK_MODULE, LITEPCIE_MODULE_READ },
	{ LITEPCIE_BLOCK_MODULE, LITEPCIE_MODULE_BUFFER_PLACE },
	{ LITEPCIE_BLOCK_MEMORY, ALL },
	{ LITEPCIE_BLOCK_USER, ALL },
	{ LITEPCIE_BLOCK_USER_WINDOW, ALL },
};

struct span {
	u64	start, end;
};

static struct span place_of(const struct litepcie_block *block)
{
	return (struct span){ block->offset, (u64)block->offset + block->size };
}

/* Returns the part of the block to which @right allows writes; empty if there is none. */
static struct span allowed_in(const struct litepcie_block *block, const struct right *right)
{
	struct span range = place_of(block);
	u64 place;

	if (right->parameter == ALL)
		return range;
	/*
	 * If the block's capability entry lacks the parameter, litepcie_parameter() would return 0,
	 * which is not the register's offset.
	 */
	if (right->parameter >= block->parameters)
		return (struct span){ };
	place = range.start + litepcie_parameter(block, right->parameter);
	if (place + sizeof(u32) > range.end)
		return (struct span){ };
	return (struct span){ place, place + sizeof(u32) };
}

/*
 * The bytes from @from up to, not including, @to lie in the block.  Returns the right by which they
 * may be written to, or NULL if there is none.  A block may have several rights, each to a
 * register.  A block of another version than the driver was written for has none.
 */
static const struct right *right_to(const struct litepcie_block *block, u64 from, u64 to)
{
	if (block->version != LITEPCIE_CAP_BLOCK_VERSION)
		return NULL;
	for (unsigned int i = 0; i < ARRAY_SIZE(rights); i++) {
		struct span allowed = allowed_in(block, &rights[i]);

		if (rights[i].type == block->type &&
		    from >= allowed.start && to <= allowed.end)
			return &rights[i];
	}
	return NULL;
}

/* Returns the end of the block that holds byte @at, or @at itself if no block holds it. */
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
 * Returns the right to write to @size bytes at @offset of the BAR.  The write is allowed if each of
 * the bytes lies in a block, and each of these blocks allows it.
 */
enum litepcie_right litepcie_right(struct litepcie *card, unsigned int bar, u64 offset, u64 size)
{
	enum litepcie_right answer = LITEPCIE_RIGHT_WRITE;
	u64 end = offset + size;

	for (unsigned int i = 0; i < card->block_count; i++) {
		const struct litepcie_block *block = &card->blocks[i];
		struct span place = place_of(block);
		u64 from = max(offset, place.start), to = min(end, place.end);
		const struct right *right;

		if (block->bar != bar || from >= to)
			continue;
		right = right_to(block, from, to);
		if (!right)
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

/*
 * Returns the bits of the pattern block's control register that act on direction @id.  Bits whose
 * meaning is unknown are included, since they may act on this direction.
 */
u32 litepcie_steered(u32 id)
{
	return id == LITEPCIE_WAY_C2H ? ~LITEPCIE_PATTERN_BIT_H2C_CHECK :
				    ~LITEPCIE_PATTERN_BIT_C2H_GENERATE;
}
