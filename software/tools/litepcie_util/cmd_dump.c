/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command dump: print registers with their values, or the data in a range of a BAR. The text
 * shows that data as bytes, JSON as 32-bit words.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define MAX_BYTES	(1u << 20)
#define LINE		16u

struct entry {
	struct litepcie_register	found;
	uint64_t			value;
};

static struct dump {
	const char	*csr, *prefix;
	/*
	 * number of a BAR, and offset and length in bytes of the range in it to dump; @length 0:
	 * the registers are dumped instead
	 */
	uint64_t	bar, offset, length;
	struct entry	*entries;
	size_t		count;
	uint32_t	words[MAX_BYTES / 4];
} dump;

/* Printing registers and bytes ---------------------------------------------------------------- */

static void print_line(const uint8_t *bytes, uint64_t offset, uint64_t count)
{
	printf("%08llx ", (unsigned long long)offset);
	for (uint64_t i = 0; i < LINE; i++) {
		if (i < count)
			printf(" %02x", bytes[i]);
		else
			fputs("   ", stdout);
	}
	fputs("  ", stdout);
	for (uint64_t i = 0; i < count; i++)
		putchar(isprint(bytes[i]) ? bytes[i] : '.');
	putchar('\n');
}

static void print_register(const struct emit *out, const struct entry *entry)
{
	const struct litepcie_register *found = &entry->found;
	char value[24];

	snprintf(value, sizeof(value), "0x%0*llx", (int)found->words * 8,
		 (unsigned long long)entry->value);
	emit_text(out, "%05x  %-18s  %s%s%s%s\n", found->offset, value,
		  util_colour(out->util, COLOUR_NAME), found->name,
		  util_colour(out->util, COLOUR_END), found->writable ? "" : " (read only)");
	emit_object(out, NULL);
	emit_string(out, "name", NULL, found->name);
	emit_unsigned(out, "offset_bytes", NULL, found->offset);
	emit_unsigned(out, "size_bytes", NULL, 4 * found->words);
	emit_bool(out, "writable", found->writable);
	emit_unsigned(out, "value", NULL, entry->value);
	emit_object_end(out);
}

static void print(const struct emit *out, const void *result)
{
	const struct dump *dump = result;

	emit_unsigned(out, "bar", NULL, dump->bar);
	emit_array(out, "registers");
	for (size_t i = 0; i < dump->count; i++)
		print_register(out, &dump->entries[i]);
	emit_array_end(out);
	for (uint64_t at = 0; !out->json && at < dump->length; at += LINE)
		print_line((const uint8_t *)dump->words + at, dump->offset + at,
			   dump->length - at < LINE ? dump->length - at : LINE);
	emit_array(out, "words");
	for (uint64_t i = 0; i < dump->length / 4; i++)
		emit_unsigned(out, EMIT_ELEMENT, NULL, dump->words[i]);
	emit_array_end(out);
}

/* Reading registers and memory ---------------------------------------------------------------- */

static int add(struct dump *dump, struct litepcie *dev, const struct litepcie_register *found)
{
	struct entry *more = realloc(dump->entries, (dump->count + 1) * sizeof(*more));
	int rc;

	if (!more)
		return -ENOMEM;
	dump->entries = more;
	more[dump->count].found = *found;
	rc = litepcie_register_read(dev, found->name, &more[dump->count].value);
	dump->count += rc == 0;
	return rc;
}

static void read_registers(struct util *util, struct dump *dump)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	int rc = util_load_csr(util, dump->csr);

	for (unsigned int i = 0; rc == 0 && !util_interrupted(); i++) {
		if (litepcie_register(util->dev, i, &found) < 0)
			break;
		if (!dump->prefix || strncmp(found.name, dump->prefix, strlen(dump->prefix)) == 0)
			rc = add(dump, util->dev, &found);
	}
	util_check(util, rc, "reading the registers");
	if (util_interrupted())
		util_fail(util, "interrupted after %zu registers", dump->count);
	else if (rc == 0 && !dump->count)
		util_fail(util, "no register's name begins with \"%s\"",
			  dump->prefix ? dump->prefix : "");
}

