/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A run of the DMA, which is the same on every back end. These functions decide which buffers the
 * card gets and which of them raise an interrupt, wait, notice lost interrupts, start and stop. The
 * card only ever has descriptors of buffers that the software has filled (h2c) or emptied (c2h), so
 * no data is overwritten, however slow the software is. Each function is called with dev->lock
 * held, unless its comment says otherwise.
 */
#ifndef LITEPCIE_ENGINE_H
#define LITEPCIE_ENGINE_H

#include "backend.h"

/*
 * Make rings of @count buffers of @size bytes. The old tables are freed by the next call of this
 * function, or by litepcie_engine_free().
 */
int litepcie_engine_setup(struct litepcie *dev, size_t size, unsigned int count);
void litepcie_engine_free(struct litepcie *dev);

/*
 * Copy the settings of a run from @config to the handle @dev, before the run's directions are
 * reserved for this handle.
 */
void litepcie_engine_configure(struct litepcie *dev, const struct litepcie_dma_config *config);

/* Start c2h and get h2c ready. The handle must already have reserved the directions. */
int litepcie_engine_start(struct litepcie *dev, const struct litepcie_dma_config *config);
int litepcie_engine_stop(struct litepcie *dev);

/*
 * litepcie_engine_c2h_release() gives the card all released c2h buffers,
 * litepcie_engine_h2c_submit() all submitted h2c buffers: those below ring.sw.
 */
int litepcie_engine_c2h_release(struct litepcie *dev);
int litepcie_engine_h2c_submit(struct litepcie *dev);

/*
 * Set the length of h2c buffer @number to @bytes. Called without the lock, by the thread that uses
 * h2c, right before it submits the buffer.
 */
void litepcie_engine_h2c_length(struct litepcie *dev, uint64_t number, uint32_t bytes);

/*
 * Returns the number of bytes in h2c buffers @first to @end - 1, all of which the card has been
 * given.
 */
uint64_t litepcie_engine_h2c_bytes(const struct litepcie *dev, uint64_t first, uint64_t end);

/*
 * Bring ring.hw (the count of finished buffers) of the active directions up to date by asking the
 * card.
 */
int litepcie_engine_look(struct litepcie *dev);

/*
 * Bring ring.hw up to date without a sleep, and without a change of the descriptor that a program
 * may poll(). On a card with records this reads memory alone, unless the card has made no progress
 * for LITEPCIE_WAIT_SLICE_MS.
 */
int litepcie_engine_peek(struct litepcie *dev);

/* Note that the card has executed @done descriptors of @table since the start of the DMA run. */
void litepcie_engine_done(const struct litepcie *dev, struct litepcie_table *table, uint64_t done);

/*
 * Get the number of bytes that have come to the card, as answers to its reads, since the run's
 * start.
 */
int litepcie_engine_received(struct litepcie *dev, uint64_t *bytes);

/*
 * Sleep until an interrupt, at most @timeout_ms, and count lost interrupts. Returns 1 after an
 * interrupt, or 0 when the time is over.
 */
int litepcie_engine_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);

#endif /* LITEPCIE_ENGINE_H */
