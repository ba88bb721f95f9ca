/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command sensors: print the temperature and the supply voltages that the FPGA's system monitor
 * measures, and its alarms. The command writes no register, so it needs no more rights than opening
 * the card.
 */
#include <time.h>

#include "litepcie_capability.h"
#include "util.h"

/*
 * The command waits until this number of sequences of measurements have ended. A sequence measures
 * each channel once. The first sequence may have begun before the command was called, so only the
 * second one is new in all channels.
 */
#define SEQUENCES	2u
/*
 * A sequence of measurements takes less than a millisecond of device time. The command fails if
 * fewer than SEQUENCES have ended when PATIENCE_S seconds have passed and the count of sequences
 * was read more than LOOKS times. The number of reads counts because the device time of a simulated
 * card may run only while its registers are accessed.
 */
#define PATIENCE_S	1.0
#define LOOKS		20000u
#define NAP_NS		20000
#define ALARMS		5u

struct sensors {
	double		celsius;
	double		volts[3];
	uint32_t	alarms;	/* alarms that are on; bit i is that of alarm_names[i] */
	uint32_t	seen;	/* alarms that have been on since the card's reset, same bits */
};

static const char *const supply_names[3] = { "vccint", "vccaux", "vccbram" };
static const char *const alarm_names[ALARMS] = {
	"over_temperature", "temperature", "vccint", "vccaux", "vccbram",
};
static const char *const alarm_texts[ALARMS] = {
	"the FPGA is at its limit of temperature", "the FPGA is hot", "VCCINT is out of its limits",
	"VCCAUX is out of its limits", "VCCBRAM is out of its limits",
};

/* Reading the measurements -------------------------------------------------------------------- */

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * Wait until all channels have been measured anew. Returns false after Ctrl-C, or after a failure,
 * which is then noted.
 */
static bool await_fresh(struct util *util)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	double end = now_s() + PATIENCE_S;
	uint64_t first = 0, count = 0;
	int rc = litepcie_register_read(util->dev, "sensors_sequences", &first);

	for (unsigned int looks = 0; rc == 0 && !util_interrupted(); looks++) {
		rc = litepcie_register_read(util->dev, "sensors_sequences", &count);
		if (rc == 0 && (uint32_t)(count - first) >= SEQUENCES)
			return true;
		if (rc == 0 && looks >= LOOKS && now_s() > end) {
			util_fail(util, "the card's system monitor measures nothing: no sequence "
				  "of measurements has ended in %u looks", looks);
			return false;
		}
		nanosleep(&nap, NULL);
	}
	util_check(util, rc, "waiting for a measurement");
	return false;
}

static double temperature(double code)
{
	const double full = 1u << LITEPCIE_SENSORS_CODE_BITS;

	return code * LITEPCIE_SENSORS_TEMPERATURE_SPAN / full - LITEPCIE_SENSORS_TEMPERATURE_OFFSET;
}

static double voltage(double code)
{
	return code * LITEPCIE_SENSORS_VOLTAGE_FULL / (1u << LITEPCIE_SENSORS_CODE_BITS);
}

/*
 * Read the register of channel @name and return the channel's code, a number of
 * LITEPCIE_SENSORS_CODE_BITS bits. The register has only the upper @bits of them, and the lower
 * bits are returned as 0. A failure is noted.
 */
static double read_code(struct util *util, const char *name, unsigned int bits)
{
	uint64_t value = 0;
	char full[64];

	snprintf(full, sizeof(full), "sensors_monitor_%s", name);
	util_check(util, litepcie_register_read(util->dev, full, &value), full);
	return (double)(value << (LITEPCIE_SENSORS_CODE_BITS - bits));
}

static void measure(struct util *util, struct sensors *sensors, unsigned int bits)
{
	uint64_t alarms = 0, seen = 0;

	sensors->celsius = temperature(read_code(util, "temperature", bits));
	for (unsigned int i = 0; i < 3; i++)
		sensors->volts[i] = voltage(read_code(util, supply_names[i], bits));
	util_check(util, litepcie_register_read(util->dev, "sensors_alarms", &alarms),
		   "reading the alarms");
	util_check(util, litepcie_register_read(util->dev, "sensors_seen", &seen),
		   "reading the alarms");
	sensors->alarms = (uint32_t)alarms;
	sensors->seen = (uint32_t)seen;
}

/* Printing the measurements ------------------------------------------------------------------- */

/* Print the temperature and the voltages. */
static void print_values(const struct emit *out, const struct sensors *sensors)
{
	char key[32];

	emit_text(out, "device         %s (%s)\n", out->util->device,
		  litepcie_backend(out->util->dev));
	emit_number(out, "temperature_c", "temperature    %.1f C\n", sensors->celsius);
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%s_v", supply_names[i]);
		emit_text(out, "%-14s ", supply_names[i]);
		emit_number(out, key, "%.3f V\n", sensors->volts[i]);
	}
}

/* Write the names of the alarms in @bits to JSON. Text gets nothing here. */
static void print_alarms(const struct emit *out, const char *key, uint32_t bits)
{
	emit_array(out, key);
	for (unsigned int i = 0; i < ALARMS; i++)
		if (bits >> i & 1)
			emit_string(out, EMIT_ELEMENT, NULL, alarm_names[i]);
	emit_array_end(out);
}

static void print(const struct emit *out, const void *result)
{
	const struct sensors *sensors = result;

	print_values(out, sensors);
	for (unsigned int i = 0; i < ALARMS; i++)
		if (sensors->alarms >> i & 1)
			emit_text(out, "alarm          %s%s%s\n",
				  util_colour(out->util, COLOUR_BAD), alarm_texts[i],
				  util_colour(out->util, COLOUR_END));
		else if (sensors->seen >> i & 1)
			emit_text(out, "earlier alarm  %s, not now\n", alarm_texts[i]);
	if (!sensors->seen)
		emit_text(out, "alarms         none since the card's reset\n");
	print_alarms(out, "alarms", sensors->alarms);
	print_alarms(out, "alarms_since_reset", sensors->seen);
}

/* The command sensors ------------------------------------------------------------------------- */

static int run(struct util *util)
{
	struct sensors sensors = { 0 };
	struct litepcie_block block = { .struct_size = sizeof(block) };

	if (!util_open(util))
		return util_emit(util, NULL, print);
	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_SENSORS, 0, &block) < 0)
		util_fail(util, "this card's gateware has no sensors; they are built by --card");
	else if (util_knows_block(util, &block, "sensor block", LITEPCIE_SENSORS_VALUE_BITS) &&
		 await_fresh(util))
		measure(util, &sensors, block.parameter[LITEPCIE_SENSORS_VALUE_BITS]);
	return util_emit(util, util->failed || util_interrupted() ? NULL : &sensors, print);
}

const struct command cmd_sensors = {
	.name = "sensors",
	.summary = "temperature and voltages of the FPGA, and their alarms",
	.usage = "[-d DEVICE | -c N] [--json] sensors",
	.about =
		"Print the temperature of the FPGA, three of its supply voltages, and the alarms\n"
		"that are on or have been on since the card's reset. All values are measured\n"
		"after the command was called. Nothing in the card is changed.\n"
		"\n"
		"An alarm does not make the command fail: the exit status is 0 if the card could\n"
		"be read.\n",
	.examples =
		"  litepcie_util sensors\n"
		"  litepcie_util --json sensors | jq .temperature_c\n",
	.run = run,
};
