/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command firmware: the state of the card's management CPU, and another image for it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litepcie_capability.h"
#include "management.h"

#define WORD		4u
#define IMAGE_MOST	65536u

struct firmware {
	const char			*verb;
	uint32_t			built;	/* version of the firmware that the gateware has */
	struct management_status	status;
	size_t				bytes;	/* of the image that was loaded */
};

static void print_text(const struct util *util, const void *result)
{
	const struct firmware *firmware = result;

	(void)util;
	if (firmware->bytes)
		printf("firmware       %zu bytes loaded\n", firmware->bytes);
	printf("state          %s%s\n", management_state(firmware->status.state),
	       firmware->status.state != LITEPCIE_CPU_STATE_RUNNING ? "" :
	       firmware->status.awake ? ", awake" : ", asleep");
	printf("failures       %u starts in a row without a heartbeat\n", firmware->status.failures);
	printf("built in       %08x\n", firmware->built);
}

static void print_json(struct json *json, const void *result)
{
	const struct firmware *firmware = result;
	char built[9];

	snprintf(built, sizeof(built), "%08x", firmware->built);
	json_string(json, "verb", firmware->verb);
	json_string(json, "state", management_state(firmware->status.state));
	json_bool(json, "awake", firmware->status.awake);
	json_unsigned(json, "failures", firmware->status.failures);
	json_string(json, "built_in", built);
	json_unsigned(json, "bytes", firmware->bytes);
}

static uint32_t word_of(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* Returns whether @image looks like an image; otherwise a sentence says what is wrong. */
static bool is_image(struct util *util, const char *name, const uint8_t *image, size_t bytes,
		     size_t most)
{
	if (bytes < LITEPCIE_CPU_IMAGE_LEAST || bytes > most || bytes % WORD)
		util_fail(util, "%s has %zu bytes; an image has %u to %zu, in whole words of %u",
			  name, bytes, LITEPCIE_CPU_IMAGE_LEAST, most, WORD);
	else if (word_of(image + WORD * LITEPCIE_CPU_IMAGE_WORD_MAGIC) != LITEPCIE_CPU_IMAGE_MAGIC)
		util_fail(util, "%s is no image of the management CPU: it has 0x%08x where 0x%08x "
			  "would be", name, word_of(image + WORD * LITEPCIE_CPU_IMAGE_WORD_MAGIC),
			  LITEPCIE_CPU_IMAGE_MAGIC);
	else if (word_of(image + WORD * LITEPCIE_CPU_IMAGE_WORD_BYTES) != bytes)
		util_fail(util, "%s has %zu bytes, and its header says %u: it has been cut", name,
			  bytes, word_of(image + WORD * LITEPCIE_CPU_IMAGE_WORD_BYTES));
	else
		return true;
	return false;
}

/* Read the file @name into @image, which has IMAGE_MOST bytes. Returns false if it cannot be read. */
static bool read_file(struct util *util, const char *name, uint8_t *image, size_t *bytes)
{
	FILE *file = fopen(name, "rb");

	if (!file) {
		util_fail(util, "%s cannot be read: %s", name, strerror(errno));
		return false;
	}
	*bytes = fread(image, 1, IMAGE_MOST, file);
	if (ferror(file))
		util_fail(util, "%s cannot be read: %s", name, strerror(errno));
	fclose(file);
	return !util->failed;
}

static void load(struct management *cpu, struct firmware *firmware, const char *name)
{
	uint8_t *image = malloc(IMAGE_MOST);
	size_t most = cpu->block.parameter[LITEPCIE_MANAGEMENT_IMAGE_BYTES];

	if (!image)
		util_fail(cpu->util, "no memory for an image");
	else if (read_file(cpu->util, name, image, &firmware->bytes) &&
		 is_image(cpu->util, name, image, firmware->bytes, most))
		management_load(cpu, image, firmware->bytes);
	free(image);
}

static void look(struct management *cpu, struct firmware *firmware)
{
	if (!management_wait(cpu, &firmware->status) || util_interrupted())
		return;
	if (firmware->bytes && firmware->status.state == LITEPCIE_CPU_STATE_BAD_IMAGE)
		util_fail(cpu->util, "the card refuses the image: its CRC-32 is wrong");
	if (firmware->bytes && firmware->status.state == LITEPCIE_CPU_STATE_GIVEN_UP)
		util_fail(cpu->util, "the image was started %u times and gave no heartbeat: the CPU "
			  "stays in reset", firmware->status.failures);
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct firmware firmware = { .verb = "info" };
	struct management cpu;
	const char *file = NULL;
	int option;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'h')
			return util_help(&cmd_firmware);
		return util_bad_option(util, option, argv[optind - 1]);
	}
	if (optind < argc)
		firmware.verb = argv[optind++];
	if (strcmp(firmware.verb, "load") == 0) {
		if (argc - optind != 1)
			return util_usage(util, "firmware load takes one file");
		file = argv[optind];
	} else if (strcmp(firmware.verb, "info") != 0 || optind < argc) {
		return util_usage(util, "firmware takes info, or load and a file");
	}
	if (util_open(util) && management_find(util, &cpu)) {
		firmware.built = cpu.block.parameter[LITEPCIE_MANAGEMENT_FIRMWARE];
		if (file)
			load(&cpu, &firmware, file);
		if (!util->failed)
			look(&cpu, &firmware);
	}
	return util_finish(util, util->failed ? NULL : &firmware, print_text, print_json);
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] firmware [info | load FILE]\n"
	"\n"
	"Show the state of the card's management CPU, or give it another image, which\n"
	"runs until the card is configured anew. The card checks the image's CRC-32\n"
	"before it starts, and keeps the CPU in reset after three starts without a\n"
	"heartbeat; the exit status is 1 then. firmware/README.md says how to make one.\n"
	"The card must have been built with a management CPU. Needs root.\n"
	"\n"
	"example:\n"
	"  sudo litepcie_util firmware load image.bin\n";

const struct command cmd_firmware = {
	.name = "firmware",
	.summary = "the management CPU's state; load another image into it",
	.help = help,
	.run = run,
};
