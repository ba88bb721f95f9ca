/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Load a csr.json for a card. If the library refuses the file, print the reason and check that the
 * library still knows as many registers as before. Exit status: 0: the file was loaded, 1: it was
 * refused, 2: a check of this program failed, the card cannot be opened, or the arguments are
 * wrong.
 */
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "open.h"

static unsigned int known(struct litepcie *dev)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	unsigned int count = 0;

	while (litepcie_register(dev, count, &found) == 0)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	struct litepcie *dev;
	unsigned int before;
	int rc;

	if (!open_device(&dev, argc == 3, argv[1], "usage: csr DEVICE CSR_JSON"))
		return 2;
	before = known(dev);
	rc = litepcie_csr_load(dev, argv[2]);
	if (rc < 0) {
		puts(litepcie_why(dev));
		CHECK_EQUAL(known(dev), before);
	}
	litepcie_close(dev);
	return failed_checks ? 2 : rc < 0;
}
