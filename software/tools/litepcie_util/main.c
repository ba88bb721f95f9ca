/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The commands of litepcie_util, and the options that stand before the command. */
#include "util.h"

static const struct command *const commands[] = {
	&cmd_list, &cmd_info, &cmd_peek, &cmd_poke, &cmd_dump, &cmd_scratch_test,
	&cmd_mmio_bench, &cmd_dma_test, &cmd_dma_bench, &cmd_latency, &cmd_doctor, &cmd_reset,
	&cmd_rescan, &cmd_flash, &cmd_reboot, &cmd_vfio, &cmd_sensors, &cmd_module,
	&cmd_console, &cmd_firmware, NULL,
};

/* The state of the command that runs. It is a global, since the table of options points to it. */
static struct util util = { .device = PROGRAM_DEVICE };

/* The option -c N stands for the device /dev/litepcieN. */
static bool parse_minor(const struct util_option *option, const char *text)
{
	static char name[32];
	uint64_t number;

	if (!util_parse_number(text, 0, 255, &number))
		return false;
	snprintf(name, sizeof(name), "/dev/litepcie%u", (unsigned int)number);
	return option_text(option, name);
}

/*
 * Variables for the options -z, -a and -w of LitePCIe's own utility. litepcie_util accepts these
 * options, but they have no effect.
 */
static bool ignored;
static uint64_t ignored_width;

static const struct util_option options[] = {
	{ .name = "device", .letter = 'd', .value = "DEVICE", .parse = option_text,
	  .to = &util.device },
	{ .name = "json", .to = &util.json },
	{ .letter = 'c', .value = "N", .parse = parse_minor, .to = &util.device,
	  .rule = "it must be a number from 0 to 255" },
	{ .letter = 'e', .to = &util.stock.external },
	{ .letter = 't', .value = "SECONDS", .parse = option_seconds,
	  .to = &util.stock.duration_s, .rule = OPTION_SECONDS },
	{ .letter = 'w', .value = "N", .parse = option_number, .to = &ignored_width, .low = 1,
	  .high = 32, .rule = "it must be a number of bits from %llu to %llu" },
	{ .letter = 'z', .to = &ignored },
	{ .letter = 'a', .to = &ignored },
	{ 0 },
};

static const struct program program = {
	.name = "litepcie_util",
	.about =
		"[-d DEVICE | -c N] [--json] COMMAND [options]\n"
		"\n"
		"Look at, test and measure a Lanebox card.\n",
	.more =
		"options:\n"
		"  -d, --device DEVICE  the card, " PROGRAM_DEVICE " by default:\n"
		"                         /dev/litepcieN  behind its kernel driver\n"
		"                         vfio:ADDRESS    given to VFIO (litepcie_util vfio)\n"
		"                         sim:SOCKET      a board process, as `make board` has\n"
		"                                         one; append ,mps=BYTES ,mrrs=BYTES\n"
		"                                         or ,timeout=SECONDS\n"
		"  -c N                 the same as -d /dev/litepcieN\n"
		"      --json           one JSON object on stdout instead of text\n"
		"  -h, --help           this text; COMMAND --help explains the command\n"
		"  -e, -t SECONDS       as LitePCIe's own utility takes them, for dma_test:\n"
		"                       through the user's logic (also dma_bench's duplex and\n"
		"                       sweep), and how long; its -z, -a and -w N are accepted\n"
		"                       and mean nothing here: data is never copied, links need\n"
		"                       no tuning, and the width is the card's\n"
		"\n"
		"examples:\n"
		"  litepcie_util list\n"
		"  litepcie_util info\n"
		"  litepcie_util peek ctrl_scratch\n"
		"  litepcie_util -d sim:build/board.sock dma_test --direction both --size 64M\n"
		"  litepcie_util -d sim:build/board.sock,mps=128 --json mmio_bench > mmio.json\n"
		"\n"
		"exit status: 0 all went well, 1 a test failed or the card cannot be used,\n"
		"             2 usage\n",
	.options = options,
	.commands = commands,
};

int main(int argc, char **argv)
{
	program_begin(&program, &util);
	return program_run(&util, argc, argv);
}
