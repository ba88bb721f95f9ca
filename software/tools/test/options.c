/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test options.c: which command lines are accepted, and the error messages for the others. Also
 * test the help that help.c makes of a table of options, and of util.c the functions that parse
 * sizes and numbers, read the parameters of the card's blocks, check the version of a block, and
 * print why a row has no value.
 */
#include <getopt.h>

#include "liblitepcie.h"
#include "litepcie_capability.h"

/* util_parameter() of util.c reads the capability table of a made-up card. */
#define litepcie_block_find	made_up_block
static int made_up_block(struct litepcie *dev, unsigned int type, unsigned int number,
			 struct litepcie_block *block);

#include "../litepcie_util/options.c"
#include "../litepcie_util/util.c"
#include "../litepcie_util/emit.c"
/* options.c calls this test's own util_usage() and util_help(), and not those of help.c. */
#define util_usage	real_usage
#define util_help	real_help
#include "../litepcie_util/help.c"
#undef util_usage
#undef util_help
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

static void sizes_have_suffixes_and_an_end(void)
{
	uint64_t bytes;

	CHECK(util_parse_size("1", &bytes) && bytes == 1);
	CHECK(util_parse_size("3k", &bytes) && bytes == 3072);
	CHECK(util_parse_size("0x10M", &bytes) && bytes == 16 << 20);
	CHECK(util_parse_size("2G", &bytes) && bytes == UINT64_C(2) << 30);
	CHECK(util_parse_size("0100", &bytes) && bytes == 100);
	CHECK(util_parse_size("08K", &bytes) && bytes == 8192);
	CHECK(util_parse_number("010", 0, 10, &bytes) && bytes == 10);
	CHECK(util_parse_number("0X1f", 0, 31, &bytes) && bytes == 31);
	CHECK(!util_parse_number("0x", 0, 31, &bytes));
	CHECK(!util_parse_size("0", &bytes));
	CHECK(!util_parse_size("", &bytes));
	CHECK(!util_parse_size("K", &bytes));
	CHECK(!util_parse_size("1KB", &bytes));
	CHECK(!util_parse_size("8589934592G", &bytes));
	CHECK(util_parse_size("8589934591G", &bytes) && bytes == 8589934591u * (UINT64_C(1) << 30));
	CHECK(!util_parse_size("-1", &bytes));
}

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

static int made_up_block(struct litepcie *dev, unsigned int type, unsigned int number,
			 struct litepcie_block *block)
{
	(void)dev;
	CHECK_EQUAL(block->struct_size, sizeof(*block));
	CHECK_EQUAL(number, 0);
	if (type != LITEPCIE_BLOCK_DMA)
		return -ENOENT;
	block->parameters = 2;
	block->parameter[0] = 5;
	block->parameter[1] = UINT32_MAX;
	block->parameter[2] = 7;
	return 0;
}

static void a_block_has_the_parameters_that_it_says(void)
{
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_DMA, 0), 5);
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_DMA, 1), UINT32_MAX);
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_DMA, 2), -1);
	CHECK_EQUAL(util_parameter(NULL, LITEPCIE_BLOCK_USER, 0), -1);
}

static void a_block_of_another_version_is_refused(void)
{
	struct util util = { 0 };
	struct litepcie_block block = { .version = 1, .parameters = 3 };

	CHECK(util_knows_block(&util, &block, "sensors", 2) && !util.failed);
	CHECK(!util_knows_block(&util, &block, "sensors", 3));
	block.version = 2;
	CHECK(!util_knows_block(&util, &block, "sensors", 2));
	CHECK_EQUAL(util.failed, 2);
	CHECK(strstr(util.failures[1], "the card's sensors has version 2 and 3 parameters, and this "
		     "program knows version 1 with 3 or more"));
}

/*
 * Returns what util_emit_reason() prints for @reason in a line that has 60 columns already, with
 * the beginning "no: "; as JSON if @as_json is true.
 */
static char *printed(const char *reason, bool as_json)
{
	static char text[256];
	FILE *terminal = stdout;
	struct json json = { 0 };
	struct emit out = { .json = as_json ? &json : NULL };

	memset(text, 0, sizeof(text));
	json.file = stdout = fmemopen(text, sizeof(text) - 1, "w");
	emit_object(&out, NULL);
	util_emit_reason(&out, 60, "no: ", reason);
	emit_object_end(&out);
	fclose(stdout);
	stdout = terminal;
	return text;
}

/*
 * A row with a value has a NULL or empty reason: nothing is printed as text, and null in JSON. For
 * any other row the reason is printed.
 */
static void a_row_without_a_value_has_a_reason(void)
{
	CHECK(strcmp(printed(NULL, false), "") == 0 && strcmp(printed("", false), "") == 0);
	CHECK(strcmp(printed("so it is", false), "no: so it is\n") == 0);
	CHECK(strstr(printed("sixteen letters, and more", false),
		     "no: sixteen letters,\n" "                              "
		     "                                and more\n"));
	CHECK(strstr(printed(NULL, true), "\"reason\": null"));
	CHECK(strstr(printed("", true), "\"reason\": null"));
	CHECK(strstr(printed("so", true), "\"reason\": \"so\""));
}

int main(void)
{
	a_block_has_the_parameters_that_it_says();
	a_block_of_another_version_is_refused();
	a_row_without_a_value_has_a_reason();
	good_lines_are_taken();
	the_first_word_ends_the_options_of_the_program();
	help_has_its_columns();
	bad_lines_are_refused_with_a_sentence();
	sizes_have_suffixes_and_an_end();
	return failed_checks != 0;
}
