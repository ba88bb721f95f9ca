/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command line of lanebox-capture. The options that all commands have may stand before the
 * command or behind it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "extcap.h"

#define PROGRAM		"lanebox-capture"
#define DEFAULT_DEVICE	"/dev/litepcie0"

static const struct command *const commands[] = {
	&cmd_record, &cmd_play, &cmd_check, &cmd_find, &cmd_live, &cmd_disk, &cmd_info,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Tables of options point to it, so it is a global. */
struct capture_common capture_common = { .device = DEFAULT_DEVICE };

/* Signals that end the program ---------------------------------------------------------------- */

/*
 * A signal came that asks the program to end. This is a global, since a signal handler gets no
 * context.
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
 * Let Ctrl-C and a termination signal end a recording in order. Without SA_RESTART a signal ends a
 * wait for the card. SA_RESETHAND lets a second Ctrl-C kill the program. A reader that closes its
 * end of a pipe, and a file that may not grow any more (ulimit -f), are errors of the write, not
 * signals: the file is then cut behind its last whole MBUF.
 */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction ignored = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGPIPE, &ignored, NULL);
	sigaction(SIGXFSZ, &ignored, NULL);
}

/* Usage --------------------------------------------------------------------------------------- */

static void print_help(void)
{
	puts("usage: " PROGRAM " COMMAND [-d DEVICE] [--json] [options]\n"
	     "\n"
	     "Record the frames that a Lanebox card captures, as pcapng files that Wireshark\n"
	     "opens, and play pcapng files as frames in the card. The card writes pcapng into\n"
	     "a ring of host memory, and the recorder writes the ring's parts of equal size\n"
	     "(MBUFs) to the disk as they are. Frames that the disk cannot take are lost in\n"
	     "the card, counted, and in the file.\n"
	     "\n"
	     "commands:");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n"
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
	     "  " PROGRAM " record --seconds 10 out/\n"
	     "  " PROGRAM " record -d sim:build/board.sock --generate 64,0,20000 a.pcapng\n"
	     "  " PROGRAM " play -d sim:build/board.sock --record b.pcapng a.pcapng\n"
	     "  " PROGRAM " check a.pcapng\n"
	     "\n"
	     "exit status: 0 all went well, 1 the card, the disk or a file failed, 2 usage");
}

/* Finish the output of the help text. If it cannot be written, the command fails. */
static int finish_help(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_OK;
	fputs(PROGRAM ": the text could not be written to stdout\n", stderr);
	return EXIT_FAILED;
}

int util_help(const struct command *command)
{
	fputs("usage: " PROGRAM " ", stdout);
	options_help(command);
	return finish_help();
}

int util_usage(const struct util *util, const char *format, ...)
{
	va_list args;

	fputs(PROGRAM ": ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\ntry: " PROGRAM " %s%s--help\n", util->command ? util->command : "",
		util->command ? " " : "");
	return EXIT_USAGE;
}

int util_bad_option(const struct util *util, int option, const char *word)
{
	if (option == ':')
		return util_usage(util, "%s needs a value", word);
	return util_usage(util, "%s: there is no such option%s", word,
			  util->command ? "" : " before the command");
}

/* The main program ---------------------------------------------------------------------------- */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/*
 * Take the options before the name of the command, which are those that every command has. Returns
 * -1 to go on, or an exit status.
 */
static int parse_globals(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:d:h", options, NULL)) != -1) {
		if (option == 'd') {
			capture_common.device = optarg;
		} else if (option == 'j') {
			capture_common.json = true;
		} else if (option == 'h') {
			print_help();
			return finish_help();
		} else {
			return util_bad_option(util, option, argv[optind - 1]);
		}
	}
	return optind == argc ? util_usage(util, "a command is missing") : -1;
}

/* Run the command that @argv begins with. */
static int run(struct util *util, int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);
	int status;

	if (!command)
		return util_usage(util, "%s: there is no such command", argv[0]);
	util->command = command->name;
	/* in glibc, 0 lets getopt start again, with the options of the command */
	optind = 0;
	status = options_parse(util, command, &argc, &argv);
	if (status >= 0)
		return status;
	util->device = capture_common.device;
	util->json = capture_common.json;
	return command->run(util, argc, argv);
}

int main(int argc, char **argv)
{
	struct util *util = calloc(1, sizeof(*util));
	int status;

	if (!util)
		return EXIT_FAILED;
	util->program = PROGRAM;
	catch_signals();
	if (extcap_asks(argc, argv)) {
		status = extcap(util, argc, argv);
	} else {
		status = parse_globals(util, argc, argv);
		if (status < 0)
			status = run(util, argc - optind, argv + optind);
	}
	free(util);
	return status;
}
