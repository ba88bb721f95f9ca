/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command list: print the cards that sysfs shows, and for each the name by which it can be
 * opened, or what prevents that. The command opens no card.
 */
#include <errno.h>
#include <string.h>

#include "pci.h"
#include "util.h"

#define MAX_CARDS	64

struct card {
	struct pci_function	function;
	/*
	 * name of the card for the option --device; empty: the card cannot be opened now, and
	 * @advice says why
	 */
	char			device[32];
	char			advice[96];
};

struct list {
	struct card	card[MAX_CARDS];
	size_t		count;
};

static void advise(struct card *card)
{
	const struct pci_function function = card->function;

	if (strcmp(function.driver, "vfio-pci") == 0)
		snprintf(card->device, sizeof(card->device), "vfio:%s", function.address);
	else if (!*function.driver)
		snprintf(card->advice, sizeof(card->advice), "no driver: modprobe litepcie, or "
			 "litepcie_util vfio bind %s", function.address);
	else
		snprintf(card->advice, sizeof(card->advice), "driver %s has it", function.driver);
}

/*
 * Find the name of the card's device file, /dev/litepcieN, through /sys/class/litepcie. Lanebox's
 * driver and LitePCIe's own driver both use these names. Returns false if no driver has made a
 * device file with a number below MAX_CARDS for the card.
 */
static bool find_node(struct card *card)
{
	char address[PCI_ADDRESS];

	for (unsigned int minor = 0; minor < MAX_CARDS; minor++) {
		snprintf(card->device, sizeof(card->device), "/dev/litepcie%u", minor);
		if (pci_of_device(card->device, address) == 0 &&
		    strcmp(address, card->function.address) == 0)
			return true;
	}
	*card->device = '\0';
	return false;
}

static void visit(void *context, const char *address)
{
	struct list *list = context;
	struct card *card = &list->card[list->count];

	if (list->count == MAX_CARDS || pci_load(&card->function, address) < 0 ||
	    !pci_is_card(&card->function))
		return;
	if (!find_node(card))
		advise(card);
	list->count++;
}

static void print_card(const struct emit *out, const struct card *card)
{
	const struct pci_function *function = &card->function;

	emit_text(out, "%s%s%s  %04x:%04x", util_colour(out->util, COLOUR_NAME), function->address,
		  util_colour(out->util, COLOUR_END), function->vendor, function->device);
	if (function->express.known)
		emit_text(out, "  Gen%u x%u", function->express.gen, function->express.lanes);
	emit_text(out, "  %s%s\n", *card->device ? "-d " : "",
		  *card->device ? card->device : card->advice);
	emit_object(out, NULL);
	emit_string(out, "address", NULL, function->address);
	emit_unsigned(out, "vendor", NULL, function->vendor);
	emit_unsigned(out, "device", NULL, function->device);
	emit_string(out, "driver", NULL, emit_filled(function->driver));
	emit_string(out, "open_as", NULL, emit_filled(card->device));
	emit_string(out, "advice", NULL, emit_filled(card->advice));
	emit_unsigned(out, "link_gen", NULL, function->express.gen);
	emit_unsigned(out, "link_lanes", NULL, function->express.lanes);
	emit_object_end(out);
}

static void print(const struct emit *out, const void *result)
{
	const struct list *list = result;

	emit_array(out, "cards");
	for (size_t i = 0; i < list->count; i++)
		print_card(out, &list->card[i]);
	emit_array_end(out);
	if (!list->count)
		emit_text(out, "no card on this machine's PCIe; a simulated one is opened with "
			  "-d sim:SOCKET\n");
}

static int run(struct util *util)
{
	static struct list list;
	int rc = pci_each(visit, &list);

	/* -ENOENT means that the machine has no PCI bus, so it has no card. That is no failure. */
	if (rc < 0 && rc != -ENOENT)
		util_fail(util, "the PCI devices cannot be listed: %s", strerror(-rc));
	return util_emit(util, &list, print);
}

const struct command cmd_list = {
	.name = "list",
	.summary = "the cards of this machine, and how to open each",
	.usage = "[--json] list",
	.about =
		"List the cards of this machine: address, identity, link, and the name to open\n"
		"each by (-d), or what is in the way. No card is touched, and no rights are\n"
		"needed.\n",
	.examples = "  litepcie_util list\n",
	.run = run,
};
