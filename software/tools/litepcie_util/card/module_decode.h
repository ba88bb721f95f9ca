/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Decode the memory of a transceiver module. The memory of QSFP, QSFP+ and QSFP28 follows SFF-8636.
 * That of QSFP-DD, OSFP and newer QSFP modules follows CMIS, and of it neither the optical powers
 * nor the flags of lanes are decoded.
 */
#ifndef LITEPCIE_UTIL_MODULE_DECODE_H
#define LITEPCIE_UTIL_MODULE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define MODULE_LANES	4u
/*
 * The bytes that module_decode() uses lie in the first MODULE_LOWER_USED bytes of lower memory, and
 * in the MODULE_UPPER_USED bytes of upper page 00 from byte MODULE_UPPER_FIRST of the page on.
 */
#define MODULE_LOWER_USED	58u
#define MODULE_UPPER_FIRST	1u
#define MODULE_UPPER_USED	83u
#define MODULE_TEXT	17u	/* size of a text of 16 characters, with its terminating 0 */

struct module_facts {
	unsigned int	identifier;		/* number of the module's form factor by SFF-8024 */
	const char	*form;			/* name of the module's form factor */
	bool		cmis;			/* true: the memory follows CMIS, not SFF-8636 */
	bool		known;			/* true: the memory's layout is known and decoded */
	char		vendor[MODULE_TEXT], part[MODULE_TEXT], serial[MODULE_TEXT];
	double		celsius, volts;
	/* true: @receive_mw and @transmit_mw are valid; they are optical powers in milliwatts */
	bool		powers;
	double		receive_mw[MODULE_LANES], transmit_mw[MODULE_LANES];
	/*
	 * latched flags of SFF-8636 with a bit for each lane: no signal at the receiver, no signal
	 * at the transmitter, fault of the transmitter; 0 with CMIS
	 */
	unsigned int	receive_loss, transmit_loss, transmit_fault;
	/*
	 * Alarms of the module. @hot: its temperature is too high; @cold: it is too low. @high: its
	 * supply voltage is too high; @low: it is too low.
	 */
	bool		hot, cold, high, low;
};

/*
 * Decode the memory of a module into @facts. @lower has the 128 bytes of lower memory, and @upper
 * the 128 bytes of upper page 00.
 */
void module_decode(struct module_facts *facts, const uint8_t *lower, const uint8_t *upper);

#endif /* LITEPCIE_UTIL_MODULE_DECODE_H */
