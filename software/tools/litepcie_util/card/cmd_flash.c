/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command flash: show and read the card's configuration flash, and write the application's
 * image into it. An image is a bitstream for the FPGA. The flash has two: the application, which
 * the FPGA starts when it is powered on, and the golden image, which the FPGA starts if no
 * application starts.
 *
 * An image starts only if it has its synchronisation word. So before it erases anything,
 * `flash write` destroys this word of the old application, if it begins in the first page (256
 * bytes) of the image, as in every image that this command writes. The word of the new one is
 * written last, when all other bytes have been compared. Between the two no application in the
 * flash starts, so a write that is cut short leaves a card that starts the golden image.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bitstream.h"
#include "bitstream_format.h"
#include "flash.h"
#include "litepcie_capability.h"
#include "progress.h"
#include "util.h"

#define KIB		1024.0

struct work {
	struct flash		flash;
	const char		*verb;
	const char		*file;
	/*
	 * address in the flash of the first byte that is read, written or compared, and number of
	 * these bytes. The options --address and --bytes, which only `flash read` takes, set them;
	 * UINT64_MAX and 0 mean that the option is not given
	 */
	uint64_t		address;
	uint64_t		bytes;
	struct bitstream	image;
	uint32_t		crc;	/* CRC-32 of the bytes that are read, written or compared */
	uint32_t		refusals;
	uint32_t		bootsts;
	bool			has_bootsts;
};

/*
 * Print the text of `flash info`: where the images are, how many commands the flash engine has
 * refused, and the register BOOTSTS if the card has it. BOOTSTS says if the FPGA has started the
 * golden image because the application failed.
 */
static void print_places(const struct emit *out, const struct work *work)
{
	emit_text(out, "  golden image below 0x%08x, application from there, %u KiB\n",
		  work->flash.application, work->flash.room / 1024);
	emit_text(out, "  %u commands refused since reset\n", work->refusals);
	if (work->has_bootsts)
		emit_text(out, "  BOOTSTS 0x%08x%s\n", work->bootsts,
			  work->bootsts & LITEPCIE_BOOTSTS_FALLBACK ?
				  ": the golden image, since the application failed" : "");
}

/* Print the text of `flash read`, `write` and `verify`: how much was read, written or compared. */
static void print_work(const struct emit *out, const struct work *work)
{
	emit_text(out, "  %s: %" PRIu64 " bytes at 0x%08" PRIx64 ", CRC-32 0x%08x; %" PRIu64
		  " register accesses\n",
		  work->verb, work->bytes, work->address, work->crc, work->flash.accesses);
	if (work->image.has_user_id)
		emit_text(out, "  user id of the image 0x%08x\n", work->image.user_id);
}

/*
 * Print the result of `flash info`, `read`, `write` or `verify`. JSON has the same keys for all
 * four. The text has only the values of the one that was called.
 */
static void print(const struct emit *out, const void *result)
{
	const struct work *work = result;
	const struct flash *flash = &work->flash;

	emit_text(out, "flash          %s: identification 0x%06x\n", out->util->device,
		  flash->identification);
	if (strcmp(work->verb, "info") == 0)
		print_places(out, work);
	else
		print_work(out, work);
	emit_unsigned(out, "identification", NULL, flash->identification);
	emit_unsigned(out, "application", NULL, flash->application);
	emit_unsigned(out, "room", NULL, flash->room);
	emit_unsigned(out, "refusals", NULL, work->refusals);
	emit_known(out, "bootsts", work->has_bootsts ? (int64_t)work->bootsts : -1);
	emit_string(out, "verb", NULL, work->verb);
	emit_unsigned(out, "bytes", NULL, work->bytes);
	emit_unsigned(out, "address", NULL, work->address);
	emit_unsigned(out, "crc", NULL, work->crc);
	emit_unsigned(out, "accesses", NULL, flash->accesses);
	emit_known(out, "user_id", work->image.has_user_id ? (int64_t)work->image.user_id : -1);
}

/* The image to program ------------------------------------------------------------------------ */

