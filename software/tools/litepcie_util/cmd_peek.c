/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The commands peek and poke: read or write one register, or 4 or 8 bytes at an offset in a BAR.
 */
#include <ctype.h>

#include "util.h"

static struct place {
	/* the register name or offset as it was written on the command line */
	const char	*text;
	/* option --csr: path of a csr.json with names of registers; NULL: not given */
	const char	*csr;
	/* name of the register to access; empty: the command line gives an offset */
	char		name[64];
	uint64_t	bar;
	uint64_t	offset;
	/*
	 * bytes to read or write. At an offset these are the 4 or 8 of the option --width, or 4 if
	 * --width is not given. For a register that is named they are the register's own size, and
	 * --width has no effect.
	 */
	uint64_t	size;
	bool		writes;
	uint64_t	value;
} place;

/*
 * Print what peek has read, as text or JSON. For poke the text is empty, and JSON has the value
 * that was written.
 */
static void print(const struct emit *out, const void *result)
{
	const char *format = place.size == 4 ? "0x%08llx\n" : "0x%016llx\n";

	(void)result;
	emit_string(out, "register", NULL, emit_filled(place.name));
	emit_unsigned(out, "bar", NULL, place.bar);
	emit_unsigned(out, "offset_bytes", NULL, place.offset);
	emit_unsigned(out, "size_bytes", NULL, place.size);
	emit_unsigned(out, "value", place.writes ? NULL : format, place.value);
}

/* The register or address to access ----------------------------------------------------------- */

static bool find_offset(struct util *util)
{
	uint64_t bytes = 0;
	int rc = litepcie_bar_size(util->dev, (unsigned int)place.bar, &bytes);

	if (!place.size)
		place.size = 4;
	if (!util_parse_number(place.text, 0, UINT32_MAX, &place.offset))
		util_fail(util, "%s is not an offset", place.text);
	else if (place.offset % place.size)
		util_fail(util, "0x%llx is not a multiple of the access's %u bytes",
			  (unsigned long long)place.offset, (unsigned int)place.size);
	else if (rc < 0)
		util_fail(util, "%s", litepcie_why(util->dev));
	else if (place.offset + place.size > bytes)
		util_fail(util, "0x%llx is behind the end of BAR%u, which has 0x%llx bytes",
			  (unsigned long long)place.offset, (unsigned int)place.bar,
			  (unsigned long long)bytes);
	return !util->failed;
}

static bool find_name(struct util *util)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	int rc = util_load_csr(util, place.csr) ?:
		 litepcie_register_find(util->dev, place.text, &found);

	util_check(util, rc, place.text);
	if (rc < 0)
		return false;
	snprintf(place.name, sizeof(place.name), "%s", found.name);
	place.offset = found.offset;
	place.size = 4 * found.words;
	return true;
}

static int read_place(struct util *util)
{
	if (*place.name)
		return litepcie_register_read(util->dev, place.name, &place.value);
	return litepcie_bar_read(util->dev, (unsigned int)place.bar, place.offset, &place.value,
				 place.size);
}

static int write_place(struct util *util)
{
	unsigned int bits = 8 * (unsigned int)place.size;

	if (bits < 64 && place.value >> bits) {
		util_fail(util, "0x%llx does not fit into the %u bits of %s",
			  (unsigned long long)place.value, bits, place.text);
		return 0;
	}
	if (*place.name)
		return litepcie_register_write(util->dev, place.name, place.value);
	return litepcie_bar_write(util->dev, (unsigned int)place.bar, place.offset,
				  &place.value, place.size);
}

/* The commands peek and poke ------------------------------------------------------------------ */

static bool parse_width(const struct util_option *option, const char *text)
{
	uint64_t *bytes = option->to;

	return util_parse_number(text, 4, 8, bytes) && *bytes % 4 == 0;
}

static const struct util_option options[] = {
	{ .name = "bar", .letter = 'b', .value = "N", .parse = option_number, .to = &place.bar,
	  .high = LITEPCIE_BARS - 1, .rule = OPTION_RANGE,
	  .help = "which BAR an offset is in (0)" },
	{ .name = "width", .letter = 'w', .value = "BYTES", .parse = parse_width,
	  .to = &place.size, .rule = "it must be 4 or 8 bytes",
	  .help = "of one access at an offset: 4 (default) or 8" },
	{ .name = "csr", .value = "FILE", .parse = option_text, .to = &place.csr,
	  .help = "a csr.json of the gateware's build, for the names of your own registers" },
	{ 0 },
};

/* Run peek or poke. Only poke has a second argument, which is the value to write. */
static int run(struct util *util)
{
	place.text = util->words[0];
	place.writes = util->word_count == 2;
	if (place.writes && !util_parse_number(util->words[1], 0, UINT64_MAX, &place.value))
		return util_usage(util, "%s: the value must be a number", util->words[1]);
	if (util_open(util) && (isdigit((unsigned char)*place.text) ? find_offset(util) :
								       find_name(util)))
		util_check(util, place.writes ? write_place(util) : read_place(util), place.text);
	return util_emit(util, util->failed ? NULL : &place, print);
}

#define PLACE_ABOUT \
	"PLACE is a register's name (litepcie_util dump lists them), or an offset in a\n" \
	"BAR.\n"

const struct command cmd_peek = {
	.name = "peek",
	.summary = "read a register by name, or a place of a BAR",
	.usage = "[-d DEVICE | -c N] [--json] peek [options] PLACE",
	.about =
		"Read once and print the value.\n"
		PLACE_ABOUT
		"\n"
		"Reading may have an effect: device_time_low, for one, latches device_time_high.\n",
	.least = 1, .most = 1,
	.takes = "one place: a register's name or an offset",
	.examples =
		"  litepcie_util peek ctrl_scratch\n"
		"  litepcie_util peek --bar 2 --width 8 0x40\n",
	.options = options, .run = run,
};

const struct command cmd_poke = {
	.name = "poke",
	.summary = "write a register by name, or a place of a BAR",
	.usage = "[-d DEVICE | -c N] [--json] poke [options] PLACE VALUE",
	.about =
		"Write once. Nothing is read back, and nothing is printed.\n"
		PLACE_ABOUT
		"\n"
		"Registers that drive DMA and interrupts belong to the driver where there is one:\n"
		"it refuses such a write to all but root.\n",
	.least = 2, .most = 2,
	.takes = "a place and a value",
	.examples = "  litepcie_util poke ctrl_scratch 0xcafe0001\n",
	.options = options, .run = run,
};
