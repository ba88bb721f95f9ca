/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Decode the memory of a QSFP module: by SFF-8636 for QSFP+ and QSFP28, and by the basics of CMIS
 * for QSFP-DD, OSFP and newer QSFP.
 */
#ifndef LITEPCIE_UTIL_MODULE_DECODE_H
#define LITEPCIE_UTIL_MODULE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define MODULE_LANES	4u
/*
 * The bytes that module_decode() looks at: the first MODULE_LOWER_USED bytes of lower memory, and
 * MODULE_UPPER_USED bytes of upper page 00 from byte MODULE_UPPER_FIRST of the page on.
 */
#define MODULE_LOWER_USED	58u
#define MODULE_UPPER_FIRST	1u
#define MODULE_UPPER_USED	83u
#define MODULE_TEXT	17u	/* bytes of a text of 16 characters, with its end */

struct module_facts {
	unsigned int	identifier;		/* SFF-8024's number of the form of module */
	const char	*form;			/* name of the form of module */
	bool		cmis;			/* the memory is laid out by CMIS, not by SFF-8636 */
	bool		known;			/* the layout of the memory is known */
	char		vendor[MODULE_TEXT], part[MODULE_TEXT], serial[MODULE_TEXT];
	double		celsius, volts;
	/* true: the two arrays are valid, in mW for each lane */
	bool		powers;
	double		receive_mw[MODULE_LANES], transmit_mw[MODULE_LANES];
	/* latched flags of SFF-8636, a bit for each lane */
	unsigned int	receive_loss, transmit_loss, transmit_fault;
	/* alarms: temperature too high or too low, supply voltage too high or too low */
	bool		hot, cold, high, low;
};

/*
 * Decode @lower, the 128 bytes of lower memory, and @upper, those of upper page 00.
 */
void module_decode(struct module_facts *facts, const uint8_t *lower, const uint8_t *upper);

#endif /* LITEPCIE_UTIL_MODULE_DECODE_H */
