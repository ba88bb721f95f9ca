/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* A helper by which test programs open the card that their first argument names. */
#ifndef LITEPCIE_TEST_OPEN_H
#define LITEPCIE_TEST_OPEN_H

#include <stdbool.h>
#include <stdio.h>

#include "liblitepcie.h"

/*
 * Open the card @name if @complete (the command line is right) is true. Returns true if the card is
 * open. Otherwise prints @usage, or the reason why the card cannot be opened, and returns false.
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
