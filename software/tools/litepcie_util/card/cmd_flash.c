/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command flash: look at the card's configuration flash, read it, and write the application's
 * image into it.
 *
 * The first page of an image is written last, when the card has found all other pages right. So an
 * image that is not complete has no beginning, and the golden image starts in its place.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bitstream.h"
#include "flash.h"
#include "litepcie_capability.h"
#include "progress.h"
#include "util.h"

#define KIB	1024.0

struct work {
	struct flash		flash;
	const char		*verb;
	const char		*file;
	uint64_t		address;	/* option --address of `flash read` */
	uint64_t		bytes;		/* option --bytes of `flash read` */
	struct bitstream	image;
	uint32_t		crc;		/* CRC-32 of what was written, verified or read */
	uint32_t		refusals;
	uint32_t		bootsts;
	bool			has_bootsts;
};

static void print_text(const struct util *util, const void *result)
{
	const struct work *work = result;
	const struct flash *flash = &work->flash;

	printf("flash          %s: identification 0x%06x\n", util->device, flash->identification);
	if (strcmp(work->verb, "info") == 0) {
		printf("  golden image below 0x%08x, application from there, %u KiB\n"
		       "  %u commands refused since reset\n",
		       flash->application, flash->room / 1024, work->refusals);
		if (work->has_bootsts)
			printf("  BOOTSTS 0x%08x%s\n", work->bootsts,
			       work->bootsts & 2 ? ": the golden image, since the application failed" : "");
		return;
	}
	printf("  %s: %" PRIu64 " bytes at 0x%08" PRIx64 ", CRC-32 0x%08x; %" PRIu64
	       " register accesses\n",
	       work->verb, work->bytes, work->address, work->crc, flash->accesses);
	if (work->image.has_user_id)
		printf("  user id of the image 0x%08x\n", work->image.user_id);
}

static void print_json(struct json *json, const void *result)
{
	const struct work *work = result;

	json_string(json, "verb", work->verb);
	json_unsigned(json, "identification", work->flash.identification);
	json_unsigned(json, "application", work->flash.application);
	json_unsigned(json, "room", work->flash.room);
	json_unsigned(json, "refusals", work->refusals);
	if (work->has_bootsts)
		json_unsigned(json, "bootsts", work->bootsts);
	else
		json_null(json, "bootsts");
	json_unsigned(json, "address", work->address);
	json_unsigned(json, "bytes", work->bytes);
	json_unsigned(json, "crc", work->crc);
	json_unsigned(json, "accesses", work->flash.accesses);
	if (work->image.has_user_id)
		json_unsigned(json, "user_id", work->image.user_id);
	else
		json_null(json, "user_id");
}

/* Image --------------------------------------------------------------------------------------- */

/* Read the image, and check that it is for this card's part and fits. */
static bool take_image(struct util *util, struct work *work)
{
	const struct flash *flash = &work->flash;
	uint32_t mine = flash->block.parameter[LITEPCIE_FLASH_IDCODE];
	const char *its, *my = bitstream_part(mine);

	if (!bitstream_read(util, work->file, &work->image))
		return false;
	its = bitstream_part(work->image.idcode);
	if (!my || !its || strcmp(my, its) != 0) {
		util_fail(util, "%s: for another part: its IDCODE is 0x%08x (%s), and this card has %s",
			  work->file, work->image.idcode, its ? its : "a part that no board here has",
			  my ? my : "an unknown one");
		return false;
	}
	if (work->image.size > flash->room - LITEPCIE_FLASH_SPARE) {
		util_fail(util, "%s: %zu bytes, and an image has room for %u: build it compressed",
			  work->file, work->image.size, flash->room - LITEPCIE_FLASH_SPARE);
		return false;
	}
	work->address = flash->application;
	work->bytes = work->image.size;
	work->crc = flash_crc_of(work->image.data, work->image.size);
	return true;
}

/* Returns false, and notes why, if Ctrl-C came. @left says what the flash has now. */
static bool go_on(struct util *util, const char *left)
{
	if (util_interrupted())
		util_fail(util, "interrupted: %s", left);
	return !util_interrupted();
}

#define UNFINISHED "the application is not complete, and the card starts its golden image; run the " \
		   "same command again"

