/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command line of litepcie_util. Options before the command are parsed in this file, and those
 * after it by the table of the command.
 */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define DEFAULT_DEVICE "/dev/litepcie0"

static const struct command *const commands[] = {
	&cmd_list, &cmd_info, &cmd_peek, &cmd_poke, &cmd_dump, &cmd_scratch_test,
	&cmd_mmio_bench, &cmd_dma_test, &cmd_dma_bench, &cmd_latency, &cmd_doctor, &cmd_reset,
	&cmd_rescan, &cmd_flash, &cmd_reboot, &cmd_vfio, &cmd_sensors, &cmd_module,
	&cmd_console, &cmd_firmware,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

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
 * Let Ctrl-C and a termination signal end the command. Without SA_RESTART a signal ends a wait for
 * the card. SA_RESETHAND lets a second Ctrl-C kill the program.
 */
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
	     "                         /dev/litepcieN  behind its kernel driver\n"
	     "                         vfio:ADDRESS    given to VFIO (litepcie_util vfio)\n"
	     "                         sim:SOCKET      a board process, as `make board` has\n"
	     "                                         one; append ,mps=BYTES ,mrrs=BYTES\n"
	     "                                         or ,timeout=SECONDS\n"
	     "  -c N                 the same as -d /dev/litepcieN\n"
	     "      --json           one JSON object on stdout instead of text\n"
	     "  -h, --help           this text; COMMAND --help explains the command\n"
	     "  -e, -t SECONDS       as LitePCIe's own utility takes them, for dma_test:\n"
	     "                       through the user's logic, and how long; its -z, -a and\n"
	     "                       -w N are accepted and mean nothing here: data is never\n"
	     "                       copied, links need no tuning, and the width is the\n"
	     "                       card's\n"
	     "\n"
	     "examples:\n"
	     "  litepcie_util list\n"
	     "  litepcie_util info\n"
	     "  litepcie_util peek ctrl_scratch\n"
	     "  litepcie_util -d sim:build/board.sock dma_test --direction both --size 64M\n"
	     "  litepcie_util -d sim:build/board.sock,mps=128 --json mmio_bench > mmio.json\n"
	     "\n"
	     "exit status: 0 all went well, 1 a test failed or the card cannot be used,\n"
	     "             2 usage");
}

/* Flush the output of the help text. If it cannot be written, litepcie_util fails. */
static int finish_help(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_OK;
	fputs("litepcie_util: the text could not be written to stdout\n", stderr);
	return EXIT_FAILED;
}

int util_help(const struct command *command)
{
	fputs("usage: litepcie_util ", stdout);
	options_help(command);
	return finish_help();
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

int util_bad_option(const struct util *util, int option, const char *word)
{
	if (option == ':')
		return util_usage(util, "%s needs a value", word);
	return util_usage(util, "%s: %s has no such option", word, util->command);
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
 * Take one of the options that LitePCIe's own utility has. Returns -1 to go on, or an exit status.
 */
static int parse_stock(struct util *util, int option)
{
	uint64_t number;

	if (option == 'e')
		util->stock.external = true;
	if (option == 't' && !util_parse_seconds(optarg, &util->stock.duration_s))
		return util_usage(util, "-t %s: it must be a number of seconds above 0", optarg);
	if (option == 'w' && !util_parse_number(optarg, 1, 32, &number))
		return util_usage(util, "-w %s: it must be a number of bits from 1 to 32", optarg);
	return -1;
}

/*
 * Parse the option -c N, which stands for the device /dev/litepcieN. Returns -1 to go on, or an
 * exit status.
 */
static int parse_minor(struct util *util)
{
	static char name[32];
	uint64_t number;

	if (!util_parse_number(optarg, 0, 255, &number))
		return util_usage(util, "-c %s: it must be a number from 0 to 255", optarg);
	snprintf(name, sizeof(name), "/dev/litepcie%u", (unsigned int)number);
	util->device = name;
	return -1;
}

/* Parse the options before the name of the command. Returns -1 to go on, or an exit status. */
static int parse_globals(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option, status = -1;

	opterr = 0;
	while (status < 0 &&
	       (option = getopt_long(argc, argv, "+:d:c:hzeaw:t:", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			util->device = optarg;
			break;
		case 'c':
			status = parse_minor(util);
			break;
		case 'j':
			util->json = true;
			break;
		case 'h':
			print_help();
			return finish_help();
		case ':':
			return util_usage(util, "%s needs a value", argv[optind - 1]);
		case '?':
			return util_usage(util, "%s: there is no such option before the command",
					  argv[optind - 1]);
		default:
			status = parse_stock(util, option);
		}
	}
	return status;
}

static int run_command(struct util *util, const struct command *command, int argc, char **argv)
{
	int status;

	util->command = command->name;
	/* In glibc, optind 0 lets getopt start again, which then parses the command's options. */
	optind = 0;
	catch_signals();
	status = options_parse(util, command, &argc, &argv);
	return status < 0 ? command->run(util, argc, argv) : status;
}

int main(int argc, char **argv)
{
	struct util *util = calloc(1, sizeof(*util));
	const struct command *command;
	int status;

	if (!util)
		return EXIT_FAILED;
	util->program = "litepcie_util";
	util->device = DEFAULT_DEVICE;
	status = parse_globals(util, argc, argv);
	if (status < 0 && optind == argc)
		status = util_usage(util, "a command is missing");
	if (status < 0) {
		command = find_command(argv[optind]);
		status = command ? run_command(util, command, argc - optind, argv + optind) :
				   util_usage(util, "%s: there is no such command", argv[optind]);
	}
	free(util);
	return status;
}
