/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The command poke: write one register, or 4 or 8 bytes at an offset in a BAR. */

#include "place.h"

struct poke {
	struct place	place;
	uint64_t	value;
};

/* On success the text is empty. */
static void print(const struct emit *out, const void *result)
{
	const struct poke *poke = result;

	place_emit(out, &poke->place);
	emit_unsigned(out, "value", NULL, poke->value);
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

static struct poke poke;

static const struct util_option options[] = { PLACE_OPTIONS(poke.place) };

static int run(struct util *util, int argc, char **argv)
{
	(void)argc;
	poke.place.text = argv[0];
	if (!util_parse_number(argv[1], 0, UINT64_MAX, &poke.value))
		return util_usage(util, "%s: the value must be a number", argv[1]);
	if (!util_open(util) || !place_find(util, &poke.place))
		return util_emit(util, NULL, print);
	write_value(util, &poke);
	return util_emit(util, util->failed ? NULL : &poke, print);
}

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
	.options = options,
	.least = 2,
	.most = 2,
	.takes = "a place and a value",
	.examples =
		"example:\n"
		"  litepcie_util poke ctrl_scratch 0xcafe0001\n",
	.run = run,
};
