/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * dma_bench --sweep: measure transfers of 64 bytes to 64 KiB to the card and back, through the
 * DMA's loopback, or through the user's logic with litepcie_util's option -e.
 *
 * A transfer of less than LITEPCIE_BUFFER_LEAST bytes (4 KiB) is a packet, and any other transfer
 * is one buffer of that size. Only a card with records can send packets: a record, which the card
 * writes to host memory, says how many bytes of a c2h buffer are in use.
 */
#include <math.h>

#include "dma_bench.h"

#define SMALLEST	64u
/* largest number of transfers in one run of the sweep, in each direction */
#define PACKETS		8192u
#define RING_BYTES	(2u << 20)
#define RING_BUFFERS	256u

/*
 * Returns the number of buffers in a ring: as many as fit into RING_BYTES and into the card's
 * descriptor table, but no more than RING_BUFFERS.
 */
static unsigned int ring_buffers(struct litepcie *dev, size_t size)
{
	struct litepcie_card card = { .struct_size = sizeof(card) };
	unsigned int most;

	litepcie_card(dev, &card);
	most = card.table_depth < RING_BUFFERS ? card.table_depth : RING_BUFFERS;
	return size * most <= RING_BYTES ? most : (unsigned int)(RING_BYTES / size);
}

static void measure_size(struct rates *rates, struct rates_plan plan, struct bench_size *size)
{
	struct litepcie *dev = rates->util->dev;
	bool packet = size->bytes < LITEPCIE_BUFFER_LEAST;
	size_t buffer = packet ? LITEPCIE_BUFFER_LEAST : size->bytes;

	if (packet && !util_has_block(dev, LITEPCIE_BLOCK_RECORDS)) {
		size->reason = "this card has no records, without which there are whole buffers "
			       "only";
		return;
	}
	/*
	 * Each transfer costs the program some time, however small it is. So with small packets a
	 * run of plan.bytes would take too long, and is made shorter.
	 */
	if (plan.bytes > PACKETS * size->bytes)
		plan.bytes = PACKETS * size->bytes;
	plan.run.buffer_size = buffer;
	plan.run.buffer_count = ring_buffers(dev, buffer);
	plan.run.packet = packet ? size->bytes : 0;
	rates_measure_way(rates, RATES_DUPLEX, &plan, &size->rate);
}

/*
 * Measure the rate of each size, until a failure or Ctrl-C. rates_learn_host() comes first: the
 * limits of the transfers depend on the round trip of reads of host memory, which only a run of h2c
 * alone measures.
 */
void bench_sweep(struct rates *rates, uint64_t bytes, struct bench_size size[BENCH_SIZES])
{
	struct util *util = rates->util;
	const struct rates_plan plan = { .bytes = bytes };

	for (unsigned int i = 0; i < BENCH_SIZES; i++) {
		size[i].bytes = SMALLEST << i;
		snprintf(size[i].id, sizeof(size[i].id), "duplex/%zu", size[i].bytes);
		size[i].reason = "not measured";
	}
	rates_learn_host(rates);
	for (unsigned int i = 0; i < BENCH_SIZES && !util->failed; i++) {
		measure_size(rates, plan, &size[i]);
		/* dma_run() notes a Ctrl-C that came before its end. A later one is noted here. */
		if (util_interrupted() && !util->failed)
			util_fail(util, "interrupted");
	}
}

void bench_sweep_emit(const struct emit *out, const struct rates *rates,
		      const struct bench_size size[BENCH_SIZES])
{
	emit_text(out, "  there and back, each way\n  %8s  %11s  " BENCH_RATE_HEAD "\n", "bytes",
		  "transfers/s");
	emit_array(out, "rows");
	for (unsigned int i = 0; i < BENCH_SIZES; i++) {
		const struct rate *rate = &size[i].rate;
		double transfers = (double)rate->bytes / (double)size[i].bytes;
		double ns = (double)rate->cycles * rates->link.cycle_ns;
		double per_s = rate->valid ? transfers / ns * 1e9 : NAN;

		emit_object(out, NULL);
		emit_unsigned(out, "size_bytes", "  %8llu  ", size[i].bytes);
		emit_number(out, NULL, "%8.3f M  ", per_s / 1e6);
		emit_number(out, "transfers_per_s", NULL, per_s);
		util_emit_reason(out, 12, "no value: ", rate->valid ? NULL : size[i].reason);
		if (rate->valid || out->json)
			bench_emit_rate(out, rate, size[i].id, rates_binds(rate));
		emit_object_end(out);
	}
	emit_array_end(out);
}
