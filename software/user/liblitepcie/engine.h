/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A run of the DMA, the same on every back end: which buffers the card gets and which of them raise
 * an interrupt, waits, interrupts that were lost, start and stop. The card only ever has
 * descriptors of buffers that the software has filled (h2c) or emptied (c2h), so nothing is
 * overrun, however slow the software is. These functions are called with dev->lock held.
 */
#ifndef LITEPCIE_ENGINE_H
#define LITEPCIE_ENGINE_H

#include "backend.h"

/*
 * Make rings of this shape. The next call of this function frees the old tables, and so does
 * litepcie_engine_free().
 */
int litepcie_engine_setup(struct litepcie *dev, size_t size, unsigned int count);
void litepcie_engine_free(struct litepcie *dev);

/* Take over the settings of a run, before its directions are taken. */
void litepcie_engine_configure(struct litepcie *dev, const struct litepcie_dma_config *config);

/* Start c2h and get h2c ready, when the directions have been taken. */
int litepcie_engine_start(struct litepcie *dev, const struct litepcie_dma_config *config);
int litepcie_engine_stop(struct litepcie *dev);

/* Give the card the buffers up to ring.sw: released ones (c2h) or submitted ones (h2c). */
int litepcie_engine_c2h_release(struct litepcie *dev);
int litepcie_engine_h2c_submit(struct litepcie *dev);

/*
 * Send only the first @bytes of h2c buffer @number. Called without the lock, by the thread that
 * uses h2c, right before it submits the buffer.
 */
void litepcie_engine_h2c_length(struct litepcie *dev, uint64_t number, uint32_t bytes);

/* Returns the bytes of h2c buffers @first to @end - 1, all of which have been given to the card. */
uint64_t litepcie_engine_h2c_bytes(const struct litepcie *dev, uint64_t first, uint64_t end);

/* Bring ring.hw of the active directions up to date by asking the card. */
int litepcie_engine_look(struct litepcie *dev);

/*
 * Bring ring.hw up to date without a sleep, and without a change of the descriptor that a program
 * may poll(). On a card with records this reads memory alone, unless the card has made no progress
 * for long.
 */
int litepcie_engine_peek(struct litepcie *dev);

/* Note that the card has executed @done descriptors since the start. */
void litepcie_engine_done(const struct litepcie *dev, struct litepcie_table *table, uint64_t done);

/* Get the number of bytes that have come back as answers to the card's reads since the start. */
int litepcie_engine_received(struct litepcie *dev, uint64_t *bytes);

/* Sleep until an interrupt, and count lost interrupts. Returns 1, or 0 when the time is over. */
int litepcie_engine_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);

#endif /* LITEPCIE_ENGINE_H */
