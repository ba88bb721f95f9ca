/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * For programs written for LitePCIe's own liblitepcie: put this folder first on the include path
 * and link with this project's library, and the programs compile again. The flash calls are not
 * here: no block of Lanebox's gateware answers them.
 */
#ifndef LITEPCIE_STOCK_H
#define LITEPCIE_STOCK_H

/*
 * LitePCIe's own header includes these files of a gateware's build, so include them if they are on
 * the path.
 */
#if __has_include("csr.h")
#include "csr.h"
#include "mem.h"
#include "soc.h"
#endif

#include "litepcie_helpers.h"
#include "litepcie_dma.h"

#endif /* LITEPCIE_STOCK_H */
