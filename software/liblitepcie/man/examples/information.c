/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Print what a card says about itself. */
#include <liblitepcie.h>
#include <litepcie_capability.h>
#include <litepcie_diagnostics.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct litepcie_conditions link = { .struct_size = sizeof(link) };
	struct litepcie_block block = { .struct_size = sizeof(block) };
	struct litepcie_slot slot = { .struct_size = sizeof(slot) };
	struct litepcie_card card = { .struct_size = sizeof(card) };
	char why[LITEPCIE_WHY_SIZE], identifier[64];
	struct litepcie *dev;
	uint64_t ticks, features;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	litepcie_card(dev, &card);
	features = litepcie_features(dev);
	printf("streams: %s, packets: %s\n", features & LITEPCIE_HAS_STREAMS ? "yes" : "no",
	       features & LITEPCIE_HAS_PACKETS ? "yes" : "no");
	litepcie_identifier(dev, identifier, sizeof(identifier));
	printf("%s (%s): %s, built for %s\n", litepcie_name(dev), litepcie_backend(dev), identifier,
	       card.target);
	if (litepcie_conditions(dev, &link) == 0)
		printf("Gen%u x%u, %u bytes of payload\n", link.link_gen, link.link_lanes, link.mps);
	if (litepcie_time(dev, &ticks) == 0)
		printf("up for %.6f s\n", (double)ticks * card.tick_ps * 1e-12);
	for (unsigned int i = 0; litepcie_block(dev, i, &block) == 0; i++)
		printf("block type %u at BAR%u + 0x%x\n", block.type, block.bar, block.offset);
	/* A block of type LITEPCIE_BLOCK_USER has the registers of the user's logic. */
	if (litepcie_block_find(dev, LITEPCIE_BLOCK_USER, 0, &block) < 0)
		printf("no user slot: %s\n", litepcie_why(dev));
	if (litepcie_slot(dev, &slot) == 0)
		printf("the user slot took %llu beats, and held up %llu cycles\n",
		       (unsigned long long)slot.h2c.beats, (unsigned long long)slot.h2c.stalls);
	litepcie_close(dev);
	return 0;
}
