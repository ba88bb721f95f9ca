/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * BAR0 offsets from the generated headers of one build, for programs that are made for it. The
 * library asks the card instead.
 */
#ifndef LITEPCIE_REGISTERS_H
#define LITEPCIE_REGISTERS_H

#include <stdint.h>

#include "csr.h"
#include "mem.h"
#include "soc.h"

/* BAR0 starts at bus address 0. */
#define BAR0(address)	((uint32_t)(address))

#define REG_SCRATCH		BAR0(CSR_CTRL_SCRATCH_ADDR)
#define REG_TIME_LOW		BAR0(CSR_DEVICE_TIME_LOW_ADDR)
#define REG_MEMORY0		BAR0(MEMORY0_BASE)

#endif /* LITEPCIE_REGISTERS_H */
