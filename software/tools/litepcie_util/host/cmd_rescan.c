/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command rescan: remove the card's PCI function from the kernel and let the kernel search the
 * PCI bus again, as is needed after JTAG has loaded a new bitstream.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pci.h"
#include "util.h"

#define RESCAN		"/sys/bus/pci/rescan"
#define WAIT_S		5
#define STEP_US		50000
#define STEPS_PER_LOOK	10

static void print(const struct emit *out, const void *result)
{
	const struct pci_function *function = result;

	emit_string(out, "address", "rescan         %s is back as ", function->address);
	emit_unsigned(out, "vendor", "%04llx:", function->vendor);
	emit_unsigned(out, "device", "%04llx, ", function->device);
	emit_string(out, "driver", NULL, emit_filled(function->driver));
	emit_text(out, "driver %s\n", *function->driver ? function->driver : "none");
}

/*
 * Let the kernel search the bus until the PCI function is in sysfs, for about WAIT_S seconds at
 * most. Each write to RESCAN makes the kernel search once, and the kernel does not find the
 * function while its link is down. When the function is back, it may have no driver yet, since udev
 * may load the driver a while later. Returns 0 or -errno; -ETIMEDOUT: the function did not come
 * back.
 */
static int look_for(struct pci_function *function)
{
	for (int waited = 0; waited < WAIT_S * 1000000 / STEP_US; waited++) {
		int rc = waited % STEPS_PER_LOOK ? 0 : pci_write_text("1", RESCAN);

		if (rc < 0)
			return rc;
		if (pci_load(function, function->address) == 0)
			return 0;
		usleep(STEP_US);
	}
	return -ETIMEDOUT;
}

static void explain(struct util *util, const char *doing, int rc)
{
	if (rc == -EACCES || rc == -EPERM)
		util_fail(util, "%s needs root", doing);
	else if (rc < 0)
		util_fail(util, "%s: %s", doing, strerror(-rc));
}

/*
 * Remove the PCI function at function->address, let the kernel find it again, and fill in
 * @function. A failure is noted.
 */
static void again(struct util *util, struct pci_function *function)
{
	int rc = 0;

	/* If the PCI function is not in sysfs, nothing has to be removed. */
	if (pci_load(function, function->address) == 0)
		rc = pci_write_text("1", "/sys/bus/pci/devices/%s/remove", function->address);
	explain(util, "removing the card", rc);
	if (rc < 0)
		return;
	rc = look_for(function);
	if (rc == -ETIMEDOUT)
		util_fail(util, "%s did not come back within %d s: is it configured, and was its "
			  "BAR larger when the machine booted?", function->address, WAIT_S);
	else
		explain(util, "looking for cards", rc);
}

bool rescan_allowed(struct util *util, const char *address, const char *doing)
{
	char remove[PATH_MAX], look[PATH_MAX];
	bool allowed = pci_path(remove, "/sys/bus/pci/devices/%s/remove", address) &&
		       pci_path(look, RESCAN) && access(remove, W_OK) == 0 &&
		       access(look, W_OK) == 0;

	if (!allowed)
		util_fail(util, "%s needs root: the kernel must find the card again afterwards, which "
			  "only root may ask for", doing);
	return allowed;
}

bool rescan_card(struct util *util, const char *address)
{
	struct pci_function function;
	unsigned int before = util->failed;

	snprintf(function.address, sizeof(function.address), "%s", address);
	again(util, &function);
	return util->failed == before;
}

static int run(struct util *util)
{
	struct pci_function function = { 0 };

	if (util->word_count && !pci_parse_address(util->words[0], function.address))
		return util_usage(util, "%s: an address is like 0000:22:00.0", util->words[0]);
	if (!util->word_count && pci_of_device(util->device, function.address) < 0)
		util_fail(util, "%s is no PCI function of this machine; name the card's address, "
			  "as in: litepcie_util rescan 22:00.0", util->device);
	else
		again(util, &function);
	return util_emit(util, util->failed ? NULL : &function, print);
}

const struct command cmd_rescan = {
	.name = "rescan",
	.summary = "let the kernel look for the card again, after a new bitstream",
	.usage = "[-d DEVICE | -c N] [--json] rescan [ADDRESS]",
	.about =
		"Let the kernel forget the card and look for it again: what is needed after a\n"
		"new bitstream was loaded, in place of a reboot. Without ADDRESS it is the card\n"
		"of -d. Needs root.\n",
	.most = 1,
	.takes = "one address",
	.examples = "  litepcie_util rescan 22:00.0\n",
	.run = run,
};
