/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * When a recording has all frames: its player has ended, or the card's generator has made as many
 * frames as it was to make.
 */
#ifndef LANEBOX_CAPTURE_ENDED_H
#define LANEBOX_CAPTURE_ENDED_H

#include "record.h"

/*
 * If the recording has a player, returns true if the player's thread has ended. Otherwise, if the
 * generator is to make a certain number of frames, stores how many it has made in recording->made,
 * and returns true if it has made all. Also returns true if the generator cannot be asked, which is
 * noted as a failure. Returns false in all other cases.
 */
bool record_has_ended(struct util *util, struct recording *recording);

#endif /* LANEBOX_CAPTURE_ENDED_H */
