/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the pinning of a process's own memory, in which a ring may lie.
 *
 * litepcie_memory_pin() returns pinned memory that belongs to its caller, or an error.  The caller
 * unpins that memory once, after any DMA mapping of it has ended.  No function of this file takes a
 * lock of the driver.
 */
#ifndef LITEPCIE_MEMORY_H
#define LITEPCIE_MEMORY_H

#include <linux/types.h>

struct litepcie_memory;
struct page;

struct litepcie_memory *litepcie_memory_pin(unsigned long address, size_t bytes);
void litepcie_memory_unpin(struct litepcie_memory *memory);
bool litepcie_memory_fits(const struct litepcie_memory *memory, unsigned int order);
struct page *litepcie_memory_page(const struct litepcie_memory *memory, unsigned long n);

#endif /* LITEPCIE_MEMORY_H */
