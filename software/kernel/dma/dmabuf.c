// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Exports a ring as a dma-buf, so that other devices and processes read and write the ring in
 * place.
 *
 * The dma-buf holds a reference to the ring, not to the card.  When the card has gone, the pages
 * stay valid, but the card brings no more data.
 */

#include <linux/dma-buf.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "card.h"
#include "compat.h"

LITEPCIE_IMPORT_DMA_BUF;

/*
 * Make a scatter table of the ring's pages for @dev, the importing device.  A segment has at most
 * the size of a chunk of the ring, and at most what @dev takes.
 */
static int make_table(struct sg_table *table, struct litepcie_ring *ring, struct device *dev)
{
	size_t most = rounddown_pow_of_two(max_t(size_t, dma_get_max_seg_size(dev), PAGE_SIZE));
	size_t size = min(most, litepcie_chunk_bytes(ring));
	size_t bytes = litepcie_ring_bytes(ring), at = 0;
	struct scatterlist *sg;
	unsigned int i;
	int err;

	err = sg_alloc_table(table, DIV_ROUND_UP(bytes, size), GFP_KERNEL);
	if (err)
		return err;
	for_each_sgtable_sg(table, sg, i) {
		sg_set_page(sg, litepcie_ring_page(ring, at), min(size, bytes - at), 0);
		at += size;
	}
	return 0;
}

static struct sg_table *dmabuf_map(struct dma_buf_attachment *attachment,
				   enum dma_data_direction direction)
{
	struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	int err;

	if (!table)
		return ERR_PTR(-ENOMEM);
	err = make_table(table, attachment->dmabuf->priv, attachment->dev);
	if (err)
		goto free_table;
	err = dma_map_sgtable(attachment->dev, table, direction, 0);
	if (err)
		goto free_entries;
	return table;

free_entries:
	sg_free_table(table);
free_table:
	kfree(table);
	return ERR_PTR(err);
}

static void dmabuf_unmap(struct dma_buf_attachment *attachment, struct sg_table *table,
			 enum dma_data_direction direction)
{
	dma_unmap_sgtable(attachment->dev, table, direction, 0);
	sg_free_table(table);
	kfree(table);
}

/*
 * mmap() of a dma-buf: map the ring or a part of it.  The dma-buf core has checked the bounds.  The
 * mapping keeps the dma-buf's file, and thereby the ring.
 */
static int dmabuf_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	/*
	 * In a private mapping, writes of the process would go to copies of the ring's pages, which
	 * no device uses.
	 */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return litepcie_mmap_pages(vma, dmabuf->priv, vma->vm_pgoff << PAGE_SHIFT);
}

static int dmabuf_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct litepcie_ring *ring = dmabuf->priv;
	size_t count = litepcie_ring_bytes(ring) / PAGE_SIZE;
	struct page **pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	void *address;

	if (!pages)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		pages[i] = litepcie_ring_page(ring, i * PAGE_SIZE);
	address = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	if (!address)
		return -ENOMEM;
	iosys_map_set_vaddr(map, address);
	return 0;
}

static void dmabuf_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static void dmabuf_release(struct dma_buf *dmabuf)
{
	litepcie_ring_put(dmabuf->priv);
}

static const struct dma_buf_ops dmabuf_ops = {
	.map_dma_buf	= dmabuf_map,
	.unmap_dma_buf	= dmabuf_unmap,
	.mmap		= dmabuf_mmap,
	.vmap		= dmabuf_vmap,
	.vunmap		= dmabuf_vunmap,
	.release	= dmabuf_release,
};

/*
 * LITEPCIE_IOCTL_EXPORT: make a dma-buf of the ring that @file has in direction @way, or would have
 * as its owner.  The caller is between litepcie_enter() and litepcie_exit().  Errors, beside those
 * of litepcie_owner_ring_of() and dma_buf_export():
 *   -EINVAL		@fd_flags has an unknown flag
 *   -EADDRINUSE	the ring lies in the process's own memory
 *   -EOPNOTSUPP	the ring needs dma_sync_*(), which other devices would not call
 */
struct dma_buf *litepcie_dmabuf_export(struct litepcie_way *way, struct litepcie_file *file,
				       u32 fd_flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct litepcie_ring *ring;
	struct dma_buf *dmabuf;

	if (fd_flags & ~(u32)(O_CLOEXEC | O_ACCMODE))
		return ERR_PTR(-EINVAL);
	ring = litepcie_owner_ring_of(way, file);
	if (IS_ERR(ring))
		return ERR_CAST(ring);
	info.priv = ring;
	info.ops = &dmabuf_ops;
	info.size = litepcie_ring_bytes(ring);
	info.flags = fd_flags;
	if (ring->memory)
		dmabuf = ERR_PTR(-EADDRINUSE);
	else if (ring->needs_sync)
		dmabuf = ERR_PTR(-EOPNOTSUPP);
	else
		dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		litepcie_ring_put(ring);
	return dmabuf;
}
