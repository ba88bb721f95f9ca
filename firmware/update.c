/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Watches the link in the first minute after a reboot.
 */
#include "update.h"

#include "card.h"
#include "log.h"

static uint32_t seconds;
static bool watching;

void update_init(void)
{
	uint32_t boot = reg_read(CARD_REBOOT_BOOTSTS);

	seconds = 0;
	watching = (boot & (BOOT_VALID | BOOT_BY_REBOOT | BOOT_FALLBACK)) ==
		   (BOOT_VALID | BOOT_BY_REBOOT);
}

void update_tick(void)
{
	if (!watching)
		return;
	seconds++;
	if (reg_read(CARD_PCIE_PHY_LINK_STATUS) & CARD_PCIE_PHY_LINK_STATUS_STATUS) {
		watching = false;
		log_text("link is up\n");
	} else if (seconds >= UPDATE_SECONDS) {
		watching = false;
		log_text("no link: golden image\n");
		reg_write(CARD_REBOOT_ADDRESS, 0);
		reg_write(CARD_REBOOT_GO, BOOT_WORD);
	}
}
