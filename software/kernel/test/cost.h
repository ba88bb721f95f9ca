/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The clock of the program cost, and its parts.
 */
#ifndef COST_H
#define COST_H

#include <stddef.h>
#include <stdint.h>

#include "../uapi/litepcie_capability.h"

/* LitePCIe's number, which is used for Lanebox's driver, too, where the two are compared. */
#define BUFFERS_PER_INTERRUPT	LITEPCIE_STOCK_BUFFERS_PER_INTERRUPT

/*
 * Instructions so far, including idle time: with -icount shift=0 an instruction takes one
 * nanosecond.
 */
uint64_t now(void);

/* Instructions so far, without idle time. */
uint64_t busy(void);

void sleep_ms(unsigned int ms);

int cost_clock(void);
int cost_disk(const char *device, const char *disk);
int cost_run(const char *name, size_t chunk, size_t bytes, char **command);

#endif /* COST_H */
