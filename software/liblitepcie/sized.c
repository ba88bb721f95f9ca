/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Copy structs that begin with their size between the program and the library. A program may have
 * been compiled with an older or a newer header than the library, so its struct may be shorter or
 * longer than the library's. A new member must lie behind the end of the older struct and not in
 * its padding: older programs leave random bytes there.
 */
#include <string.h>

#include "helpers.h"

/*
 * Largest struct_size in bytes that a program may set. A larger value counts as one that the
 * program has not set. With such a value the library could write beyond the end of the program's
 * struct.
 */
#define LARGEST		4096u

/*
 * Get the struct_size that the program has set in the struct @theirs. Returns 0, or -EINVAL with a
 * sentence if the value cannot be a size.
 */
static int read_size(const void *theirs, const char *name, size_t *size)
{
	memcpy(size, theirs, sizeof(*size));
	if (*size > sizeof(*size) && *size <= LARGEST)
		return 0;
	return litepcie_fail(-EINVAL, "struct_size of struct %s is %zu: it must be sizeof(struct "
			     "%s)", name, *size, name);
}

int litepcie_struct_in(void *ours, size_t size, const void *theirs, const char *name)
{
	const uint8_t *bytes = theirs;
	size_t has;
	int rc = read_size(theirs, name, &has);

	if (rc < 0)
		return rc;
	for (size_t i = size; i < has; i++)
		if (bytes[i])
			return litepcie_fail(-EINVAL, "struct %s has %zu bytes, this library knows "
					     "%zu: a setting is too new for it", name, has, size);
	memset(ours, 0, size);
	memcpy(ours, theirs, has < size ? has : size);
	return 0;
}

int litepcie_struct_out(void *theirs, const void *ours, size_t size, const char *name)
{
	uint8_t *bytes = theirs;
	size_t has;
	int rc = read_size(theirs, name, &has);

	if (rc < 0)
		return rc;
	if (has > size)
		memset(bytes + size, 0, has - size);
	else
		size = has;
	memcpy(bytes + sizeof(has), (const uint8_t *)ours + sizeof(has), size - sizeof(has));
	return 0;
}
