/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Test features.c: which features litepcie_features() returns for a card. */
#include "words_card.h"

/*
 * The features must follow from the card's blocks (dev.map) and from what the back end can do
 * (dev.able).
 */
static void features_follow_from_card_and_way(void)
{
	begin_card();
	dev.able = LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_PACKETS;
	CHECK_EQUAL(litepcie_features(&dev), LITEPCIE_HAS_STREAMS);
	dev.map.notices.control = dev.map.slot.now = 4;
	dev.map.user_cause = 1;
	CHECK_EQUAL(litepcie_features(&dev),
		    LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_PACKETS | LITEPCIE_HAS_SLOT_MONITOR |
		    LITEPCIE_HAS_USER_INTERRUPT);
	dev.able = 0;
	CHECK_EQUAL(litepcie_features(&dev), LITEPCIE_HAS_SLOT_MONITOR);
}

int main(void)
{
	features_follow_from_card_and_way();
	begin_card();
	return failed_checks != 0;
}
