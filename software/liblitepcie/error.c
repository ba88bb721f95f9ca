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

/*
 * The meanings of error numbers, with the number as index. For a number without an entry
 * litepcie_strerror() returns the text of strerror().
 */
static const char *const meanings[] = {
	[ENODEV] = "the card is gone",
	[EIO] = "the card does not answer, or answers with all ones",
	[ETIMEDOUT] = "the card, or the process of a simulated board, did not do it in time",
	[EBUSY] = "this DMA direction, capture or card is in use, by this program or another",
	[ENOENT] = "there is no such device file or socket, or the card has no such block, register or BAR",
	[EINVAL] = "a value is not allowed, or the call makes no sense at this moment",
	[ENOMEM] = "the host has not enough memory, or does not let this user lock so much",
	[EPROTO] = "the peer does not speak the protocol",
	[EOPNOTSUPP] = "this way to the card cannot do that",
	[ECANCELED] = "another thread ended what this one waited for",
};

const char *litepcie_strerror(int error)
{
	size_t number = (size_t)abs(error);

	if (number < sizeof(meanings) / sizeof(meanings[0]) && meanings[number])
		return meanings[number];
	return strerror(abs(error));
}
