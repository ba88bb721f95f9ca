/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name, and defines static_assert(). It includes no header
 * of the C library, since a machine may have those for 64-bit programs only.
 */
#ifndef BUILD_BUG_H
#define BUILD_BUG_H

#define static_assert	_Static_assert

#endif /* BUILD_BUG_H */