static bool erase_all(struct util *util, struct work *work)
{
	struct progress progress;
	bool ok = true;

	progress_begin(&progress, "erasing", "KiB", (double)work->bytes / KIB, 0);
	for (uint64_t at = 0; ok && at < work->bytes; at += FLASH_SECTOR) {
		progress_show(&progress, (double)at / KIB);
		ok = go_on(util, UNFINISHED) &&
		     flash_erase(&work->flash, (uint32_t)(work->address + at));
	}
	progress_end(&progress);
	return ok;
}

struct writing {
	struct util	*util;
	struct progress	progress;
};

static bool show_page(void *context, size_t done)
{
	struct writing *writing = context;

	progress_show(&writing->progress, (double)done / KIB);
	return go_on(writing->util, UNFINISHED);
}

/* Program the image's bytes from @from to @to. */
static bool program(struct util *util, struct work *work, uint64_t from, uint64_t to)
{
	struct writing writing = { .util = util };
	bool ok;

	if (from >= to)
		return true;
	progress_begin(&writing.progress, "writing", "KiB", (double)(to - from) / KIB, 0);
	ok = flash_program(&work->flash, (uint32_t)(work->address + from), work->image.data + from,
			   (size_t)(to - from), show_page, &writing);
	progress_end(&writing.progress);
	return ok;
}

/* Compare the image's bytes from @from to @to with the flash, by their CRC-32. */
static bool compare(struct util *util, struct work *work, uint64_t from, uint64_t to)
{
	uint32_t found = 0, expected, address = (uint32_t)(work->address + from);
	bool pairs = true;

	if (from >= to)
		return true;
	expected = flash_crc_of(work->image.data + from, (size_t)(to - from));
	/* some flashes do not send data on two lines: a difference is looked at again on one line */
	do {
		if (!flash_crc(&work->flash, address, (uint32_t)(to - from), pairs, &found))
			return false;
		pairs = !pairs;
	} while (found != expected && !pairs);
	if (found != expected)
		util_fail(util, "the flash does not hold %s: the CRC-32 of %" PRIu64 " bytes at 0x%08"
			  PRIx64 " is 0x%08x and should be 0x%08x", work->file, to - from,
			  work->address + from, found, expected);
	return found == expected;
}

/* Verbs --------------------------------------------------------------------------------------- */

static void do_write(struct util *util, struct work *work)
{
	uint64_t first;

	if (!take_image(util, work) || !erase_all(util, work))
		return;
	first = work->bytes < FLASH_PAGE ? work->bytes : FLASH_PAGE;
	/* reading the flash takes as long as sending to it, so each byte is compared once only */
	if (program(util, work, FLASH_PAGE, work->bytes) &&
	    compare(util, work, FLASH_PAGE, work->bytes) && flash_all_taken(&work->flash) &&
	    program(util, work, 0, first) && compare(util, work, 0, first))
		flash_all_taken(&work->flash);
}

static void do_verify(struct util *util, struct work *work)
{
	if (take_image(util, work) && compare(util, work, 0, work->bytes))
		flash_all_taken(&work->flash);
}

static void do_info(struct util *util, struct work *work)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	work->refusals = work->flash.refusals;
	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_REBOOT, 0, &block) < 0)
		return;
	work->has_bootsts = true;
	util_check(util, litepcie_readl(util->dev, block.offset +
					block.parameter[LITEPCIE_REBOOT_BOOTSTS], &work->bootsts),
		   "reading BOOTSTS");
}

static bool read_all(struct util *util, struct work *work, uint8_t *data)
{
	struct progress progress;
	bool ok = true;

	progress_begin(&progress, "reading", "KiB", (double)work->bytes / KIB, 0);
	for (uint64_t at = 0; ok && at < work->bytes; at += FLASH_PAGE) {
		uint64_t left = work->bytes - at;

		progress_show(&progress, (double)at / KIB);
		ok = go_on(util, "nothing was written to the file") &&
		     flash_read(&work->flash, (uint32_t)(work->address + at), data + at,
				left < FLASH_PAGE ? (size_t)left : FLASH_PAGE);
	}
	progress_end(&progress);
	return ok;
}

