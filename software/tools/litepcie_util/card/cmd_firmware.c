/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command firmware: with the word `load`, write an image to the memory of the card's management
 * CPU. Then print the state of the CPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litepcie_capability.h"
#include "management.h"

#define WORD		4u
#define IMAGE_MOST	65536u

struct firmware {
	const char			*verb;
	/* first 32 bits of the digest of the firmware that is built into the gateware */
	uint32_t			built;
	struct management_status	status;
	size_t				bytes;	/* bytes of the image file; 0: none was read */
};

static void print(const struct emit *out, const void *result)
{
	const struct firmware *firmware = result;
	const struct management_status *status = &firmware->status;
	char built[9];

	emit_string(out, "verb", NULL, firmware->verb);
	emit_unsigned(out, "bytes", firmware->bytes ? "firmware       %llu bytes loaded\n" : NULL,
		      firmware->bytes);
	emit_string(out, "state", "state          %s", management_state(status->state));
	emit_bool(out, "awake", status->awake);
	emit_text(out, "%s\n", status->state != LITEPCIE_CPU_STATE_RUNNING ? "" :
		  status->awake ? ", awake" : ", asleep");
	emit_unsigned(out, "failures", "failures       %llu starts in a row without a heartbeat\n",
		      status->failures);
	snprintf(built, sizeof(built), "%08x", firmware->built);
	emit_string(out, "built_in", "built in       %s\n", built);
}

/*
 * Returns true if @image has the header of a firmware image, and the size that the header says,
 * which is at most @most. Otherwise returns false and notes a failure that says what is wrong. The
 * CRC-32 of the image is not checked here.
 */
static bool is_image(struct util *util, const char *name, const uint8_t *image, size_t bytes,
		     size_t most)
{
	if (bytes < LITEPCIE_CPU_IMAGE_LEAST || bytes > most || bytes % WORD)
		util_fail(util, "%s has %zu bytes; an image has %u to %zu, in whole words of %u",
			  name, bytes, LITEPCIE_CPU_IMAGE_LEAST, most, WORD);
	else if (util_word(image + WORD * LITEPCIE_CPU_IMAGE_WORD_MAGIC) != LITEPCIE_CPU_IMAGE_MAGIC)
		util_fail(util, "%s is no image of the management CPU: it has 0x%08x where 0x%08x "
			  "would be", name, util_word(image + WORD * LITEPCIE_CPU_IMAGE_WORD_MAGIC),
			  LITEPCIE_CPU_IMAGE_MAGIC);
	else if (util_word(image + WORD * LITEPCIE_CPU_IMAGE_WORD_BYTES) != bytes)
		util_fail(util, "%s has %zu bytes, and its header says %u: it has been cut", name,
			  bytes, util_word(image + WORD * LITEPCIE_CPU_IMAGE_WORD_BYTES));
	else
		return true;
	return false;
}

/*
 * Read the file @name into @image, and store the number of bytes in *@bytes. At most IMAGE_MOST + 1
 * bytes are read: one more than an image may have, so that is_image() sees if the file is too long.
 * Returns false and notes a failure if the file cannot be read.
 */
static bool read_file(struct util *util, const char *name, uint8_t *image, size_t *bytes)
{
	FILE *file = fopen(name, "rb");

	if (!file) {
		util_fail(util, "%s cannot be read: %s", name, strerror(errno));
		return false;
	}
	*bytes = fread(image, 1, IMAGE_MOST + 1, file);
	if (ferror(file))
		util_fail(util, "%s cannot be read: %s", name, strerror(errno));
	fclose(file);
	return !util->failed;
}

static void load(struct management *cpu, struct firmware *firmware, const char *name)
{
	uint8_t *image = malloc(IMAGE_MOST + 1);
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

static int run(struct util *util)
{
	struct firmware firmware = { .verb = util->word_count ? util->words[0] : "info" };
	bool loads = strcmp(firmware.verb, "load") == 0;
	struct management cpu;

	if (loads && util->word_count != 2)
		return util_usage(util, "firmware load takes one file");
	if (!loads && (strcmp(firmware.verb, "info") != 0 || util->word_count == 2))
		return util_usage(util, "firmware takes info, or load and a file");
	if (util_open(util) && management_find(util, &cpu)) {
		firmware.built = cpu.block.parameter[LITEPCIE_MANAGEMENT_FIRMWARE];
		if (loads)
			load(&cpu, &firmware, util->words[1]);
		if (!util->failed)
			look(&cpu, &firmware);
	}
	return util_emit(util, util->failed ? NULL : &firmware, print);
}

const struct command cmd_firmware = {
	.name = "firmware",
	.summary = "the management CPU's state; load another image into it",
	.usage = "[-d DEVICE | -c N] [--json] firmware [info | load FILE]",
	.about =
		"Show the state of the card's management CPU, or give it another image, which\n"
		"runs until the card is configured anew. The card checks the image's CRC-32\n"
		"before it starts, and keeps the CPU in reset after three starts without a\n"
		"heartbeat; the exit status is 1 then. firmware/README.md says how to make one.\n"
		"The card must have been built with a management CPU. load needs root or\n"
		"CAP_SYS_RAWIO.\n",
	.most = 2,
	.takes = "info, or load and a file",
	.examples = "  sudo litepcie_util firmware load image.bin\n",
	.run = run,
};
