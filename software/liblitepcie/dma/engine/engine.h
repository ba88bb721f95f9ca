/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A run of the DMA, which is the same on every back end. The functions of this file start and stop
 * a run, decide which buffers the card gets and which of them raise an interrupt, wait, and notice
 * lost interrupts. The card only ever has descriptors of buffers that the software has filled (h2c)
 * or emptied (c2h), so no data is overwritten, however slow the software is. Unless its comment
 * says otherwise, each function is called with dev->lock held, and a function that returns an int
 * returns -errno with a sentence after an error.
 */
#ifndef LITEPCIE_ENGINE_H
#define LITEPCIE_ENGINE_H

#include "dma/engine/asks.h"
#include "helpers.h"

/*
 * Make the ring of a stream as its options say (behind the kernel driver the start does so), and
 * the lists of its buffers' lengths and interrupts. litepcie_engine_free() frees both.
 */
int litepcie_engine_setup(struct litepcie_stream *stream);
void litepcie_engine_free(struct litepcie_stream *stream);

/* True if at least one stream of @directions runs. The lock need not be held. */
bool litepcie_runs(const struct litepcie *dev, unsigned int directions);

/* True if both streams run, so that the settings which they share must not change. */
bool litepcie_both_run(const struct litepcie *dev);

/* Set the members of @stream and its handle that follow from the options, before a run starts. */
void litepcie_engine_configure(struct litepcie_stream *stream);

/* Start a stream that is marked as active, and whose direction is reserved for this handle. */
int litepcie_engine_start(struct litepcie_stream *stream);
int litepcie_engine_stop(struct litepcie_stream *stream);

/*
 * Give the card the buffers that it does not have yet: of h2c those below number stream->sw, and of
 * c2h those below stream->sw + buffer_count, but none from the option limit on.
 */
int litepcie_engine_hand_over(struct litepcie_stream *stream);

/*
 * Set the length of h2c buffer @number to @bytes. Called without the lock, by the thread that uses
 * h2c, right before it releases the buffer.
 */
void litepcie_engine_h2c_length(struct litepcie_stream *stream, uint64_t number, uint32_t bytes);

/* Returns the bytes in h2c buffers @first to @end - 1, which the card has been given. */
uint64_t litepcie_engine_h2c_bytes(const struct litepcie_stream *stream, uint64_t first,
				   uint64_t end);

/* Bring hw (the count of finished buffers) of the active streams up to date. */
int litepcie_engine_progress(struct litepcie *dev, enum litepcie_ask ask);

/*
 * Bring hw (the count of finished buffers) of the active streams up to date, without a sleep. With
 * a card that writes records, only memory is read, unless dev->silent_ms (handle.h) says that
 * LITEPCIE_WAIT_SLICE_MS have passed.
 */
int litepcie_engine_peek(struct litepcie *dev);

/* Get in *@bytes how many bytes the card's reads have brought to the card since h2c started. */
int litepcie_engine_received(struct litepcie *dev, uint64_t *bytes);

/*
 * Sleep until an interrupt, at most @timeout_ms. After a sleep without an interrupt, look for a
 * lost one, which may take up to a second more, or ask the card for its progress. Returns 1 after
 * an interrupt (behind the kernel driver: if the card may have made progress), else 0.
 */
int litepcie_engine_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);

#endif /* LITEPCIE_ENGINE_H */
