/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The console takes lines of text from the host by the mailbox, and answers them.
 */
#ifndef FIRMWARE_CONSOLE_H
#define FIRMWARE_CONSOLE_H

/*
 * Echoes the bytes that the host has typed, and carries out the command of each finished line.  The
 * ring may have no room for all of a long answer.  The rest follows when the host has read the ring
 * and has rung the doorbell again.
 */
void console_poll(void);

#endif /* FIRMWARE_CONSOLE_H */
