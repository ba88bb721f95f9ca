/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Options of the command line as a table: those of a command, or those of the program, which stand
 * before the command. options_parse() parses the command line by such a table. options_help() makes
 * the list of options in a command's --help from the table of the command. A table has at most 24
 * options, without the last entry.
 */
#ifndef LITEPCIE_UTIL_OPTIONS_H
#define LITEPCIE_UTIL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct util;

/* An option. A table of options ends with an entry that has neither a name nor a letter. */
struct util_option {
	const char	*name;		/* the option's long form, without its dashes; NULL: none */
	char		letter;		/* the option's short form, without its dash; 0: none */
	/* name of the option's value in --help; NULL: a flag, or an option that --help lacks */
	const char	*value;
	/*
	 * Parse @text and store its value in @to. Returns false if the value breaks @rule. A flag
	 * has no such function: its @to points to a bool, which becomes true.
	 */
	bool		(*parse)(const struct util_option *option, const char *text);
	/* true: the long form may stand without a value; the text that @parse gets is then NULL */
	bool		optional;
	void		*to;
	/*
	 * least and largest value that option_number(), option_size() and their forms with 32 at
	 * the end accept; @high 0: no largest value
	 */
	uint64_t	low, high;
	const char	*choices;	/* words that option_choice() takes, with spaces between */
	/*
	 * The rule that a value must keep. If @parse refuses a value, the rule is printed behind
	 * the option (its long form, or its letter if it has no long form) and the refused value.
	 * The rule is a format string: the first %llu in it stands for @low, the second for @high.
	 */
	const char	*rule;
	/*
	 * The text behind the option in a command's --help. A text without newlines is wrapped
	 * between words. Of a text with newlines each line is indented, and none is wrapped.
	 */
	const char	*help;
};

/*
 * Functions for the member @parse of an option. The type of the variable to which @to points
 * depends on the function. option_number() and option_size() (with K, M or G) store a uint64_t, and
 * their forms with 32 at the end a uint32_t. option_seconds() stores a double, which is above 0 and
 * at most UTIL_MAX_SECONDS, and may have a fraction. option_text() stores any text as a const char
 * *, and does not copy the text. option_choice() stores an unsigned int: the index of the word in
 * @choices. The functions except option_text() return false if the text is no such value. Numbers
 * and sizes must also be from @low to @high.
 */
#define OPTION_SECONDS	"it must be a number of seconds above 0"
#define OPTION_RANGE	"it must be a number from %llu to %llu"

bool option_number(const struct util_option *option, const char *text);
bool option_size(const struct util_option *option, const char *text);
bool option_number32(const struct util_option *option, const char *text);
bool option_size32(const struct util_option *option, const char *text);
bool option_seconds(const struct util_option *option, const char *text);
bool option_text(const struct util_option *option, const char *text);
bool option_choice(const struct util_option *option, const char *text);

/*
 * Parse the options of @command, or those of the program if @command has no name. Returns -1 if the
 * program is to go on: *@argc and *@argv are then the arguments without the parsed options.
 * Otherwise the program must end with the exit status that is returned: the text of --help was
 * printed, the text of --help could not be written, or the command line is wrong. In the last two
 * cases a message on standard error says why.
 */
int options_parse(struct util *util, const struct command *command, int *argc, char ***argv);

/* Returns the number of options in a table, without the last entry. */
static inline unsigned int options_count(const struct util_option *options)
{
	unsigned int count = 0;

	while (options && (options[count].name || options[count].letter))
		count++;
	return count;
}

/* Print a command's text of --help on stdout, without "usage: PROGRAM " at its beginning. */
void options_help(const struct command *command);

#endif /* LITEPCIE_UTIL_OPTIONS_H */
