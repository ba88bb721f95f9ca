/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The sentences of errors. Every file of the library uses this one, and it uses no other, so that
 * the sources have an order.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"

/* The sentence that litepcie_why() returns. Each thread has a sentence of its own. */
static _Thread_local char sentence[LITEPCIE_WHY_SIZE];

char *litepcie_sentence(void)
{
	return sentence;
}

int litepcie_fail(struct litepcie *dev, int error, const char *format, ...)
{
	va_list args;

	(void)dev;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	return error;
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
		return "nothing came in time";
	case EBUSY:
		return "another program, or another handle, has this part of the card";
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
