/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command doctor: say what limits this card in this machine, and what the user can do about
 * each limit.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "doctor.h"

/*
 * Bytes that doctor moves in each direction: two rings. A shorter run has no steady state to
 * measure.
 */
#define SIZE		(4u << 20)
#define TIMEOUT_S	30
/* column of the terminal at which each further line of a finding begins */
#define FINDING		7
#define REFUSED		"mmio_writes_refused"
/* number of further reads of the user slot's state, some microseconds apart */
#define SLOT_LOOKS	16

static const char *const weights[] = { "binds", "costs", "note" };

/* Output as text ------------------------------------------------------------------------------ */

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

static void print_host(const struct doctor_host *host)
{
	char text[3][24];

	for (unsigned int i = 0; i < host->steps; i++) {
		const struct pci_express *e = &host->path[i].express;

		printf("  %s %s\n", i ? "below" : "path ", host->path[i].function.address);
		if (e->known)
			printf("    Gen%u x%u, MPS %u of %u, MRRS %u, RCB %u, ExtTag %s, ordering "
			       "%s\n",
			       e->gen, e->lanes, e->mps, e->mps_supported, e->mrrs, e->rcb,
			       e->extended_tags ? "on" : "off",
			       e->relaxed_ordering ? "relaxed" : "strict");
	}
	if (!host->steps) {
		puts("  no PCI function of this machine, whose own state is not looked at");
		return;
	}
	printf("  IOMMU %s, CPU governor %s, deepest idle state %s\n", known(host->iommu),
	       known(host->governor), known(host->idle_state));
	printf("  NUMA node of the card %s, of this program %s; free huge pages %s\n",
	       number(host->path[0].function.numa, text[0]), number(host->cpu_node, text[1]),
	       number(host->huge_pages, text[2]));
	printf("  kernel %s, driver %s%s%s\n", host->kernel, known(host->driver),
	       *host->driver_version ? " " : "", host->driver_version);
}

static void print_rates(const struct rates *rates)
{
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &rates->rate[way];

		if (rate->valid)
			printf("  %-7s %5.2f GB/s, predicted %5.2f: %s binds\n", rate->id,
			       rate->gb_per_s, rate->limit.value, rates_binds(rate));
	}
}

static void print_side(const char *name, const struct litepcie_slot_side *side)
{
	printf("%s %llu beats, %llu packets, %llu stall cycles", name,
	       (unsigned long long)side->beats, (unsigned long long)side->packets,
	       (unsigned long long)side->stalls);
}

static void print_slot(const struct doctor *doctor)
{
	if (!doctor->slot_known)
		return;
	print_side("  user slot: took", &doctor->slot.h2c);
	print_side(";\n             sent", &doctor->slot.c2h);
	putchar('\n');
}

static void print_text(const struct util *util, const void *result)
{
	static const enum util_colour colours[] = { COLOUR_BAD, COLOUR_NAME, COLOUR_END };
	const struct doctor *doctor = result;

	printf("doctor         %s\n", util->device);
	printf("  card for %s, endpoint %s, gateware %.12s\n", doctor->card.target,
	       doctor->card.endpoint, doctor->card.digest);
	print_host(&doctor->host);
	print_rates(&doctor->rates);
	print_slot(doctor);
	for (unsigned int i = 0; i < doctor->findings; i++) {
		const struct doctor_finding *finding = &doctor->finding[i];

		printf("%s%s%s: ", util_colour(util, colours[finding->weight]),
		       weights[finding->weight], util_colour(util, COLOUR_END));
		util_fill((unsigned int)strlen(weights[finding->weight]) + 2, FINDING, finding->what);
		if (*finding->lift) {
			printf("%*sto lift it: ", FINDING, "");
			util_fill(FINDING + 12, FINDING, finding->lift);
		}
	}
	if (doctor->rates.rate[0].valid &&
	    (!doctor->findings || doctor->finding[0].weight != DOCTOR_BINDS))
		printf("%snothing but the link itself binds%s\n", util_colour(util, COLOUR_GOOD),
		       util_colour(util, COLOUR_END));
}

/* Output as JSON ------------------------------------------------------------------------------ */

static void print_step(struct json *json, const struct doctor_step *step)
{
	const struct pci_express *e = &step->express;

	json_begin_object(json, NULL);
	json_string(json, "address", step->function.address);
	json_unsigned(json, "link_gen", e->gen);
	json_unsigned(json, "link_lanes", e->lanes);
	json_unsigned(json, "mps_bytes", e->mps);
	json_unsigned(json, "mps_supported_bytes", e->mps_supported);
	json_unsigned(json, "mrrs_bytes", e->mrrs);
	json_unsigned(json, "rcb_bytes", e->rcb);
	json_bool(json, "extended_tags", e->extended_tags);
	json_bool(json, "relaxed_ordering", e->relaxed_ordering);
	json_end_object(json);
}

static void json_text(struct json *json, const char *key, const char *value)
{
	json_string(json, key, *value ? value : NULL);
}

static void json_known(struct json *json, const char *key, long value)
{
	json_number(json, key, value < 0 ? NAN : (double)value);
}

