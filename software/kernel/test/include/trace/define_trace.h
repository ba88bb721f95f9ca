/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name and defines no tracepoints, for test programs that
 * include the driver's sources.
 */
