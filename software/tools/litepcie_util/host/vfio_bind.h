/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Give a card to vfio-pci, as the command `vfio bind` does. */
#ifndef LITEPCIE_UTIL_VFIO_BIND_H
#define LITEPCIE_UTIL_VFIO_BIND_H

#include <stdbool.h>

struct util;

/*
 * Take the PCI function at @address from its driver and bind it to vfio-pci. Returns false if
 * vfio-pci does not get the function. The failure is then noted.
 */
bool vfio_bind(struct util *util, const char *address);

#endif /* LITEPCIE_UTIL_VFIO_BIND_H */
