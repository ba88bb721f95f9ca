// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * mmap(): what lies where, and the rings, page by page.
 *
 * Real pages with reference counts, not bare frame numbers: they can be pinned
 * (O_DIRECT, io_uring, vmsplice), and a mapping outlives ring, file and card.
 */

#include <linux/mm.h>
#include <linux/module.h>

#include "card.h"
#include "compat.h"

static int insert_chunk(struct vm_area_struct *vma, unsigned long address,
			struct litepcie_ring *ring, size_t offset, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE_SIZE) {
		int err = vm_insert_page(vma, address + at, litepcie_ring_page(ring, offset + at));

		if (err)
			return err;
	}
	return 0;
}

static int map_ring(struct vm_area_struct *vma, struct litepcie_ring *ring)
{
	/* Its owner has it where it wanted it. */
	if (ring->memory)
		return -EADDRINUSE;
	if (vma->vm_end - vma->vm_start != litepcie_ring_bytes(ring))
		return -EINVAL;
	/* A private copy would never see what the card does. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/* Elsewhere the processor and the card do not see the same memory. */
	if (ring->needs_sync)
		return -EOPNOTSUPP;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return insert_chunk(vma, vma->vm_start, ring, 0, litepcie_ring_bytes(ring));
}

/* h2c lies at 0, c2h behind it: LITEPCIE_IOCTL_MMAP_DMA_INFO. */
static struct litepcie_way *way_at(struct litepcie_chan *chan, u64 offset)
{
	struct litepcie_way *h2c = &chan->way[LITEPCIE_H2C];
	u64 end = 0;

	if (!offset)
		return h2c;
	mutex_lock(&h2c->mutex);
	if (h2c->ring)
		end = litepcie_ring_bytes(h2c->ring);
	mutex_unlock(&h2c->mutex);
	return offset == end ? &chan->way[LITEPCIE_C2H] : NULL;
}

/* The ring with a reference; none: there is no memory. */
static struct litepcie_ring *ring_of(struct litepcie_way *way)
{
	struct litepcie_ring *ring = NULL;

	mutex_lock(&way->mutex);
	if (!litepcie_dma_ring(way)) {
		ring = way->ring;
		litepcie_ring_get(ring);
	}
	mutex_unlock(&way->mutex);
	return ring;
}

static int mmap_way(struct litepcie_way *way, struct vm_area_struct *vma)
{
	struct litepcie_ring *ring = ring_of(way);
	int err;

	if (!ring)
		return -ENOMEM;
	err = map_ring(vma, ring);
	litepcie_ring_put(ring);
	return err;
}

static int mmap_index(struct litepcie_chan *chan, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return vm_insert_page(vma, vma->vm_start, virt_to_page(chan->index));
}

static int mmap_place(struct litepcie_chan *chan, struct vm_area_struct *vma)
{
	u64 place = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 region = place >> LITEPCIE_MMAP_SHIFT;
	u64 offset = place & (BIT_ULL(LITEPCIE_MMAP_SHIFT) - 1);
	struct litepcie_way *way;

	if (region >= LITEPCIE_REGION_BAR && region < LITEPCIE_REGION_BAR + PCI_STD_NUM_BARS)
		return litepcie_bar_mmap(chan->card, region - LITEPCIE_REGION_BAR, offset, vma);
	if (region && offset)
		return -EINVAL;
	switch (region) {
	case LITEPCIE_REGION_RINGS:
		way = way_at(chan, offset);
		return way ? mmap_way(way, vma) : -EINVAL;
	case LITEPCIE_REGION_H2C:
		return mmap_way(&chan->way[LITEPCIE_H2C], vma);
	case LITEPCIE_REGION_C2H:
		return mmap_way(&chan->way[LITEPCIE_C2H], vma);
	case LITEPCIE_REGION_INDEX:
		return mmap_index(chan, vma);
	default:
		return -EINVAL;
	}
}

int litepcie_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct litepcie_file *file = filp->private_data;
	int err = litepcie_enter(file->chan->card);

	if (err)
		return err;
	err = mmap_place(file->chan, vma);
	litepcie_exit(file->chan->card);
	return err;
}
