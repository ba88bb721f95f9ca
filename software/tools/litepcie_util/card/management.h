/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The card's management CPU from the host's side: its state, its image and the rings of its
 * mailbox. Each function returns false, and has noted the failure, if the card could not be
 * reached.
 */
#ifndef LITEPCIE_UTIL_MANAGEMENT_H
#define LITEPCIE_UTIL_MANAGEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct management {
	struct util		*util;
	struct litepcie_block	block;
};

struct management_status {
	unsigned int	state;		/* LITEPCIE_CPU_STATE_... */
	bool		awake;
	unsigned int	failures;	/* starts of the CPU in a row that gave no heartbeat */
};

/* Find the management CPU of the open card. A card without one is a failure. */
bool management_find(struct util *util, struct management *cpu);

bool management_status(struct management *cpu, struct management_status *status);

/* Returns the name of a LITEPCIE_CPU_STATE_ value. */
const char *management_state(unsigned int state);

/*
 * Wait until the CPU has judged its image and its first turn is over: it sleeps, or it does not
 * run. The wait ends after 90 s or with Ctrl-C, too. So @status, which gets the last state, must be
 * looked at.
 */
bool management_wait(struct management *cpu, struct management_status *status);

/*
 * Hold the CPU, write @bytes of @image to its memory, read them back, and let the CPU start. @bytes
 * is a multiple of 4. If a word differs when it is read back, the CPU stays held.
 */
bool management_load(struct management *cpu, const uint8_t *image, size_t bytes);

/* Read or write the 32-bit word of the mailbox at offset @word, a LITEPCIE_MAILBOX_ value. */
bool mailbox_read(struct management *cpu, uint32_t word, uint32_t *value);
bool mailbox_write(struct management *cpu, uint32_t word, uint32_t value);

/* Wake the CPU to look at its mailbox. */
bool mailbox_ring(struct management *cpu);

/*
 * Give the CPU at most @bytes of @text, without waiting for room in the mailbox's ring. @taken gets
 * the number of bytes that had room.
 */
bool mailbox_send(struct management *cpu, const char *text, size_t bytes, size_t *taken);

/*
 * Take at most @room bytes that the CPU has printed. @got gets their number, 0 if there are none.
 */
bool mailbox_receive(struct management *cpu, char *text, size_t room, size_t *got);

#endif /* LITEPCIE_UTIL_MANAGEMENT_H */
