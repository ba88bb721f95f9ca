/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name, and defines static_assert(). This file includes no
 * header of the C library: abi.c, which includes this file, is also compiled for 32-bit programs,
 * and a machine may have the C library's headers for 64-bit programs only.
 */
#ifndef BUILD_BUG_H
#define BUILD_BUG_H

#define static_assert	_Static_assert

#endif /* BUILD_BUG_H */
