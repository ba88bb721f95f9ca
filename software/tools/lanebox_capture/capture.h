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

#include <limits.h>

#include "../litepcie_util/util.h"

extern const struct command cmd_record;
extern const struct command cmd_play;
extern const struct command cmd_check;
extern const struct command cmd_info;
extern const struct command cmd_find;
extern const struct command cmd_live;
extern const struct command cmd_disk;

/* The state of the command that runs. Tables of options point to it, so it is a global. */
extern struct util capture_util;

/* number of files that a command takes: as many as there are */
#define CAPTURE_FILES	UINT_MAX

/* The option of a command that looks at one queue, whose number becomes the uint32_t *@number. */
#define QUEUE_OPTION(number) \
	{ .name = "queue", .value = "N", .parse = option_number32, .to = number, \
	  .rule = "it must be a number up to 4294967295", \
	  .help = "the queue whose accounts are shown (0)" }

/* Ends of tables of options: of a command that opens no card, and of one that does. */
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
