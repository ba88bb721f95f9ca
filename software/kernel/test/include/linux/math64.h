/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's header of this name: defines its function div_u64_rem(), for test
 * programs that include the driver's sources.
 */
#ifndef MATH64_H
#define MATH64_H

#include <stdint.h>

static inline uint64_t div_u64_rem(uint64_t dividend, uint32_t divisor, uint32_t *remainder)
{
	*remainder = (uint32_t)(dividend % divisor);
	return dividend / divisor;
}

#endif /* MATH64_H */
