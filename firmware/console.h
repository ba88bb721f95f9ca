/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The console: lines of text from the host, by the mailbox, and what they answer.
 */
#ifndef FIRMWARE_CONSOLE_H
#define FIRMWARE_CONSOLE_H

/*
 * Echoes what the host has typed, and runs the command of each line that has ended.  A long answer is
 * given as far as the ring has room; the rest follows when the host has read and rings again.
 */
void console_poll(void);

#endif /* FIRMWARE_CONSOLE_H */
