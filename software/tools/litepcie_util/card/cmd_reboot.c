/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command reboot: let the card's FPGA configure itself from its flash, wait until the card is
 * back, and say which image it runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bitstream.h"
#include "bitstream_format.h"
#include "flash.h"
#include "litepcie_capability.h"
#include "host/pci.h"
#include "util.h"

#define WAIT_S		20
#define STEP_NS		100000000L
#define WBSTAR_UNIT	256u	/* the FPGA's register WBSTAR has a flash address divided by this */
#define VFIO_DRIVER	"vfio-pci"
#define NO_IMAGE	"neither the application nor the golden image starts, or its link does not " \
			"train; JTAG loads a bitstream"
/* The user id that Vivado gives a bitstream for which none was chosen. */
#define NO_USER_ID	0xffffffffu

struct reboot {
	/* the bitstream that the command line names; data NULL: it names none */
	struct bitstream	image;
	/*
	 * the card's PCI function before the reboot; its address is empty if the device's name
	 * names none, as for a simulated board
	 */
	struct pci_function	function;
	char			before[65];	/* digest of the gateware before the reboot */
	struct litepcie_card	card;		/* description of the card after the reboot */
	uint32_t		bootsts;
};

static void print(const struct emit *out, const void *result)
{
	const struct reboot *reboot = result;
	const struct litepcie_card *card = &reboot->card;
	bool golden = reboot->bootsts & LITEPCIE_BOOTSTS_FALLBACK;

	emit_text(out, "reboot         %s is back: ", out->util->device);
	emit_string(out, "target", "%s\n", card->target);
	emit_string(out, "before", NULL, reboot->before);
	emit_string(out, "digest", "  digest %s", card->digest);
	emit_text(out, "%s\n", strcmp(reboot->before, card->digest) == 0 ? ", as before" : "");
	emit_bool(out, "golden", golden);
	emit_text(out, "  %s, ", golden ? "golden image" : "application");
	emit_unsigned(out, "bootsts", "BOOTSTS 0x%08llx\n", reboot->bootsts);
}

/*
 * Find the card's PCI function. A simulated board has none, and the result is then true. Returns
 * false and notes a failure if the kernel does not have the function any more, or if this user may
 * not let the kernel find the function again after the reboot: the card would then be lost.
 */
static bool prepare(struct util *util, struct reboot *reboot)
{
	char address[PCI_ADDRESS];

	if (pci_of_device(util->device, address) < 0)
		return true;
	if (pci_load(&reboot->function, address) < 0) {
		util_fail(util, "the kernel has no PCI function %s any more", address);
		return false;
	}
	return rescan_allowed(util, address, "reboot");
}

/*
 * Returns false and notes a failure if no synchronisation word begins in the first page of the
 * application's image in the flash, or if the flash cannot be read. Without such a word a reboot
 * could leave the FPGA searching the flash for ever: an FPGA that has fallen back to its golden
 * image has no watchdog until the next image starts.
 */
static bool application_begins(struct util *util)
{
	struct flash flash;
	uint32_t at;

	if (!flash_open(util, &flash) || !flash_find_sync(&flash, &at))
		return false;
	if (at == LITEPCIE_FLASH_PAGE_BYTES)
		util_fail(util, "there is no application to start: the %u bytes at 0x%08x of the flash "
			  "have no synchronisation word (%08x), and the card could stay away until its "
			  "next power cycle; run litepcie_util flash write first", LITEPCIE_FLASH_PAGE_BYTES,
			  flash.application, BITSTREAM_SYNC);
	return at != LITEPCIE_FLASH_PAGE_BYTES;
}

/*
 * Tell the card to reboot, if its flash has an application. Returns false and notes a failure if
 * the card was not told. After the last write nothing is read, since the card stops answering at
 * once.
 */
static bool tell(struct util *util, struct reboot *reboot)
{
	struct litepcie_block flash = { .struct_size = sizeof(flash) };
	struct litepcie_block block = { .struct_size = sizeof(block) };
	struct litepcie_card card = { .struct_size = sizeof(card) };
	uint32_t page;
	int rc;

	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_REBOOT, 0, &block) < 0 ||
	    litepcie_block_find(util->dev, LITEPCIE_BLOCK_FLASH, 0, &flash) < 0) {
		util_fail(util, "this card cannot reboot: build its gateware with --card; JTAG loads a "
			  "bitstream, too (targets/README.md)");
		return false;
	}
	if (!util_knows_block(util, &block, "reboot block", LITEPCIE_REBOOT_BOOTSTS) ||
	    !util_knows_block(util, &flash, "flash engine", LITEPCIE_FLASH_IDCODE))
		return false;
	litepcie_card(util->dev, &card);
	memcpy(reboot->before, card.digest, sizeof(reboot->before));
	/*
	 * The FPGA's register WBSTAR has the address of the image without its lowest 8 bits, for
	 * which the FPGA may take any value. So WBSTAR gets the address LITEPCIE_FLASH_SPARE bytes
	 * before the image, and the bytes between are never programmed.
	 */
	page = (flash.parameter[LITEPCIE_FLASH_APPLICATION] - LITEPCIE_FLASH_SPARE) / WBSTAR_UNIT;
	rc = litepcie_writel(util->dev, block.offset + block.parameter[LITEPCIE_REBOOT_ADDRESS],
			     page);
	if (rc == 0 && !application_begins(util))
		return false;
	if (rc == 0)
		rc = litepcie_writel(util->dev, block.offset + block.parameter[LITEPCIE_REBOOT_GO],
				     LITEPCIE_REBOOT_WORD);
	if (rc == -EPERM)
		util_fail(util, "reboot needs root or CAP_SYS_RAWIO: it takes the card away from its "
			  "other users");
	else
		util_check(util, rc, "telling the card to reboot");
	return rc == 0;
}

