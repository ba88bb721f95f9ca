/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The seed of test programs that use random numbers. */
#ifndef LITEPCIE_TEST_SEED_H
#define LITEPCIE_TEST_SEED_H

#include <stdio.h>
#include <stdlib.h>

/*
 * Take the seed from the argument @text, or 1 if @text is NULL, and call srand() with it. The seed
 * is printed on stderr, so that a run that fails can be repeated.
 */
static inline unsigned int take_seed(const char *program, const char *text)
{
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : 1;

	fprintf(stderr, "%s: seed %u\n", program, seed);
	srand(seed);
	return seed;
}

#endif /* LITEPCIE_TEST_SEED_H */
