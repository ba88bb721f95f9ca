/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * These functions keep a note of which descriptors of a stream ask for an interrupt, from their
 * hand-over to the card until the card has executed them. They are called with dev->lock held.
 */
#ifndef LITEPCIE_ASKS_H
#define LITEPCIE_ASKS_H

#include "dma/stream.h"

/*
 * Note that the @count descriptors from number @first on are handed to the card. Every
 * interrupt_every-th descriptor of the run asks for an interrupt, and so does number @last, if it
 * is among the @count. In a silent stream none asks.
 */
void litepcie_asks_set(struct litepcie_stream *stream, uint64_t first, uint64_t count,
		       uint64_t last);

/*
 * Set stream->done to @done, the number of descriptors that the card has executed since the start
 * of @stream, and count in stream->asked how many of them asked for an interrupt.
 */
void litepcie_engine_done(struct litepcie_stream *stream, uint64_t done);

#endif /* LITEPCIE_ASKS_H */
