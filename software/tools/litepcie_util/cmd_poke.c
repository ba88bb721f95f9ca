/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The command poke: write one register, or 4 or 8 bytes at an offset in a BAR. */
#include <getopt.h>

#include "place.h"

struct poke {
	struct place	place;
	uint64_t	value;
};

static void print_text(const struct util *util, const void *result)
{
	(void)util;
	(void)result;	/* the command poke prints nothing on success */
}

static void print_json(struct json *json, const void *result)
{
	const struct poke *poke = result;

	json_string(json, "register", poke->place.name[0] ? poke->place.name : NULL);
	json_unsigned(json, "bar", poke->place.bar);
	json_unsigned(json, "offset_bytes", poke->place.offset);
	json_unsigned(json, "size_bytes", poke->place.size);
	json_unsigned(json, "value", poke->value);
}

static void write_value(struct util *util, struct poke *poke)
{
	unsigned int bits = 8 * (unsigned int)poke->place.size;

	if (bits < 64 && poke->value >> bits)
		util_fail(util, "0x%llx does not fit into the %u bits of %s",
			  (unsigned long long)poke->value, bits, poke->place.text);
	else
		util_check(util, place_write(util, &poke->place, poke->value), poke->place.text);
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "bar", required_argument, NULL, 'b' },
		{ "width", required_argument, NULL, 'w' },
		{ "csr", required_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct poke poke = { 0 };
	int option, status;

	while ((option = getopt_long(argc, argv, ":b:w:h", options, NULL)) != -1) {
		if (option == 'h')
			return util_help(&cmd_poke);
		if (option == ':' || option == '?')
			return util_bad_option(util, option, argv[optind - 1]);
		status = place_option(util, &poke.place, option, optarg);
		if (status >= 0)
			return status;
	}
	if (argc - optind != 2)
		return util_usage(util, "poke takes a place and a value");
	poke.place.text = argv[optind];
	if (!util_parse_number(argv[optind + 1], 0, UINT64_MAX, &poke.value))
		return util_usage(util, "%s: the value must be a number", argv[optind + 1]);

	if (!util_open(util) || !place_find(util, &poke.place))
		return util_finish(util, NULL, print_text, print_json);
	write_value(util, &poke);
	return util_finish(util, util->failed ? NULL : &poke, print_text, print_json);
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] poke [options] PLACE VALUE\n"
	"\n"
	"Write once. Nothing is read back, and nothing is printed.\n"
	PLACE_HELP
	"\n"
	"Registers that drive DMA and interrupts belong to the driver where there is one:\n"
	"it refuses such a write to all but root.\n"
	"\n"
	"example:\n"
	"  litepcie_util poke ctrl_scratch 0xcafe0001\n";

const struct command cmd_poke = {
	.name = "poke",
	.summary = "write a register by name, or a place of a BAR",
	.help = help,
	.run = run,
};
