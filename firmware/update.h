/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The way back from an update that does not work.
 */
#ifndef FIRMWARE_UPDATE_H
#define FIRMWARE_UPDATE_H

/*
 * If the part has booted an application, the link to the host must come up within the first minute.
 * Otherwise the golden image is booted.  The golden image itself is never left in this way.
 */
void update_init(void);

/* To be called once a second. */
void update_tick(void);

#endif /* FIRMWARE_UPDATE_H */
