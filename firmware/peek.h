/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Reads a register of the card for the host's user.
 */
#ifndef FIRMWARE_PEEK_H
#define FIRMWARE_PEEK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the register at @offset of BAR0 into *@value.  Returns false, and reads nothing, if no
 * register can be there: the offset must be a multiple of 4 inside the registers' 64 KiB.
 */
bool peek(uint32_t offset, uint32_t *value);

#endif /* FIRMWARE_PEEK_H */
