/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the program that has a file open, through /proc (proc(5)). A user other than root sees only
 * his own programs, and programs in other containers are never seen.
 */
#ifndef LITEPCIE_UTIL_HOLDER_H
#define LITEPCIE_UTIL_HOLDER_H

#include <stdbool.h>

struct holder {
	int	process;
	char	name[16];	/* the program's name in the kernel, cut to 15 bytes */
};

/*
 * Find a program that has @path open. @path is taken below LITEPCIE_ROOT. Returns false if no such
 * program is seen.
 */
bool holder_find(struct holder *holder, const char *path);

#endif /* LITEPCIE_UTIL_HOLDER_H */
