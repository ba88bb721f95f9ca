/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The inside of the rings: dma.c hands out buffers, dma_wait.c waits for the card, dma_drain.c for all. */
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

/* 0, or -EINVAL: one of these directions does not run. */
int litepcie_check_active(struct litepcie *dev, unsigned int directions);

/* Tell the card of what has been held back. The lock is held. */
int litepcie_hand_over(struct litepcie *dev, unsigned int directions);

/*
 * Wait until more buffers than @before are finished. Returns 1 then, 0 after @timeout_ms, which is
 * never if that is negative, or -ECANCELED after a stop by another thread. The lock is held.
 */
int litepcie_wait_for(struct litepcie *dev, unsigned int directions, uint64_t before,
		      int timeout_ms);

/* The same for one direction that has nothing to offer. The lock is not held. */
int litepcie_wait_beyond(struct litepcie *dev, unsigned int direction, uint64_t known,
			 int timeout_ms);

/* -ECANCELED: it may run again by now, but this thread waited for a run that has ended. */
int litepcie_stopped(struct litepcie *dev);

/* Sleep once, then look at the card. Returns 1: an interrupt came, 0: the time is over. */
int litepcie_sleep_once(struct litepcie *dev, unsigned int directions, int timeout_ms);

#endif /* LITEPCIE_RING_H */
