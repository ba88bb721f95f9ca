/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command vfio: bind a card to vfio-pci, give the card back to its own driver, or say what
 * prevents the binding. A program opens a bound card as vfio:ADDRESS, and needs no kernel module of
 * Lanebox.
 */
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "pci.h"
#include "util.h"

#define VFIO_DRIVER	"vfio-pci"
#define FINDINGS	12

struct vfio {
	struct pci_function	function;
	/*
	 * path of the device file /dev/vfio/GROUP of the card's IOMMU group, for VFIO's interface
	 * type1; empty: the card is in no IOMMU group
	 */
	char			node[48];
	/*
	 * path of the card's device file /dev/vfio/devices/vfioN, for VFIO's interface iommufd;
	 * empty: the kernel has no such file, or the card is not bound to vfio-pci or in no IOMMU
	 * group
	 */
	char			device_node[48];
	/*
	 * name of the VFIO interface that litepcie_open() would use; NULL: the card is not bound to
	 * vfio-pci or in no IOMMU group, or this user may open neither iommufd nor type1
	 */
	const char		*interface;
	bool			sleeping;	/* true: the PCI function is in power state D3 */
	char			finding[FINDINGS][UTIL_SENTENCE];
	unsigned int		findings;
};

__attribute__((format(printf, 2, 3)))
static void find(struct vfio *vfio, const char *format, ...)
{
	va_list args;

	if (vfio->findings == FINDINGS)
		return;
	va_start(args, format);
	vsnprintf(vfio->finding[vfio->findings++], UTIL_SENTENCE, format, args);
	va_end(args);
}

/* Findings that keep VFIO from taking the card ------------------------------------------------ */

/*
 * Add a finding if @address is that of another PCI function in the card's IOMMU group, and the
 * driver of that function keeps VFIO from taking the group. VFIO accepts functions without a driver
 * or with vfio-pci or pci-stub, and bridges with their driver pcieport.
 */
static void visit_group(void *context, const char *address)
{
	struct vfio *vfio = context;
	struct pci_function other;

	if (strcmp(address, vfio->function.address) == 0 || pci_load(&other, address) < 0 ||
	    other.iommu_group != vfio->function.iommu_group)
		return;
	if (*other.driver && strcmp(other.driver, VFIO_DRIVER) != 0 &&
	    strcmp(other.driver, "pcieport") != 0 && strcmp(other.driver, "pci-stub") != 0)
		find(vfio, "%s shares IOMMU group %d and is driven by %s: VFIO takes a group only "
		     "as a whole; unbind it, or put the card into another slot", other.address,
		     other.iommu_group, other.driver);
}

static void check_group(struct vfio *vfio)
{
	if (vfio->function.iommu_group < 0) {
		find(vfio, "%s is in no IOMMU group: switch the IOMMU on in the firmware's set-up, "
		     "and boot with intel_iommu=on (AMD needs nothing)", vfio->function.address);
		return;
	}
	snprintf(vfio->node, sizeof(vfio->node), "/dev/vfio/%d", vfio->function.iommu_group);
	pci_each(visit_group, vfio);
}

/*
 * Find out whether the card's PCI function is in power state D3, in which it answers no access to
 * its BARs. A function in D3 gives up to two findings. The first is added if the driver of the
 * function is not vfio-pci. The second is added, whatever the driver is, if vfio_pci's parameter
 * disable_idle_d3 is off: vfio-pci then puts a function that no program has open into D3.
 */
static void check_power(struct vfio *vfio)
{
	char state[16], idle[8];

	pci_read_text(state, sizeof(state), "/sys/bus/pci/devices/%s/power_state",
		      vfio->function.address);
	vfio->sleeping = strncmp(state, "D3", 2) == 0;
	if (vfio->sleeping && strcmp(vfio->function.driver, VFIO_DRIVER) != 0)
		find(vfio, "%s sleeps (%s): write \"on\" to its power/control",
		     vfio->function.address, state);
	pci_read_text(idle, sizeof(idle), "/sys/module/vfio_pci/parameters/disable_idle_d3");
	if (*idle == 'N' && vfio->sleeping)
		find(vfio, "VFIO puts cards that nobody has open into D3, where some bitstreams do "
		     "not wake up: load it with vfio-pci.disable_idle_d3=1 if that happens");
}

