/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Bind the program to one processor (CPU core), and keep all processors out of idle states that
 * take long to leave.
 */
#ifndef LANEBOX_CAPTURE_PROCESSOR_H
#define LANEBOX_CAPTURE_PROCESSOR_H

#include "../litepcie_util/util.h"

/*
 * Let the calling thread run only on processor @number. Returns false and notes a failure if the
 * machine has no such processor, or if the program may not run on that processor.
 */
bool processor_pin(struct util *util, unsigned int number);

/*
 * Keep all processors out of idle states that take time to leave. Returns a file descriptor: the
 * setting holds until that is closed or the program ends. Returns -1 if the kernel refuses this,
 * as it does to users other than root.
 */
int processor_keep_awake(void);

#endif /* LANEBOX_CAPTURE_PROCESSOR_H */
