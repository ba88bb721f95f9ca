/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The log: the last 2 KiB of what the firmware had to say.  A reset does not clear it, so after one
 * the host finds the last words from before it.  Nobody empties the log, and it never blocks.
 */
#ifndef FIRMWARE_LOG_H
#define FIRMWARE_LOG_H

#include <stdint.h>

/* Takes the log over as it was before the reset, or begins an empty one. */
void log_init(void);
void log_text(const char *text);
void log_number(uint32_t value);

/*
 * Copies at most @room bytes of the log, from the count *@at on, by @put.  If *@at has been
 * overwritten, it goes on with the oldest byte.  *@at becomes the next one.
 */
void log_copy(uint32_t *at, uint32_t room, void (*put)(char));
uint32_t log_head(void);

#endif /* FIRMWARE_LOG_H */
