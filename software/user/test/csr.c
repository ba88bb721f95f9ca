/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Load a csr.json for a card. If the library refuses the file, the registers it knows must not
 * change; the reason goes to standard output, and the exit status is 1.
 */
#include <string.h>

#include "check.h"
#include "liblitepcie.h"

static unsigned int known(struct litepcie *dev)
{
	struct litepcie_register found;
	unsigned int count = 0;

	while (litepcie_register(dev, count, &found) == 0)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	unsigned int before;
	int rc;

	if (argc != 3 || litepcie_open(&dev, argv[1], why) < 0) {
		fprintf(stderr, "%s\n", argc != 3 ? "usage: csr DEVICE CSR_JSON" : why);
		return 2;
	}
	before = known(dev);
	rc = litepcie_csr_load(dev, argv[2]);
	if (rc < 0) {
		puts(litepcie_why(dev));
		CHECK_EQUAL(known(dev), before);
	}
	litepcie_close(dev);
	return failed_checks ? 2 : rc < 0;
}
