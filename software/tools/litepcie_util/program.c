/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Parse the options before the command, find the command and run it, for litepcie_util and
 * lanebox-capture, and handle the signals SIGINT and SIGTERM. util.h says what each function
 * promises.
 */
#include "util.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

/* Signals that end the program ---------------------------------------------------------------- */

/*
 * 1 if SIGINT or SIGTERM has come. The variable is global, since a signal handler gets no pointer
 * to the program's state.
 */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

bool util_interrupted(void)
{
	return interrupted;
}

/*
 * SA_RESTART is not set, so a signal may end a system call that waits, with EINTR. SA_RESETHAND
 * lets a second signal of the same kind, such as a second Ctrl-C, kill the program.
 */
void program_begin(const struct program *program, struct util *util)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	opterr = 0;
	util->program = program;
}

/* Finding and running the command ------------------------------------------------------------- */

int program_run(struct util *util, int argc, char **argv)
{
	const struct command whole = { .options = util->program->options, .most = UINT_MAX };
	const struct command *const *command = util->program->commands;
	int status = options_parse(util, &whole, &argc, &argv);

	if (status >= 0)
		return status;
	if (!argc)
		return util_usage(util, "a command is missing");
	while (*command && strcmp((*command)->name, argv[0]) != 0)
		command++;
	if (!*command)
		return util_usage(util, "%s: there is no such command", argv[0]);
	util->command = (*command)->name;
	status = options_parse(util, *command, &argc, &argv);
	util->words = argv;
	util->word_count = argc;
	return status < 0 ? (*command)->run(util) : status;
}
