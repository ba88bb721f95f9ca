/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Puts the modules into reset and low power at over-temperature.
 */
#include "heat.h"

#include "card.h"
#include "log.h"

/*
 * Puts both modules into low power, and with @reset also into reset.  Without @reset their reset
 * ends.  A board without known cages has no modules.
 */
static void modules(bool reset)
{
#ifdef CARD_MODULE0_CONTROL
	reg_write(CARD_MODULE0_CONTROL, CARD_MODULE0_CONTROL_LOW_POWER |
		  (reset ? CARD_MODULE0_CONTROL_RESET : 0));
#endif
#ifdef CARD_MODULE1_CONTROL
	reg_write(CARD_MODULE1_CONTROL, CARD_MODULE1_CONTROL_LOW_POWER |
		  (reset ? CARD_MODULE1_CONTROL_RESET : 0));
#endif
	(void)reset;
}

static void hot(void)
{
	modules(true);
	log_text("hot: modules in reset\n");
}

static void cool(void)
{
	modules(false);
	log_text("cool: modules in low power\n");
}

void heat_init(void)
{
	if (reg_read(OWN_HOT) & 1)
		hot();
}

void heat_poll(uint32_t events)
{
	if (events & EVENT_HOT)
		hot();
	/* Both events may have come, in any order, so the present state decides. */
	if (events & EVENT_COOL && !(reg_read(OWN_HOT) & 1))
		cool();
}