/*
 * Let the kernel find the card's PCI function anew, since the reboot has cleared the function's
 * configuration space. Bind the function to vfio-pci if it was bound to vfio-pci before. Without a
 * PCI function, as with a simulated board, there is nothing to do. Returns false and notes a
 * failure if the function does not come back or is not bound.
 */
static bool find_again(struct util *util, const struct pci_function *function)
{
	if (!*function->address)
		return true;
	return rescan_card(util, function->address) &&
	       (strcmp(function->driver, VFIO_DRIVER) != 0 || vfio_bind(util, function->address));
}

/*
 * Close the card, let the kernel find its PCI function anew, and open the card again. Returns false
 * and notes a failure if the kernel does not find the function, or if the card cannot be opened
 * within some WAIT_S seconds or before Ctrl-C.
 */
static bool wait_back(struct util *util, const struct reboot *reboot)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	char why[LITEPCIE_WHY_SIZE];

	litepcie_close(util->dev);
	util->dev = NULL;
	nanosleep(&step, NULL);
	if (!find_again(util, &reboot->function)) {
		util_fail(util, "the card was told to reboot and did not come back: " NO_IMAGE);
		return false;
	}
	for (long waited = 0; waited < WAIT_S * 1000000000L / STEP_NS; waited++) {
		if (litepcie_open(&util->dev, util->device, why, sizeof(why)) == 0)
			return true;
		util->dev = NULL;
		if (util_interrupted())
			break;
		nanosleep(&step, NULL);
	}
	util_fail(util, "the card did not come back within %d s (%s): " NO_IMAGE, WAIT_S, why);
	return false;
}

/*
 * If the command line names an image, compare its user id with the beginning of the digest of the
 * gateware that runs. Note a failure if they differ, or if the image has no user id of its own.
 */
static void judge(struct util *util, struct reboot *reboot)
{
	char first[9];
	uint32_t found;

	memcpy(first, reboot->card.digest, sizeof(first) - 1);
	first[8] = 0;
	found = (uint32_t)strtoul(first, NULL, 16);
	if (!reboot->image.data)
		return;
	if (!reboot->image.has_user_id || reboot->image.user_id == NO_USER_ID)
		util_fail(util, "%s has no user id, so nobody can say whether it runs: digest %s came "
			  "back", reboot->image.name, reboot->card.digest);
	else if (found != reboot->image.user_id)
		util_fail(util, "%s does not run: its user id is 0x%08x, and %s with digest %s came "
			  "back", reboot->image.name, reboot->image.user_id,
			  reboot->bootsts & LITEPCIE_BOOTSTS_FALLBACK ? "the golden image" : "an application",
			  reboot->card.digest);
}

static void look(struct util *util, struct reboot *reboot)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	util_check(util, litepcie_conditions(util->dev, &util->conditions),
		   "reading the link's state");
	reboot->card.struct_size = sizeof(reboot->card);
	litepcie_card(util->dev, &reboot->card);
	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_REBOOT, 0, &block) == 0 &&
	    util_knows_block(util, &block, "reboot block", LITEPCIE_REBOOT_BOOTSTS))
		util_check(util, litepcie_readl(util->dev, block.offset +
						block.parameter[LITEPCIE_REBOOT_BOOTSTS],
						&reboot->bootsts), "reading BOOTSTS");
	judge(util, reboot);
}

static int run(struct util *util)
{
	static struct reboot reboot;
	int status;

	if ((!util->word_count || bitstream_read(util, util->words[0], &reboot.image)) &&
	    util_open(util) && prepare(util, &reboot) && tell(util, &reboot) &&
	    wait_back(util, &reboot))
		look(util, &reboot);
	status = util_emit(util, util->failed ? NULL : &reboot, print);
	bitstream_free(&reboot.image);
	return status;
}

const struct command cmd_reboot = {
	.name = "reboot",
	.summary = "start the image in the card's flash, and see which one runs",
	.usage = "[-d DEVICE | -c N] [--json] reboot [FILE]",
	.about =
		"Let the card configure itself from its flash, as after a power cycle, and wait\n"
		"until it is back. The kernel forgets the card and finds it again. With FILE, the\n"
		"image that should run now, the exit status is 1 if another one came back. A\n"
		"card without an application in its flash is not rebooted. The card must have\n"
		"been built with --card. Needs root. A card that VFIO had is given back to it.\n",
	.most = 1,
	.takes = "one file",
	.examples = "  sudo litepcie_util reboot build/ku5p/vivado/lanebox_application.bit\n",
	.run = run,
};
