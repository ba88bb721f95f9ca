/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The buffers of one direction: ordinary pages, mapped for the card.
 *
 * They are the driver's, or a user's own (memory.c), which has them mapped.
 * The pages have struct pages and reference counts: I/O under way (O_DIRECT,
 * io_uring) keeps them for as long as it needs them, whatever becomes of the ring
 * and the card.  User mappings and dma-bufs keep the ring itself, and so the
 * charge for its memory.
 */
#ifndef LITEPCIE_RING_H
#define LITEPCIE_RING_H

#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>

#include "charge.h"
#include "memory.h"

/* What a ring looks like; LitePCIe's is the default. */
struct litepcie_geometry {
	u32	size;		/* bytes of a buffer: a power of two */
	u32	count;		/* buffers */
	u32	per_interrupt;	/* buffers from one interrupt to the next */
	u32	mode;		/* LITEPCIE_MODE_ */
	u32	interval_us;
	u32	flags;		/* LITEPCIE_RING_ */
};

#define LITEPCIE_GEOMETRY_DEFAULT \
	((struct litepcie_geometry){ .size = 8192, .count = 256, .per_interrupt = 32 })

struct litepcie_chunk {
	struct page	*page;	/* of 2^chunk_order pages, contiguous */
	dma_addr_t	dma;
};

struct litepcie_ring {
	struct kref			kref;
	struct litepcie_geometry	geometry;
	spinlock_t			lock;	/* protects dev */
	struct device			*dev;	/* mapped for it; NULL: for nobody */
	enum dma_data_direction		direction;
	bool				needs_sync;
	struct litepcie_memory		*memory;	/* a user's; NULL: ours */
	struct litepcie_charge		charge;		/* for ours */
	unsigned int			chunk_order;
	unsigned int			chunks;
	struct litepcie_chunk		chunk[];
};

struct litepcie_ring *litepcie_ring_alloc(struct device *dev, enum dma_data_direction direction,
					  const struct litepcie_geometry *geometry,
					  struct litepcie_allowance *allowance);
struct litepcie_ring *litepcie_ring_wrap(struct device *dev, enum dma_data_direction direction,
					 const struct litepcie_geometry *geometry,
					 struct litepcie_memory *memory);
void litepcie_ring_get(struct litepcie_ring *ring);
void litepcie_ring_put(struct litepcie_ring *ring);
int litepcie_ring_map(struct litepcie_ring *ring, struct device *dev);
void litepcie_ring_unmap(struct litepcie_ring *ring);

size_t litepcie_ring_bytes(const struct litepcie_ring *ring);
size_t litepcie_chunk_bytes(const struct litepcie_ring *ring);
dma_addr_t litepcie_ring_dma(const struct litepcie_ring *ring, u32 buffer);
struct page *litepcie_ring_page(const struct litepcie_ring *ring, size_t offset);
void *litepcie_ring_buffer(const struct litepcie_ring *ring, u32 buffer);
void litepcie_ring_for_cpu(struct litepcie_ring *ring, u32 buffer);
void litepcie_ring_for_card(struct litepcie_ring *ring, u32 buffer);

#endif /* LITEPCIE_RING_H */
