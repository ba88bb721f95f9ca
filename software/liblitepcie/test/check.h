/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Checks for test programs in C. If a check fails, CHECK and CHECK_EQUAL print it, with its line in
 * the source, and count it in failed_checks, from which main() makes the exit status.
 */
#ifndef LITEPCIE_TEST_H
#define LITEPCIE_TEST_H

#include <stdio.h>

static int failed_checks;

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
		failed_checks++; \
	} \
} while (0)

/* Check that two integers are equal, and print the two values if they are not. */
#define CHECK_EQUAL(got, expected) do { \
	long long g_ = (long long)(got), e_ = (long long)(expected); \
	if (g_ != e_) { \
		fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, g_, \
			e_); \
		failed_checks++; \
	} \
} while (0)

#endif /* LITEPCIE_TEST_H */
