/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The beginning of a test program: it opens the card that its first argument names. */
#ifndef LITEPCIE_TEST_OPEN_H
#define LITEPCIE_TEST_OPEN_H

#include <stdbool.h>
#include <stdio.h>

#include "liblitepcie.h"

/*
 * Open the card @name if the command line is @complete. Otherwise, or if the card cannot be opened,
 * print a sentence (@usage, or the reason) and return false. The program then ends with status 2.
 */
static inline bool open_device(struct litepcie **dev, bool complete, const char *name,
			       const char *usage)
{
	char why[LITEPCIE_WHY_SIZE];

	if (complete && litepcie_open(dev, name, why, sizeof(why)) == 0)
		return true;
	fprintf(stderr, "%s\n", complete ? why : usage);
	return false;
}

#endif /* LITEPCIE_TEST_OPEN_H */
