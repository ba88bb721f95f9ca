/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure how long the card takes from a doorbell (the register write that starts a transfer) to
 * the end of the transfer, one transfer at a time.
 *
 * Hardware time is measured by the card alone. In the rows of interrupts it is the time from the
 * doorbell to the interrupt message, both of which the card stamps in registers. In the rows of DMA
 * it is the time from the first beat of the doorbell (CQ) to the last beat of the data written back
 * (RQ), by the card's counters. Behind the kernel driver, with a card that has records, the last
 * beat may be that of a record or status line that reports the data.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "latency.h"
#include "progress.h"

/*
 * Fill in hardware and software time of a row. The software time of a transfer is its time in
 * latency->whole less that in latency->samples, but not below 0. The software times are computed
 * before histogram_make() sorts the samples.
 */
static void fill_row(struct latency *latency, struct latency_row *row)
{
	struct histogram software;

	for (size_t i = 0; i < latency->count; i++)
		latency->whole[i] = fmax(latency->whole[i] - latency->samples[i], 0);
	histogram_make(&row->hardware, latency->samples, latency->count);
	row->p90 = latency->samples[(latency->count - 1) * 90 / 100];
	row->p999 = latency->samples[(latency->count - 1) * 999 / 1000];
	histogram_make(&software, latency->whole, latency->count);
	row->software = latency->real ? software.median : NAN;
}

static int shoot(struct transfer *transfer, const struct latency_row *row, struct shot *shot)
{
	if (transfer->driven)
		return packet_to_memory(transfer, row->size, shot);
	if (row->end == LATENCY_INTERRUPT)
		return transfer_to_interrupt(transfer, row->size, shot);
	return transfer_to_memory(transfer, row->size, shot);
}

static int measure_row(struct transfer *transfer, struct latency *latency, struct latency_row *row)
{
	struct shot shot = { 0 };
	int rc = transfer->driven ? packet_begin(transfer) : transfer_begin(transfer), stopped;

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < latency->count; i++) {
		rc = util_interrupted() ?
		     transfer_fails(transfer, -EINTR, "a signal came before all rows were done") :
		     shoot(transfer, row, &shot);
		latency->samples[i] = shot.hardware_ns;
		latency->whole[i] = shot.whole_ns;
	}
	stopped = transfer_end(transfer);
	if (rc < 0 || stopped < 0)
		return rc < 0 ? rc : stopped;
	fill_row(latency, row);
	return 0;
}

static int measure_or_refuse(struct transfer *transfer, struct latency *latency,
			     struct latency_row *row)
{
	if (transfer->driven && (row->end != LATENCY_DMA || !packet_fits(transfer->dev, row->size)))
		row->reason = "this takes a descriptor of its own in the card's table, which the "
			      "kernel driver keeps for itself; give the card to VFIO "
			      "(litepcie_util vfio bind)";
	else if (row->end == LATENCY_INTERRUPT && !transfer->stamped)
		row->reason = "this card does not stamp doorbell and interrupt: its gateware is "
			      "older than version 1.1 of the capability table";
	return row->reason ? 0 : measure_row(transfer, latency, row);
}

int latency_measure(struct util *util, struct latency *latency)
{
	const char *backend = litepcie_backend(util->dev);
	struct transfer transfer = {
		.dev = util->dev, .channel = transfer_channel(backend, util->device),
		.driven = strcmp(backend, "kernel") == 0,
	};
	struct progress progress;
	int rc = 0;

	latency->real = strcmp(backend, "sim") != 0;
	/*
	 * Behind the kernel driver packet_to_memory() makes the transfers, without the registers
	 * that transfer_find() finds.
	 */
	if (!transfer.driven)
		rc = transfer_find(&transfer);
	latency->why = transfer.why;
	if (rc < 0)
		return rc;
	progress_begin(&progress, "latency", "rows", LATENCY_ROWS, 0);
	for (int i = 0; rc == 0 && i < LATENCY_ROWS; i++) {
		rc = measure_or_refuse(&transfer, latency, &latency->row[i]);
		progress_show(&progress, i + 1);
	}
	progress_end(&progress);
	latency->why = transfer.why;
	return rc;
}
