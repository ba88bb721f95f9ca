/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Access registers of the card by name and by offset. */
#include <errno.h>
#include <liblitepcie.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	uint64_t value;
	uint32_t word;
	int rc;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (argc > 2 && litepcie_csr_load(dev, argv[2]) < 0)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	for (unsigned int i = 0; litepcie_register(dev, i, &found) == 0; i++)
		printf("0x%05x %s%s\n", found.offset, found.name, found.writable ? "" : " (ro)");

	litepcie_register_write(dev, "ctrl_scratch", 0xcafe);
	rc = litepcie_register_read(dev, "ctrl_scratch", &value);
	printf("scratch: %s, 0x%llx\n", rc < 0 ? litepcie_strerror(rc) : "ok",
	       (unsigned long long)value);

	/*
	 * An access by name searches for the name each time. A program that
	 * cannot afford this finds the offset once and uses the offset.
	 */
	if (litepcie_register_find(dev, "ctrl_scratch", &found) == 0) {
		litepcie_writel(dev, found.offset, 0xbeef);
		litepcie_readl(dev, found.offset, &word);
	}
	if (litepcie_register_find(dev, "pcie_counters_time", &found) == 0) {
		litepcie_readq(dev, found.offset, &value);
		if (found.writable)
			litepcie_writeq(dev, found.offset, value);
	}
	rc = litepcie_reset(dev);
	if (rc < 0 && rc != -EOPNOTSUPP)
		fprintf(stderr, "%s\n", litepcie_why(dev));
	litepcie_close(dev);
	return 0;
}
