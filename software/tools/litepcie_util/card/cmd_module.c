/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command module: print what the module in a QSFP cage says of itself. It changes nothing but
 * the page that the module shows.
 */
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "layout.h"
#include "litepcie_capability.h"
#include "module_decode.h"
#include "module_memory.h"

#define CAGES	2u

struct cage {
	bool			built;	/* the gateware has a block for this cage */
	bool			read;	/* the module's memory was read */
	uint8_t			lower[MODULE_HALF], upper[MODULE_HALF];
	struct module_facts	facts;
};

struct modules {
	bool		wanted[CAGES];
	bool		absent[CAGES];	/* no module is in the cage */
	struct cage	cage[CAGES];
};

static const char *const letters[CAGES] = { "A", "B" };

/* Text ---------------------------------------------------------------------------------------- */

/* Print a power in mW, and in dBm if there is any. */
static void print_power(double milliwatts)
{
	if (milliwatts > 0)
		printf("  %.4f mW (%.1f dBm)", milliwatts, 10 * log10(milliwatts));
	else
		printf("  0 mW");
}

static void print_lanes(const char *name, const double *powers)
{
	printf("  %-12s", name);
	for (unsigned int lane = 0; lane < MODULE_LANES; lane++)
		print_power(powers[lane]);
	putchar('\n');
}

static void print_lane_flags(const char *what, unsigned int bits)
{
	for (unsigned int lane = 0; lane < MODULE_LANES; lane++)
		if (bits >> lane & 1)
			printf("  flag         %s in lane %u\n", what, lane + 1);
}

static void print_flags(const struct module_facts *facts)
{
	print_lane_flags("no signal at the receiver", facts->receive_loss);
	print_lane_flags("no signal at the transmitter", facts->transmit_loss);
	print_lane_flags("fault of the transmitter", facts->transmit_fault);
	if (facts->hot)
		puts("  flag         the module is too hot");
	if (facts->cold)
		puts("  flag         the module is too cold");
	if (facts->high)
		puts("  flag         the module's supply is too high");
	if (facts->low)
		puts("  flag         the module's supply is too low");
}

static void print_facts(const struct module_facts *facts)
{
	if (!facts->known) {
		printf("  form         0x%02x, which this program does not know; --json has its "
		       "memory\n", facts->identifier);
		return;
	}
	printf("  form         %s, memory by %s\n", facts->form, facts->cmis ? "CMIS" : "SFF-8636");
	printf("  vendor       %s\n  part         %s\n  serial       %s\n", facts->vendor,
	       facts->part, facts->serial);
	printf("  temperature  %.1f C\n  supply       %.3f V\n", facts->celsius, facts->volts);
	if (facts->powers) {
		print_lanes("receive", facts->receive_mw);
		print_lanes("transmit", facts->transmit_mw);
	}
	print_flags(facts);
}

static void print_text(const struct util *util, const void *result)
{
	const struct modules *modules = result;

	printf("device         %s (%s)\n", util->device, litepcie_backend(util->dev));
	for (unsigned int i = 0; i < CAGES; i++) {
		if (!modules->wanted[i])
			continue;
		printf("cage %s%s\n", letters[i],
		       modules->absent[i] ? "         no module is in this cage" : "");
		if (modules->cage[i].read)
			print_facts(&modules->cage[i].facts);
	}
}

/* JSON ---------------------------------------------------------------------------------------- */

static void print_page(struct json *json, const char *key, const uint8_t *page)
{
	char digits[2 * MODULE_HALF + 1];

	for (unsigned int i = 0; i < MODULE_HALF; i++)
		snprintf(digits + 2 * i, 3, "%02x", page[i]);
	json_string(json, key, digits);
}

static void print_array(struct json *json, const char *key, const double *values)
{
	json_begin_array(json, key);
	for (unsigned int lane = 0; lane < MODULE_LANES; lane++)
		json_number(json, NULL, values[lane]);
	json_end_array(json);
}

static void json_facts(struct json *json, const struct module_facts *facts)
{
	json_string(json, "form", facts->form);
	json_string(json, "memory_by", facts->cmis ? "CMIS" : "SFF-8636");
	json_string(json, "vendor", facts->vendor);
	json_string(json, "part", facts->part);
	json_string(json, "serial", facts->serial);
	json_number(json, "temperature_c", facts->celsius);
	json_number(json, "supply_v", facts->volts);
	if (facts->powers) {
		print_array(json, "receive_mw", facts->receive_mw);
		print_array(json, "transmit_mw", facts->transmit_mw);
	}
	json_unsigned(json, "receive_loss", facts->receive_loss);
	json_unsigned(json, "transmit_loss", facts->transmit_loss);
	json_unsigned(json, "transmit_fault", facts->transmit_fault);
	json_bool(json, "too_hot", facts->hot);
	json_bool(json, "too_cold", facts->cold);
	json_bool(json, "supply_high", facts->high);
	json_bool(json, "supply_low", facts->low);
}

