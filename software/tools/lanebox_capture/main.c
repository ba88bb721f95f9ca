/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The program lanebox-capture: its table of commands, and its start. The options --device and
 * --json may stand before the command. --json may also stand behind the command, and --device
 * behind a command that opens a card.
 */
#include <signal.h>

#include "../litepcie_util/util.h"
#include "capture.h"
#include "extcap.h"

static const struct command *const commands[] = {
	&cmd_record, &cmd_play, &cmd_check, &cmd_find, &cmd_live, &cmd_disk, &cmd_info, NULL,
};

struct util capture_util = { .device = PROGRAM_DEVICE };

static const struct util_option options[] = { CARD_OPTIONS };

static const struct program program = {
	.name = "lanebox-capture",
	.about =
		"COMMAND [-d DEVICE] [--json] [options]\n"
		"\n"
		"Record the frames that a Lanebox card captures, as pcapng files that Wireshark\n"
		"opens, and play pcapng files as frames in the card. The card writes pcapng into\n"
		"a ring of host memory, and the recorder writes the ring's parts of equal size\n"
		"(MBUFs) to the disk as they are. Frames that the disk cannot take are lost in\n"
		"the card, counted, and in the file.\n",
	.more =
		"options of every command:\n"
		"  -d, --device DEVICE  the card, whose gateware was built with --capture:\n"
		"                         /dev/litepcie0  the kernel driver's (the default)\n"
		"                         vfio:ADDRESS    given to VFIO (litepcie_util vfio)\n"
		"                         sim:SOCKET      a board process; append ,mps=BYTES\n"
		"                                         ,mrrs=BYTES or ,timeout=SECONDS\n"
		"      --json           one JSON object on stdout instead of text\n"
		"  -h, --help           this text; COMMAND --help explains the command\n"
		"\n"
		"examples:\n"
		"  lanebox-capture record --seconds 10 out/\n"
		"  lanebox-capture record -d sim:build/board.sock --generate 64,0,20000 a.pcapng\n"
		"  lanebox-capture play -d sim:build/board.sock --record b.pcapng a.pcapng\n"
		"  lanebox-capture check a.pcapng\n"
		"\n"
		"exit status: 0 all went well, 1 the card, the disk or a file failed, 2 usage\n",
	.options = options,
	.commands = commands,
};

/*
 * SIGPIPE (the reader of a pipe has closed it) and SIGXFSZ (a file has reached its limit, ulimit
 * -f) are ignored. So a write that meets one of these two conditions returns an error, and the
 * signal does not kill the program.
 */
int main(int argc, char **argv)
{
	struct sigaction ignored = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignored, NULL);
	sigaction(SIGXFSZ, &ignored, NULL);
	program_begin(&program, &capture_util);
	return extcap_asks(argc, argv) ? extcap(&capture_util, argc, argv) :
					 program_run(&capture_util, argc, argv);
}