static void json_side(struct json *json, const char *name, const struct litepcie_slot_side *side)
{
	json_begin_object(json, name);
	json_bool(json, "valid", side->valid);
	json_bool(json, "ready", side->ready);
	json_unsigned(json, "beats", side->beats);
	json_unsigned(json, "packets", side->packets);
	json_unsigned(json, "stall_cycles", side->stalls);
	json_end_object(json);
}

static void json_slot(struct json *json, const struct doctor *doctor)
{
	if (!doctor->slot_known)
		return;
	json_begin_object(json, "slot");
	json_side(json, "h2c", &doctor->slot.h2c);
	json_side(json, "c2h", &doctor->slot.c2h);
	json_end_object(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct doctor *doctor = result;
	const struct doctor_host *host = &doctor->host;

	json_begin_array(json, "path");
	for (unsigned int i = 0; i < host->steps; i++)
		print_step(json, &host->path[i]);
	json_end_array(json);
	json_text(json, "iommu", host->iommu);
	json_text(json, "governor", host->governor);
	json_text(json, "idle_state", host->idle_state);
	json_known(json, "card_node", host->steps ? host->path[0].function.numa : -1);
	json_known(json, "cpu_node", host->cpu_node);
	json_known(json, "huge_pages", host->huge_pages);
	json_text(json, "kernel", host->kernel);
	json_text(json, "driver", host->driver);
	json_text(json, "driver_version", host->driver_version);
	json_string(json, "target", doctor->card.target);
	json_string(json, "gateware", doctor->card.digest);
	json_number(json, "round_trip_ns", doctor->rates.reads.rtt_ns);
	json_unsigned(json, "refused_writes", doctor->refused_writes);
	json_slot(json, doctor);
	json_begin_array(json, "rows");
	for (int way = 0; way < RATES_WAYS; way++) {
		const struct rate *rate = &doctor->rates.rate[way];

		json_begin_object(json, NULL);
		json_string(json, "id", rate->id);
		json_number(json, "value", rate->valid ? rate->gb_per_s : NAN);
		json_number(json, "limit", rate->valid ? rate->limit.value : NAN);
		json_string(json, "binds", rate->valid ? rates_binds(rate) : NULL);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "findings");
	for (unsigned int i = 0; i < doctor->findings; i++) {
		json_begin_object(json, NULL);
		json_string(json, "weight", weights[doctor->finding[i].weight]);
		json_string(json, "key", doctor->finding[i].key);
		json_string(json, "what", doctor->finding[i].what);
		json_text(json, "lift", doctor->finding[i].lift);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Command ------------------------------------------------------------------------------------- */

/*
 * True if config space allows the card more than 32 tags (numbers of reads in flight). If config
 * space cannot be read, assume that it does.
 */
static bool extended_tags(const struct doctor_host *host)
{
	return !host->steps || !host->path[0].express.known ||
	       host->path[0].express.extended_tags;
}

/*
 * Returns the read completion boundary (RCB) of the root port, or 0 if the path is not known. Only
 * the root port's RCB counts, since the root port cuts completions. The card's own RCB bit is a
 * copy that software writes.
 */
static unsigned int boundary(const struct doctor_host *host)
{
	return host->steps ? host->path[host->steps - 1].express.rcb : 0;
}

/*
 * Read how many writes of less than 4 bytes to registers the card has refused. LitePCIe's endpoint
 * does not refuse such writes, so it has no counter and -ENOENT is no failure.
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
 * Find out whether the logic in the user slot has stopped taking data. Logic that is only slow
 * takes a beat between two of the reads of the slot's state, and then its @since changes. A card
 * without a monitor of the slot answers -ENOENT, and -EAGAIN means that other programs keep the
 * monitor busy: neither is a failure.
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

static int examine(struct util *util, const char *address, bool measure)
{
	static const struct rates_plan plan = { .bytes = SIZE, .timeout_s = TIMEOUT_S };
	static struct doctor doctor;
	char found[PCI_ADDRESS];

	if (!address && pci_of_device(util->device, found) == 0)
		address = found;
	doctor_look(&doctor.host, address);
	if (address && !doctor.host.steps)
		util_fail(util, "there is no PCI function %s; litepcie_util list shows the cards",
			  address);
	if (util->failed || !util_open(util))
		return util_finish(util, NULL, print_text, print_json);
	doctor.card.struct_size = sizeof(doctor.card);
	litepcie_card(util->dev, &doctor.card);
	look_at_slot(util, &doctor);
	rates_prepare(util, &doctor.rates, extended_tags(&doctor.host), boundary(&doctor.host));
	if (measure)
		rates_measure(util, &doctor.rates, &plan);
	count_refused(util, &doctor);
	doctor_judge(&doctor);
	return util_finish(util, &doctor, print_text, print_json);
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
	  .help = "only look: measure nothing, leave the DMA to whoever uses it" },
	{ 0 },
};

static int run(struct util *util, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return examine(util, *address ? address : NULL, !only_look);
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
	.options = options,
	.examples =
		"example:\n"
		"  sudo litepcie_util doctor\n",
	.run = run,
};
