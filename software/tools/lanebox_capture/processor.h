/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Bind a thread to one processor (a logical CPU), and keep all processors out of idle states that
 * take time to leave.
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
 * A new thread inherits the processors of the thread that makes it. processor_remember() stores
 * those on which the calling thread may run. Call it before the first processor_pin(), and while no
 * other thread calls a function of this file. Afterwards processor_unpin() lets the calling thread
 * run on the stored processors. If none could be stored, processor_unpin() changes nothing.
 */
void processor_remember(void);
void processor_unpin(void);

/*
 * Keep all processors out of idle states that take time to leave. Returns a file descriptor: the
 * setting holds until the descriptor is closed or the program ends. Returns -1, and notes no
 * failure, if the program cannot open or write /dev/cpu_dma_latency, which as a rule only root may.
 */
int processor_keep_awake(void);

#endif /* LANEBOX_CAPTURE_PROCESSOR_H */
