/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The functions of play.h that record.c calls, for test programs that include record.c and record
 * without a player. Each function ends the program, since none may be called.
 */
#ifndef CAPTURE_PLAYER_H
#define CAPTURE_PLAYER_H

#include <stdlib.h>

#include "../../lanebox_capture/play/play.h"

int play_begin(struct util *util, struct play *play)
{
	(void)util, (void)play;
	abort();
}

void play_stop(struct play *play)
{
	(void)play;
	abort();
}

bool play_end(struct util *util, struct play *play)
{
	(void)util, (void)play;
	abort();
}

#endif /* CAPTURE_PLAYER_H */