/*
 * Read the image work->file. Returns false and notes a failure if the file cannot be read, is no
 * bitstream or is for another part, if the image does not fit into the application's room in the
 * flash, or if its synchronisation word is not within the first page.
 */
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
	/*
	 * The next `flash write`, in end_old_image(), and the command reboot look for a
	 * synchronisation word that begins in the first page of the image, and find no other.
	 */
	if (work->image.sync + FLASH_SYNC_BYTES > LITEPCIE_FLASH_PAGE_BYTES) {
		util_fail(util, "%s: its synchronisation word is at byte %zu of the configuration, and "
			  "must be within the first %u: build it again without a prefix",
			  work->file, work->image.sync, LITEPCIE_FLASH_PAGE_BYTES);
		return false;
	}
	work->address = flash->application;
	work->bytes = work->image.size;
	work->crc = flash_crc_of(work->image.data, work->image.size);
	return true;
}

/*
 * Returns true if the command may go on. Returns false and notes a failure if Ctrl-C came. @left is
 * the part of the failure's sentence that says in what state the flash or the file is left.
 */
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
	for (uint64_t at = 0; ok && at < work->bytes; at += LITEPCIE_FLASH_SECTOR_BYTES) {
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

/* Program the image's bytes from @from on, up to but without @to, into the flash. */
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

/*
 * Compare the image's bytes from @from on, up to but without @to, with those in the flash by their
 * CRC-32. Returns false and notes a failure if they differ or cannot be read.
 */
static bool compare(struct util *util, struct work *work, uint64_t from, uint64_t to)
{
	uint32_t found = 0, expected;
	uint32_t address = (uint32_t)(work->address + from), bytes = (uint32_t)(to - from);

	if (from >= to)
		return true;
	expected = flash_crc_of(work->image.data + from, bytes);
	if (!flash_crc(&work->flash, address, bytes, true, &found))
		return false;
	/*
	 * Some flashes cannot send data on two lines. So if the CRC-32 differs, the bytes are read
	 * again on one line.
	 */
	if (found != expected && !flash_crc(&work->flash, address, bytes, false, &found))
		return false;
	if (found != expected)
		util_fail(util, "the flash does not hold %s: the CRC-32 of %" PRIu64 " bytes at 0x%08"
			  PRIx64 " is 0x%08x and should be 0x%08x", work->file, to - from,
			  work->address + from, found, expected);
	return found == expected;
}

/*
 * Program @word into the 4 bytes at @offset of the application's image in the flash, where the
 * synchronisation word of the image is or shall be. The word 0 destroys a synchronisation word.
 */
static bool program_sync(struct work *work, uint64_t offset, uint32_t word)
{
	uint8_t pages[2 * LITEPCIE_FLASH_PAGE_BYTES];
	uint64_t page = offset - offset % LITEPCIE_FLASH_PAGE_BYTES;

	/*
	 * Programming can only clear bits, so bytes of ones leave those of the flash as they are.
	 */
	memset(pages, 0xff, sizeof(pages));
	for (unsigned int i = 0; i < FLASH_SYNC_BYTES; i++)
		pages[offset - page + i] = (uint8_t)(word >> (24 - 8 * i));
	return flash_program(&work->flash, (uint32_t)(work->flash.application + page), pages,
			     sizeof(pages), NULL, NULL);
}

/*
 * Destroy the synchronisation word of the application in the flash, if one begins in the first page
 * of the application's image.
 */
static bool end_old_image(struct work *work)
{
	uint32_t at;

	if (!flash_find_sync(&work->flash, &at))
		return false;
	return at == LITEPCIE_FLASH_PAGE_BYTES || program_sync(work, at, 0);
}

/*
 * Program all of the image but its synchronisation word into the flash, and compare the programmed
 * bytes. The bytes of the synchronisation word stay erased, and are not compared.
 */
static bool program_rest(struct util *util, struct work *work)
{
	uint64_t sync = work->image.sync, first = sync - sync % LITEPCIE_FLASH_PAGE_BYTES;
	uint64_t behind = first + 2 * LITEPCIE_FLASH_PAGE_BYTES;
	uint8_t pages[2 * LITEPCIE_FLASH_PAGE_BYTES];

	if (behind > work->bytes)
		behind = work->bytes;
	memcpy(pages, work->image.data + first, (size_t)(behind - first));
	memset(pages + (sync - first), 0xff, FLASH_SYNC_BYTES);
	return program(util, work, 0, first) &&
	       flash_program(&work->flash, (uint32_t)(work->address + first), pages,
			     (size_t)(behind - first), NULL, NULL) &&
	       program(util, work, behind, work->bytes) && compare(util, work, 0, sync) &&
	       compare(util, work, sync + FLASH_SYNC_BYTES, work->bytes);
}

/* The verbs of the command flash -------------------------------------------------------------- */

static void do_write(struct util *util, struct work *work)
{
	uint64_t sync;

	if (!take_image(util, work) || !end_old_image(work) || !erase_all(util, work))
		return;
	sync = work->image.sync;
	if (program_rest(util, work) && flash_all_taken(&work->flash) &&
	    program_sync(work, sync, BITSTREAM_SYNC) &&
	    compare(util, work, sync, sync + FLASH_SYNC_BYTES))
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
	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_REBOOT, 0, &block) < 0 ||
	    !util_knows_block(util, &block, "reboot block", LITEPCIE_REBOOT_BOOTSTS))
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
	for (uint64_t at = 0; ok && at < work->bytes; at += LITEPCIE_FLASH_PAGE_BYTES) {
		uint64_t left = work->bytes - at;

		progress_show(&progress, (double)at / KIB);
		ok = go_on(util, "nothing was written to the file") &&
		     flash_read(&work->flash, (uint32_t)(work->address + at), data + at,
				left < LITEPCIE_FLASH_PAGE_BYTES ? (size_t)left : LITEPCIE_FLASH_PAGE_BYTES);
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

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

/* The command line of the command flash ------------------------------------------------------- */

#define LARGEST_FLASH	(1ull << 32)

static struct work work = { .address = UINT64_MAX };

static const struct util_option options[] = {
	{ .name = "address", .value = "N", .parse = option_number, .to = &work.address,
	  .high = LARGEST_FLASH - 1, .rule = "it must be a number below 2^32",
	  .help = "where `read` begins (default: the application)" },
	{ .name = "bytes", .value = "SIZE", .parse = option_size, .to = &work.bytes,
	  .high = 1u << 25, .rule = "it must be a size from 1 to 32M",
	  .help = "how much `read` copies (default: the application's room, 16M)" },
	{ 0 },
};

/*
 * Take from the command line the verb, which is info, read, write or verify, and the name of the
 * file. *@verb becomes the index of the verb in the table verbs. Returns -1 if the arguments are
 * correct, otherwise the exit status of the program.
 */
static int take_words(struct util *util, size_t *verb)
{
	char **words = util->words;
	bool ranged = work.address != UINT64_MAX || work.bytes;

	for (*verb = 0; *verb < VERBS && strcmp(verbs[*verb].name, words[0]) != 0;)
		++*verb;
	if (*verb == VERBS)
		return util_usage(util, "%s: flash has info, read, write, verify", words[0]);
	work.verb = words[0];
	work.file = words[1];
	if (util->word_count != (verbs[*verb].takes_file ? 2 : 1))
		return util_usage(util, "flash %s takes %s", work.verb,
				  verbs[*verb].takes_file ? "one file" : "no file");
	if (ranged && verbs[*verb].run != do_read)
		return util_usage(util, "--address and --bytes are for flash read");
	return -1;
}

static int run(struct util *util)
{
	size_t verb;
	int status = take_words(util, &verb);

	if (status >= 0)
		return status;
	if (!util_open(util) || !flash_open(util, &work.flash))
		return util_emit(util, NULL, print);
	if (work.address == UINT64_MAX)
		work.address = work.flash.application;
	if (!work.bytes && verbs[verb].run == do_read)
		work.bytes = work.flash.room;
	verbs[verb].run(util, &work);
	status = util_emit(util, util->failed ? NULL : &work, print);
	bitstream_free(&work.image);
	return status;
}

const struct command cmd_flash = {
	.name = "flash",
	.summary = "look at the card's flash, write and verify its image",
	.usage = "[-d DEVICE | -c N] [--json] flash VERB [FILE]",
	.about =
		"Use the card's configuration flash, on a card whose gateware was built with\n"
		"--card. FILE is a bitstream, .bit or .bin.\n"
		"\n"
		"  info           identification, place of the images, BOOTSTS\n"
		"  write FILE     write the application's image: erase, write, compare, and the\n"
		"                 word that starts it last, so an image cut short never starts\n"
		"  verify FILE    compare the flash with an image\n"
		"  read FILE      copy the flash to a file\n"
		"\n"
		"The golden image is never written: JTAG does that. The card refuses it in its\n"
		"gates. A new image runs after litepcie_util reboot or after a power cycle. All\n"
		"but info needs root or CAP_SYS_RAWIO.\n",
	.options = options,
	.least = 1,
	.most = 2,
	.takes = "one of info, read, write, verify, and a file for all but info",
	.examples = "  sudo litepcie_util flash write build/ku5p/vivado/lanebox_application.bit\n",
	.run = run,
};
