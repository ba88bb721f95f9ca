/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The sentences of errors. This file calls no function of another source file of the library, so
 * every source file can report errors without a circular dependency.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"

/* The sentence that litepcie_why() returns. Each thread has a sentence of its own. */
static _Thread_local char sentence[LITEPCIE_WHY_SIZE];

char *litepcie_sentence(void)
{
	return sentence;
}

int litepcie_fail(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	return error;
}

int litepcie_fail_errno(int error, const char *format, ...)
{
	va_list args;
	int used;

	va_start(args, format);
	used = vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (used >= 0 && (size_t)used < sizeof(sentence))
		snprintf(sentence + used, sizeof(sentence) - (size_t)used, ": %s", strerror(error));
	return -error;
}

const char *litepcie_why(const struct litepcie *dev)
{
	(void)dev;
	return sentence;
}

const char *litepcie_strerror(int error)
{
	switch (abs(error)) {
	case ENODEV:
		return "the card is gone";
	case EIO:
		return "the card does not answer, or answers with all ones";
	case ETIMEDOUT:
		return "the card, or the process of a simulated board, did not do it in time";
	case EBUSY:
		return "this DMA direction, capture or card is in use, by this program or another";
	case ENOENT:
		return "there is no such device file or socket, or the card has no such block, register or BAR";
	case EINVAL:
		return "a value is not allowed, or the call makes no sense at this moment";
	case EPROTO:
		return "the peer does not speak the protocol";
	case EOPNOTSUPP:
		return "this way to the card cannot do that";
	case ECANCELED:
		return "another thread ended what this one waited for";
	default:
		return strerror(abs(error));
	}
}
