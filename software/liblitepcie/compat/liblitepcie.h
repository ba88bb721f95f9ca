/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * For programs that were written for LitePCIe's own liblitepcie: put this folder first on the
 * include path, link with Lanebox's library, and the programs compile again. Programs that use
 * litepcie_reload() or LitePCIe's calls for the flash do not compile: these calls are missing,
 * since Lanebox's blocks for flash and reboot have other registers than LitePCIe's.
 */
#ifndef LITEPCIE_STOCK_H
#define LITEPCIE_STOCK_H

/*
 * LitePCIe's own headers include files of a gateware's build like csr.h. If csr.h is on the include
 * path, this header includes csr.h, mem.h and soc.h.
 */
#if __has_include("csr.h")
#include "csr.h"
#include "mem.h"
#include "soc.h"
#endif

#include "litepcie_helpers.h"
#include "litepcie_dma.h"

#endif /* LITEPCIE_STOCK_H */
