/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * litepcie_features() returns what a program can do with this card through the back end that opened
 * it. The flags follow from the capability table and from the back end and its driver. No feature
 * is tried out.
 */
#include "helpers.h"

uint64_t litepcie_features(const struct litepcie *dev)
{
	uint64_t found = dev->able & (LITEPCIE_HAS_STREAMS | LITEPCIE_HAS_BAR_MAP);

	if (dev->map.notices.control)
		found |= dev->able & LITEPCIE_HAS_PACKETS;
	if (dev->map.user_cause && found & LITEPCIE_HAS_STREAMS)
		found |= LITEPCIE_HAS_USER_INTERRUPT;
	if (dev->map.slot.now)
		found |= LITEPCIE_HAS_SLOT_MONITOR;
	return found;
}
