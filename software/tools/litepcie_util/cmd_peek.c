/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The command peek: read one register, or 4 or 8 bytes at an offset in a BAR. */
#include <getopt.h>

#include "place.h"

struct peek {
	struct place	place;
	uint64_t	value;
};

static void print_text(const struct util *util, const void *result)
{
	const struct peek *peek = result;

	(void)util;
	printf("0x%0*llx\n", (int)peek->place.size * 2, (unsigned long long)peek->value);
}

static void print_json(struct json *json, const void *result)
{
	const struct peek *peek = result;

	json_string(json, "register", peek->place.name[0] ? peek->place.name : NULL);
	json_unsigned(json, "bar", peek->place.bar);
	json_unsigned(json, "offset_bytes", peek->place.offset);
	json_unsigned(json, "size_bytes", peek->place.size);
	json_unsigned(json, "value", peek->value);
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
	struct peek peek = { 0 };
	int option, status, rc;

	while ((option = getopt_long(argc, argv, ":b:w:h", options, NULL)) != -1) {
		if (option == 'h')
			return util_help(&cmd_peek);
		if (option == ':' || option == '?')
			return util_bad_option(util, option, argv[optind - 1]);
		status = place_option(util, &peek.place, option, optarg);
		if (status >= 0)
			return status;
	}
	if (argc - optind != 1)
		return util_usage(util, "peek takes one place: a register's name or an offset");
	peek.place.text = argv[optind];

	if (!util_open(util) || !place_find(util, &peek.place))
		return util_finish(util, NULL, print_text, print_json);
	rc = place_read(util, &peek.place, &peek.value);
	util_check(util, rc, peek.place.text);
	return util_finish(util, rc < 0 ? NULL : &peek, print_text, print_json);
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] peek [options] PLACE\n"
	"\n"
	"Read once and print the value.\n"
	PLACE_HELP
	"\n"
	"Reading may have an effect: device_time_low, for one, latches device_time_high.\n"
	"\n"
	"examples:\n"
	"  litepcie_util peek ctrl_scratch\n"
	"  litepcie_util peek --bar 2 --width 8 0x40\n";

const struct command cmd_peek = {
	.name = "peek",
	.summary = "read a register by name, or a place of a BAR",
	.help = help,
	.run = run,
};
