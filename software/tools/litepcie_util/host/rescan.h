/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Let the kernel find a card again after the card was configured with another bitstream. */
#ifndef LITEPCIE_UTIL_RESCAN_H
#define LITEPCIE_UTIL_RESCAN_H

#include <stdbool.h>

struct util;

/*
 * Remove the PCI function at @address from the kernel, and let the kernel search the bus until the
 * function is back, for 5 s at most: an FPGA takes most of a second to configure itself. Returns
 * false if the function does not come back, or if this user may not do that. The failure is then
 * noted.
 */
bool rescan_card(struct util *util, const char *address);
/*
 * Returns false if this user may not call rescan_card() for @address: only root may. The failure is
 * then noted, in a sentence that begins with @doing.
 */
bool rescan_allowed(struct util *util, const char *address, const char *doing);

#endif /* LITEPCIE_UTIL_RESCAN_H */
