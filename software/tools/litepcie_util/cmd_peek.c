/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The command peek: read one register, or 4 or 8 bytes at an offset in a BAR. */

#include "place.h"

struct peek {
	struct place	place;
	uint64_t	value;
};

static void print(const struct emit *out, const void *result)
{
	const struct peek *peek = result;
	bool half = peek->place.size == 4;

	place_emit(out, &peek->place);
	emit_unsigned(out, "value", half ? "0x%08llx\n" : "0x%016llx\n", peek->value);
}

static struct peek peek;

static const struct util_option options[] = { PLACE_OPTIONS(peek.place) };

static int run(struct util *util, int argc, char **argv)
{
	int rc;

	(void)argc;
	peek.place.text = argv[0];
	if (!util_open(util) || !place_find(util, &peek.place))
		return util_emit(util, NULL, print);
	rc = place_read(util, &peek.place, &peek.value);
	util_check(util, rc, peek.place.text);
	return util_emit(util, rc < 0 ? NULL : &peek, print);
}

const struct command cmd_peek = {
	.name = "peek",
	.summary = "read a register by name, or a place of a BAR",
	.usage = "[-d DEVICE | -c N] [--json] peek [options] PLACE",
	.about =
		"Read once and print the value.\n"
		PLACE_ABOUT
		"\n"
		"Reading may have an effect: device_time_low, for one, latches device_time_high.\n",
	.options = options,
	.least = 1,
	.most = 1,
	.takes = "one place: a register's name or an offset",
	.examples =
		"examples:\n"
		"  litepcie_util peek ctrl_scratch\n"
		"  litepcie_util peek --bar 2 --width 8 0x40\n",
	.run = run,
};
