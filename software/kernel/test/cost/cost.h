/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the clock and the commands of the test program cost, which its source files share.
 */
#ifndef COST_H
#define COST_H

#include <stddef.h>
#include <stdint.h>

#include "uapi/litepcie_capability.h"

/*
 * LitePCIe's number of buffers for each interrupt. It is used for Lanebox's driver, too, where the
 * two drivers are compared.
 */
#define BUFFERS_PER_INTERRUPT	LITEPCIE_STOCK_BUFFERS_PER_INTERRUPT

/*
 * Returns the time in ns since the guest's start, including idle time.
 */
uint64_t now(void);

/*
 * Returns the time in ns since the guest's start without the idle time of its first processor. In a
 * guest with one processor and -icount shift=0 this is the number of instructions.
 */
uint64_t busy(void);

void sleep_ms(unsigned int ms);

int cost_clock(void);
int cost_disk(const char *device, const char *disk);
int cost_run(const char *name, size_t chunk, size_t bytes, char **command);

#endif /* COST_H */
