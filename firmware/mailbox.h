/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The mailbox: two rings of bytes between host and firmware, and a slot for one command of the host.
 *
 * Each side writes to its own words only.  A byte is in the ring before its head says so.
 */
#ifndef FIRMWARE_MAILBOX_H
#define FIRMWARE_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

/* Empties both rings and the slot, and tells the host that somebody listens. */
void mailbox_init(void);

/* Takes one byte of the host.  Returns false if there is none. */
bool mailbox_take(char *byte);

/* How many bytes the ring to the host has room for. */
uint32_t mailbox_room(void);

/* Gives the host a byte.  A byte that has no room is lost: the firmware waits for nobody. */
void mailbox_put(char byte);
void mailbox_text(const char *text);
void mailbox_hex(uint32_t value);

/* Interrupts the host if it has got bytes or an answer since the last call. */
void mailbox_ring(void);

/* Answers the host's command, if there is a new one. */
void mailbox_command(void);

#endif /* FIRMWARE_MAILBOX_H */
