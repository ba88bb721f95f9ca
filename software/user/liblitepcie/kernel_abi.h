/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The ioctls of LitePCIe's kernel driver (2024.12), as far as this library uses them. Numbers and
 * layouts are the driver's; its reader is h2c here and its writer c2h.
 */
#ifndef LITEPCIE_KERNEL_ABI_H
#define LITEPCIE_KERNEL_ABI_H

#include <stdint.h>
#include <sys/ioctl.h>

struct litepcie_ioctl_reg {
	uint32_t addr;
	uint32_t val;
	uint8_t is_write;
};
_Static_assert(sizeof(struct litepcie_ioctl_reg) == 12, "driver ABI");

struct litepcie_ioctl_loopback {
	uint8_t enable;
};
_Static_assert(sizeof(struct litepcie_ioctl_loopback) == 1, "driver ABI");

/* Set or leave `enable`; the counts come back, as of the last interrupt. */
struct litepcie_ioctl_direction {
	uint8_t enable;
	int64_t hw_count;
	int64_t sw_count;
};
_Static_assert(sizeof(struct litepcie_ioctl_direction) == 24, "driver ABI");

struct litepcie_ioctl_mmap_info {
	uint64_t h2c_offset, h2c_size, h2c_count;
	uint64_t c2h_offset, c2h_size, c2h_count;
};
_Static_assert(sizeof(struct litepcie_ioctl_mmap_info) == 48, "driver ABI");

/* A status of 0 answers a request: somebody else has it. */
struct litepcie_ioctl_lock {
	uint8_t h2c_request, c2h_request;
	uint8_t h2c_release, c2h_release;
	uint8_t h2c_status, c2h_status;
};
_Static_assert(sizeof(struct litepcie_ioctl_lock) == 6, "driver ABI");

struct litepcie_ioctl_update {
	int64_t sw_count;
};
_Static_assert(sizeof(struct litepcie_ioctl_update) == 8, "driver ABI");

#define LITEPCIE_IOCTL_REG		_IOWR('S', 0, struct litepcie_ioctl_reg)
#define LITEPCIE_IOCTL_LOOPBACK		_IOW('S', 20, struct litepcie_ioctl_loopback)
#define LITEPCIE_IOCTL_C2H		_IOWR('S', 21, struct litepcie_ioctl_direction)
#define LITEPCIE_IOCTL_H2C		_IOWR('S', 22, struct litepcie_ioctl_direction)
#define LITEPCIE_IOCTL_MMAP_INFO	_IOR('S', 24, struct litepcie_ioctl_mmap_info)
#define LITEPCIE_IOCTL_LOCK		_IOWR('S', 25, struct litepcie_ioctl_lock)
#define LITEPCIE_IOCTL_C2H_UPDATE	_IOW('S', 26, struct litepcie_ioctl_update)
#define LITEPCIE_IOCTL_H2C_UPDATE	_IOW('S', 27, struct litepcie_ioctl_update)

#endif /* LITEPCIE_KERNEL_ABI_H */
