/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * litepcie_util: the command line. The global options are taken here, the rest by the command.
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define DEFAULT_DEVICE "/dev/litepcie0"

static const struct command *const commands[] = {
	&cmd_info, &cmd_scratch_test, &cmd_mmio_bench, &cmd_dma_test,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Signals ------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;	/* the one thing that a signal handler can reach */

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

bool util_interrupted(void)
{
	return interrupted;
}

/* Without SA_RESTART, so that a wait for the card ends. A second Ctrl-C ends the program. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Usage --------------------------------------------------------------------------------------- */

static void print_help(void)
{
	puts("usage: litepcie_util [-d DEVICE | -c N] [--json] COMMAND [options]\n"
	     "\n"
	     "Look at, test and measure a Lanebox card.\n"
	     "\n"
	     "commands:");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
	puts("\n"
	     "options:\n"
	     "  -d, --device DEVICE  the card, " DEFAULT_DEVICE " by default:\n"
	     "                         /dev/litepcieN  a card behind LitePCIe's kernel driver\n"
	     "                         sim:SOCKET      a board process listening on SOCKET;\n"
	     "                                         append ,mps=BYTES ,mrrs=BYTES or\n"
	     "                                         ,timeout=SECONDS\n"
	     "  -c N                 the same as -d /dev/litepcieN\n"
	     "      --json           one JSON object on stdout instead of text\n"
	     "  -h, --help           this text; COMMAND --help explains the command\n"
	     "\n"
	     "examples:\n"
	     "  litepcie_util info\n"
	     "  litepcie_util -d sim:build/board.sock dma_test --direction both --size 64M\n"
	     "  litepcie_util -d sim:build/board.sock,mps=128 --json mmio_bench > mmio.json\n"
	     "\n"
	     "exit status: 0 all went well, 1 a test failed or the card cannot be used, 2 usage");
}

int util_help(const struct command *command)
{
	printf("usage: litepcie_util %s", command->help);
	return EXIT_OK;
}

int util_usage(const struct util *util, const char *format, ...)
{
	va_list args;

	fputs("litepcie_util: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\ntry: litepcie_util %s%s--help\n", util->command ? util->command : "",
		util->command ? " " : "");
	return EXIT_USAGE;
}

/* Main ---------------------------------------------------------------------------------------- */

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Take the options before the command. Returns -1 to go on, or an exit status. */
static int parse_globals(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	static char by_number[32];
	uint64_t number;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:d:c:h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			util->device = optarg;
			break;
		case 'c':
			if (!util_parse_number(optarg, 0, 255, &number))
				return util_usage(util, "-c %s: it must be a number from 0 to 255",
						  optarg);
			snprintf(by_number, sizeof(by_number), "/dev/litepcie%u",
				 (unsigned int)number);
			util->device = by_number;
			break;
		case 'j':
			util->json = true;
			break;
		case 'h':
			print_help();
			return EXIT_OK;
		case ':':
			return util_usage(util, "%s needs a value", argv[optind - 1]);
		default:
			return util_usage(util, "%s: there is no such option before the command",
					  argv[optind - 1]);
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct util *util = calloc(1, sizeof(*util));
	const struct command *command;
	int status;

	if (!util)
		return EXIT_FAILED;
	util->device = DEFAULT_DEVICE;
	status = parse_globals(util, argc, argv);
	if (status < 0 && optind == argc)
		status = util_usage(util, "a command is missing");
	if (status < 0) {
		command = find_command(argv[optind]);
		if (!command) {
			status = util_usage(util, "%s: there is no such command", argv[optind]);
		} else {
			util->command = command->name;
			argc -= optind;
			argv += optind;
			optind = 0;	/* glibc: start again, on the command's own options */
			catch_signals();
			status = command->run(util, argc, argv);
		}
	}
	free(util);
	return status;
}
