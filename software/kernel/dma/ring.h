/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares rings.  A ring is the memory of one DMA direction or of one capture queue, in ordinary
 * pages that are mapped for the card while the card may use the ring.  Either the driver allocates
 * the pages, or they are a process's own memory (memory.c), which the process has mapped.
 *
 * The pages have struct pages and reference counts: I/O under way (O_DIRECT, io_uring) keeps the
 * pages after the ring and the card are gone.  Mappings by mmap() of the device node, and dma-bufs,
 * keep the ring itself, and so the charge for its memory.
 */
#ifndef LITEPCIE_RING_H
#define LITEPCIE_RING_H

#include <linux/dma-mapping.h>
#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>

#include "charge.h"
#include "memory.h"
#include "uapi/litepcie_capability.h"

/*
 * The geometry of a ring: number and size of its buffers, and how the driver learns of progress.
 * Unless the program asks for another geometry, a direction's ring has that of LitePCIe: 256
 * buffers of 8 KiB.  Of a capture queue's ring only @size and @count are used.
 */
struct litepcie_geometry {
	u32	size;		/* bytes of a buffer: a power of two */
	u32	count;		/* number of buffers in the ring */
	/*
	 * number of descriptors for which the driver asks the card for one interrupt, in runs of
	 * the kinds LITEPCIE_RUN_LOOP and LITEPCIE_RUN_HELD; not used in poll mode
	 */
	u32	per_interrupt;
	u32	mode;		/* how the driver learns of progress: a LITEPCIE_MODE_ value */
	u32	interval_us;	/* period of the timer in us, in adaptive and poll mode; else 0 */
	u32	flags;		/* flags that the program has set: LITEPCIE_RING_INDEXED or 0 */
};

#define LITEPCIE_GEOMETRY_DEFAULT \
	((struct litepcie_geometry){ .size = LITEPCIE_STOCK_BUFFER_SIZE, \
				     .count = LITEPCIE_STOCK_BUFFERS, \
				     .per_interrupt = LITEPCIE_STOCK_BUFFERS_PER_INTERRUPT })

struct litepcie_chunk {
	/* first page of the chunk, which is 2^chunk_order contiguous pages of the ring */
	struct page	*page;
	dma_addr_t	dma;
};

struct litepcie_ring {
	struct kref			kref;
	struct litepcie_geometry	geometry;
	/*
	 * lock: protects @dev.  dma_sync_*() is called with the lock held and only if @dev is set,
	 * so never for an unmapped ring.
	 */
	spinlock_t			lock;
	struct device			*dev;	/* device that the ring is mapped for, or NULL */
	enum dma_data_direction		direction;
	/*
	 * true: dma_sync_*() is needed before and after the card's DMA, see litepcie_needs_sync()
	 */
	bool				needs_sync;
	/* the process's memory that the ring lies in; NULL: the driver has allocated the pages */
	struct litepcie_memory		*memory;
	/* charge for the pages, or allowance taken instead; all 0 if @memory is set */
	struct litepcie_charge		charge;
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
