/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command doctor: say what limits this card in this machine, and what the user can do about the
 * limits.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "doctor.h"

/* column of the terminal at which the second and each further line of a finding begins */
#define FINDING		7
#define REFUSED		"mmio_writes_refused"
/*
 * The user slot's state is read once, and up to this many times more, to see if its logic has
 * stopped.
 */
#define SLOT_LOOKS	16

static const char *const weights[] = { "binds", "costs", "note" };

/* Printing facts and findings ----------------------------------------------------------------- */

static const char *known(const char *text)
{
	return *text ? text : "not known";
}

/* Returns @value as decimal text, or "not known" if @value is below 0. */
static const char *number(long value, char text[24])
{
	if (value < 0)
		return known("");
	snprintf(text, 24, "%ld", value);
	return text;
}

static void print_step(const struct emit *out, const struct pci_function *step, bool first)
{
	const struct pci_express *e = &step->express;

	emit_object(out, NULL);
	emit_string(out, "address", first ? "  path  %s\n" : "  below %s\n",
		    step->address);
	if (e->known)
		emit_text(out, "    Gen%u x%u, MPS %u of %u, MRRS %u, RCB %u, ExtTag %s, ordering "
			  "%s\n", e->gen, e->lanes, e->mps, e->mps_supported, e->mrrs, e->rcb,
			  e->extended_tags ? "on" : "off",
			  e->relaxed_ordering ? "relaxed" : "strict");
	emit_unsigned(out, "link_gen", NULL, e->gen);
	emit_unsigned(out, "link_lanes", NULL, e->lanes);
	emit_unsigned(out, "mps_bytes", NULL, e->mps);
	emit_unsigned(out, "mps_supported_bytes", NULL, e->mps_supported);
	emit_unsigned(out, "mrrs_bytes", NULL, e->mrrs);
	emit_unsigned(out, "rcb_bytes", NULL, e->rcb);
	emit_bool(out, "extended_tags", e->extended_tags);
	emit_bool(out, "relaxed_ordering", e->relaxed_ordering);
	emit_object_end(out);
}

static void print_machine(const struct emit *out, const struct doctor_host *host)
{
	char text[3][24];

	if (!host->steps) {
		emit_text(out, "  no PCI function of this machine, whose own state is not looked "
			  "at\n");
		return;
	}
	emit_text(out, "  IOMMU %s, CPU governor %s, deepest idle state %s\n", known(host->iommu),
		  known(host->governor), known(host->idle_state));
	emit_text(out, "  NUMA node of the card %s, of this program %s; free huge pages %s\n",
		  number(host->path[0].numa, text[0]), number(host->cpu_node, text[1]),
		  number(host->huge_pages, text[2]));
	emit_text(out, "  kernel %s, driver %s%s%s\n", host->kernel, known(host->driver),
		  *host->driver_version ? " " : "", host->driver_version);
}

static void print_host(const struct emit *out, const struct doctor_host *host)
{
	emit_array(out, "path");
	for (unsigned int i = 0; i < host->steps; i++)
		print_step(out, &host->path[i], i == 0);
	emit_array_end(out);
	print_machine(out, host);
	emit_string(out, "iommu", NULL, emit_filled(host->iommu));
	emit_string(out, "governor", NULL, emit_filled(host->governor));
	emit_string(out, "idle_state", NULL, emit_filled(host->idle_state));
	emit_known(out, "card_node", host->steps ? host->path[0].numa : -1);
	emit_known(out, "cpu_node", host->cpu_node);
	emit_known(out, "huge_pages", host->huge_pages);
	emit_string(out, "kernel", NULL, emit_filled(host->kernel));
	emit_string(out, "driver", NULL, emit_filled(host->driver));
	emit_string(out, "driver_version", NULL, emit_filled(host->driver_version));
}

static void print_rates(const struct emit *out, const struct rates *rates)
{
	emit_array(out, "rows");
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &rates->rate[way];
		bool valid = rate->valid;

		emit_object(out, NULL);
		emit_string(out, "id", valid ? "  %-7s " : NULL, rate->id);
		emit_number(out, "value", "%5.2f GB/s, ", valid ? rate->gb_per_s : NAN);
		emit_number(out, "limit", "predicted %5.2f: ", valid ? rate->limit.value : NAN);
		emit_string(out, "binds", "%s binds\n", valid ? limit_name(rates_binds(rate)) : NULL);
		emit_object_end(out);
	}
	emit_array_end(out);
}

