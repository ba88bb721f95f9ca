/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A page there and back by the library's own calls, for a card whose table of descriptors is a
 * driver's.
 */
#ifndef LITEPCIE_UTIL_LATENCY_PAGE_H
#define LITEPCIE_UTIL_LATENCY_PAGE_H

#include "latency_transfer.h"

#define LATENCY_PAGE	4096u

/* Get both directions ready; litepcie_dma_stop() brings them to rest. Returns 0 or -errno. */
int page_begin(struct litepcie *dev);

/* Until it has been written back. Returns 0 or -errno. */
int page_to_memory(struct litepcie *dev, struct shot *shot);

#endif /* LITEPCIE_UTIL_LATENCY_PAGE_H */
