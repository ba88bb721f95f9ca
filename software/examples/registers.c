/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Example: read and write registers by name, or list all registers that the
 * library knows if no name is given. By the card's capability table the library
 * knows the registers of most blocks. With the csr.json of the card's build it
 * knows all registers.
 */
#include <limits.h>

#include "example.h"

static const char text[] =
	"usage: registers [-d DEVICE] [-c FILE] [NAME | NAME=VALUE]...\n"
	"\n"
	"Read and write registers by name, or list them all.\n"
	"\n"
	"  -c FILE    csr.json of the card's build: with it your own have\n"
	"             names, too";

static void list(struct litepcie *dev)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };

	for (unsigned int i = 0; litepcie_register(dev, i, &found) == 0; i++)
		printf("0x%05x  %s\n", found.offset, found.name);
}

/*
 * Write @value, unless it is NULL, to the register @name. Then read the
 * register and print its value.
 */
static void use(struct litepcie *dev, const char *name, const char *value)
{
	char *end = NULL;
	uint64_t now = value ? strtoull(value, &end, 0) : 0;

	if (value && (end == value || *end))
		usage(stderr, 2);
	if (value)
		check(litepcie_register_write(dev, name, now));
	check(litepcie_register_read(dev, name, &now));
	printf("%s = 0x%llx\n", name, (unsigned long long)now);
}

int main(int argc, char **argv)
{
	struct litepcie *dev = begin(argc, argv, "c:", 0, INT_MAX, text);

	if (value_of['c'])
		check(litepcie_csr_load(dev, value_of['c']));
	if (optind == argc)
		list(dev);
	for (; optind < argc; optind++) {
		char *value = strchr(argv[optind], '=');

		if (value)
			*value++ = '\0';
		use(dev, argv[optind], value);
	}
	return 0;
}
