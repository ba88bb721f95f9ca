/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * LitePCIe's helper functions for time and for registers, without litepcie_reload(). The functions
 * for registers take the descriptor of an opened /dev/litepcieN. If the driver refuses an access,
 * they print a message and end the program, as in LitePCIe's library.
 *
 * litepcie_readl() and litepcie_writel() of LitePCIe take a descriptor, and the functions of the
 * same names in Lanebox's library take a handle. In a program that includes this header, the names
 * stand for the functions of this header, which take a descriptor.
 */
#ifndef LITEPCIE_STOCK_HELPERS_H
#define LITEPCIE_STOCK_HELPERS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

#include "../liblitepcie.h"
#include "litepcie.h"

#ifdef __cplusplus
extern "C" {
#endif

#define checked_ioctl(...)	litepcie_stock_check(ioctl(__VA_ARGS__), __FILE__, __LINE__)

static inline void litepcie_stock_check(int status, const char *file, int line)
{
	if (status == 0)
		return;
	fprintf(stderr, "%s:%d: ", file, line);
	perror("ioctl");
	abort();
}

static inline int64_t get_time_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline uint32_t litepcie_stock_readl(int fd, uint32_t addr)
{
	struct litepcie_ioctl_reg reg = { .addr = addr };

	checked_ioctl(fd, LITEPCIE_IOCTL_REG, &reg);
	return reg.val;
}

static inline void litepcie_stock_writel(int fd, uint32_t addr, uint32_t value)
{
	struct litepcie_ioctl_reg reg = { .addr = addr, .val = value, .is_write = 1 };

	checked_ioctl(fd, LITEPCIE_IOCTL_REG, &reg);
}

#define litepcie_readl	litepcie_stock_readl
#define litepcie_writel	litepcie_stock_writel

#ifdef __cplusplus
}
#endif

#endif /* LITEPCIE_STOCK_HELPERS_H */
