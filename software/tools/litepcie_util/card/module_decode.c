/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Decode the memory of a transceiver module. The offsets are those of SFF-8636 revision 2.10a and
 * of CMIS 5.2. Numbers of more than a byte are big-endian.
 */
#include "module_decode.h"

#include <stddef.h>
#include <string.h>

#include "module_memory.h"

/* Offsets in bytes in the memory of a module that follows SFF-8636. */
enum {
	/*
	 * signal lost, a bit for each lane: bits 0 to 3 at the receiver, 4 to 7 at the transmitter
	 */
	SFF_LOSS = 3,
	SFF_FAULT = 4,		/* bits 0 to 3: fault of the transmitter, by lane */
	SFF_HEAT = 6,		/* alarms: bit 7: temperature too high, bit 6: too low */
	SFF_SUPPLY = 7,		/* alarms: bit 7: supply voltage too high, bit 6: too low */
	SFF_TEMPERATURE = 22,
	SFF_VOLTAGE = 26,
	SFF_RECEIVE = 34,
	SFF_TRANSMIT = 50,
	SFF_VENDOR = 148,
	SFF_PART = 168,
	SFF_SERIAL = 196,
};

/* Offsets in bytes in the memory of a module that follows CMIS. */
enum {
	/* alarms: bit 0: too hot, bit 1: too cold, bit 4: supply too high, bit 5: supply too low */
	CMIS_FLAGS = 9,
	CMIS_TEMPERATURE = 14,
	CMIS_VOLTAGE = 16,
	CMIS_VENDOR = 129,
	CMIS_PART = 148,
	CMIS_SERIAL = 166,
};

/* The known form factors: number by SFF-8024, name, and true if the memory follows CMIS. */
static const struct {
	unsigned int	number;
	const char	*name;
	bool		cmis;
} forms[] = {
	{ 0x0c, "QSFP", false },
	{ 0x0d, "QSFP+", false },
	{ 0x11, "QSFP28", false },
	{ 0x18, "QSFP-DD", true },
	{ 0x19, "OSFP", true },
	{ 0x1e, "QSFP+ or later with CMIS", true },
};

static unsigned int word(const uint8_t *at)
{
	return (unsigned int)at[0] << 8 | at[1];
}

/* Returns a temperature in degrees Celsius. The memory has it as a signed number of 1/256 C. */
static double temperature(const uint8_t *at)
{
	return (int16_t)word(at) / 256.0;
}

/* Returns a voltage in volts. The memory has it in units of 100 uV. */
static double voltage(const uint8_t *at)
{
	return word(at) / 1e4;
}

/*
 * Copy a text of 16 characters, without the spaces and zero bytes at its end, and terminate it. A
 * byte that is no printable ASCII character becomes '?', since a module's memory may have anything.
 */
static void text(char *to, const uint8_t *from)
{
	size_t length = MODULE_TEXT - 1;

	while (length && (from[length - 1] == ' ' || from[length - 1] == 0))
		length--;
	for (size_t i = 0; i < length; i++)
		to[i] = from[i] >= ' ' && from[i] < 0x7f ? (char)from[i] : '?';
	to[length] = 0;
}

static void decode_sff(struct module_facts *facts, const uint8_t *lower, const uint8_t *upper)
{
	text(facts->vendor, upper + SFF_VENDOR - MODULE_HALF);
	text(facts->part, upper + SFF_PART - MODULE_HALF);
	text(facts->serial, upper + SFF_SERIAL - MODULE_HALF);
	facts->celsius = temperature(lower + SFF_TEMPERATURE);
	facts->volts = voltage(lower + SFF_VOLTAGE);
	facts->powers = true;
	for (unsigned int lane = 0; lane < MODULE_LANES; lane++) {
		/* The memory has the optical powers in units of 0.1 uW. */
		facts->receive_mw[lane] = word(lower + SFF_RECEIVE + 2 * lane) / 1e4;
		facts->transmit_mw[lane] = word(lower + SFF_TRANSMIT + 2 * lane) / 1e4;
	}
	facts->receive_loss = lower[SFF_LOSS] & 0xf;
	facts->transmit_loss = lower[SFF_LOSS] >> 4;
	facts->transmit_fault = lower[SFF_FAULT] & 0xf;
	facts->hot = lower[SFF_HEAT] >> 7 & 1;
	facts->cold = lower[SFF_HEAT] >> 6 & 1;
	facts->high = lower[SFF_SUPPLY] >> 7 & 1;
	facts->low = lower[SFF_SUPPLY] >> 6 & 1;
}

/* With CMIS the optical powers of the lanes are in upper page 11h, which is not decoded here. */
static void decode_cmis(struct module_facts *facts, const uint8_t *lower, const uint8_t *upper)
{
	text(facts->vendor, upper + CMIS_VENDOR - MODULE_HALF);
	text(facts->part, upper + CMIS_PART - MODULE_HALF);
	text(facts->serial, upper + CMIS_SERIAL - MODULE_HALF);
	facts->celsius = temperature(lower + CMIS_TEMPERATURE);
	facts->volts = voltage(lower + CMIS_VOLTAGE);
	facts->hot = lower[CMIS_FLAGS] & 1;
	facts->cold = lower[CMIS_FLAGS] >> 1 & 1;
	facts->high = lower[CMIS_FLAGS] >> 4 & 1;
	facts->low = lower[CMIS_FLAGS] >> 5 & 1;
}

void module_decode(struct module_facts *facts, const uint8_t *lower, const uint8_t *upper)
{
	memset(facts, 0, sizeof(*facts));
	facts->identifier = lower[0];
	facts->form = "of an unknown form";
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].number != lower[0])
			continue;
		facts->form = forms[i].name;
		facts->cmis = forms[i].cmis;
		facts->known = true;
	}
	if (facts->known && facts->cmis)
		decode_cmis(facts, lower, upper);
	else if (facts->known)
		decode_sff(facts, lower, upper);
}
