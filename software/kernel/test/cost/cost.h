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
 * Returns the instructions since the guest's start, including idle time. With -icount shift=0 an
 * instruction takes one nanosecond, so this is the clock's time.
 */
uint64_t now(void);

/*
 * Returns the time since the guest's start without its idle time, which is a count of the guest's
 * instructions.
 */
uint64_t busy(void);

void sleep_ms(unsigned int ms);

int cost_clock(void);
int cost_disk(const char *device, const char *disk);
int cost_run(const char *name, size_t chunk, size_t bytes, char **command);

#endif /* COST_H */
