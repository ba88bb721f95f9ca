/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Functions that open the card, note failures, end a command, parse numbers and print text, for the
 * commands of litepcie_util and lanebox-capture. util.h says what each function promises.
 */
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "litepcie_capability.h"

/* Failures of a command ----------------------------------------------------------------------- */

void util_fail(struct util *util, const char *format, ...)
{
	va_list args;

	if (util->failed++ >= UTIL_FAILURES)
		return;
	va_start(args, format);
	vsnprintf(util->failures[util->failed - 1], UTIL_SENTENCE, format, args);
	va_end(args);
}

void util_check(struct util *util, int rc, const char *doing)
{
	const char *why = litepcie_why(util->dev);

	if (rc < 0)
		util_fail(util, "%s: %s", doing, *why ? why : litepcie_strerror(rc));
}

int util_load_csr(struct util *util, const char *option)
{
	const char *named = getenv("LANEBOX_CSR");

	if (!option && named && *named)
		option = named;
	return option ? litepcie_csr_load(util->dev, option) : 0;
}

/* Begin and end of a command ------------------------------------------------------------------ */

bool util_open(struct util *util)
{
	char why[LITEPCIE_WHY_SIZE];
	int rc = litepcie_open(&util->dev, util->device, why, sizeof(why));

	if (rc < 0) {
		util_fail(util, "%s", why);
		return false;
	}
	util->conditions.struct_size = sizeof(util->conditions);
	rc = litepcie_conditions(util->dev, &util->conditions);
	util_check(util, rc, "reading the link's state");
	return rc == 0;
}

bool util_has_block(struct litepcie *dev, unsigned int type)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	return litepcie_block_find(dev, type, 0, &block) == 0;
}

int64_t util_parameter(struct litepcie *dev, unsigned int type, unsigned int number)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	if (litepcie_block_find(dev, type, 0, &block) < 0 || block.parameters <= number)
		return -1;
	return block.parameter[number];
}

bool util_knows_block(struct util *util, const struct litepcie_block *block, const char *name,
		      unsigned int last)
{
	if (block->version == LITEPCIE_CAP_BLOCK_VERSION && block->parameters > last)
		return true;
	util_fail(util, "the card's %s has version %u and %u parameters, and this program knows "
		  "version %u with %u or more: use the program of the card's release", name,
		  block->version, block->parameters, LITEPCIE_CAP_BLOCK_VERSION, last + 1);
	return false;
}

double util_tick_ns(const struct litepcie *dev)
{
	struct litepcie_card card = { .struct_size = sizeof(card) };

	litepcie_card(dev, &card);
	return card.tick_ps / 1e3;
}

static void print_failures(const struct util *util)
{
	/*
	 * Wireshark starts lanebox-capture without a command. Messages then have "extcap" in place
	 * of the command's name.
	 */
	const char *command = util->command ? util->command : "extcap";

	for (unsigned int i = 0; i < util->failed && i < UTIL_FAILURES; i++)
		fprintf(stderr, "%s: %s: %s\n", util->program->name, command, util->failures[i]);
	if (util->failed > UTIL_FAILURES)
		fprintf(stderr, "%s: %s: and %u failures more\n", util->program->name, command,
			util->failed - UTIL_FAILURES);
}

/*
 * Write the keys that a command's JSON output begins with: "command", "ok", "failures" and
 * "conditions". If the output is text, nothing is printed.
 */
static void print_envelope(const struct emit *out, const struct util *util)
{
	bool open = util->dev;

	emit_string(out, "command", NULL, util->command);
	emit_bool(out, "ok", !util->failed);
	emit_array(out, "failures");
	for (unsigned int i = 0; i < util->failed && i < UTIL_FAILURES; i++)
		emit_string(out, EMIT_ELEMENT, NULL, util->failures[i]);
	emit_array_end(out);
	emit_object(out, "conditions");
	emit_known(out, "mps", open ? (int64_t)util->conditions.mps : -1);
	emit_known(out, "mrrs", open ? (int64_t)util->conditions.mrrs : -1);
	emit_string(out, "device", NULL, util->device);
	emit_string(out, "backend", NULL, open ? litepcie_backend(util->dev) : NULL);
	emit_object_end(out);
}

int util_emit(struct util *util, const void *result,
	      void (*print)(const struct emit *emit, const void *result))
{
	struct json json = { .file = stdout };
	const struct emit emit = { util, util->json ? &json : NULL };

	emit_object(&emit, NULL);
	print_envelope(&emit, util);
	if (result)
		print(&emit, result);
	emit_object_end(&emit);
	litepcie_close(util->dev);
	util->dev = NULL;
	if (fflush(stdout) != 0 || ferror(stdout))
		util_fail(util, "the result could not be written to stdout");
	print_failures(util);
	return util->failed ? EXIT_FAILED : EXIT_OK;
}

/* Numbers and sizes on the command line ------------------------------------------------------- */

/*
 * Parse the decimal number at the beginning of @text, or a hexadecimal one that begins with 0x.
 * *@end then points to the rest of the text. The base 0 of strtoull() would take a number with a
 * leading 0 for octal. Returns false if @text does not begin with a digit, or if the number has
 * more than 64 bits.
 */
static bool parse_beginning(const char *text, uint64_t *value, char **end)
{
	errno = 0;
	*value = strtoull(text, end, strncasecmp(text, "0x", 2) ? 10 : 16);
	return isdigit((unsigned char)*text) && !errno;
}

bool util_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	return parse_beginning(text, value, &end) && !*end && *value >= low && *value <= high;
}

bool util_parse_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned int shift = 0;
	char *end;

	if (!parse_beginning(text, bytes, &end))
		return false;
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (suffix) {
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
		end++;
	}
	if (*end || *bytes == 0 || *bytes > UINT64_MAX >> (shift + 1))
		return false;
	*bytes <<= shift;
	return true;
}

/* Wrapped text -------------------------------------------------------------------------------- */

#define COLUMNS	80

void util_fill(unsigned int at, unsigned int indent, const char *text)
{
	bool begun = false;

	while (*text) {
		unsigned int length = (unsigned int)strcspn(text, " ");

		if (begun && at + 1 + length > COLUMNS) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (begun) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)length, text);
		at += length;
		begun = true;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

void util_emit_reason(const struct emit *out, unsigned int column, const char *beginning,
		      const char *reason)
{
	bool given = reason && *reason;

	emit_string(out, "reason", NULL, given ? reason : NULL);
	if (out->json || !given)
		return;
	emit_text(out, "%s", beginning);
	util_fill(column + (unsigned int)strlen(beginning), column + 2, reason);
}

/* Colours of the terminal --------------------------------------------------------------------- */

const char *util_colour(const struct util *util, enum util_colour colour)
{
	static const char *const codes[] = {
		[COLOUR_END] = "\033[0m", [COLOUR_NAME] = "\033[1m",
		[COLOUR_GOOD] = "\033[32m", [COLOUR_BAD] = "\033[31m",
	};
	const char *unwanted = getenv("NO_COLOR");

	if (util->json || (unwanted && *unwanted) || !isatty(STDOUT_FILENO))
		return "";
	return codes[colour];
}
