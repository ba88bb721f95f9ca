/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name and is empty: the test program that includes the
 * driver's source defines what that source uses from it.
 */
