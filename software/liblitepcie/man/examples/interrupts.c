/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Wait ten times, with a timeout of 100 ms each, for an interrupt of the logic in the card's user
 * slot. Print a line for each interrupt that comes.
 */
#include <liblitepcie.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	int rc;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	rc = litepcie_user_enable(dev, true);
	for (int i = 0; i < 10 && rc >= 0; i++) {
		rc = litepcie_user_wait(dev, 100);
		if (rc > 0)
			printf("your logic has something to say\n");
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	litepcie_close(dev);
	return rc < 0;
}
