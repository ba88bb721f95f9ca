/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The commands of lanebox-capture. The open card, the failures of a command and how it ends are
 * those of litepcie_util (../litepcie_util/util.h), so both programs print the same kind of errors
 * and of JSON.
 */
#ifndef LANEBOX_CAPTURE_H
#define LANEBOX_CAPTURE_H

#include "../litepcie_util/util.h"

extern const struct command cmd_record;
extern const struct command cmd_play;
extern const struct command cmd_check;
extern const struct command cmd_info;
extern const struct command cmd_find;
extern const struct command cmd_live;
extern const struct command cmd_disk;

/*
 * Take an option that every command has: -d, --json, --help, or one that getopt has refused. @word
 * is the argument. Returns -1 to go on, or an exit status.
 */
int capture_option(struct util *util, const struct command *command, int option, const char *word);

/* The options that every command has, for getopt_long(). */
#define CAPTURE_OPTIONS \
	{ "device", required_argument, NULL, 'd' }, \
	{ "json", no_argument, NULL, 'j' }, \
	{ "help", no_argument, NULL, 'h' }, \
	{ 0 }

#endif /* LANEBOX_CAPTURE_H */
