/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name, and is empty. A test program that includes sources
 * of the driver defines itself what these sources need of the kernel's header.
 */
