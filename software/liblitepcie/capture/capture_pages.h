/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The pages of a capture's ring, and the NUMA node on which they should be. The system call mbind()
 * is made directly: libnuma would be one more package on the machine.
 */
#ifndef LITEPCIE_CAPTURE_PAGES_H
#define LITEPCIE_CAPTURE_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct litepcie;

/* Check the size of pages that a program asks for. Returns 0, or -EINVAL with a sentence. */
int litepcie_pages_check(uint64_t page_bytes, uint64_t ring_bytes);

/* Returns -ENOMEM with a sentence that says how to reserve enough pages of @page_bytes. */
int litepcie_pages_missing(struct litepcie *dev, uint64_t page_bytes, uint64_t ring_bytes);

/*
 * Returns the size of pages that the program has asked for (page_bytes of a capture's settings) for
 * memory of @kind, a LITEPCIE_MEMORY_ value. 0: the back end chooses the pages, as it always does
 * for memory other than the ring of a capture.
 */
uint64_t litepcie_pages_asked(const struct litepcie *dev, unsigned int kind);

/* Returns the flags of memfd_create() for pages of @page_bytes, or 0 if @page_bytes is 0. */
unsigned int litepcie_pages_flags(uint64_t page_bytes);

/*
 * Returns the NUMA node of the PCI device whose sysfs folder is @folder, or -1 if sysfs names no
 * node.
 */
int litepcie_node_in(const char *folder);

/*
 * Let the kernel take the pages of memory that was not touched yet from NUMA node @node, if that
 * node has free pages. If @node is -1 or too large, nothing is changed. Returns 0 or -errno. After
 * an error the memory lies where the kernel chooses.
 */
int litepcie_node_bind(int node, void *base, size_t size);

#endif /* LITEPCIE_CAPTURE_PAGES_H */
