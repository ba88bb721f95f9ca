/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Make transfers to the card and back by the library's public calls, for a card whose descriptor
 * table belongs to the kernel driver. On a card that writes records a packet has any size up to a
 * page of 4096 bytes. On any other card each transfer is a page.
 */
#ifndef LITEPCIE_UTIL_LATENCY_PACKET_H
#define LITEPCIE_UTIL_LATENCY_PACKET_H

#include "latency_transfer.h"

#define LATENCY_PAGE	4096u

/* Returns true if the card @dev can transfer packets of @size bytes. */
bool packet_fits(struct litepcie *dev, size_t size);

/*
 * Start both directions with rings whose buffers are pages of 4 KiB. transfer_end() stops the
 * directions. Returns 0 or -errno.
 */
int packet_begin(struct transfer *transfer);

/*
 * Send a packet of @size bytes and wait until the card has written it back. On a card with records
 * the measured time includes the record and the status lines. Returns 0 or -errno; -ETIMEDOUT: the
 * packet has not come back; -EIO: the card has counted other bytes than those of the packet.
 */
int packet_to_memory(struct transfer *transfer, size_t size, struct shot *shot);

#endif /* LITEPCIE_UTIL_LATENCY_PACKET_H */
