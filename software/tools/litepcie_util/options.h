/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The options of a command as a table. The command line is parsed by this table, and the text of
 * --help is made from it. A table has at most 24 options, without the last entry.
 */
#ifndef LITEPCIE_UTIL_OPTIONS_H
#define LITEPCIE_UTIL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct util;

/* An option. A table of options ends with an entry that has neither a name nor a letter. */
struct util_option {
	const char	*name;		/* the long form, without its two dashes; NULL: none */
	char		letter;		/* the short form, without its dash; 0: there is none */
	const char	*value;		/* stands for the value in --help; NULL: a flag */
	/*
	 * Store the value @text in @to. Returns false if it breaks @rule. A flag has no such
	 * function: its @to is a bool, which becomes true.
	 */
	bool		(*parse)(const struct util_option *option, const char *text);
	/* the long form may stand without its value, and @parse then gets NULL */
	bool		optional;
	void		*to;
	uint64_t	low, high;	/* least and largest value; @high 0: no largest */
	const char	*choices;	/* words that option_choice() takes, with spaces between */
	/* the sentence behind "--NAME VALUE: " if the value is refused */
	const char	*rule;
	/*
	 * The text behind the option in --help. It is wrapped between words, or printed as it is if
	 * it has newlines.
	 */
	const char	*help;
};

/*
 * Functions for @parse, each with the type of variable that @to points to: a number or a size with
 * K, M or G (uint64_t, or uint32_t where the name ends in 32), seconds (double), a text (const char
 * *, which is not copied), or one of @choices (unsigned int, which gets the number of the word,
 * from 0 on). Each returns false if the text is no such value or is not from @low to @high.
 */
#define OPTION_SECONDS	"it must be a number of seconds above 0"

bool option_number(const struct util_option *option, const char *text);
bool option_size(const struct util_option *option, const char *text);
bool option_number32(const struct util_option *option, const char *text);
bool option_size32(const struct util_option *option, const char *text);
bool option_seconds(const struct util_option *option, const char *text);
bool option_text(const struct util_option *option, const char *text);
bool option_choice(const struct util_option *option, const char *text);

/*
 * Parse the options of @command, or those of the program if @command has no name. *@argc and *@argv
 * get the words behind the options. Returns -1 if the command is to run, or an exit status: --help
 * was asked for, or the command line is wrong, as a sentence on standard error says.
 */
int options_parse(struct util *util, const struct command *command, int *argc, char ***argv);

/* Print the text of --help of a command on stdout, without flushing it. */
void options_help(const struct command *command);

#endif /* LITEPCIE_UTIL_OPTIONS_H */
