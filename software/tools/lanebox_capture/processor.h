/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Bind a thread to one processor (CPU core), and keep all processors out of idle states that take
 * time to leave.
 */
#ifndef LANEBOX_CAPTURE_PROCESSOR_H
#define LANEBOX_CAPTURE_PROCESSOR_H

#include "../litepcie_util/util.h"

/*
 * Let the calling thread run only on processor @number. Returns false and notes a failure if that
 * is not possible, for example because the machine has no such processor.
 */
bool processor_pin(struct util *util, unsigned int number);

/*
 * Keep all processors out of idle states that take time to leave. Returns a file descriptor: the
 * setting holds until the descriptor is closed or the program ends. Returns -1, and notes no
 * failure, if the program cannot open or write /dev/cpu_dma_latency, which as a rule only root may.
 */
int processor_keep_awake(void);

#endif /* LANEBOX_CAPTURE_PROCESSOR_H */
