/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The mailbox has two rings of bytes between host and firmware, and a slot for one command of the
 * host.
 *
 * Each side writes to its own words only.  A byte is in a ring before the ring's head counts it.
 */
#ifndef FIRMWARE_MAILBOX_H
#define FIRMWARE_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

/* Empties both rings and the slot, and tells the host that the firmware listens. */
void mailbox_init(void);

/* Takes one byte of the host from the ring.  Returns false if the ring is empty. */
bool mailbox_take(char *byte);

/* Returns how many more bytes fit into the ring to the host. */
uint32_t mailbox_room(void);

/* Gives the host a byte.  If the ring is full, the byte is lost: the firmware never waits. */
void mailbox_put(char byte);

/* Give the host a text, or eight hexadecimal digits, byte by byte as mailbox_put() does. */
void mailbox_text(const char *text);
void mailbox_hex(uint32_t value);

/* Interrupts the host if the firmware has given it bytes or an answer since the last call. */
void mailbox_ring(void);

/* Answers the host's command if it is a new one. */
void mailbox_command(void);

#endif /* FIRMWARE_MAILBOX_H */
