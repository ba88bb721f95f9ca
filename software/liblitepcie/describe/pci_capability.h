/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Find a capability in a copy of a PCI function's configuration space. */
#ifndef LITEPCIE_PCI_CAPABILITY_H
#define LITEPCIE_PCI_CAPABILITY_H

#include <linux/pci_regs.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the offset of the first capability of type @type in the first @size bytes of
 * configuration space, or 0 if none is there. The memory at @config has room for the 64 bytes of
 * the header in any case.
 *
 * The list lies in the 192 bytes behind the header, 4-byte aligned, so it has 48 entries at most.
 * With this limit a list that runs in a circle does not hold up the search.
 */
static inline unsigned int litepcie_pci_capability(const uint8_t *config, size_t size, uint8_t type)
{
	unsigned int at = config[PCI_CAPABILITY_LIST] & 0xfc;

	for (int left = 48; at >= 0x40 && at + 2 <= size && left; left--) {
		if (config[at] == type)
			return at;
		at = config[at + 1] & 0xfc;
	}
	return 0;
}

#endif /* LITEPCIE_PCI_CAPABILITY_H */
