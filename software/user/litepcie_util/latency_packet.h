/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Data there and back by the library's own calls, for a card whose table of descriptors is a
 * driver's: a packet of any size, or, on a card that writes no records, a page.
 */
#ifndef LITEPCIE_UTIL_LATENCY_PACKET_H
#define LITEPCIE_UTIL_LATENCY_PACKET_H

#include "latency_transfer.h"

#define LATENCY_PAGE	4096u

/* The card can make packets of so many bytes, at most a page. */
bool packet_fits(struct litepcie *dev, size_t size);

/* Get both directions ready; litepcie_dma_stop() brings them to rest. Returns 0 or -errno. */
int packet_begin(struct litepcie *dev);

/*
 * Until the card has told that it is written back; without records, until it is written back.
 * Returns 0 or -errno.
 */
int packet_to_memory(struct litepcie *dev, size_t size, struct shot *shot);

#endif /* LITEPCIE_UTIL_LATENCY_PACKET_H */
