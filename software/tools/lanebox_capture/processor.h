/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Bind a recorder to one processor, and keep all processors out of idle states that take long to
 * leave.
 */
#ifndef LANEBOX_CAPTURE_PROCESSOR_H
#define LANEBOX_CAPTURE_PROCESSOR_H

#include "../litepcie_util/util.h"

/*
 * Run the calling thread on processor @number only. Returns false after a failure, which is noted:
 * the machine has no such processor, or the program may not run there.
 */
bool processor_pin(struct util *util, unsigned int number);

/*
 * Keep all processors out of idle states that take time to leave, until the file descriptor that is
 * returned is closed or the program ends. Returns -1 if the kernel refuses that to this user: root
 * may do it.
 */
int processor_keep_awake(void);

#endif /* LANEBOX_CAPTURE_PROCESSOR_H */