static void read_bytes(struct util *util, struct dump *dump)
{
	uint64_t bytes, at = 0;
	int rc = litepcie_bar_size(util->dev, (unsigned int)dump->bar, &bytes);

	if (rc < 0) {
		util_fail(util, "%s", litepcie_why(util->dev));
		return;
	}
	if (dump->offset + dump->length > bytes) {
		util_fail(util, "BAR%llu has 0x%llx bytes here, and 0x%llx to 0x%llx were asked for",
			  (unsigned long long)dump->bar, (unsigned long long)bytes,
			  (unsigned long long)dump->offset,
			  (unsigned long long)(dump->offset + dump->length));
		return;
	}
	for (; rc == 0 && at < dump->length && !util_interrupted(); at += 4)
		rc = litepcie_bar_read(util->dev, (unsigned int)dump->bar, dump->offset + at,
				       &dump->words[at / 4], 4);
	util_check(util, rc, "reading the BAR");
	if (rc == 0 && at < dump->length)
		util_fail(util, "interrupted after %llu of %llu bytes", (unsigned long long)at,
			  (unsigned long long)dump->length);
}

/* The command dump ---------------------------------------------------------------------------- */

/*
 * Parse the arguments of dump: the beginning of the names of the registers to print, or the offset
 * and the length of a range of a BAR. Returns -1 if the arguments are correct, otherwise prints a
 * message and returns the exit status of the program.
 */
static int parse_range(struct util *util, struct dump *dump)
{
	char **words = util->words;
	int count = util->word_count;

	if (!isdigit((unsigned char)words[0][0])) {
		dump->prefix = words[0];
		return count == 1 ? -1 : util_usage(util, "dump takes one beginning of a name");
	}
	dump->length = 256;
	if (!util_parse_number(words[0], 0, UINT32_MAX, &dump->offset) || dump->offset % 4)
		return util_usage(util, "%s: the offset must be a multiple of 4", words[0]);
	if (count == 2 && (!util_parse_size(words[1], &dump->length) || dump->length % 4 ||
			   dump->length > MAX_BYTES))
		return util_usage(util, "%s: the length must be a multiple of 4, up to 1M",
				  words[1]);
	return -1;
}

static const struct util_option options[] = {
	{ .name = "bar", .letter = 'b', .value = "N", .parse = option_number, .to = &dump.bar,
	  .high = LITEPCIE_BARS - 1, .rule = OPTION_RANGE,
	  .help = "which BAR (0)" },
	{ .name = "csr", .value = "FILE", .parse = option_text, .to = &dump.csr,
	  .help = "a csr.json of the gateware's build, for the names of your own registers" },
	{ 0 },
};

static int run(struct util *util)
{
	int status = util->word_count ? parse_range(util, &dump) : -1;

	if (status >= 0)
		return status;
	if (util_open(util)) {
		if (dump.length)
			read_bytes(util, &dump);
		else
			read_registers(util, &dump);
	}
	status = util_emit(util, util->failed ? NULL : &dump, print);
	free(dump.entries);
	return status;
}

const struct command cmd_dump = {
	.name = "dump",
	.summary = "all registers with their values, or a stretch of a BAR",
	.usage =
		"[-d DEVICE | -c N] [--json] dump [options]\n"
		"                     [BEGINNING | OFFSET [LENGTH]]",
	.about =
		"Without an offset: every register with its place, value and name, or those\n"
		"whose names begin so. With one: LENGTH bytes of a BAR (256; K and M may\n"
		"follow), as the card's addresses have them.\n",
	.most = 2,
	.takes = "an offset and a length, or the beginning of a name",
	.examples =
		"  litepcie_util dump pcie_dma0\n"
		"  litepcie_util dump --bar 2 0x0 1K\n",
	.options = options, .run = run,
};
