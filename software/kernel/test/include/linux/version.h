/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name. The stand-ins for other headers are those of 6.1, so
 * the driver's sources are compiled for 6.1, whatever version the machine's headers have.
 */
#ifndef LITEPCIE_TEST_VERSION_H
#define LITEPCIE_TEST_VERSION_H

#define KERNEL_VERSION(major, minor, patch)	(((major) << 16) + ((minor) << 8) + (patch))
#define LINUX_VERSION_CODE			KERNEL_VERSION(6, 1, 0)

#endif /* LITEPCIE_TEST_VERSION_H */
