// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements mmap() of the device node: finds the region of an offset (enum litepcie_region), and
 * maps rings, the status page, the index page and the records.  bar.c maps BARs.
 *
 * Rings are mapped as struct pages with reference counts, not as bare frame numbers.  So their
 * pages can be pinned (O_DIRECT, io_uring, vmsplice), and a mapping stays usable when the card has
 * gone.
 */

#include <linux/mm.h>

#include "card.h"
#include "compat.h"

/* Each mapping of a ring holds a reference to it, so the ring's memory and its charge stay. */
static void ring_vm_open(struct vm_area_struct *vma)
{
	litepcie_ring_get(vma->vm_private_data);
}

static void ring_vm_close(struct vm_area_struct *vma)
{
	litepcie_ring_put(vma->vm_private_data);
}

static const struct vm_operations_struct ring_vm_ops = {
	.open	= ring_vm_open,
	.close	= ring_vm_close,
};

/*
 * Map the ring's pages from byte @first of the ring on.  The caller has checked that the ring does
 * not end before the mapping.  Returns 0 or -errno.
 */
int litepcie_mmap_pages(struct vm_area_struct *vma, struct litepcie_ring *ring, size_t first)
{
	for (size_t at = 0; at < vma->vm_end - vma->vm_start; at += PAGE_SIZE) {
		int err = vm_insert_page(vma, vma->vm_start + at,
					 litepcie_ring_page(ring, first + at));

		if (err)
			return err;
		/* To map a gigabyte takes long, so other tasks may run after each 2 MiB. */
		if (!(at % SZ_2M))
			cond_resched();
	}
	return 0;
}

static int map_ring(struct vm_area_struct *vma, struct litepcie_ring *ring)
{
	int err;

	/* A ring in the process's own memory is mapped already, so mmap() refuses it. */
	if (ring->memory)
		return -EADDRINUSE;
	if (vma->vm_end - vma->vm_start != litepcie_ring_bytes(ring))
		return -EINVAL;
	/*
	 * In a private mapping, writes of the process would go to copies of the ring's pages, which
	 * the card does not use.
	 */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	/*
	 * A process cannot call dma_sync_*().  For a ring that needs these calls, process and card
	 * would not see each other's data.
	 */
	if (ring->needs_sync)
		return -EOPNOTSUPP;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	err = litepcie_mmap_pages(vma, ring, 0);
	if (err)
		return err;
	vma->vm_private_data = ring;
	vma->vm_ops = &ring_vm_ops;
	ring_vm_open(vma);
	return 0;
}

/*
 * Returns the direction whose ring begins at @offset of LITEPCIE_REGION_RINGS, or NULL.  The h2c
 * ring lies at offset 0, and the c2h ring follows the h2c ring.
 */
static struct litepcie_way *way_at(struct litepcie_file *file, u64 offset)
{
	struct litepcie_way *h2c = &file->chan->way[LITEPCIE_WAY_H2C];
	struct litepcie_geometry geometry;

	if (!offset)
		return h2c;
	geometry = litepcie_owner_geometry(h2c, file);
	if (offset != (u64)geometry.size * geometry.count)
		return NULL;
	return &file->chan->way[LITEPCIE_WAY_C2H];
}

static int mmap_way(struct litepcie_way *way, struct litepcie_file *file,
		    struct vm_area_struct *vma)
{
	struct litepcie_ring *ring = litepcie_owner_ring_of(way, file);
	int err;

	if (IS_ERR(ring))
		return PTR_ERR(ring);
	err = map_ring(vma, ring);
	litepcie_ring_put(ring);
	return err;
}

/*
 * Map the @bytes bytes of pages at @address, which the driver keeps for as long as the file is
 * open.  With @writable false a process can map the pages only for reading.  Returns -EINVAL if
 * @bytes is 0 or the mapping has another size or is private, or -EPERM if the mapping is writable
 * and @writable is false.
 */
static int map_kept(struct vm_area_struct *vma, void *address, size_t bytes, bool writable)
{
	struct page *page;
	int err = 0;

	if (!bytes || vma->vm_end - vma->vm_start != bytes || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (!writable && vma->vm_flags & VM_WRITE)
		return -EPERM;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	if (!writable)
		vm_flags_clear(vma, VM_MAYWRITE);
	page = virt_to_page(address);
	for (size_t at = 0; !err && at < bytes; at += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + at, page++);
	return err;
}

static int mmap_place(struct litepcie_file *file, struct vm_area_struct *vma)
{
	struct litepcie_chan *chan = file->chan;
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
		way = way_at(file, offset);
		return way ? mmap_way(way, file, vma) : -EINVAL;
	case LITEPCIE_REGION_H2C:
		return mmap_way(&chan->way[LITEPCIE_WAY_H2C], file, vma);
	case LITEPCIE_REGION_C2H:
		return mmap_way(&chan->way[LITEPCIE_WAY_C2H], file, vma);
	case LITEPCIE_REGION_STATUS:
		return map_kept(vma, chan->status, PAGE_SIZE, false);
	case LITEPCIE_REGION_INDEX:
		/* Each file has an index page of its own, so no other file can write to it. */
		return map_kept(vma, file->index, PAGE_SIZE, true);
	case LITEPCIE_REGION_RECORDS:
		return map_kept(vma, chan->notices.records,
				PAGE_ALIGN(litepcie_notices_bytes(&chan->notices)), false);
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
	err = mmap_place(file, vma);
	litepcie_exit(file->chan->card);
	return err;
}
