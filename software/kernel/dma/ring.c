// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Allocates and maps rings.  A ring is the memory of one DMA direction or of one capture queue, in
 * ordinary pages that can be mapped for the card.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "ring.h"

/*
 * Size in bytes of the chunks (contiguous parts of a ring) that are tried first, unless a buffer is
 * larger or the whole ring is smaller.  Large chunks need fewer entries in an IOMMU.  2 MiB is the
 * size of a huge page on x86.
 */
#define CHUNK_BYTES_WANTED	SZ_2M

size_t litepcie_ring_bytes(const struct litepcie_ring *ring)
{
	return (size_t)ring->geometry.size * ring->geometry.count;
}

size_t litepcie_chunk_bytes(const struct litepcie_ring *ring)
{
	return PAGE_SIZE << ring->chunk_order;
}

struct page *litepcie_ring_page(const struct litepcie_ring *ring, size_t offset)
{
	return ring->chunk[offset / litepcie_chunk_bytes(ring)].page +
	       offset % litepcie_chunk_bytes(ring) / PAGE_SIZE;
}

static size_t buffer_offset(const struct litepcie_ring *ring, u32 buffer)
{
	return (size_t)buffer * ring->geometry.size;
}

void *litepcie_ring_buffer(const struct litepcie_ring *ring, u32 buffer)
{
	return page_address(litepcie_ring_page(ring, buffer_offset(ring, buffer)));
}

/*
 * Returns the DMA address of a buffer.  A buffer never crosses a chunk's end, since both sizes are
 * powers of two and a chunk is not smaller than a buffer.
 */
dma_addr_t litepcie_ring_dma(const struct litepcie_ring *ring, u32 buffer)
{
	size_t offset = buffer_offset(ring, buffer);

	return ring->chunk[offset / litepcie_chunk_bytes(ring)].dma +
	       offset % litepcie_chunk_bytes(ring);
}

/*
 * Let the processor copy from or to a buffer: call dma_sync_*() if the ring needs that and is
 * mapped.  Takes ring->lock, so no interrupt handler may call this.
 */
void litepcie_ring_for_cpu(struct litepcie_ring *ring, u32 buffer)
{
	if (!ring->needs_sync)
		return;
	spin_lock(&ring->lock);
	if (ring->dev)
		dma_sync_single_for_cpu(ring->dev, litepcie_ring_dma(ring, buffer),
					ring->geometry.size, ring->direction);
	spin_unlock(&ring->lock);
}

/*
 * Let the card use a buffer that the processor has written or read: call dma_sync_*() if the ring
 * needs that and is mapped.  Takes ring->lock, so no interrupt handler may call this.
 */
void litepcie_ring_for_card(struct litepcie_ring *ring, u32 buffer)
{
	if (!ring->needs_sync)
		return;
	spin_lock(&ring->lock);
	if (ring->dev)
		dma_sync_single_for_device(ring->dev, litepcie_ring_dma(ring, buffer),
					   ring->geometry.size, ring->direction);
	spin_unlock(&ring->lock);
}

/* Unmap the ring, if it is mapped, from the card, which must not access it any more. */
void litepcie_ring_unmap(struct litepcie_ring *ring)
{
	struct device *dev;

	spin_lock(&ring->lock);
	dev = ring->dev;
	ring->dev = NULL;
	spin_unlock(&ring->lock);
	if (!dev)
		return;
	for (unsigned int i = 0; i < ring->chunks; i++)
		dma_unmap_page(dev, ring->chunk[i].dma, litepcie_chunk_bytes(ring),
			       ring->direction);
}

static void free_pages_of(struct litepcie_ring *ring)
{
	if (ring->memory) {
		litepcie_memory_unpin(ring->memory);
		return;
	}
	for (unsigned int i = 0; i < ring->chunks; i++)
		if (ring->chunk[i].page)
			put_page(ring->chunk[i].page);
	litepcie_discharge(&ring->charge);
}

static int charge_pages_of(struct litepcie_ring *ring, struct litepcie_allowance *allowance)
{
	return litepcie_charge(&ring->charge, (unsigned long)ring->chunks << ring->chunk_order,
			       allowance);
}

/*
 * Allocate the ring's chunks.  A chunk of several pages is a compound page, so a reference to any
 * of its pages keeps the whole chunk.  After -ENOMEM the caller puts the ring, which frees the
 * chunks that were allocated.
 */
