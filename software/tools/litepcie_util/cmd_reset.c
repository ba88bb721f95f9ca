/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command reset: reset the card's PCI function through the kernel and open the card, which
 * fails if the card does not answer. If the device's name names no PCI function, as with a
 * simulated board, open it and reset it by litepcie_reset(). Then print the gateware's identifier.
 */
#include <errno.h>
#include <string.h>

#include "host/pci.h"
#include "util.h"

struct reset {
	char	address[PCI_ADDRESS];
	char	identifier[257];
};

static void print(const struct emit *out, const void *result)
{
	const struct reset *reset = result;

	emit_text(out, "reset          %s, which answers: ",
		  *reset->address ? reset->address : out->util->device);
	emit_string(out, "address", NULL, emit_filled(reset->address));
	emit_string(out, "identifier", "%s\n", reset->identifier);
}

/*
 * Reset the card's PCI function through sysfs: the kernel then saves and restores the configuration
 * space, and tells the driver before and after the reset. If sysfs has no PCI function for the
 * device's name, as for a simulated board, open the card and reset it by litepcie_reset(). Returns
 * false and notes a failure if the card cannot be reset.
 */
static bool reset_function(struct util *util, struct reset *reset)
{
	int rc;

	if (pci_of_device(util->device, reset->address) < 0) {
		if (!util_open(util))
			return false;
		rc = litepcie_reset(util->dev);
		util_check(util, rc, "resetting the card");
		return rc == 0;
	}
	rc = pci_write_text("1", "/sys/bus/pci/devices/%s/reset", reset->address);
	if (rc == -ENOENT)
		util_fail(util, "%s has no reset of its own and shares its bus; try "
			  "litepcie_util rescan", reset->address);
	else if (rc == -EACCES || rc == -EPERM)
		util_fail(util, "only root may reset %s", reset->address);
	else if (rc < 0)
		util_fail(util, "%s could not be reset: %s", reset->address, strerror(-rc));
	return rc == 0;
}

static int run(struct util *util)
{
	struct reset reset = { 0 };

	if (!reset_function(util, &reset) || (!util->dev && !util_open(util)))
		return util_emit(util, NULL, print);
	util_check(util, litepcie_identifier(util->dev, reset.identifier, sizeof(reset.identifier)),
		   "reading the identifier");
	return util_emit(util, util->failed ? NULL : &reset, print);
}

const struct command cmd_reset = {
	.name = "reset",
	.summary = "reset the card by the kernel, and see that it answers",
	.usage = "[-d DEVICE | -c N] [--json] reset",
	.about =
		"Reset the card's PCI function (function level reset) through the kernel, then\n"
		"read its identifier. A program that uses the card at that time gets an error.\n"
		"Needs root.\n",
	.examples = "  sudo litepcie_util reset\n",
	.run = run,
};
