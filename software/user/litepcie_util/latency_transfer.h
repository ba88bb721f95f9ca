/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Single transfers of any size through the card's loopback. Buffers of the library are no smaller
 * than a page, so descriptors are put into the card's table here, by the registers' names, at the
 * addresses that the table itself shows of a run of the library's own just before.
 */
#ifndef LITEPCIE_UTIL_LATENCY_TRANSFER_H
#define LITEPCIE_UTIL_LATENCY_TRANSFER_H

#include "util.h"

/* One direction's registers: offsets in BAR0, found by name. */
struct transfer_way {
	uint32_t	enable, value, loop, status, flush;
	uint64_t	address;	/* of a buffer, as the card sees it */
};

struct transfer {
	struct litepcie		*dev;
	struct transfer_way	h2c, c2h;
	uint32_t		doorbell, interrupt, waiting;	/* the card's stamps */
	bool			stamped;			/* it has them */
	bool			driven;	/* the table is a driver's: see latency_packet.h */
};

/* What one transfer took, in ns: by the card, and by the host's clock as its user sees it. */
struct shot {
	double	hardware_ns, whole_ns;
};

/* Find registers and buffers; no direction may run. Returns 0 or -errno. */
int transfer_find(struct transfer *transfer, struct litepcie *dev);

/* Get both directions ready, and bring them to rest. Returns 0 or -errno. */
int transfer_begin(struct transfer *transfer);
int transfer_end(struct transfer *transfer);

/*
 * @size bytes there and back, until they have been written, or until the interrupt has come that
 * says so. Returns 0 or -errno.
 */
int transfer_to_memory(struct transfer *transfer, size_t size, struct shot *shot);
int transfer_to_interrupt(struct transfer *transfer, size_t size, struct shot *shot);

#endif /* LITEPCIE_UTIL_LATENCY_TRANSFER_H */
