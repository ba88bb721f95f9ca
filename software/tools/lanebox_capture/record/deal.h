/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A recording in several folders, best of one disk each. The MBUFs are dealt to the folders in
 * turn. Each folder has a thread and files of its own. A folder that is not ready for an MBUF is
 * left out of that turn, so a slow folder gets fewer MBUFs.
 *
 * Each file is valid by itself: it has a header, and whole MBUFs in the order of their numbers. The
 * MBUFs between them are in other folders, and a comment in the header says so. If a folder fails,
 * its MBUFs that are in no file go to another folder. Such an MBUF begins a new file in the other
 * folder if that folder's file already has a later MBUF. The recording fails when all folders have
 * failed.
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
	/*
	 * Only the folder's thread uses the members up to @header. When it has ended, the recorder
	 * may.
	 */
	struct output	output;
	uint64_t	taken[DEAL_BATCH];	/* numbers of the MBUFs taken, the oldest first */
	unsigned int	count;			/* number of MBUFs in @taken */
	/* 1 + number of the last MBUF that was begun in this folder */
	uint64_t	after;
	void		*header;
	/* The lock of the deal covers @ready and @failed. */
	bool		ready;			/* the thread waits for an MBUF */
	bool		failed;
};

struct deal {
	struct deal_folder	folders[DEAL_MOST];
	unsigned int		count;	/* number of folders */
	pthread_mutex_t		lock;	/* covers the members below */
	/* broadcast when an MBUF may be taken, and when one was written or a folder has failed */
	pthread_cond_t		given_news, done_news;
	const uint8_t		*ring;	/* address of the capture's ring */
	uint64_t		mbufs;	/* number of MBUFs in the ring */
	size_t			mbuf_bytes;
	/* most MBUFs that a folder may have taken and not yet written */
	unsigned int		share;
	uint8_t			*states;	/* an enum deal_state for each MBUF of the ring */
	/*
	 * MBUFs have numbers from 0 on. Those below @first were counted by deal_done(), those below
	 * @next were taken by a folder, and those below @given were given by deal_write().
	 */
	uint64_t		first, next, given;
	/* number of MBUFs that failed folders have left, and no other folder has taken yet */
	unsigned int		returned;
	unsigned int		turn;		/* folder that gets the next MBUF, if it is ready */
	unsigned int		working;	/* folders that have not failed */
	bool			ends;		/* the threads end when no MBUF waits */
};

/*
 * Open a file in each of the @count folders @targets (DEAL_MOST at most) as output_open() does.
 * @most is the largest size of a file in bytes, or 0. @header has @header_bytes, and each folder
 * gets a copy of it with the comment. Returns false with a sentence in @why, which has OUTPUT_WHY
 * bytes, if a folder is named twice or a file cannot be made; deal_discard() then deletes what was
 * made.
 */
bool deal_open(struct deal *deal, char *const *targets, unsigned int count, uint64_t most,
	       const void *header, size_t header_bytes, char *why);

/*
 * Start a thread for each folder. The MBUFs come from the @bytes at @ring, and each has
 * @mbuf_bytes. Returns false with a sentence in @why if there is no memory or no thread;
 * deal_close() then ends the threads that were started.
 */
bool deal_begin(struct deal *deal, const uint8_t *ring, uint64_t bytes, size_t mbuf_bytes,
		char *why);

/*
 * Give the next MBUF of the ring to the folders, without waiting for a disk. The MBUF must stay as
 * it is until deal_done() has counted it. Returns false if all folders have failed.
 */
bool deal_write(struct deal *deal);

/*
 * Returns how many MBUFs are in files that no earlier call has counted, up to the first MBUF that
 * is in no file.
 */
unsigned int deal_done(struct deal *deal);

/* True if an MBUF that was given by deal_write() is in no file yet. */
bool deal_is_behind(struct deal *deal);

/*
 * Wait, without a limit, until all MBUFs that were given are in files. Returns false if all folders
 * have failed before.
 */
bool deal_finish(struct deal *deal);

/*
 * End the threads, which write the MBUFs that wait, and close all files. Then @failed of a folder
 * says whether the folder failed, and @why of its output has the sentence.
 */
void deal_close(struct deal *deal);

/*
 * Delete the file of each folder as output_discard() does, or free the memory as output_free()
 * does. The threads must have ended.
 */
void deal_discard(struct deal *deal);
void deal_free(struct deal *deal);

#endif /* LANEBOX_CAPTURE_DEAL_H */
