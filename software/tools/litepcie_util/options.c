/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Parse the options of litepcie_util and lanebox-capture, and of their commands. options.h says
 * what each function promises.
 */

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define MOST_OPTIONS	32
/*
 * For an option of the table in its long form, getopt_long() returns NUMBERED plus the option's
 * index in the table. For a short form and for --help it returns the letter.
 */
#define NUMBERED	256

/* Values of options --------------------------------------------------------------------------- */

static bool is_within(const struct util_option *option, uint64_t value)
{
	return value >= option->low && (!option->high || value <= option->high);
}

bool option_number(const struct util_option *option, const char *text)
{
	uint64_t *to = option->to;

	return util_parse_number(text, 0, UINT64_MAX, to) && is_within(option, *to);
}

bool option_size(const struct util_option *option, const char *text)
{
	uint64_t *to = option->to;

	return util_parse_size(text, to) && is_within(option, *to);
}

static bool store32(const struct util_option *option, uint64_t value)
{
	*(uint32_t *)option->to = (uint32_t)value;
	return value <= UINT32_MAX && is_within(option, value);
}

bool option_number32(const struct util_option *option, const char *text)
{
	uint64_t value;

	return util_parse_number(text, 0, UINT32_MAX, &value) && store32(option, value);
}

bool option_size32(const struct util_option *option, const char *text)
{
	uint64_t value;

	return util_parse_size(text, &value) && store32(option, value);
}

bool option_seconds(const struct util_option *option, const char *text)
{
	double *seconds = option->to;
	char *end;

	*seconds = strtod(text, &end);
	return end != text && !*end && *seconds > 0 && *seconds <= UTIL_MAX_SECONDS;
}

bool option_text(const struct util_option *option, const char *text)
{
	*(const char **)option->to = text;
	return true;
}

bool option_choice(const struct util_option *option, const char *text)
{
	const char *word = option->choices;

	for (unsigned int n = 0; *word; n++) {
		size_t length = strcspn(word, " ");

		if (strlen(text) == length && memcmp(word, text, length) == 0) {
			*(unsigned int *)option->to = n;
			return true;
		}
		word += length;
		word += strspn(word, " ");
	}
	return false;
}

/* Parsing the command line -------------------------------------------------------------------- */

/* Fill in the short options @letters and the long options @names for getopt_long(). */
static void prepare(const struct util_option *options, char *letters, struct option *names)
{
	unsigned int count = options_count(options);

	assert(count <= MOST_OPTIONS);
	*letters++ = 'h';
	for (unsigned int n = 0; n < count; n++) {
		int value = !options[n].parse ? no_argument :
			    options[n].optional ? optional_argument : required_argument;

		if (options[n].name)
			*names++ = (struct option) { options[n].name, value, NULL,
						     NUMBERED + (int)n };
		if (options[n].letter)
			*letters++ = options[n].letter;
		if (options[n].letter && options[n].parse)
			*letters++ = ':';
	}
	*letters = '\0';
	names[0] = (struct option) { "help", no_argument, NULL, 'h' };
	names[1] = (struct option) { 0 };
}

static const struct util_option *find(const struct util_option *options, int found)
{
	unsigned int n = 0;

	if (found >= NUMBERED)
		return &options[found - NUMBERED];
	while (options[n].letter != found)
		n++;
	return &options[n];
}

static int take(struct util *util, const struct util_option *option)
{
	const char letter[] = { option->letter, '\0' };
	char rule[UTIL_SENTENCE];

	if (!option->parse)
		*(bool *)option->to = true;
	else if (!option->parse(option, optarg)) {
		snprintf(rule, sizeof(rule), option->rule, (unsigned long long)option->low,
			 (unsigned long long)option->high);
		return util_usage(util, "-%s%s %s: %s", option->name ? "-" : "",
				  option->name ? option->name : letter, optarg, rule);
	}
	return -1;
}

static int check_words(struct util *util, const struct command *command, unsigned int count,
		       char **words)
{
	if (count > command->most && !command->most)
		return util_usage(util, "%s: %s takes no argument", words[0], command->name);
	if (count > command->most || count < command->least)
		return util_usage(util, "%s takes %s", command->name, command->takes);
	return -1;
}

int options_parse(struct util *util, const struct command *command, int *argc, char ***argv)
{
	/*
	 * The "+" makes getopt_long() end the program's own options at the first argument that is
	 * no option, which is the command's name. The options of a command are parsed without "+".
	 */
	char letters[2 * MOST_OPTIONS + 4] = "+:";
	struct option names[MOST_OPTIONS + 2];
	const char *form = command->name ? letters + 1 : letters;
	int found, status = -1;

	prepare(command->options, letters + 2, names);
	optind = 0;	/* in glibc, an optind of 0 lets getopt_long() begin a new command line */
	while (status < 0 && (found = getopt_long(*argc, *argv, form, names, NULL)) != -1) {
		if (found == 'h')
			status = util_help(util, command);
		else if (found == ':')
			status = util_usage(util, "%s needs a value", (*argv)[optind - 1]);
		else if (found == '?')
			status = util_usage(util, "%s: there is no such option%s",
					    (*argv)[optind - 1],
					    util->command ? "" : " before the command");
		else
			status = take(util, find(command->options, found));
	}
	if (status >= 0)
		return status;
	*argc -= optind;
	*argv += optind;
	return check_words(util, command, (unsigned int)*argc, *argv);
}
