/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Reads registers by their offset in BAR0.
 */
#include "peek.h"

#include "card.h"

bool peek(uint32_t offset, uint32_t *value)
{
	if (offset % 4 || offset >= CARD_REGISTERS_SIZE)
		return false;
	*value = reg_read(CARD_REGISTERS_BASE + offset);
	return true;
}
