/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Make transfers by the library's public calls. latency_packet.h says what each function promises.
 */
#include <errno.h>

#include "latency_packet.h"
#include "litepcie_capability.h"
#include "progress.h"

#define BUFFERS	16u
#define LOOK_S	10.0	/* seconds after which a packet that has not come back counts as lost */

/*
 * Bytes that a card with records writes in addition to the packet: one record, and one status line
 * for each direction.
 */
#define TOLD	(LITEPCIE_RECORD_SIZE + 2u * LITEPCIE_STATUS_LINE_SIZE)

bool packet_fits(struct litepcie *dev, size_t size)
{
	return size == LATENCY_PAGE ||
	       (size < LATENCY_PAGE && util_has_block(dev, LITEPCIE_BLOCK_RECORDS));
}

int packet_begin(struct litepcie *dev)
{
	const struct litepcie_dma_config config = {
		.struct_size = sizeof(config),
		.directions = LITEPCIE_H2C | LITEPCIE_C2H, .loopback = true,
		.interrupt_every = BUFFERS, .packets = util_has_block(dev, LITEPCIE_BLOCK_RECORDS),
	};
	int rc = litepcie_ring_setup(dev, LATENCY_PAGE, BUFFERS);

	return rc < 0 ? rc : litepcie_dma_start(dev, &config);
}

/*
 * Wait for the packet by looking again and again, with a timeout of 0. A wait for an interrupt
 * would add the interrupt's latency to the measured time.
 */
static int wait_for_packet(struct litepcie *dev)
{
	double began = progress_now();
	uint64_t first;
	int rc = 0;

	while (rc == 0 && progress_now() - began < LOOK_S)
		rc = litepcie_dma_wait(dev, LITEPCIE_C2H, 0);
	if (rc > 0)
		rc = litepcie_c2h_peek(dev, &first, 0);
	return rc > 0 ? 0 : rc < 0 ? rc : -ETIMEDOUT;
}

int packet_to_memory(struct litepcie *dev, size_t size, struct shot *shot)
{
	struct litepcie_counters counters = { .struct_size = sizeof(counters) };
	uint64_t ticks;
	double began;
	/*
	 * The completion of this read means that all earlier writes have arrived at the card. A
	 * later arrival would be counted as the doorbell.
	 */
	int rc = litepcie_time(dev, &ticks);

	if (rc == 0)
		rc = litepcie_counters_clear(dev);
	began = progress_now();
	if (rc == 0)
		rc = litepcie_h2c_send(dev, size);
	if (rc == 0)
		rc = wait_for_packet(dev);
	shot->whole_ns = (progress_now() - began) * 1e9;
	if (rc == 0)
		rc = litepcie_counters(dev, &counters);
	if (rc == 0)
		rc = litepcie_c2h_release(dev, 1);
	if (rc < 0)
		return rc;
	if (counters.rq.payload_bytes < size || counters.rq.payload_bytes > size + TOLD ||
	    counters.rc.payload_bytes != size)
		return -EIO;
	shot->hardware_ns = (double)(counters.rq.last + 1 - counters.cq.first) *
			    util_tick_ns(dev);
	return 0;
}
