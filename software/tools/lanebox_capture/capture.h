/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The commands of lanebox-capture. They use the functions of litepcie_util that open the card, note
 * failures and end a command (../litepcie_util/util.h).
 */
#ifndef LANEBOX_CAPTURE_H
#define LANEBOX_CAPTURE_H

#include <limits.h>

#include "../litepcie_util/util.h"

extern const struct command cmd_record;
extern const struct command cmd_play;
extern const struct command cmd_check;
extern const struct command cmd_info;
extern const struct command cmd_find;
extern const struct command cmd_live;
extern const struct command cmd_disk;

/*
 * The state of the command that runs. It is a global variable, since the tables of options point to
 * it.
 */
extern struct util capture_util;

/* value of @most in the struct command of a command that takes any number of files */
#define CAPTURE_FILES	UINT_MAX

/*
 * The option --queue of the commands info and live. It stores the number of a queue in the uint32_t
 * *@number.
 */
#define QUEUE_OPTION(number) \
	{ .name = "queue", .value = "N", .parse = option_number32, .to = number, \
	  .rule = "it must be a number up to 4294967295", \
	  .help = "the queue whose accounts are shown (0)" }

/*
 * The last entries of a table of options: JSON_OPTION for a command that opens no card;
 * CARD_OPTIONS for a command that opens one, and for the options that stand before the command.
 */
#define JSON_OPTION \
	{ .name = "json", .to = &capture_util.json, \
	  .help = "one JSON object on stdout instead of text" }, \
	{ 0 }
#define CARD_OPTIONS \
	{ .name = "device", .letter = 'd', .value = "DEVICE", .parse = option_text, \
	  .to = &capture_util.device, \
	  .help = "the card, as lanebox-capture --help explains it (/dev/litepcie0)" }, \
	JSON_OPTION

#endif /* LANEBOX_CAPTURE_H */
