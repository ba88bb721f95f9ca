/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Send pcapng files through h2c, the card's DMA from the host, to the card's player, in a thread of
 * its own. The files belong to the caller, and only the thread may use them between play_begin()
 * and play_end(). The thread notes its failure in play->why, and play_end() notes it as a failure
 * of the command. A card has one player, so only one struct play may run on it at a time.
 */
#ifndef LANEBOX_CAPTURE_PLAY_H
#define LANEBOX_CAPTURE_PLAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../litepcie_util/util.h"
#include "litepcie_capture.h"
#include "source.h"

#define PLAY_WHY	512	/* size of an error message, with its terminating 0 */

struct play {
	/* the files that the card is to play, and the player's settings */
	struct source		*sources;
	unsigned int		count;
	struct litepcie_player	settings;
	/* state of the thread that sends the files to the card */
	struct litepcie		*dev;
	struct litepcie_stream	*h2c;
	pthread_t		thread;
	/* true: the thread was started, and play_end() has not joined it yet */
	bool			begun;
	/* true: play_stop() was called, so the thread must end */
	atomic_bool		stops;
	/* true: the thread has sent and awaited all frames, or has given up, and ends */
	atomic_bool		ended;
	/*
	 * The failure of the thread as a sentence, or empty. It may be read after the thread was
	 * joined.
	 */
	char			why[PLAY_WHY];
	/*
	 * number of pcapng blocks in all files, plus 1 if the thread sends a block of padding
	 * behind them
	 */
	uint64_t		blocks;
	/* the player's counts of blocks and frames, as litepcie_played() has read them last */
	struct litepcie_played	played;
};

/*
 * Start the card's player, the stream of h2c (from the host to the card) and the thread. Returns 0
 * or -errno. If the stream or the thread cannot be started, the player is stopped again, so that
 * the data of h2c goes to the user's logic in the card.
 */
int play_begin(struct util *util, struct play *play);

/*
 * Ask the thread to end even if not all files are played. play_stop() does not wait for the thread:
 * play->ended becomes true later.
 */
void play_stop(struct play *play);

/*
 * Wait for the thread, without a time limit, and stop the player. Failures of the thread, of the
 * library and of the player are noted. Returns true if there was no failure, or if no thread runs.
 */
bool play_end(struct util *util, struct play *play);

#endif /* LANEBOX_CAPTURE_PLAY_H */
