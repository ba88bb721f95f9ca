/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Send pcapng files through the ring of h2c to the card's player, by a thread of their own. */
#ifndef LANEBOX_CAPTURE_PLAY_H
#define LANEBOX_CAPTURE_PLAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../litepcie_util/util.h"
#include "litepcie_capture.h"
#include "source.h"

#define PLAY_WHY	512	/* bytes of a sentence about a failure, with its end */

struct play {
	/* the files that the card is to play, and the player's settings */
	struct source		*sources;
	unsigned int		count;
	struct litepcie_player	settings;
	/* state of the thread that sends the files to the card */
	struct litepcie		*dev;
	struct litepcie_stream	*h2c;
	pthread_t		thread;
	bool			begun;		/* the thread runs, or was not awaited yet */
	atomic_bool		stops;		/* true: the thread is to end */
	atomic_bool		ended;		/* true: the thread plays nothing more */
	/* sentence about the thread's failure, to be read when it has ended; empty: none */
	char			why[PLAY_WHY];
	/* number of pcapng blocks in all files, and of the padding behind them */
	uint64_t		blocks;
	struct litepcie_played	played;		/* the card's counts of what it has played */
};

/*
 * Start the player and the thread. Returns 0, or -errno of the library; h2c then belongs to the
 * user slot again.
 */
int play_begin(struct util *util, struct play *play);

/*
 * Ask the thread to end before the files have ended, without waiting for it: play->ended becomes
 * true when it has.
 */
void play_stop(struct play *play);

/*
 * Wait for the thread, without a limit, and stop the player. Failures of the thread, of the library
 * and of the player are noted. Returns true if there was none, or if nothing was begun.
 */
bool play_end(struct util *util, struct play *play);

#endif /* LANEBOX_CAPTURE_PLAY_H */
