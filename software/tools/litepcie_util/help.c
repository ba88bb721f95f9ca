/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Print the texts of --help and the messages about a wrong command line. util.h and options.h say
 * what each function promises.
 */
#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The options of a command -------------------------------------------------------------------- */

/* Write the forms of an option to @text, as in "-s, --size BYTES". Returns the text's length. */
static unsigned int forms_of(const struct util_option *option, char *text, size_t size)
{
	char letter[8] = "    ";

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	return (unsigned int)snprintf(text, size, "%s--%s%s%s", letter, option->name,
				      option->value ? " " : "", option->value ? option->value : "");
}

static void print_lines(const char *text, unsigned int column)
{
	if (!strchr(text, '\n')) {
		util_fill(column, column, text);
		return;
	}
	for (; *text; text += strspn(text, "\n")) {
		int length = (int)strcspn(text, "\n");

		printf("%.*s\n", length, text);
		text += length;
		if (text[strspn(text, "\n")])
			printf("%*s", (int)column, "");
	}
}

void options_help(const struct command *command)
{
	unsigned int column = 0, count = options_count(command->options);
	char forms[64];
	bool several;

	printf("%s\n\n%s", command->usage, command->about);
	for (unsigned int n = 0; n < count; n++) {
		unsigned int width = forms_of(&command->options[n], forms, sizeof(forms)) + 4;

		if (width > column)
			column = width;
	}
	if (count)
		puts("\noptions:");
	for (unsigned int n = 0; n < count; n++) {
		unsigned int width = forms_of(&command->options[n], forms, sizeof(forms));

		printf("  %s%*s", forms, (int)(column - width - 2), "");
		print_lines(command->options[n].help, column);
	}
	several = *(strchr(command->examples, '\n') + 1);
	printf("\nexample%s:\n%s", several ? "s" : "", command->examples);
}

/* The text of --help, and usage errors -------------------------------------------------------- */

static void print_help(const struct program *program)
{
	printf("%s\ncommands:\n", program->about);
	for (const struct command *const *command = program->commands; *command; command++)
		printf("  %-14s %s\n", (*command)->name, (*command)->summary);
	printf("\n%s", program->more);
}

int util_help(const struct util *util, const struct command *command)
{
	printf("usage: %s ", util->program->name);
	if (command->name)
		options_help(command);
	else
		print_help(util->program);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_OK;
	fprintf(stderr, "%s: the text could not be written to stdout\n", util->program->name);
	return EXIT_FAILED;
}

int util_usage(const struct util *util, const char *format, ...)
{
	const char *name = util->program->name;
	va_list args;

	fprintf(stderr, "%s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\ntry: %s %s%s--help\n", name, util->command ? util->command : "",
		util->command ? " " : "");
	return EXIT_USAGE;
}
