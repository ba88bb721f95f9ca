/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command line of a program with commands, as litepcie_util and lanebox-capture have it:
 * options of the program, then a command with options of its own.
 */
#ifndef LITEPCIE_UTIL_PROGRAM_H
#define LITEPCIE_UTIL_PROGRAM_H

#include "util.h"

#define PROGRAM_DEVICE	"/dev/litepcie0"	/* the card if the command line names no card */

struct program {
	const char			*name;
	/*
	 * The text of --help: @about stands between "usage: NAME " and the list of commands, and
	 * @more stands behind the list.
	 */
	const char			*about, *more;
	/* options before the command; those without a long name have only a letter */
	const struct util_option	*options;
	const struct command *const	*commands;	/* the list ends with NULL */
};

/*
 * Prepare @util for the program. The first SIGINT or SIGTERM then only makes util_interrupted()
 * true, so that a command can stop the card. A second signal of the same kind kills the program.
 */
void program_begin(const struct program *program, struct util *util);

/*
 * Run the command that the command line names. Returns the command's exit status, or EXIT_USAGE if
 * the command line is wrong.
 */
int program_run(struct util *util, int argc, char **argv);

#endif /* LITEPCIE_UTIL_PROGRAM_H */
