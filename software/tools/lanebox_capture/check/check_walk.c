/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Note the rule that a file breaks: the offset in the file, and a sentence that is cut to the size
 * of check->rule. A second call would replace the first note, so the check must end at the first
 * broken rule.
 */
#include "check_walk.h"

#include <stdarg.h>
#include <stdio.h>

bool broken(struct walk *walk, uint64_t offset, const char *format, ...)
{
	struct check *check = walk->check;
	va_list args;

	check->broken = true;
	check->offset = offset;
	va_start(args, format);
	vsnprintf(check->rule, sizeof(check->rule), format, args);
	va_end(args);
	return false;
}
