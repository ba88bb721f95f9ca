/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test error.c: litepcie_strerror() gives each error number its meaning, and a sentence of
 * litepcie_fail_errno() ends with the text of the error number that was given, not with that of
 * errno.
 */
#include <errno.h>
#include <string.h>

#include "helpers.h"
#include "check.h"

/* For each error number of which error.c has a meaning: words of that meaning. */
static const struct {
	int		error;
	const char	*words;
} meanings[] = {
	{ ENODEV, "gone" }, { EIO, "does not answer" }, { ETIMEDOUT, "in time" },
	{ EBUSY, "in use" }, { ENOENT, "no such" }, { EINVAL, "not allowed" },
	{ EPROTO, "protocol" }, { EOPNOTSUPP, "cannot do that" }, { ECANCELED, "another thread" },
	{ ENOMEM, "not enough memory" },
};

/*
 * Copy words that the text of the error number @error must have: those of `meanings`, or the whole
 * text of strerror(). A copy is needed, since the next strerror() of an unknown number overwrites
 * that text.
 */
static void words_of(int error, char words[64])
{
	snprintf(words, 64, "%s", strerror(error));
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].error == error)
			snprintf(words, 64, "%s", meanings[i].words);
}

/*
 * litepcie_strerror() has the library's own words for each number of `meanings`, and libc's text
 * for the other numbers. The sign of the number does not matter.
 */
static void every_number_has_its_meaning(void)
{
	char words[64];

	for (int error = 0; error < 2 * ECANCELED; error++) {
		words_of(error, words);
		CHECK(strstr(litepcie_strerror(error), words));
		CHECK(strstr(litepcie_strerror(-error), words));
	}
}

static void a_sentence_ends_with_the_error_it_was_given(void)
{
	char text[256];

	errno = EPERM;
	CHECK_EQUAL(litepcie_fail_errno(ENOSPC, "%s: %d", "the file", 7), -ENOSPC);
	snprintf(text, sizeof(text), "the file: 7: %s", strerror(ENOSPC));
	CHECK(strcmp(litepcie_why(NULL), text) == 0);
	CHECK_EQUAL(litepcie_fail(-EBUSY, "it is %s", "busy"), -EBUSY);
	CHECK(strcmp(litepcie_why(NULL), "it is busy") == 0);
}

/*
 * A sentence that does not fit into LITEPCIE_WHY_SIZE bytes is cut: in the words of the caller, or
 * in the text of the error number that follows them.
 */
static void a_long_sentence_is_cut(void)
{
	char text[2 * LITEPCIE_WHY_SIZE];

	memset(text, 'x', sizeof(text));
	for (size_t length = LITEPCIE_WHY_SIZE - 5; length < LITEPCIE_WHY_SIZE + 2; length++) {
		CHECK_EQUAL(litepcie_fail_errno(ENOSPC, "%.*s", (int)length, text), -ENOSPC);
		CHECK_EQUAL(strlen(litepcie_why(NULL)), LITEPCIE_WHY_SIZE - 1);
	}
}

int main(void)
{
	every_number_has_its_meaning();
	a_sentence_ends_with_the_error_it_was_given();
	a_long_sentence_is_cut();
	return failed_checks != 0;
}