static void print_json(struct json *json, const void *result)
{
	const struct modules *modules = result;

	for (unsigned int i = 0; i < CAGES; i++) {
		const struct cage *cage = &modules->cage[i];

		if (!modules->wanted[i])
			continue;
		json_begin_object(json, i ? "cage_b" : "cage_a");
		json_bool(json, "present", !modules->absent[i]);
		if (cage->read) {
			json_unsigned(json, "identifier", cage->facts.identifier);
			if (cage->facts.known)
				json_facts(json, &cage->facts);
			print_page(json, "lower", cage->lower);
			print_page(json, "upper00", cage->upper);
		}
		json_end_object(json);
	}
}

/* The command --------------------------------------------------------------------------------- */

/* Read the module in cage @number. A cage without one is noted in @modules, and is no failure. */
static void read_cage(struct util *util, struct modules *modules, unsigned int number)
{
	struct cage *cage = &modules->cage[number];
	/* the bus is slow, so the text form reads only the bytes that it prints */
	const unsigned int first = util->json ? 0 : MODULE_UPPER_FIRST;
	const unsigned int bytes = util->json ? MODULE_HALF : MODULE_UPPER_USED;
	uint64_t status = 0;
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "module%u_status", number);
	rc = litepcie_register_read(util->dev, name, &status);
	util_check(util, rc, "looking into the cage");
	if (rc < 0)
		return;
	modules->absent[number] = !(status >> LITEPCIE_MODULE0_STATUS_PRESENT_OFFSET & 1);
	if (modules->absent[number])
		return;
	cage->read = module_read(util, number, 0, 0, util->json ? MODULE_HALF : MODULE_LOWER_USED,
				 cage->lower, true) &&
		     module_read(util, number, 0, MODULE_HALF + first, bytes, cage->upper + first,
				 false);
	if (cage->read)
		module_decode(&cage->facts, cage->lower, cage->upper);
}

static bool has_cage(struct util *util, unsigned int number)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };

	return litepcie_block_find(util->dev, LITEPCIE_BLOCK_MODULE, number, &block) == 0;
}

static void read_cages(struct util *util, struct modules *modules, bool all)
{
	bool any = false;

	for (unsigned int i = 0; i < CAGES; i++) {
		bool built = has_cage(util, i);

		any = any || built;
		if (modules->wanted[i] && !built && !all)
			util_fail(util, "this card's gateware has no block for cage %s", letters[i]);
		modules->wanted[i] = modules->wanted[i] && built;
	}
	if (!any && all)
		util_fail(util, "this card's gateware has no blocks for modules; they are built by "
			  "--card, for boards whose cages' pins are known");
	for (unsigned int i = 0; i < CAGES; i++)
		if (modules->wanted[i] && !util_interrupted())
			read_cage(util, modules, i);
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct modules modules = { 0 };
	int option;
	bool all;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (option == 'h')
			return util_help(&cmd_module);
		return util_bad_option(util, option, argv[optind - 1]);
	}
	all = optind == argc;
	for (unsigned int i = 0; i < CAGES; i++)
		modules.wanted[i] = all || strcmp(argv[optind], letters[i]) == 0;
	if (!modules.wanted[0] && !modules.wanted[1])
		return util_usage(util, "%s: a cage is A or B", argv[optind]);
	if (!all && optind + 1 < argc)
		return util_usage(util, "%s: module takes one cage", argv[optind + 1]);
	if (util_open(util))
		read_cages(util, &modules, all);
	return util_finish(util, util->dev && !util_interrupted() && !util->failed ? &modules : NULL,
			   print_text, print_json);
}

static const char help[] =
	"[-d DEVICE | -c N] [--json] module [A|B]\n"
	"\n"
	"Print what the QSFP module in cage A or B says of itself, or those in both:\n"
	"vendor, part, serial number, temperature, supply, the power of each lane and the\n"
	"flags that are set. --json also has the bytes of its lower memory and of upper\n"
	"page 00. A cage without a module is said, and is no failure.\n"
	"\n"
	"examples:\n"
	"  litepcie_util module A\n"
	"  litepcie_util --json module B | jq -r .cage_b.lower\n";

const struct command cmd_module = {
	.name = "module",
	.summary = "what the QSFP modules in the card's cages say of themselves",
	.help = help,
	.run = run,
};