/*
 * Find the device file of the card's PCI function, which is bound to vfio-pci. Kernels whose VFIO
 * supports iommufd can have such a file for each function that is bound to vfio-pci.
 */
static void find_device_node(struct vfio *vfio)
{
	char path[PATH_MAX];
	glob_t found;

	if (!pci_path(path, "/sys/bus/pci/devices/%s/vfio-dev/vfio[0-9]*", vfio->function.address))
		return;
	if (glob(path, 0, NULL, &found) == 0)
		snprintf(vfio->device_node, sizeof(vfio->device_node), "/dev/vfio/devices/%.16s",
			 strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
}

/* Returns 0 if this user may read and write @file, otherwise -errno. */
static int try_file(const char *file)
{
	char path[PATH_MAX];

	if (!pci_path(path, "%s", file))
		return -ENAMETOOLONG;
	return access(path, R_OK | W_OK) == 0 ? 0 : -errno;
}

static void explain_file(struct vfio *vfio, const char *file)
{
	int rc = try_file(file);

	if (rc == -EACCES || rc == -EPERM)
		find(vfio, "%s may be opened by root only: chown it to the user who opens it, or set "
		     "a udev rule", file);
	else if (rc < 0)
		find(vfio, "%s is missing: is the module vfio loaded?", file);
}

/*
 * If the card is bound to vfio-pci, find the VFIO interface (iommufd or type1) by the rule that
 * liblitepcie uses by default: iommufd if the kernel has it and this user may open its files, else
 * type1. If this user can open the files of neither, add findings that say why.
 */
static void check_nodes(struct vfio *vfio)
{
	static const char iommufd[] = "/dev/iommu", type1[] = "/dev/vfio/vfio";

	if (strcmp(vfio->function.driver, VFIO_DRIVER) != 0 || !*vfio->node)
		return;
	find_device_node(vfio);
	if (*vfio->device_node && try_file(vfio->device_node) == 0 && try_file(iommufd) == 0) {
		vfio->interface = "iommufd";
	} else if (try_file(vfio->node) == 0 && try_file(type1) == 0) {
		vfio->interface = "type1";
	/* The kernel has the device file for iommufd, but no /dev/vfio/GROUP for type1. */
	} else if (*vfio->device_node && try_file(vfio->node) == -ENOENT) {
		explain_file(vfio, vfio->device_node);
		explain_file(vfio, iommufd);
	} else {
		explain_file(vfio, vfio->node);
		explain_file(vfio, type1);
	}
}

static bool inspect(struct util *util, struct vfio *vfio, const char *address)
{
	*vfio = (struct vfio) { 0 };
	if (pci_load(&vfio->function, address) < 0) {
		util_fail(util, "there is no PCI function %s; litepcie_util list shows the cards",
			  address);
		return false;
	}
	check_group(vfio);
	check_power(vfio);
	check_nodes(vfio);
	return true;
}

/* Binding and unbinding ----------------------------------------------------------------------- */

static int set_override(const struct vfio *vfio, const char *driver)
{
	return pci_write_text(driver, "/sys/bus/pci/devices/%s/driver_override",
			      vfio->function.address);
}

/*
 * Let the kernel bind a driver to the card: the driver named in driver_override if that is set,
 * otherwise one that matches the card's vendor and device numbers.
 */
static int probe(const struct vfio *vfio)
{
	return pci_write_text(vfio->function.address, "/sys/bus/pci/drivers_probe");
}

static int release(const struct vfio *vfio)
{
	if (!*vfio->function.driver)
		return 0;
	return pci_write_text(vfio->function.address, "/sys/bus/pci/drivers/%s/unbind",
			      vfio->function.driver);
}

static void explain(struct util *util, const struct vfio *vfio, const char *doing, int rc)
{
	if (rc == -EACCES || rc == -EPERM)
		util_fail(util, "%s needs root", doing);
	else if (rc == -ENOENT)
		util_fail(util, "%s: the kernel has no such file; is the module vfio-pci loaded? "
			  "(modprobe vfio-pci)", doing);
	else if (rc < 0)
		util_fail(util, "%s %s: %s", doing, vfio->function.address, strerror(-rc));
}

/*
 * Let the kernel bind the card's own driver again after vfio-pci did not take the card. If no
 * failure was noted yet, note that vfio-pci did not take the card. Then note which driver the card
 * has now, or that it has none.
 */
static void undo_bind(struct util *util, struct vfio *vfio)
{
	int rc = set_override(vfio, "\n");

	if (rc == 0 && !*vfio->function.driver)
		rc = probe(vfio);
	pci_load(&vfio->function, vfio->function.address);
	if (!util->failed)
		util_fail(util, "%s was offered to vfio-pci, which did not take it; see the "
			  "kernel's messages", vfio->function.address);
	if (rc == 0 && *vfio->function.driver)
		util_fail(util, "%s is with its driver %s", vfio->function.address,
			  vfio->function.driver);
	else
		util_fail(util, "%s has no driver now: load the driver that you want for it",
			  vfio->function.address);
}

/*
 * Unbind the card from its driver and let the kernel bind vfio-pci to the card. driver_override is
 * already vfio-pci, so the kernel gives the card to no other driver. If vfio-pci does not take the
 * card, undo_bind() is called.
 */
static void offer(struct util *util, struct vfio *vfio)
{
	explain(util, vfio, "binding to vfio-pci", release(vfio) ?: probe(vfio));
	pci_load(&vfio->function, vfio->function.address);
	if (strcmp(vfio->function.driver, VFIO_DRIVER) != 0)
		undo_bind(util, vfio);
}

static void bind(struct util *util, struct vfio *vfio)
{
	char path[PATH_MAX];
	int rc;

	if (strcmp(vfio->function.driver, VFIO_DRIVER) == 0)
		return;
	/* If a finding prevents the binding, end before anything in the machine is changed. */
	if (vfio->findings) {
		util_fail(util, "%s", vfio->finding[0]);
		return;
	}
	if (!pci_path(path, "/sys/bus/pci/drivers/" VFIO_DRIVER) || access(path, F_OK) != 0) {
		util_fail(util, "the kernel has no driver vfio-pci yet: modprobe vfio-pci");
		return;
	}
	rc = set_override(vfio, VFIO_DRIVER);
	explain(util, vfio, "binding to vfio-pci", rc);
	if (rc == 0)
		offer(util, vfio);
}

bool vfio_bind(struct util *util, const char *address)
{
	static struct vfio vfio;
	unsigned int before = util->failed;

	if (inspect(util, &vfio, address))
		bind(util, &vfio);
	return util->failed == before;
}

/*
 * Returns true and notes a failure if a program that this user can see has the card open through
 * VFIO. Unbinding the card would then block in the kernel until the program closes the card.
 */
static bool held(struct util *util, const struct vfio *vfio)
{
	const char *const nodes[] = { vfio->node, vfio->device_node };
	struct holder holder;

	for (unsigned int i = 0; i < 2; i++) {
		if (!*nodes[i] || !holder_find(&holder, nodes[i]))
			continue;
		util_fail(util, "%s is used by %s (process %d): end that first",
			  vfio->function.address, holder.name, holder.process);
		return true;
	}
	return false;
}

static void unbind(struct util *util, struct vfio *vfio)
{
	if (strcmp(vfio->function.driver, VFIO_DRIVER) != 0) {
		util_fail(util, "%s is not bound to vfio-pci but to %s", vfio->function.address,
			  *vfio->function.driver ? vfio->function.driver : "nothing");
		return;
	}
	if (!held(util, vfio))
		explain(util, vfio, "giving the card back",
			set_override(vfio, "\n") ?: release(vfio) ?: probe(vfio));
}

/* Printing the state of the binding ----------------------------------------------------------- */

static void print_findings(const struct emit *out, const struct vfio *vfio)
{
	emit_array(out, "findings");
	for (unsigned int i = 0; i < vfio->findings; i++) {
		emit_string(out, EMIT_ELEMENT, NULL, vfio->finding[i]);
		emit_text(out, "  %s%s%s\n", util_colour(out->util, COLOUR_BAD), vfio->finding[i],
			  util_colour(out->util, COLOUR_END));
	}
	emit_array_end(out);
	if (!vfio->findings && !vfio->interface)
		emit_text(out, "  nothing is in the way of: litepcie_util vfio bind %s\n",
			  vfio->function.address);
}

static void print(const struct emit *out, const void *result)
{
	const struct vfio *vfio = result;
	const struct pci_function *function = &vfio->function;

	emit_string(out, "address", "vfio           %s, ", function->address);
	emit_text(out, "%04x:%04x, driver %s, IOMMU group ", function->vendor, function->device,
		  *function->driver ? function->driver : "none");
	emit_string(out, "driver", NULL, emit_filled(function->driver));
	emit_known(out, "iommu_group", function->iommu_group);
	if (function->iommu_group >= 0)
		emit_text(out, "%d\n", function->iommu_group);
	else
		emit_text(out, "none\n");
	emit_string(out, "node", NULL, emit_filled(vfio->node));
	emit_string(out, "device_node", NULL, emit_filled(vfio->device_node));
	emit_string(out, "interface", NULL, vfio->interface);
	emit_bool(out, "ready", vfio->interface);
	if (vfio->interface)
		emit_text(out, "  ready: open it as -d vfio:%s (by %s); its BARs are uncached "
			  "there\n", function->address, vfio->interface);
	print_findings(out, vfio);
}

/* The command vfio ---------------------------------------------------------------------------- */

static int run(struct util *util)
{
	static struct vfio vfio;
	char address[PCI_ADDRESS];
	const char *verb = util->words[0];
	bool binds = strcmp(verb, "bind") == 0, unbinds = strcmp(verb, "unbind") == 0, known;

	if (!binds && !unbinds && strcmp(verb, "status") != 0)
		return util_usage(util, "vfio %s: there are bind, unbind and status", verb);
	if (!pci_parse_address(util->words[1], address))
		return util_usage(util, "%s: an address is like 0000:22:00.0, see litepcie_util list",
				  util->words[1]);
	known = inspect(util, &vfio, address);
	if (known && (binds || unbinds)) {
		if (binds)
			bind(util, &vfio);
		else
			unbind(util, &vfio);
		known = inspect(util, &vfio, address);
	}
	return util_emit(util, known ? &vfio : NULL, print);
}

const struct command cmd_vfio = {
	.name = "vfio",
	.summary = "give a card to VFIO, take it back, or say what is in the way",
	.usage = "[--json] vfio bind|unbind|status ADDRESS",
	.about =
		"Use a card without any kernel module of ours.\n"
		"\n"
		"  bind    give it to vfio-pci; then open it with -d vfio:ADDRESS. Needs root\n"
		"  unbind  take it back and let the kernel find its driver again. Needs root\n"
		"  status  say who has it, and what is in the way: IOMMU group, power state,\n"
		"          permissions\n"
		"\n"
		"Nothing is changed when something is in the way, a program that uses the card\n"
		"for one, and a card that vfio-pci does not take goes back to its driver. BARs\n"
		"are uncached through VFIO: each access is a round trip, and write-combining is\n"
		"the kernel driver's alone.\n",
	.least = 2, .most = 2,
	.takes = "bind, unbind or status, and an address",
	.examples = "  litepcie_util vfio status 22:00.0\n",
	.run = run,
};
