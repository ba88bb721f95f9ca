/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command module: print what the memory of the transceiver module in one or each QSFP cage of
 * the card says. Of a module's memory only the number of the selected page is written. Reading the
 * latched flags of a module may clear them.
 */
#include <math.h>
#include <string.h>

#include "describe/layout.h"
#include "litepcie_capability.h"
#include "module_decode.h"
#include "module_memory.h"

#define CAGES	2u

struct cage {
	bool			read;	/* true: the module's memory was read */
	uint8_t			lower[MODULE_HALF], upper[MODULE_HALF];
	struct module_facts	facts;
};

struct modules {
	/*
	 * true: the module in this cage is to be read and printed: the command line names this cage
	 * or none, and the gateware can read it
	 */
	bool		wanted[CAGES];
	bool		absent[CAGES];	/* true: no module is in the cage */
	struct cage	cage[CAGES];
};

static const char *const letters[CAGES] = { "A", "B" };

/* Printing what modules say -------------------------------------------------------------------- */

/* Print the optical power of each lane in mW. The text has dBm, too, for a power above 0. */
static void print_lanes(const struct emit *out, const char *key, const char *name,
			const double *powers)
{
	emit_array(out, key);
	emit_text(out, "  %-12s", name);
	for (unsigned int lane = 0; lane < MODULE_LANES; lane++) {
		emit_number(out, EMIT_ELEMENT, NULL, powers[lane]);
		if (powers[lane] > 0)
			emit_text(out, "  %.4f mW (%.1f dBm)", powers[lane],
				  10 * log10(powers[lane]));
		else
			emit_text(out, "  0 mW");
	}
	emit_text(out, "\n");
	emit_array_end(out);
}

static void print_lane_flags(const struct emit *out, const char *key, const char *what,
			     unsigned int bits)
{
	emit_unsigned(out, key, NULL, bits);
	for (unsigned int lane = 0; lane < MODULE_LANES; lane++)
		if (bits >> lane & 1)
			emit_text(out, "  flag         %s in lane %u\n", what, lane + 1);
}

static void print_flag(const struct emit *out, const char *key, const char *what, bool set)
{
	emit_bool(out, key, set);
	if (set)
		emit_text(out, "  flag         the module%s\n", what);
}

static void print_flags(const struct emit *out, const struct module_facts *facts)
{
	print_lane_flags(out, "receive_loss", "no signal at the receiver", facts->receive_loss);
	print_lane_flags(out, "transmit_loss", "no signal at the transmitter",
			 facts->transmit_loss);
	print_lane_flags(out, "transmit_fault", "fault of the transmitter", facts->transmit_fault);
	print_flag(out, "too_hot", " is too hot", facts->hot);
	print_flag(out, "too_cold", " is too cold", facts->cold);
	print_flag(out, "supply_high", "'s supply is too high", facts->high);
	print_flag(out, "supply_low", "'s supply is too low", facts->low);
}

static void print_facts(const struct emit *out, const struct module_facts *facts)
{
	emit_unsigned(out, "identifier", facts->known ? NULL : "  form         0x%02llx, which this "
		      "program does not know; --json has its memory\n", facts->identifier);
	if (!facts->known)
		return;
	emit_string(out, "form", "  form         %s", facts->form);
	emit_string(out, "memory_by", ", memory by %s\n", facts->cmis ? "CMIS" : "SFF-8636");
	emit_string(out, "vendor", "  vendor       %s\n", facts->vendor);
	emit_string(out, "part", "  part         %s\n", facts->part);
	emit_string(out, "serial", "  serial       %s\n", facts->serial);
	emit_number(out, "temperature_c", "  temperature  %.1f C\n", facts->celsius);
	emit_number(out, "supply_v", "  supply       %.3f V\n", facts->volts);
	if (facts->powers) {
		print_lanes(out, "receive_mw", "receive", facts->receive_mw);
		print_lanes(out, "transmit_mw", "transmit", facts->transmit_mw);
	}
	print_flags(out, facts);
}

/* Write the 128 bytes @half of the module's memory to JSON as hexadecimal digits. */
static void print_half(const struct emit *out, const char *key, const uint8_t *half)
{
	char digits[2 * MODULE_HALF + 1];

	for (unsigned int i = 0; i < MODULE_HALF; i++)
		snprintf(digits + 2 * i, 3, "%02x", half[i]);
	emit_string(out, key, NULL, digits);
}

static void print(const struct emit *out, const void *result)
{
	const struct modules *modules = result;

	emit_text(out, "device         %s (%s)\n", out->util->device,
		  litepcie_backend(out->util->dev));
	for (unsigned int i = 0; i < CAGES; i++) {
		const struct cage *cage = &modules->cage[i];

		if (!modules->wanted[i])
			continue;
		emit_object(out, i ? "cage_b" : "cage_a");
		emit_text(out, "cage %s%s\n", letters[i],
			  modules->absent[i] ? "         no module is in this cage" : "");
		emit_bool(out, "present", !modules->absent[i]);
		if (cage->read) {
			print_facts(out, &cage->facts);
			print_half(out, "lower", cage->lower);
			print_half(out, "upper00", cage->upper);
		}
		emit_object_end(out);
	}
}

/* The command module -------------------------------------------------------------------------- */

/*
 * Read and decode the memory of the module in cage @number. If the cage has no module,
 * modules->absent becomes true, and no failure is noted. Failures of the card or the module are
 * noted.
 */
static void read_cage(struct util *util, struct modules *modules, unsigned int number)
{
	struct cage *cage = &modules->cage[number];
	/*
	 * The module's bus is slow, so without --json only the bytes that the text needs are read.
	 */
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

static int run(struct util *util)
{
	struct modules modules = { 0 };

	for (unsigned int i = 0; i < CAGES; i++)
		modules.wanted[i] = !util->word_count || strcmp(util->words[0], letters[i]) == 0;
	if (!modules.wanted[0] && !modules.wanted[1])
		return util_usage(util, "%s: a cage is A or B", util->words[0]);
	if (util_open(util))
		read_cages(util, &modules, !util->word_count);
	return util_emit(util, util->failed || util_interrupted() ? NULL : &modules, print);
}

const struct command cmd_module = {
	.name = "module",
	.summary = "what the QSFP modules in the card's cages say of themselves",
	.usage = "[-d DEVICE | -c N] [--json] module [A|B]",
	.about =
		"Print what the QSFP module in cage A or B says of itself, or those in both:\n"
		"vendor, part, serial number, temperature, supply, the power of each lane and the\n"
		"flags that are set. --json also has the bytes of its lower memory and of upper\n"
		"page 00. A cage without a module is said, and is no failure.\n",
	.most = 1,
	.takes = "one cage, A or B",
	.examples =
		"  litepcie_util module A\n"
		"  litepcie_util --json module B | jq -r .cage_b.lower\n",
	.run = run,
};
