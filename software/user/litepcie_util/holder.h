/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Which program has a file open, by /proc (proc(5)). Without root's rights only one's own are seen,
 * and those of other containers never.
 */
#ifndef LITEPCIE_UTIL_HOLDER_H
#define LITEPCIE_UTIL_HOLDER_H

#include <stdbool.h>

struct holder {
	int	process;
	char	name[16];	/* as the kernel has it, cut to 15 bytes */
};

/* The first program that is found with @path open; a path below LITEPCIE_ROOT. */
bool holder_find(struct holder *holder, const char *path);

#endif /* LITEPCIE_UTIL_HOLDER_H */
