/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Accesses of every part of the firmware: registers by their addresses, and bytes of the mailbox.
 *
 * All addresses and bits are in card_numbers.h, which gateware/card/cpu/image.py generates from the
 * SoC that the firmware is built for. The tests on the host have functions of their own in place of
 * those below.
 */
#ifndef FIRMWARE_CARD_H
#define FIRMWARE_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "card_numbers.h"

#ifdef FIRMWARE_TEST
uint32_t reg_read(uint32_t address);
void reg_write(uint32_t address, uint32_t value);
uint8_t byte_read(uint32_t address);
void byte_write(uint32_t address, uint8_t value);
#else
static inline uint32_t reg_read(uint32_t address)
{
	return *(volatile uint32_t *)address;
}

static inline void reg_write(uint32_t address, uint32_t value)
{
	*(volatile uint32_t *)address = value;
}

static inline uint8_t byte_read(uint32_t address)
{
	return *(volatile uint8_t *)address;
}

static inline void byte_write(uint32_t address, uint8_t value)
{
	*(volatile uint8_t *)address = value;
}
#endif

#endif /* FIRMWARE_CARD_H */
