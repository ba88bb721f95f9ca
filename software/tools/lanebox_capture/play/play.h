/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Files on their way through the ring of h2c to the player, by a thread of their own. */
#ifndef LANEBOX_CAPTURE_PLAY_H
#define LANEBOX_CAPTURE_PLAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../litepcie_util/util.h"
#include "litepcie_capture.h"
#include "source.h"

#define PLAY_WHY	512

struct play {
	/* the files that the card is to play, and the player's settings */
	struct source		*sources;
	unsigned int		count;
	struct litepcie_player	settings;
	/* state of the thread that sends the files to the card */
	struct litepcie		*dev;
	struct litepcie_stream	*h2c;
	pthread_t		thread;
	bool			begun;
	atomic_bool		stops;		/* true: the thread is to end */
	atomic_bool		ended;		/* true: the thread plays nothing more */
	/* sentence about the thread's failure, to be read when it has ended; empty: none */
	char			why[PLAY_WHY];
	uint64_t		blocks;		/* number of blocks in the stream of all files */
	struct litepcie_played	played;		/* the card's counts of what it has played */
};

/* Start the player and the thread. Returns 0, or an error of the library. */
int play_begin(struct util *util, struct play *play);

/* Ask the thread to end before the files have ended. It may wait for room in the capture block. */
void play_stop(struct play *play);

/* Wait for the thread, and stop the player. Failures are noted. Returns true if there was none. */
bool play_end(struct util *util, struct play *play);

#endif /* LANEBOX_CAPTURE_PLAY_H */