static void print_side(const struct emit *out, const char *name, const char *text,
		       const struct litepcie_slot_side *side)
{
	emit_object(out, name);
	emit_text(out, "%s", text);
	emit_bool(out, "valid", side->valid);
	emit_bool(out, "ready", side->ready);
	emit_unsigned(out, "beats", "%llu beats, ", side->beats);
	emit_unsigned(out, "packets", "%llu packets, ", side->packets);
	emit_unsigned(out, "stall_cycles", "%llu stall cycles", side->stalls);
	emit_object_end(out);
}

static void print_slot(const struct emit *out, const struct doctor *doctor)
{
	if (!doctor->slot_known)
		return;
	emit_object(out, "slot");
	print_side(out, "h2c", "  user slot: took ", &doctor->slot.h2c);
	print_side(out, "c2h", ";\n             sent ", &doctor->slot.c2h);
	emit_object_end(out);
	emit_text(out, "\n");
}

static void print_finding(const struct emit *out, const struct doctor_finding *finding)
{
	static const enum util_colour colours[] = { COLOUR_BAD, COLOUR_NAME, COLOUR_END };
	const char *weight = weights[finding->weight];

	emit_object(out, NULL);
	emit_string(out, "weight", NULL, weight);
	emit_string(out, "key", NULL, finding->key);
	emit_string(out, "what", NULL, finding->what);
	emit_string(out, "lift", NULL, emit_filled(finding->lift));
	emit_object_end(out);
	if (out->json)
		return;
	emit_text(out, "%s%s%s: ", util_colour(out->util, colours[finding->weight]), weight,
		  util_colour(out->util, COLOUR_END));
	util_fill((unsigned int)strlen(weight) + 2, FINDING, finding->what);
	if (*finding->lift) {
		emit_text(out, "%*sto lift it: ", FINDING, "");
		util_fill(FINDING + 12, FINDING, finding->lift);
	}
}

static void print(const struct emit *out, const void *result)
{
	const struct doctor *doctor = result;

	emit_string(out, NULL, "doctor         %s\n", out->util->device);
	emit_string(out, "target", "  card for %s, ", doctor->card.target);
	emit_string(out, NULL, "endpoint %s, ", doctor->card.endpoint);
	emit_string(out, "gateware", "gateware %.12s\n", doctor->card.digest);
	print_host(out, &doctor->host);
	emit_number(out, "round_trip_ns", NULL, doctor->rates.reads.rtt_ns);
	emit_unsigned(out, "refused_writes", NULL, doctor->refused_writes);
	print_rates(out, &doctor->rates);
	print_slot(out, doctor);
	emit_array(out, "findings");
	for (unsigned int i = 0; i < doctor->findings; i++)
		print_finding(out, &doctor->finding[i]);
	emit_array_end(out);
	if (doctor->rates.rate[0].valid &&
	    (!doctor->findings || doctor->finding[0].weight != DOCTOR_BINDS))
		emit_text(out, "%snothing but the link itself binds%s\n",
			  util_colour(out->util, COLOUR_GOOD), util_colour(out->util, COLOUR_END));
}

/* The command doctor -------------------------------------------------------------------------- */

/*
 * Returns true if the card's PCI config space allows it more than 32 tags, so more than 32 reads in
 * flight, or if this config space cannot be read, as that of a simulated board.
 */
static bool extended_tags(const struct doctor_host *host)
{
	return !host->steps || !host->path[0].express.known || host->path[0].express.extended_tags;
}

/*
 * Returns the read completion boundary (RCB) in bytes of the last PCI function on the path from the
 * card upwards, or 0 if there is no path or that function's config space is not known. The last
 * function is the root port, unless the card itself is on the root bus, as in a virtual machine.
 * The root port cuts completions by its own RCB. The RCB bit of the card is only a copy that
 * software writes.
 */
