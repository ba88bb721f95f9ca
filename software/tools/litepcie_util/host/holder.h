/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the program that has a file open, through /proc (proc(5)). A user other than root sees only
 * programs of the same user. Programs in other containers are never seen.
 */
#ifndef LITEPCIE_UTIL_HOLDER_H
#define LITEPCIE_UTIL_HOLDER_H

#include <stdbool.h>

struct holder {
	int	process;
	/* name of the program that has the file open, which the kernel cuts to 15 bytes */
	char	name[16];
};

/*
 * Find a program that has the file @path open. @path is below the folder in the environment
 * variable LITEPCIE_ROOT if that is set. Returns false if no such program can be seen.
 */
bool holder_find(struct holder *holder, const char *path);

#endif /* LITEPCIE_UTIL_HOLDER_H */
