/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Access the card's management CPU from the host: its state, its image, and the rings of its
 * mailbox. A function of type bool returns false if the card could not be accessed. The failure is
 * then noted.
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
	bool		awake;
	unsigned int	failures;	/* starts of the CPU in a row without a heartbeat */
};

/* Find the management CPU of the open card. A card without one is a failure. */
bool management_find(struct util *util, struct management *cpu);

bool management_status(struct management *cpu, struct management_status *status);

/* Returns the name of a LITEPCIE_CPU_STATE_ value. */
const char *management_state(unsigned int state);

/*
 * Wait until the card has checked the CPU's image and the CPU sleeps or does not run. The wait also
 * ends after 90 s and with Ctrl-C, so the caller must check @status, which gets the last state.
 */
bool management_wait(struct management *cpu, struct management_status *status);

/*
 * Hold the CPU in reset, write @bytes of @image to its memory, read them back, and let the CPU
 * start. @bytes is a multiple of 4. If a word differs when it is read back, the failure is noted,
 * and the CPU stays in reset.
 */
bool management_load(struct management *cpu, const uint8_t *image, size_t bytes);

/* Read or write the 32-bit word of the mailbox at offset @word, a LITEPCIE_MAILBOX_ value. */
bool mailbox_read(struct management *cpu, uint32_t word, uint32_t *value);
bool mailbox_write(struct management *cpu, uint32_t word, uint32_t value);

/* Ring the CPU's doorbell, so that the CPU wakes up and reads its mailbox. */
bool mailbox_ring(struct management *cpu);

/*
 * Send up to @bytes of @text to the CPU, without waiting for room in the mailbox's ring. *@taken
 * becomes the number of bytes that were sent.
 */
bool mailbox_send(struct management *cpu, const char *text, size_t bytes, size_t *taken);

/*
 * Take up to @room bytes that the CPU has printed. *@got becomes the number of bytes; 0: the CPU
 * has printed nothing new.
 */
bool mailbox_receive(struct management *cpu, char *text, size_t room, size_t *got);

#endif /* LITEPCIE_UTIL_MANAGEMENT_H */
