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
	unsigned int	bar;
	uint64_t	offset;
	/* bytes of one access: 4 or 8; 0: the command line does not say it */
	size_t		size;
};

/*
 * Take an option of peek or poke (b: BAR, w: width in bytes, C: csr.json). Returns -1 to go on, or
 * an exit status.
 */
int place_option(struct util *util, struct place *place, int option, const char *value);

/*
 * Find the place on the open card. Returns false if the card has no such place; the failure is
 * noted in @util.
 */
bool place_find(struct util *util, struct place *place);

int place_read(struct util *util, const struct place *place, uint64_t *value);
int place_write(struct util *util, const struct place *place, uint64_t value);

#define PLACE_HELP \
	"PLACE is a register's name (litepcie_util dump lists them), or an offset in a\n" \
	"BAR.\n" \
	"\n" \
	"options:\n" \
	"  -b, --bar N        which BAR an offset is in (0)\n" \
	"  -w, --width BYTES  of one access at an offset: 4 (default) or 8\n" \
	"      --csr FILE     a csr.json of the gateware's build, for the names of your\n" \
	"                     own registers\n"

#endif /* LITEPCIE_UTIL_PLACE_H */
