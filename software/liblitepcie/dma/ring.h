/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the rings: dma.c hands out buffers, dma_wait.c waits for the card, and dma_drain.c
 * waits until the card and its user's logic have all h2c data.
 */
#ifndef LITEPCIE_RING_H
#define LITEPCIE_RING_H

#include "backend.h"

static inline uint64_t litepcie_count(const _Atomic uint64_t *count)
{
	return atomic_load_explicit((_Atomic uint64_t *)count, memory_order_acquire);
}

static inline void litepcie_count_set(_Atomic uint64_t *count, uint64_t value)
{
	atomic_store_explicit(count, value, memory_order_release);
}

/*
 * litepcie_check_active() returns -EINVAL with a sentence if one of @directions does not run.
 * litepcie_check_idle() returns -EBUSY if any direction runs.
 */
int litepcie_check_active(struct litepcie *dev, unsigned int directions);
int litepcie_check_idle(struct litepcie *dev);

/*
 * Tell the card of the buffers that were kept back for a batch. The caller holds the handle's lock.
 */
int litepcie_hand_over(struct litepcie *dev, unsigned int directions);

/*
 * Wait until the number of finished buffers of @directions differs from @before. Returns 1 then, 0
 * after @timeout_ms, or -ECANCELED after a stop by another thread. A negative @timeout_ms never
 * ends the wait. The caller holds the lock.
 */
int litepcie_wait_for(struct litepcie *dev, unsigned int directions, uint64_t before,
		      int timeout_ms);

/*
 * Wait until @direction has finished more than @known buffers, at most @timeout_ms. The caller does
 * not hold the lock.
 */
int litepcie_wait_beyond(struct litepcie *dev, unsigned int direction, uint64_t known,
			 int timeout_ms);

/* Returns -ECANCELED with the sentence that the DMA run which this thread waited for has ended. */
int litepcie_stopped(struct litepcie *dev);

/*
 * Sleep once, at most @timeout_ms, then look at the card. Returns 1 if an interrupt came, 0 if the
 * time is over.
 */
int litepcie_sleep_once(struct litepcie *dev, unsigned int directions, int timeout_ms);

/* Do what litepcie_diagnose() does, for a caller that holds the handle's lock. */
void litepcie_diagnose_held(struct litepcie *dev, unsigned int directions, char *text,
			    size_t size);

#endif /* LITEPCIE_RING_H */
