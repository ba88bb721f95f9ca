/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test options.c: which command lines are accepted, and the error messages for the others.
 */
#include <getopt.h>

#include "../litepcie_util/options.c"
#include "../litepcie_util/util.c"
#include "../litepcie_util/emit.c"
#include "check.h"

static char said[512];

int util_usage(const struct util *util, const char *format, ...)
{
	va_list args;

	(void)util;
	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	return EXIT_USAGE;
}

int util_help(const struct util *util, const struct command *command)
{
	(void)util;
	(void)command;
	return EXIT_OK;
}

static struct {
	bool		flag;
	uint64_t	count, bytes;
	uint32_t	count32, bytes32;
	double		seconds;
	const char	*name, *maybe;
	unsigned int	way;
} chosen;

static const struct util_option table[] = {
	{ .name = "flag", .letter = 'f', .to = &chosen.flag },
	{ .name = "count", .letter = 'n', .value = "N", .parse = option_number,
	  .to = &chosen.count, .low = 2, .high = 10, .rule = "it must be %llu to %llu" },
	{ .name = "size", .value = "BYTES", .parse = option_size, .to = &chosen.bytes,
	  .low = 1024, .rule = "it must be 1K or more" },
	{ .name = "time", .value = "S", .parse = option_seconds, .to = &chosen.seconds,
	  .rule = OPTION_SECONDS },
	{ .name = "name", .value = "TEXT", .parse = option_text, .to = &chosen.name },
	{ .name = "way", .value = "WAY", .parse = option_choice, .to = &chosen.way,
	  .choices = "c2h h2c duplex", .rule = "there are c2h, h2c and duplex" },
	{ .name = "count32", .value = "N", .parse = option_number32, .to = &chosen.count32,
	  .rule = "it must have 32 bits" },
	{ .name = "size32", .value = "BYTES", .parse = option_size32, .to = &chosen.bytes32,
	  .rule = "it must be below 4G" },
	{ .name = "maybe", .value = "TEXT", .parse = option_text, .optional = true,
	  .to = &chosen.maybe },
	{ 0 },
};

/*
 * Parse a command line of words with single spaces between them. Returns the result of
 * options_parse(). *@left becomes the number of arguments behind the options.
 */
static int parse(const char *line, int *left)
{
	static const struct command command = {
		.name = "try", .options = table, .most = 2, .takes = "up to two words",
	};
	static char copy[256];
	char *words[16] = { "try" }, **argv = words, *rest = NULL;
	struct util util = { .command = "try" };
	int argc = 1, status;

	memset(&chosen, 0, sizeof(chosen));
	*said = '\0';
	optind = 0;
	opterr = 0;
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words[argc++] = word;
	status = options_parse(&util, &command, &argc, &argv);
	*left = argc;
	return status;
}

static void good_lines_are_taken(void)
{
	int left;

	CHECK_EQUAL(parse("-f -n 10 --size 4K --time .5 --name x --way duplex a b", &left), -1);
	CHECK_EQUAL(left, 2);
	CHECK(chosen.flag && chosen.count == 10 && chosen.bytes == 4096 && chosen.seconds == 0.5);
	CHECK(strcmp(chosen.name, "x") == 0);
	CHECK_EQUAL(chosen.way, 2);
	CHECK_EQUAL(parse("--count=0x2 --way c2h", &left), -1);
	CHECK(!chosen.flag && chosen.count == 2 && left == 0);
	CHECK_EQUAL(parse("--help", &left), EXIT_OK);
	CHECK_EQUAL(parse("--count32 0xffffffff --size32 2K --maybe=x", &left), -1);
	CHECK(chosen.count32 == UINT32_MAX && chosen.bytes32 == 2048);
	CHECK(strcmp(chosen.maybe, "x") == 0);
	/* An optional value must follow "=", so the next word is an argument and not the value. */
	CHECK_EQUAL(parse("--maybe x", &left), -1);
	CHECK(!chosen.maybe && left == 1);
	CHECK_EQUAL(parse("--time 1000000", &left), -1);
	CHECK(chosen.seconds == UTIL_MAX_SECONDS);
}

/*
 * The options of the program must end at the first word, which is the command's name. Options after
 * it are those of the command.
 */
static void the_first_word_ends_the_options_of_the_program(void)
{
	static const struct command program = {
		.options = table, .most = 9, .takes = "a command",
	};
	char *words[] = { "util", "-f", "peek", "--nowhere", NULL }, **argv = words;
	struct util util = { .command = "util" };
	int argc = 4;

	memset(&chosen, 0, sizeof(chosen));
	CHECK_EQUAL(options_parse(&util, &program, &argc, &argv), -1);
	CHECK(chosen.flag && argc == 2 && strcmp(argv[0], "peek") == 0);
	words[2] = "util";
	argv = words + 2;
	argc = 2;
	util.command = NULL;
	CHECK_EQUAL(options_parse(&util, &program, &argc, &argv), EXIT_USAGE);
	CHECK(strcmp(said, "--nowhere: there is no such option before the command") == 0);
}

static void bad_lines_are_refused_with_a_sentence(void)
{
	static const struct {
		const char *line, *sentence;
	} bad[] = {
		{ "-n 1", "--count 1: it must be 2 to 10" },
		{ "-n 11", "--count 11: it must be 2 to 10" },
		{ "-n -3", "--count -3: it must be 2 to 10" },
		{ "-n 3x", "--count 3x: it must be 2 to 10" },
		{ "--size 1023", "--size 1023: it must be 1K or more" },
		{ "--size 18446744073709551615K", "it must be 1K or more" },
		{ "--size 4T", "--size 4T: it must be 1K or more" },
		{ "--time 0", "--time 0: it must be a number of seconds above 0" },
		{ "--time nan", "--time nan: it must be a number of seconds above 0" },
		{ "--time 5s", "--time 5s: it must be a number of seconds above 0" },
		{ "--time 1000000.1", "--time 1000000.1: it must be a number of seconds above 0" },
		{ "--way du", "--way du: there are c2h, h2c and duplex" },
		{ "--count32 0x100000000", "--count32 0x100000000: it must have 32 bits" },
		{ "--size32 4G", "--size32 4G: it must be below 4G" },
		{ "--nowhere", "--nowhere: there is no such option" },
		{ "--count", "--count needs a value" },
		{ "a b c", "try takes up to two words" },
	};
	static const struct command alone = { .name = "alone", .options = table };
	char *words[] = { "alone", "a", NULL }, **argv = words;
	struct util util = { .command = "alone" };
	int left, argc = 2;

	CHECK_EQUAL(options_parse(&util, &alone, &argc, &argv), EXIT_USAGE);
	CHECK(strstr(said, "a: alone takes no argument"));

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQUAL(parse(bad[i].line, &left), EXIT_USAGE);
		if (!strstr(said, bad[i].sentence)) {
			fprintf(stderr, "%s: \"%s\", not \"%s\"\n", bad[i].line, said,
				bad[i].sentence);
			failed_checks++;
		}
		CHECK(!strstr(said, "before the command"));
	}
}

int main(void)
{
	good_lines_are_taken();
	the_first_word_ends_the_options_of_the_program();
	bad_lines_are_refused_with_a_sentence();
	return failed_checks != 0;
}
