/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The log holds the last 2 KiB of the firmware's messages.  A reset does not clear it, so the host
 * finds the last messages from before a reset.  A new message overwrites the oldest ones, so the
 * firmware never waits for a reader.
 */
#ifndef FIRMWARE_LOG_H
#define FIRMWARE_LOG_H

#include <stdint.h>

/* Keeps the log as it was before the reset.  If the memory holds no log, an empty one begins. */
void log_init(void);

/* Append a text, or a number in decimal, to the log.  Neither adds the end of a line. */
void log_text(const char *text);
void log_number(uint32_t value);

/*
 * Gives at most @room bytes of the log to @put.  The first is byte number *@at of all bytes that
 * were ever logged, or the oldest byte that is left if that one has been overwritten.  *@at becomes
 * the number of the byte behind the last one.
 */
void log_copy(uint32_t *at, uint32_t room, void (*put)(char));

/* Returns how many bytes were ever logged. */
uint32_t log_head(void);

#endif /* FIRMWARE_LOG_H */
