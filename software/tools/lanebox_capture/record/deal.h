/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A recording in several folders, best of one disk each. The MBUFs are dealt to the folders in turn.
 * Each folder has a thread and files of its own. A folder that is not ready for an MBUF is left out
 * of that turn, so a slow one gets fewer.
 *
 * Each file is valid by itself: it has a header, and whole MBUFs in the order of their numbers, of
 * which some are missing. A comment in the header says so. If a folder fails, its MBUFs that are in
 * no file go to another folder. Such an MBUF begins a new file there if it is older than the last
 * one there. The recording fails when all folders have.
 */
#ifndef LANEBOX_CAPTURE_DEAL_H
#define LANEBOX_CAPTURE_DEAL_H

#include <pthread.h>

#include "disk/output.h"

#define DEAL_MOST	16u	/* most folders of a recording */
/* MBUFs that a folder may have taken before the oldest is in a file */
#define DEAL_BATCH	OUTPUT_BATCH

struct deal;

struct deal_folder {
	struct deal	*deal;
	pthread_t	thread;
	bool		has_thread;
	/* The members up to @header are the thread's, and anybody's when it has ended. */
	struct output	output;
	uint64_t	taken[DEAL_BATCH];	/* numbers of the MBUFs taken, the oldest first */
	unsigned int	count;			/* number of MBUFs in @taken */
	uint64_t	after;			/* 1 + number of the file's last MBUF */
	void		*header;
	/* The lock of the deal covers @ready and @failed. */
	bool		ready;			/* the thread waits for an MBUF */
	bool		failed;
};

struct deal {
	struct deal_folder	folders[DEAL_MOST];
	unsigned int		count;
	pthread_mutex_t		lock;	/* covers the members below */
	pthread_cond_t		given_news, done_news;
	const uint8_t		*ring;
	uint64_t		mbufs;	/* number of MBUFs in the ring */
	size_t			mbuf_bytes;
	unsigned int		share;	/* MBUFs that a folder may have taken */
	uint8_t			*states;	/* state of each MBUF of the ring */
	/* all MBUFs before @first were counted, those before @next taken, those before @given given */
	uint64_t		first, next, given;
	unsigned int		returned;	/* MBUFs before @next that a failed folder left */
	unsigned int		turn;		/* folder that gets the next MBUF, if it is ready */
	unsigned int		working;	/* folders that have not failed */
	bool			ends;
};

/*
 * Open a file in each of the @count folders, as output_open() does. @header is a page, of which each
 * folder gets a copy with the comment. Returns false with a sentence in @why, which has OUTPUT_WHY
 * bytes; deal_discard() then deletes what was made.
 */
bool deal_open(struct deal *deal, char *const *targets, unsigned int count, uint64_t most,
	       const void *header, size_t header_bytes, char *why);

/*
 * Start the threads. The MBUFs come from the @bytes at @ring. Returns false with a sentence in @why.
 */
bool deal_begin(struct deal *deal, const uint8_t *ring, uint64_t bytes, size_t mbuf_bytes,
		char *why);

/*
 * Deal the next MBUF of the ring. It must stay as it is until deal_done() has counted it. Returns
 * false if all folders have failed.
 */
bool deal_write(struct deal *deal);

/* Returns how many more MBUFs are in files, in the order in which they were dealt. */
unsigned int deal_done(struct deal *deal);

/* True if MBUFs are in no file yet. */
bool deal_is_behind(struct deal *deal);

/* Wait until all MBUFs are in files. Returns false if all folders have failed before. */
bool deal_finish(struct deal *deal);

/*
 * End the threads, and close all files. Then @failed of a folder says whether it failed, and @why of
 * its output has the sentence.
 */
void deal_close(struct deal *deal);

/* Do for each folder what output_discard() and output_free() do. */
void deal_discard(struct deal *deal);
void deal_free(struct deal *deal);

#endif /* LANEBOX_CAPTURE_DEAL_H */
