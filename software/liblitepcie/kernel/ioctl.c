/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Make ioctl()s of the driver, with a sentence for each error. */
#include <sys/ioctl.h>

#include "kernel.h"

int kernel_ioctl(struct litepcie *dev, unsigned long request, void *arg, const char *doing)
{
	if (ioctl(kernel_of(dev)->fd, request, arg) == 0)
		return 0;
	if (errno == ENOTTY)
		return litepcie_fail(-EPROTO, "%s: %s: not a device of the LitePCIe driver",
				     dev->name, doing);
	return litepcie_fail_errno(errno, "%s: %s", dev->name, doing);
}
