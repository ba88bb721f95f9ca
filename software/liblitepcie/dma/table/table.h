/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The DMA's functions (struct litepcie_channel) of every back end that reaches registers and memory
 * itself. table.c hands descriptors to the card and counts them. table_run.c starts and stops a
 * run, and takes the card's interrupts. table_notices.c lets the card write records and status
 * lines. table_poll.c switches the interrupts, or polls the card by a timer.
 */
#ifndef LITEPCIE_TABLE_H
#define LITEPCIE_TABLE_H

#include "dma/engine/engine.h"
#include "litepcie_capability.h"

extern const struct litepcie_channel litepcie_table_channel;

/*
 * Returns the bus address of the memory of @kind (a LITEPCIE_MEMORY_ value), for the card. All
 * addresses are 4 GiB or more, so that an address that loses its upper half is noticed at the first
 * transfer. They have at most 39 bits, as small IOMMUs need. The addresses of two kinds of memory
 * are 4 GiB or more apart.
 */
static inline uint64_t litepcie_iova(unsigned int kind)
{
	return (kind + UINT64_C(1)) << 32;
}

/*
 * Stop DMA and a capture that an earlier client may have left running. The card must not be bus
 * master when this function is called. The function waits until both directions of the DMA are at
 * rest, but not for the capture. Returns -ETIMEDOUT if a direction does not come to rest.
 */
int litepcie_table_quiesce(struct litepcie *dev);

/* Members of litepcie_table_channel: struct litepcie_channel in backend.h describes them. */
int litepcie_table_setup(struct litepcie_stream *stream);
void litepcie_table_free(struct litepcie_stream *stream);
int litepcie_table_export(const struct litepcie_stream *stream);
int litepcie_table_post(struct litepcie_stream *stream, uint64_t first, uint64_t count);
int litepcie_table_progress(struct litepcie *dev, enum litepcie_ask ask);

/*
 * Returns 1 if the registers of the card count more executed descriptors than the library knows of,
 * else 0, or -errno. The records or status lines of these descriptors may still be on their way:
 * the answer to a register read does not push the writes that wait in the endpoint.
 */
int litepcie_table_behind(struct litepcie *dev);

/* Returns the interrupt causes of the DMA, as bits of the interrupt registers. */
static inline uint32_t litepcie_table_causes(const struct litepcie *dev)
{
	return dev->map.h2c_cause | dev->map.c2h_cause;
}

/*
 * Switch the interrupts of the active streams on and those of other streams off. While dev->polling
 * is set (the library polls the card) switch off all of them. The interrupt of the user's logic
 * stays as it is.
 */
int litepcie_table_interrupts(struct litepcie *dev);

/*
 * litepcie_polling_start() is called when the first of the two streams starts, before its
 * interrupts are switched on. If the stream has poll_us, the function opens the timer and, unless
 * the stream is adaptive, starts polling. litepcie_polling_stop() ends polling.
 */
int litepcie_polling_start(struct litepcie *dev);
int litepcie_polling_stop(struct litepcie *dev);

/*
 * litepcie_polling_begin() is called after an interrupt, and starts polling in adaptive mode.
 * litepcie_polling_tick() is called after a sleep without an interrupt, and takes the timer's
 * event. If there was an event in adaptive mode, litepcie_polling_tick() also reads how far the
 * card is. If the card has made no progress since the last event, the function ends polling, unless
 * a last look at the card's registers finds progress. The caller reads the counts of buffers after
 * each of the two functions.
 */
int litepcie_polling_begin(struct litepcie *dev);
int litepcie_polling_tick(struct litepcie *dev);

/* Provide host memory for the records and status lines, once, if the card writes any. */
int litepcie_table_notices_setup(struct litepcie *dev);

/*
 * litepcie_table_notices_start() clears the status line of a stream and, for c2h, the records. It
 * tells the card their addresses, and lets the card write them. The stream is marked as active, but
 * its DMA direction is not enabled yet. litepcie_table_notices_set() is called after a stop: it
 * lets the card write records and status lines of active streams only.
 */
int litepcie_table_notices_start(struct litepcie_stream *stream);
int litepcie_table_notices_set(struct litepcie *dev);

#endif /* LITEPCIE_TABLE_H */
