// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Pins a process's own memory for a ring, and charges it by litepcie_charge().
 *
 * Pinned pages are neither moved nor reused until they are unpinned, whatever happens to the
 * mapping and the process.  So the card does not write to pages that have got another use.  Only
 * anonymous pages, as private mappings have them, and pages of hugetlbfs are accepted: pages of
 * another file may be written back or truncated while the card writes to them.
 */

#define pr_fmt(fmt)	KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "charge.h"
#include "memory.h"

/* most pages of a process's memory to pin between two calls of cond_resched() */
#define PIN_MOST	SZ_64K

struct litepcie_memory {
	struct litepcie_charge	charge;
	unsigned long		pages;
	struct page		*page[];
};

struct page *litepcie_memory_page(const struct litepcie_memory *memory, unsigned long n)
{
	return memory->page[n];
}

/*
 * Pin all pages of @memory, whose first byte is at @address in the calling process.  Returns 0, or
 * an error such as -EFAULT if a page cannot be pinned, and then no page is pinned.
 */
static int pin(struct litepcie_memory *memory, unsigned long address)
{
	unsigned long done = 0;
	int got;

	while (done < memory->pages) {
		got = pin_user_pages_fast(address + done * PAGE_SIZE,
					  min_t(unsigned long, memory->pages - done, PIN_MOST),
					  FOLL_WRITE | FOLL_LONGTERM, &memory->page[done]);
		if (got <= 0)
			goto unpin;
		done += got;
		cond_resched();
	}
	return 0;

unpin:
	if (done)
		unpin_user_pages(memory->page, done);
	return got ? got : -EFAULT;
}

/*
 * Returns -EOPNOTSUPP if a page is neither anonymous nor of hugetlbfs, or has no address in the
 * kernel's mapping.
 */
static int check_kind(const struct litepcie_memory *memory)
{
	for (unsigned long n = 0; n < memory->pages; n++) {
		struct folio *folio = page_folio(memory->page[n]);

		if ((!folio_test_anon(folio) && !folio_test_hugetlb(folio)) ||
		    PageHighMem(memory->page[n])) {
			pr_debug("%s: page %lu is a file's, or shared: use private anonymous memory or hugetlbfs\n",
				 current->comm, n);
			return -EOPNOTSUPP;
		}
	}
	return 0;
}

/*
 * Unpin the first @pinned pages of @memory, undo its charge, and free the structure.  @dirty: mark
 * the pages as dirty, since the card or write() may have written to them.
 */
static void memory_release(struct litepcie_memory *memory, unsigned long pinned, bool dirty)
{
	if (pinned)
		unpin_user_pages_dirty_lock(memory->page, pinned, dirty);
	litepcie_discharge(&memory->charge);
	kvfree(memory);
}

/*
 * Pin writable memory of the calling process for the card's DMA, and charge it by
 * litepcie_charge().  @address and @bytes are multiples of the page size.  The caller holds no lock
 * of the driver, since pages may have to be read from a disk.  Errors, among others of the kernel:
 *   -EFAULT	no memory is mapped at @address, or the process may not write to it
 *   -EOPNOTSUPP	a page is neither anonymous nor of hugetlbfs
 *   -ENOMEM	no kernel memory, or RLIMIT_MEMLOCK would be exceeded without CAP_IPC_LOCK
 */
struct litepcie_memory *litepcie_memory_pin(unsigned long address, size_t bytes)
{
	unsigned long pages = bytes / PAGE_SIZE, pinned = 0;
	struct litepcie_memory *memory;
	unsigned long end;
	int err;

	if (check_add_overflow(address, (unsigned long)bytes, &end))
		return ERR_PTR(-EFAULT);
	memory = kvzalloc(struct_size(memory, page, pages), GFP_KERNEL_ACCOUNT);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	memory->pages = pages;
	err = litepcie_charge(&memory->charge, pages, NULL);
	if (!err)
		err = pin(memory, address);
	if (err)
		goto release;
	pinned = pages;
	err = check_kind(memory);
	if (err)
		goto release;
	return memory;

release:
	memory_release(memory, pinned, false);
	return ERR_PTR(err);
}

/*
 * Unpin a process's memory, undo its charge and free @memory.  The card must have no DMA mapping of
 * the pages any more.  The pages are marked dirty, since the card or write() may have written to
 * them.  May sleep.
 */
void litepcie_memory_unpin(struct litepcie_memory *memory)
{
	memory_release(memory, memory->pages, true);
}

/*
 * Returns true if @memory consists of whole groups of 2^@order pages, and each group lies within
 * one folio, such as a huge page.  A group is then contiguous for the card and in the kernel's
 * mapping.
 */
bool litepcie_memory_fits(const struct litepcie_memory *memory, unsigned int order)
{
	unsigned long mask = BIT(order) - 1;

	if (memory->pages & mask)
		return false;
	for (unsigned long n = 0; n < memory->pages; n++) {
		struct page *page = memory->page[n], *first = memory->page[n & ~mask];

		if (page != first + (n & mask) || page_folio(page) != page_folio(first))
			return false;
	}
	return true;
}
