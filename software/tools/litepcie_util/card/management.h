/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Access the card's management CPU from the host: its state, its image, and the rings of its
 * mailbox. A function of type bool returns false and notes a failure if the card could not be
 * accessed, or for a reason that its comment gives.
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
	unsigned int	state;		/* state of the CPU: one of LITEPCIE_CPU_STATE_... */
	bool		awake;		/* true: the CPU runs code and does not sleep */
	/*
	 * number of starts of the CPU in a row, up to the last one, in which its firmware gave no
	 * heartbeat (sign of life)
	 */
	unsigned int	failures;
};

/*
 * Find the management CPU of the open card. Returns false and notes a failure if the card has none,
 * or one of a version that this program does not know.
 */
bool management_find(struct util *util, struct management *cpu);

bool management_status(struct management *cpu, struct management_status *status);

/* Returns the name of @state, a LITEPCIE_CPU_STATE_ value, or "unknown" for any other number. */
const char *management_state(unsigned int state);

/*
 * Wait until the card has checked the CPU's image, and the CPU sleeps or does not run. @status gets
 * the last state. Returns false if the state cannot be read. After 90 s or Ctrl-C the wait ends,
 * too, with the result true. So the caller must check @status.
 */
bool management_wait(struct management *cpu, struct management_status *status);

/*
 * Hold the CPU in reset, write @bytes of @image to the CPU's memory, read them back, and let the
 * CPU start. @bytes is a multiple of 4. If a word differs when it is read back, the function
 * returns false and notes a failure, and the CPU stays in reset.
 */
bool management_load(struct management *cpu, const uint8_t *image, size_t bytes);

/* Read or write the 32-bit word of the mailbox at offset @word, in bytes. */
bool mailbox_read(struct management *cpu, uint32_t word, uint32_t *value);
bool mailbox_write(struct management *cpu, uint32_t word, uint32_t value);

/* Write to the CPU's doorbell register, which tells the firmware to look into its mailbox. */
bool mailbox_ring(struct management *cpu);

/*
 * Put as many of the @bytes bytes of @text into the mailbox's ring to the CPU as it has room for.
 * *@taken becomes their number. The function does not wait for room.
 */
bool mailbox_send(struct management *cpu, const char *text, size_t bytes, size_t *taken);

/*
 * Take up to @room bytes that the CPU has printed from the mailbox's ring into @text. *@got becomes
 * their number; 0: the CPU has printed nothing new.
 */
bool mailbox_receive(struct management *cpu, char *text, size_t room, size_t *got);

#endif /* LITEPCIE_UTIL_MANAGEMENT_H */
