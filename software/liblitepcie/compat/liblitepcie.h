/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * For programs that were written for LitePCIe's own liblitepcie: put this folder first on the
 * include path, link with Lanebox's library, and the programs compile again. Programs that use
 * LitePCIe's calls for the flash do not compile: these calls are missing, since Lanebox's flash
 * block has other registers than LitePCIe's.
 */
#ifndef LITEPCIE_STOCK_H
#define LITEPCIE_STOCK_H

/*
 * LitePCIe's own header includes csr.h, mem.h and soc.h of a gateware's build. This header includes
 * them, too, if csr.h is on the include path.
 */
#if __has_include("csr.h")
#include "csr.h"
#include "mem.h"
#include "soc.h"
#endif

#include "litepcie_helpers.h"
#include "litepcie_dma.h"

#endif /* LITEPCIE_STOCK_H */
