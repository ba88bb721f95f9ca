/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Leads back from an update that does not work.
 */
#ifndef FIRMWARE_UPDATE_H
#define FIRMWARE_UPDATE_H

/*
 * If a reboot has started the application, the link to the host must come up within the first 60
 * ticks, which are 64 s at 250 MHz.  Otherwise the golden image is booted.  The golden image itself
 * is never left in this way, and neither is an image that JTAG or power-on has started.
 */
void update_init(void);

/* Counts a tick of a second. */
void update_tick(void);

#endif /* FIRMWARE_UPDATE_H */
