// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements mmap() of the BARs: registers are mapped uncached, memory write-combining.  Every
 * program that has the device node open may map all of a BAR for reading.  rights.c decides which
 * parts a program without CAP_SYS_RAWIO may map for writing.
 *
 * A page is mapped at its first access.  When the kernel resets the card, lets it sleep or removes
 * it, the driver unmaps all pages.  After that, and until the card is back, an access ends in
 * SIGBUS instead of reading all ones.
 */

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/nospec.h>

#include "card.h"
#include "compat.h"

static bool is_memory(struct litepcie *card, unsigned int bar)
{
	unsigned long flags = pci_resource_flags(card->pdev, bar);

	return flags & IORESOURCE_MEM && flags & IORESOURCE_PREFETCH;
}

/*
 * Map the memory BARs into the kernel as write-combining.  All user mappings of their pages must
 * have the same caching type, and so are write-combining, too.
 */
void litepcie_bar_map_memory(struct litepcie *card)
{
	for (unsigned int bar = 1; bar < PCI_STD_NUM_BARS; bar++)
		if (is_memory(card, bar))
			card->memory[bar] = pci_iomap_wc(card->pdev, bar, 0);
}

void litepcie_bar_unmap_memory(struct litepcie *card)
{
	for (unsigned int bar = 1; bar < PCI_STD_NUM_BARS; bar++)
		if (card->memory[bar])
			pci_iounmap(card->pdev, card->memory[bar]);
}

/*
 * Fill in @bar with the mmap() offset, size and type of BAR number bar->bar.  Returns -EINVAL if
 * there is no such number or bar->reserved is not 0, or -ENODEV if the BAR is neither BAR0 nor
 * memory that litepcie_bar_map_memory() has mapped.
 */
int litepcie_bar_info(struct litepcie *card, struct litepcie_bar *bar)
{
	u32 n;

	if (bar->bar >= PCI_STD_NUM_BARS || bar->reserved)
		return -EINVAL;
	n = array_index_nospec(bar->bar, PCI_STD_NUM_BARS);
	if (n && !card->memory[n])
		return -ENODEV;
	bar->write_combining = n && card->memory[n];
	bar->offset = (u64)(LITEPCIE_REGION_BAR + n) << LITEPCIE_MMAP_SHIFT;
	bar->size = pci_resource_len(card->pdev, n);
	return 0;
}

static vm_fault_t bar_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct litepcie_file *file = vma->vm_file->private_data;
	struct litepcie *card = file->chan->card;
	u64 place = (u64)vmf->pgoff << PAGE_SHIFT;
	unsigned int bar = (place >> LITEPCIE_MMAP_SHIFT) - LITEPCIE_REGION_BAR;
	u64 offset = place & (BIT_ULL(LITEPCIE_MMAP_SHIFT) - 1);
	vm_fault_t result;

	bar = array_index_nospec(bar, PCI_STD_NUM_BARS);
	if (litepcie_enter(card))
		return VM_FAULT_SIGBUS;
	result = vmf_insert_pfn(vma, vmf->address,
				(pci_resource_start(card->pdev, bar) + offset) >> PAGE_SHIFT);
	litepcie_exit(card);
	return result;
}

static const struct vm_operations_struct bar_vm_ops = {
	.fault = bar_fault,
};

/*
 * mmap() of a BAR from byte @offset on.  Returns -EINVAL if the mapping is private or goes beyond
 * the BAR, or -ENODEV if the BAR cannot be mapped.  A mapping of a process without CAP_SYS_RAWIO
 * may be writable only if litepcie_right() returns LITEPCIE_RIGHT_WRITE for all of its bytes.
 * Otherwise a writable mapping fails with -EPERM, and a mapping for reading cannot be made writable
 * later.
 */
int litepcie_bar_mmap(struct litepcie *card, unsigned int bar, u64 offset,
		      struct vm_area_struct *vma)
{
	u64 size = vma->vm_end - vma->vm_start;
	struct litepcie_bar info = { .bar = bar };
	int err = litepcie_bar_info(card, &info);

	if (err)
		return err;
	if (!(vma->vm_flags & VM_SHARED) || offset > info.size || size > info.size - offset)
		return -EINVAL;
	if (litepcie_right(card, bar, offset, size) != LITEPCIE_RIGHT_WRITE &&
	    !capable(CAP_SYS_RAWIO)) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vma->vm_page_prot = bar ? pgprot_writecombine(vma->vm_page_prot) :
				  pgprot_noncached(vma->vm_page_prot);
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &bar_vm_ops;
	return 0;
}

/*
 * Unmap the BARs from all processes.  The caller has made sure that litepcie_enter() fails, so no
 * later page fault maps a page again.
 */
void litepcie_bar_zap(struct litepcie *card)
{
	loff_t start = (u64)LITEPCIE_REGION_BAR << LITEPCIE_MMAP_SHIFT;
	struct litepcie_file *file;

	mutex_lock(&card->files_lock);
	list_for_each_entry(file, &card->files, node)
		unmap_mapping_range(file->filp->f_mapping, start, 0, 1);
	mutex_unlock(&card->files_lock);
}
