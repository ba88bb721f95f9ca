/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command list: print the cards of this machine and how to open each. It reads sysfs only, and
 * accesses no card.
 */
#include <errno.h>
#include <string.h>

#include "pci.h"
#include "util.h"

#define MAX_CARDS	64

struct card {
	struct pci_function	function;
	struct pci_express	express;
	/*
	 * name of the card for --device; empty: the card cannot be opened now, and @advice says why
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
 * Find the device file of the card, /dev/litepcieN, through /sys/class/litepcie. Lanebox's driver
 * and LitePCIe's own driver both use these names.
 */
static int find_node(struct card *card)
{
	char address[PCI_ADDRESS], name[32];

	for (unsigned int minor = 0; minor < MAX_CARDS; minor++) {
		snprintf(name, sizeof(name), "/dev/litepcie%u", minor);
		if (pci_of_device(name, address) == 0 &&
		    strcmp(address, card->function.address) == 0) {
			snprintf(card->device, sizeof(card->device), "%s", name);
			return 0;
		}
	}
	return -ENOENT;
}

static int visit(void *context, const char *address)
{
	struct list *list = context;
	struct card *card = &list->card[list->count];

	if (list->count == MAX_CARDS || pci_load(&card->function, address) < 0 ||
	    !pci_is_card(&card->function))
		return 0;
	pci_express(&card->function, &card->express);
	if (find_node(card) < 0)
		advise(card);
	list->count++;
	return 0;
}

static void print_text(const struct util *util, const void *result)
{
	const struct list *list = result;

	for (size_t i = 0; i < list->count; i++) {
		const struct card *card = &list->card[i];

		printf("%s%s%s  %04x:%04x", util_colour(util, COLOUR_NAME), card->function.address,
		       util_colour(util, COLOUR_END), card->function.vendor,
		       card->function.device);
		if (card->express.known)
			printf("  Gen%u x%u", card->express.gen, card->express.lanes);
		printf("  %s%s\n", *card->device ? "-d " : "",
		       *card->device ? card->device : card->advice);
	}
	if (!list->count)
		puts("no card on this machine's PCIe; a simulated one is opened with "
		     "-d sim:SOCKET");
}

static void print_json(struct json *json, const void *result)
{
	const struct list *list = result;

	json_begin_array(json, "cards");
	for (size_t i = 0; i < list->count; i++) {
		const struct card *card = &list->card[i];

		json_begin_object(json, NULL);
		json_string(json, "address", card->function.address);
		json_unsigned(json, "vendor", card->function.vendor);
		json_unsigned(json, "device", card->function.device);
		json_string(json, "driver",
			    *card->function.driver ? card->function.driver : NULL);
		json_string(json, "open_as", *card->device ? card->device : NULL);
		json_string(json, "advice", *card->advice ? card->advice : NULL);
		json_unsigned(json, "link_gen", card->express.gen);
		json_unsigned(json, "link_lanes", card->express.lanes);
		json_end_object(json);
	}
	json_end_array(json);
}

static int run(struct util *util, int argc, char **argv)
{
	static struct list list;
	int rc = pci_each(visit, &list);

	(void)argc;
	(void)argv;
	/* a machine without PCI has no card, which is not a failure */
	if (rc < 0 && rc != -ENOENT)
		util_fail(util, "the PCI devices cannot be listed: %s", strerror(-rc));
	return util_finish(util, &list, print_text, print_json);
}

const struct command cmd_list = {
	.name = "list",
	.summary = "the cards of this machine, and how to open each",
	.usage = "[--json] list",
	.about =
		"List the cards of this machine: address, identity, link, and the name to open\n"
		"each by (-d), or what is in the way. No card is touched, and no rights are\n"
		"needed.\n",
	.examples =
		"example:\n"
		"  litepcie_util list\n",
	.run = run,
};
