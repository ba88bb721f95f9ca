// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Sets the card's own interrupt moderation, for LitePCIe's loop (LITEPCIE_RUN_LOOP: the card goes
 * round the ring and never waits) in interrupt mode.
 *
 * The card keeps back an interrupt that a direction raises within moderation_us of the last message
 * that it sent for the direction, until that time is over.  Once as many interrupts wait as
 * most_kept() says, the card sends one message for them earlier, since the program must be done
 * with the finished buffers before the card uses these buffers again.
 */

#include <linux/module.h>

#include "card.h"

#define MOST_KEPT	((1u << LITEPCIE_MODERATION_COUNT_BITS) - 1)
#define LONGEST_CYCLES	((1u << LITEPCIE_MODERATION_INTERVAL_BITS) - 1)

static unsigned int moderation_us = 100;
module_param(moderation_us, uint, 0644);
MODULE_PARM_DESC(moderation_us, "In LitePCIe's loop: microseconds between two interrupts of a direction, where the card can keep them back; 0: each comes at once");

/*
 * Returns the largest number of interrupts that the card may merge into one: as many as a quarter
 * of the ring's buffers raise, or half of the buffers with LITEPCIE_RING_INDEXED, but at least 1
 * and at most MOST_KEPT.
 */
static u32 most_kept(const struct litepcie_geometry *geometry)
{
	u32 share = geometry->flags & LITEPCIE_RING_INDEXED ? 2 : 4;

	return clamp(geometry->count / share / geometry->per_interrupt, 1u, MOST_KEPT);
}

/*
 * Set the interrupt moderation for a run that begins, if the card has it.  Called after way->run
 * has been set and before the DMA engine is enabled.  In all runs but LITEPCIE_RUN_LOOP in
 * interrupt mode, each interrupt is sent at once.
 */
void litepcie_moderation_start(struct litepcie_way *way)
{
	u64 wanted = litepcie_cycles(litepcie_of(way), READ_ONCE(moderation_us));
	u32 cycles = 0;

	if (!way->moderation)
		return;
	if (way->run == LITEPCIE_RUN_LOOP && way->mode == LITEPCIE_MODE_INTERRUPT)
		cycles = min_t(u64, wanted, LONGEST_CYCLES);
	writel(cycles | most_kept(&way->ring->geometry) << LITEPCIE_MODERATION_INTERVAL_BITS,
	       way->moderation);
}

/* Find the interrupt moderation registers of DMA channel @index, if the card has them. */
void litepcie_moderation_probe(struct litepcie_chan *chan, unsigned int index)
{
	const struct litepcie_block *block =
		litepcie_block_find(chan->card, LITEPCIE_BLOCK_MODERATION, index);

	if (!block || !litepcie_block_is_known(block, LITEPCIE_MODERATION_C2H) ||
	    block->size < sizeof(u32))
		return;
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++) {
		u32 place = litepcie_parameter(block, n == LITEPCIE_WAY_C2H ?
						      LITEPCIE_MODERATION_C2H :
						      LITEPCIE_MODERATION_H2C);

		if (place <= block->size - sizeof(u32) && IS_ALIGNED(place, sizeof(u32)))
			chan->way[n].moderation = chan->card->bar0 + block->offset + place;
	}
}
