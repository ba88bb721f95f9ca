/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The place that the commands peek and poke access: a register with a name, or an offset in a BAR.
 */
#ifndef LITEPCIE_UTIL_PLACE_H
#define LITEPCIE_UTIL_PLACE_H

#include "util.h"

struct place {
	/* the register name or offset as it was written on the command line */
	const char	*text;
	/* path of a csr.json with names of registers; NULL: the command line names none */
	const char	*csr;
	/* name of the register to access; empty: the command line gives an offset */
	char		name[64];
	uint64_t	bar;
	uint64_t	offset;
	/* bytes of one access: 4 or 8; 0: the command line does not say it */
	uint64_t	size;
};

/*
 * Find the place on the open card. Returns false if the card has no such place; the failure is
 * noted in @util.
 */
bool place_find(struct util *util, struct place *place);

int place_read(struct util *util, const struct place *place, uint64_t *value);
int place_write(struct util *util, const struct place *place, uint64_t value);

/* Print the place in JSON. The value that was read or written follows it. */
void place_emit(const struct emit *out, const struct place *place);

bool place_width(const struct util_option *option, const char *text);

#define PLACE_ABOUT \
	"PLACE is a register's name (litepcie_util dump lists them), or an offset in a\n" \
	"BAR.\n"

/* The options of peek and poke, for the struct place @_place. */
#define PLACE_OPTIONS(_place) \
	{ .name = "bar", .letter = 'b', .value = "N", .parse = option_number, \
	  .to = &(_place).bar, .high = LITEPCIE_BARS - 1, \
	  .rule = "it must be a number from 0 to 5", .help = "which BAR an offset is in (0)" }, \
	{ .name = "width", .letter = 'w', .value = "BYTES", .parse = place_width, \
	  .to = &(_place).size, .rule = "it must be 4 or 8 bytes", \
	  .help = "of one access at an offset: 4 (default) or 8" }, \
	{ .name = "csr", .value = "FILE", .parse = option_text, .to = &(_place).csr, \
	  .help = "a csr.json of the gateware's build, for the names of your own registers" }, \
	{ 0 }

#endif /* LITEPCIE_UTIL_PLACE_H */
