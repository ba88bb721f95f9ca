/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the memory of a QSFP module through the card. The gateware reads up to MODULE_HALF bytes in
 * one transfer. Before a transfer from upper memory the gateware selects the page in the module.
 */
#ifndef LITEPCIE_UTIL_MODULE_MEMORY_H
#define LITEPCIE_UTIL_MODULE_MEMORY_H

#include "util.h"

#define MODULE_HALF	128u	/* bytes of a module's lower memory, and of each upper page */

/*
 * Read @bytes bytes, MODULE_HALF at most, of the memory of the module in cage @cage (0: A, 1: B)
 * into @to, from @offset on. Offsets from 128 on are in upper page @page. With @keep the card keeps
 * the module selected on its bus for the next read. Returns false and notes a failure if the read
 * failed.
 */
bool module_read(struct util *util, unsigned int cage, unsigned int page, unsigned int offset,
		 unsigned int bytes, uint8_t *to, bool keep);

#endif /* LITEPCIE_UTIL_MODULE_MEMORY_H */
