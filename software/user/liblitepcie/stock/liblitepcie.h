/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * For programs written for LitePCIe's own liblitepcie: put this folder first on the include path,
 * link with this project's library, and they recompile. The flash calls are not here: nothing of
 * Lanebox's gateware answers them.
 */
#ifndef LITEPCIE_STOCK_H
#define LITEPCIE_STOCK_H

/* LitePCIe's header includes these of a gateware's build, so do it if they are on the path. */
#if __has_include("csr.h")
#include "csr.h"
#include "mem.h"
#include "soc.h"
#endif

#include "litepcie_helpers.h"
#include "litepcie_dma.h"

#endif /* LITEPCIE_STOCK_H */
