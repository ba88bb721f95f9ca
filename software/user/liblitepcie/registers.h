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

/* The CSR bus starts at bus address CSR_BASE, which is where BAR0 starts. */
#define BAR0(address)	((uint32_t)((address) - CSR_BASE))

#define REG_SCRATCH		BAR0(CSR_CTRL_SCRATCH_ADDR)
#define REG_TIME_LOW		BAR0(CSR_DEVICE_TIME_LOW_ADDR)
#define REG_MEMORY0		BAR0(MEMORY0_BASE)

#endif /* LITEPCIE_REGISTERS_H */