static void do_read(struct util *util, struct work *work)
{
	uint8_t *data = malloc((size_t)work->bytes);
	FILE *file = NULL;

	if (!data) {
		util_fail(util, "%" PRIu64 " bytes of memory are not there", work->bytes);
	} else if (read_all(util, work, data) && flash_all_taken(&work->flash)) {
		work->crc = flash_crc_of(data, (size_t)work->bytes);
		file = fopen(work->file, "wb");
		if (!file || fwrite(data, 1, (size_t)work->bytes, file) != work->bytes)
			util_fail(util, "%s: %s", work->file, strerror(errno));
		if (file && fclose(file) != 0)
			util_fail(util, "%s: %s", work->file, strerror(errno));
	}
	free(data);
}

static const struct {
	const char	*name;
	bool		takes_file;
	void		(*run)(struct util *util, struct work *work);
} verbs[] = {
	{ "info", false, do_info }, { "read", true, do_read },
	{ "write", true, do_write }, { "verify", true, do_verify },
};

/* Command line -------------------------------------------------------------------------------- */

#define LARGEST_FLASH	(1ull << 32)

/* Returns -1 to go on, or an exit status. */
static int parse(struct util *util, int argc, char **argv, struct work *work)
{
	static const struct option options[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			if (!util_parse_number(optarg, 0, LARGEST_FLASH - 1, &work->address))
				return util_usage(util, "--address %s: it must be a number below 2^32",
						  optarg);
			break;
		case 'b':
			if (!util_parse_size(optarg, &work->bytes) || work->bytes > 1u << 25)
				return util_usage(util, "--bytes %s: it must be a size from 1 to 32M",
						  optarg);
			break;
		case 'h':
			return util_help(&cmd_flash);
		default:
			return util_bad_option(util, option, argv[optind - 1]);
		}
	}
	return -1;
}

static int run(struct util *util, int argc, char **argv)
{
	struct work work = { .address = UINT64_MAX };
	int status = parse(util, argc, argv, &work);
	size_t verb = 0, count = sizeof(verbs) / sizeof(verbs[0]);
	bool ranged = work.address != UINT64_MAX || work.bytes;

	if (status >= 0)
		return status;
	if (optind == argc)
		return util_usage(util, "flash needs one of info, read, write, verify");
	while (verb < count && strcmp(verbs[verb].name, argv[optind]) != 0)
		verb++;
	if (verb == count)
		return util_usage(util, "%s: flash has info, read, write, verify", argv[optind]);
	work.verb = verbs[verb].name;
	if (argc - optind != (verbs[verb].takes_file ? 2 : 1))
		return util_usage(util, "flash %s takes %s", work.verb,
				  verbs[verb].takes_file ? "one file" : "no file");
	if (ranged && verbs[verb].run != do_read)
		return util_usage(util, "--address and --bytes are for flash read");
	work.file = argv[optind + 1];
	if (!util_open(util) || !flash_open(util, &work.flash))
		return util_finish(util, NULL, print_text, print_json);
	if (work.address == UINT64_MAX)
		work.address = work.flash.application;
	if (!work.bytes && verbs[verb].run == do_read)
		work.bytes = work.flash.room;
	verbs[verb].run(util, &work);
	status = util_finish(util, util->failed ? NULL : &work, print_text, print_json);
	bitstream_free(&work.image);
	return status;
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] flash VERB [FILE]\n"
	"\n"
	"Use the card's configuration flash, on a card whose gateware was built with\n"
	"--card. FILE is a bitstream, .bit or .bin.\n"
	"\n"
	"  info           identification, place of the images, BOOTSTS\n"
	"  write FILE     write the application's image: erase, write, compare, and the\n"
	"                 first page last, so that an image cut short never starts\n"
	"  verify FILE    compare the flash with an image\n"
	"  read FILE      copy the flash to a file\n"
	"  --address N    where `read` begins (default: the application)\n"
	"  --bytes SIZE   how much `read` copies (default: the application's room, 16M)\n"
	"\n"
	"The golden image is never written: JTAG does that. The card refuses it in its\n"
	"gates. A new image runs after litepcie_util reboot or after a power cycle. All\n"
	"but info needs root or CAP_SYS_RAWIO.\n"
	"\n"
	"example:\n"
	"  sudo litepcie_util flash write build/ku5p/vivado/lanebox.bit\n";

const struct command cmd_flash = {
	.name = "flash",
	.summary = "look at the card's flash, write and verify its image",
	.help = help,
	.run = run,
};
