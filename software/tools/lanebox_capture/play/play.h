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
	/* what the command line wants */
	struct source		*sources;
	unsigned int		count;
	struct litepcie_player	settings;
	/* the thread; @why may be read when it has ended */
	struct litepcie		*dev;
	struct litepcie_stream	*h2c;
	pthread_t		thread;
	bool			begun;
	atomic_bool		stops;		/* the thread shall end */
	atomic_bool		ended;		/* nothing more will be played */
	char			why[PLAY_WHY];	/* what has failed; empty if nothing has */
	/* what it became; the player has told @played */
	uint64_t		blocks;		/* in the stream */
	struct litepcie_played	played;
};

/* Start the player and the thread. Returns 0, or an error of the library. */
int play_begin(struct util *util, struct play *play);

/* Ask the thread to end before the files have ended. It may wait for room in the capture block. */
void play_stop(struct play *play);

/* Wait for the thread, and stop the player. Failures are noted. Returns true if there was none. */
bool play_end(struct util *util, struct play *play);

#endif /* LANEBOX_CAPTURE_PLAY_H */