static unsigned int boundary(const struct doctor_host *host)
{
	return host->steps ? host->path[host->steps - 1].express.rcb : 0;
}

/*
 * Read how many writes of less than 4 bytes to registers the card has refused. A card with
 * LitePCIe's endpoint does not refuse such writes and has no counter, so -ENOENT is no failure.
 */
static void count_refused(struct util *util, struct doctor *doctor)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	int rc = litepcie_register_find(util->dev, REFUSED, &found);

	if (rc == -ENOENT)
		return;
	if (rc == 0)
		rc = litepcie_register_read(util->dev, REFUSED, &doctor->refused_writes);
	util_check(util, rc, "counting refused writes");
}

/*
 * Find out whether the user's logic in the card's user slot has stopped taking h2c data: data
 * waits, and SLOT_LOOKS more reads of the slot's state show no change of h2c.since, the time at
 * which the stream's signal valid or ready last changed. If the logic takes data between the reads,
 * h2c.since changes. litepcie_slot() returns -ENOENT if the card has no monitor of the slot, and
 * -EAGAIN if other programs keep the monitor busy. Neither is a failure.
 */
static void look_at_slot(struct util *util, struct doctor *doctor)
{
	struct litepcie_slot later = { .struct_size = sizeof(later) };
	int rc;

	doctor->slot.struct_size = sizeof(doctor->slot);
	rc = litepcie_slot(util->dev, &doctor->slot);
	if (rc == -ENOENT || rc == -EAGAIN)
		return;
	doctor->slot_known = rc == 0;
	doctor->slot_held = rc == 0 && doctor->slot.h2c.valid && !doctor->slot.h2c.ready;
	for (int i = 0; i < SLOT_LOOKS && rc == 0 && doctor->slot_held; i++) {
		rc = litepcie_slot(util->dev, &later);
		doctor->slot_held = rc == 0 && later.h2c.since == doctor->slot.h2c.since;
	}
	util_check(util, rc == -EAGAIN ? 0 : rc, "looking at the user slot");
}

static bool parse_address(const struct util_option *option, const char *text)
{
	return pci_parse_address(text, option->to);
}

static char address[PCI_ADDRESS];
static bool only_look;

static const struct util_option options[] = {
	{ .name = "address", .letter = 'a', .value = "ADDRESS", .parse = parse_address,
	  .to = address, .rule = "an address is like 0000:22:00.0",
	  .help = "the card's PCI function, where the device's name does not tell" },
	{ .name = "look", .letter = 'l', .to = &only_look,
	  .help = "only look: measure nothing, leave the DMA to the program that uses it" },
	{ 0 },
};

static int run(struct util *util)
{
	const struct rates_plan plan = { .bytes = RATES_LEAST_BYTES };
	static struct doctor doctor;

	if (!*address)
		pci_of_device(util->device, address);
	doctor_look(&doctor.host, address);
	if (*address && !doctor.host.steps)
		util_fail(util, "there is no PCI function %s; litepcie_util list shows the cards",
			  address);
	if (util->failed || !util_open(util))
		return util_emit(util, NULL, print);
	doctor.card.struct_size = sizeof(doctor.card);
	litepcie_card(util->dev, &doctor.card);
	look_at_slot(util, &doctor);
	rates_prepare(util, &doctor.rates, extended_tags(&doctor.host), boundary(&doctor.host));
	if (!only_look)
		rates_measure(&doctor.rates, &plan);
	count_refused(util, &doctor);
	doctor_judge(&doctor);
	return util_emit(util, &doctor, print);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "what limits this card in this machine, and what would lift it",
	.usage = "[-d DEVICE | -c N] [--json] doctor [options]",
	.about =
		"Find out what limits this card in this machine. Looks at the link and every\n"
		"function from the card to the root, at the IOMMU, NUMA nodes, power saving,\n"
		"huge pages, driver and gateware; predicts the ceiling, measures for a moment,\n"
		"compares the two with the card's counters and says what binds, what costs, and\n"
		"what would lift it; and what the logic in the user slot took and sent, and if\n"
		"it takes no more. Config space beyond its first 64 bytes is root's to read.\n",
	.examples = "  sudo litepcie_util doctor\n",
	.options = options, .run = run,
};
