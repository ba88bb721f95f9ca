/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test help.c: the text of --help that it makes of a table of options.
 */
#include "../litepcie_util/help.c"
#include "../litepcie_util/options.c"
#include "../litepcie_util/util.c"
#include "../litepcie_util/emit.c"
#include "check.h"

/*
 * --help must print the usage, the options with their texts in one column, and the examples. A text
 * with newlines must keep its lines, and a text without newlines is wrapped to 80 columns.
 */
static void help_has_its_columns(void)
{
	static const struct util_option options[] = {
		{ .name = "flag", .letter = 'f', .help = "a flag" },
		{ .name = "size", .value = "BYTES", .parse = option_size, .help = "one\ntwo" },
		{ .name = "long", .help = "words that go on and on until the line has no more room "
					  "for another of them" },
		{ 0 },
	};
	static const struct command command = {
		.usage = "usage: try", .about = "About.\n", .options = options,
		.examples = "  try\n",
	};
	FILE *terminal = stdout;
	char *text = NULL;
	size_t size;

	stdout = open_memstream(&text, &size);
	options_help(&command);
	fclose(stdout);
	stdout = terminal;
	CHECK(strstr(text, "usage: try\n\nAbout.\n\noptions:\n"));
	CHECK(strstr(text, "\n  -f, --flag        a flag\n"));
	CHECK(strstr(text, "\n      --size BYTES  one\n                    two\n"));
	CHECK(strstr(text, "\n      --long        words that"));
	CHECK(strstr(text, "\n\nexample:\n  try\n"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		CHECK(strlen(line) <= 80);
		CHECK(!strstr(line, "of them") || strncmp(line, "                    ", 20) == 0);
	}
	free(text);
}

int main(void)
{
	help_has_its_columns();
	return failed_checks != 0;
}
