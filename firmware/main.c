/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The management CPU's firmware is one loop, which sleeps until an event comes.  No part of the
 * loop waits for anything else.
 */
#include "card.h"
#include "console.h"
#include "heat.h"
#include "log.h"
#include "mailbox.h"

int main(void)
{
	log_init();
	log_text("start\n");
	mailbox_init();
	heat_init();
	reg_write(OWN_TICK, TICK_SECOND);

	for (;;) {
		uint32_t events = reg_read(OWN_EVENTS);

		/* An event that comes from here on ends the next sleep at once, so none is missed. */
		reg_write(OWN_EVENTS, events);
		reg_write(OWN_HEARTBEAT, 1);
		heat_poll(events);
		mailbox_command();
		console_poll();
		mailbox_ring();
		reg_write(OWN_SLEEP, EVENT_ALL);
	}
}