static int alloc_pages_of(struct litepcie_ring *ring, int node)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_COMP | __GFP_NOWARN;

	if (ring->chunk_order > PAGE_ALLOC_COSTLY_ORDER)
		gfp |= __GFP_NORETRY;
	for (unsigned int i = 0; i < ring->chunks; i++) {
		ring->chunk[i].page = alloc_pages_node(node, gfp, ring->chunk_order);
		if (!ring->chunk[i].page)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Map the ring's pages, which must not be mapped, for DMA by @dev.  Returns 0, or -ENOMEM, and then
 * no page is mapped.
 */
int litepcie_ring_map(struct litepcie_ring *ring, struct device *dev)
{
	unsigned int i;

	for (i = 0; i < ring->chunks; i++) {
		ring->chunk[i].dma = dma_map_page(dev, ring->chunk[i].page, 0,
						  litepcie_chunk_bytes(ring), ring->direction);
		if (dma_mapping_error(dev, ring->chunk[i].dma))
			goto unmap;
		ring->needs_sync |= litepcie_needs_sync(dev, ring->chunk[i].dma);
	}
	spin_lock(&ring->lock);
	ring->dev = dev;
	spin_unlock(&ring->lock);
	return 0;

unmap:
	while (i--)
		dma_unmap_page(dev, ring->chunk[i].dma, litepcie_chunk_bytes(ring),
			       ring->direction);
	return -ENOMEM;
}

/* Unmap the ring and free it.  @with_pages: false leaves its pages to the caller. */
static void free_ring(struct litepcie_ring *ring, bool with_pages)
{
	litepcie_ring_unmap(ring);
	if (with_pages)
		free_pages_of(ring);
	kfree(ring);
}

static void ring_release(struct kref *kref)
{
	free_ring(container_of(kref, struct litepcie_ring, kref), true);
}

void litepcie_ring_get(struct litepcie_ring *ring)
{
	kref_get(&ring->kref);
}

/*
 * Drop a reference to the ring, if @ring is not NULL.  The drop of the last reference unmaps the
 * ring from the card and frees or unpins its pages, so this function may sleep.
 */
void litepcie_ring_put(struct litepcie_ring *ring)
{
	if (ring)
		kref_put(&ring->kref, ring_release);
}

static struct litepcie_ring *new_ring(enum dma_data_direction direction,
				      const struct litepcie_geometry *geometry, unsigned int order)
{
	size_t bytes = (size_t)geometry->size * geometry->count;
	unsigned int chunks = DIV_ROUND_UP(bytes, PAGE_SIZE << order);
	struct litepcie_ring *ring;

	ring = kzalloc(struct_size(ring, chunk, chunks), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return NULL;
	kref_init(&ring->kref);
	spin_lock_init(&ring->lock);
	ring->geometry = *geometry;
	ring->direction = direction;
	ring->chunk_order = order;
	ring->chunks = chunks;
	return ring;
}

/*
 * Returns the order (log2 of the number of pages) of the chunks to try first.  If a ring cannot be
 * made of such chunks, the callers try smaller orders, down to the size of a buffer.
 */
static int largest_order(const struct litepcie_geometry *geometry)
{
	int whole = get_order((size_t)geometry->size * geometry->count);

	return max(min(whole, get_order(CHUNK_BYTES_WANTED)), get_order(geometry->size));
}

/*
 * Allocate a ring of zeroed pages, if possible on the card's NUMA node and in chunks of the order
 * of largest_order(), and map it for @dev.  The caller has checked @geometry.  litepcie_charge()
 * charges the memory, or takes @allowance instead.  Returns the ring with one reference.
 * Returns -ENOMEM if memory or DMA addresses are lacking, or if the charge would exceed
 * RLIMIT_MEMLOCK.
 */
struct litepcie_ring *litepcie_ring_alloc(struct device *dev, enum dma_data_direction direction,
					  const struct litepcie_geometry *geometry,
					  struct litepcie_allowance *allowance)
{
	int order, smallest = get_order(geometry->size);

	for (order = largest_order(geometry); order >= smallest; order--) {
		struct litepcie_ring *ring = new_ring(direction, geometry, order);

		if (ring && !charge_pages_of(ring, allowance) &&
		    !alloc_pages_of(ring, dev_to_node(dev)) && !litepcie_ring_map(ring, dev))
			return ring;
		litepcie_ring_put(ring);
	}
	return ERR_PTR(-ENOMEM);
}

/*
 * Make a ring of @memory, in chunks of 2^@order contiguous pages, and map it for @dev.  On success
 * @memory belongs to the ring.  Returns NULL on failure, and @memory then still belongs to the
 * caller.
 */
static struct litepcie_ring *wrap_in_chunks(struct device *dev, enum dma_data_direction direction,
					    const struct litepcie_geometry *geometry,
					    struct litepcie_memory *memory, unsigned int order)
{
	struct litepcie_ring *ring = new_ring(direction, geometry, order);

	if (!ring)
		return NULL;
	for (unsigned int i = 0; i < ring->chunks; i++)
		ring->chunk[i].page = litepcie_memory_page(memory, (unsigned long)i << order);
	if (litepcie_ring_map(ring, dev)) {
		free_ring(ring, false);
		return NULL;
	}
	ring->memory = memory;
	return ring;
}

/*
 * Make a ring in @memory, which has as many bytes as @geometry says, and map it for @dev.  On
 * success the ring has one reference, and @memory belongs to it.  After an error @memory still
 * belongs to the caller.  Errors:
 *   -EMSGSIZE	a buffer does not lie within one page or huge page of @memory
 *   -EOPNOTSUPP	the card does not reach @memory without dma_sync_*()
 *   -ENOMEM	not enough kernel memory, or not enough DMA addresses
 */
struct litepcie_ring *litepcie_ring_wrap(struct device *dev, enum dma_data_direction direction,
					 const struct litepcie_geometry *geometry,
					 struct litepcie_memory *memory)
{
	int order, smallest = get_order(geometry->size);
	struct litepcie_ring *ring = NULL;

	if (!litepcie_memory_fits(memory, smallest)) {
		dev_dbg(dev, "buffers of %u bytes in smaller pages: use MADV_HUGEPAGE or MAP_HUGETLB, and align the ring to a huge page\n",
			geometry->size);
		return ERR_PTR(-EMSGSIZE);
	}
	for (order = largest_order(geometry); order >= smallest && !ring; order--)
		if (litepcie_memory_fits(memory, order))
			ring = wrap_in_chunks(dev, direction, geometry, memory, order);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	/*
	 * A process cannot call dma_sync_*().  For a ring that needs these calls, process and card
	 * would not see each other's data.
	 */
	if (ring->needs_sync) {
		dev_dbg(dev, "the card does not reach all memory by itself: use the driver's own ring\n");
		free_ring(ring, false);
		return ERR_PTR(-EOPNOTSUPP);
	}
	return ring;
}
