/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Make single transfers by the library's public calls. latency.h says what each function promises.
 */
#include <errno.h>

#include "latency.h"
#include "litepcie_capability.h"

#define BUFFERS	LITEPCIE_STREAM_BUFFERS_LEAST
#define LOOK_S	10.0	/* seconds after which a packet that has not come back counts as lost */

/*
 * Bytes that a card with records may write in addition to the packet: one record, and one status
 * line for each direction, by which it reports finished buffers to the host. If the card writes
 * more, the transfer fails.
 */
#define TOLD	(LITEPCIE_RECORD_SIZE + 2u * LITEPCIE_STATUS_LINE_SIZE)

bool packet_fits(struct litepcie *dev, size_t size)
{
	return size == LATENCY_PAGE ||
	       (size < LATENCY_PAGE && util_has_block(dev, LITEPCIE_BLOCK_RECORDS));
}

int packet_begin(struct transfer *transfer)
{
	const struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .buffer_size = LATENCY_PAGE,
		.buffer_count = BUFFERS, .loopback = true, .interrupt_every = BUFFERS,
		.packets = util_has_block(transfer->dev, LITEPCIE_BLOCK_RECORDS),
	};

	streams_stop(&transfer->streams);
	return streams_start(transfer->dev, LITEPCIE_H2C | LITEPCIE_C2H, &options,
			     &transfer->streams);
}

/*
 * Wait for the packet by repeated calls with a timeout of 0, for LOOK_S seconds at most, and
 * acquire its buffer. A wait for an interrupt would add the interrupt's latency to the time by the
 * host's clock. Returns 0 or -errno; -ETIMEDOUT: the packet has not come back.
 */
static int wait_for_packet(struct transfer *transfer, struct litepcie_buffer *buffer)
{
	double began = util_now();
	int rc = 0;

	while (rc == 0 && util_now() - began < LOOK_S)
		rc = litepcie_dma_wait(transfer->dev, LITEPCIE_C2H, 0);
	if (rc > 0)
		rc = litepcie_stream_acquire(transfer->streams.c2h, buffer, 0);
	if (rc == 0)
		return transfer_fails(transfer, -ETIMEDOUT, "a packet has not come back within "
				      "10 s");
	return rc < 0 ? rc : 0;
}

int packet_to_memory(struct transfer *transfer, size_t size, struct shot *shot)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie *dev = transfer->dev;
	uint64_t ticks;
	double began;
	/*
	 * The completion of the read of device time means that all earlier writes have arrived at
	 * the card. A write that arrived later would be counted as the doorbell.
	 */
	int rc = litepcie_time(dev, &ticks) ?: litepcie_counters_clear(dev);

	if (rc == 0) {
		rc = litepcie_stream_acquire(transfer->streams.h2c, &buffer, 0);
		if (rc == 0)
			rc = transfer_fails(transfer, -ETIMEDOUT, "no buffer of h2c is free, "
					    "although all packets have come back");
		rc = rc < 0 ? rc : 0;
	}
	began = util_now();
	rc = rc ?: litepcie_stream_send(transfer->streams.h2c, size) ?:
		   wait_for_packet(transfer, &buffer);
	shot->whole_ns = (util_now() - began) * 1e9;
	return rc ?: transfer_take_time(transfer, size, TOLD, shot) ?:
		     litepcie_stream_release(transfer->streams.c2h, 1);
}
