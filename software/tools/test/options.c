/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test options.c and the numbers of util.c: what a command line may have, and the sentence about
 * what it may not have.
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

int util_bad_option(const struct util *util, int option, const char *word)
{
	return util_usage(util, "%s %s", word, option == ':' ? "needs a value" : "is unknown");
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
	double		seconds;
	const char	*name;
	unsigned int	way;
} chosen;

static const struct util_option table[] = {
	{ .name = "flag", .letter = 'f', .to = &chosen.flag },
	{ .name = "count", .letter = 'n', .value = "N", .parse = option_number,
	  .to = &chosen.count, .low = 2, .high = 10, .rule = "it must be 2 to 10" },
	{ .name = "size", .value = "BYTES", .parse = option_size, .to = &chosen.bytes,
	  .low = 1024, .rule = "it must be 1K or more" },
	{ .name = "time", .value = "S", .parse = option_seconds, .to = &chosen.seconds,
	  .rule = OPTION_SECONDS },
	{ .name = "name", .value = "TEXT", .parse = option_text, .to = &chosen.name },
	{ .name = "way", .value = "WAY", .parse = option_choice, .to = &chosen.way,
	  .choices = "c2h h2c duplex", .rule = "there are c2h, h2c and duplex" },
	{ 0 },
};

/* Parse a command line of words with single spaces. Returns the status, and *@left words. */
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
		{ "--way du", "--way du: there are c2h, h2c and duplex" },
		{ "--nowhere", "--nowhere is unknown" },
		{ "--count", "--count needs a value" },
		{ "a b c", "try takes up to two words" },
	};
	int left;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQUAL(parse(bad[i].line, &left), EXIT_USAGE);
		if (!strstr(said, bad[i].sentence)) {
			fprintf(stderr, "%s: \"%s\", not \"%s\"\n", bad[i].line, said,
				bad[i].sentence);
			failed_checks++;
		}
	}
}

static void sizes_have_suffixes_and_an_end(void)
{
	uint64_t bytes;

	CHECK(util_parse_size("1", &bytes) && bytes == 1);
	CHECK(util_parse_size("3k", &bytes) && bytes == 3072);
	CHECK(util_parse_size("0x10M", &bytes) && bytes == 16 << 20);
	CHECK(util_parse_size("2G", &bytes) && bytes == UINT64_C(2) << 30);
	CHECK(!util_parse_size("0", &bytes));
	CHECK(!util_parse_size("", &bytes));
	CHECK(!util_parse_size("K", &bytes));
	CHECK(!util_parse_size("1KB", &bytes));
	CHECK(!util_parse_size("8589934592G", &bytes));
	CHECK(util_parse_size("8589934591G", &bytes) && bytes == 8589934591u * (UINT64_C(1) << 30));
	CHECK(!util_parse_size("-1", &bytes));
}

int main(void)
{
	good_lines_are_taken();
	bad_lines_are_refused_with_a_sentence();
	sizes_have_suffixes_and_an_end();
	return failed_checks != 0;
}
