/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Write a recording to several folders, best with one disk for each. The MBUFs (the parts of equal
 * size that the card writes into its ring) are given to the folders round robin. Each folder has a
 * thread and files of its own. A folder that is not ready for an MBUF is passed over, so a slow
 * folder gets fewer MBUFs.
 *
 * Each file is valid by itself: it has a header, and whole MBUFs in the order of their numbers. A
 * comment in the header says that the MBUFs between them are in other folders. If a folder fails,
 * its MBUFs that are in no file go to another folder. Such an MBUF begins a new file in the other
 * folder if that folder's file already has a later MBUF. The recording fails when all folders have
 * failed.
 */
#ifndef LANEBOX_CAPTURE_DEAL_H
#define LANEBOX_CAPTURE_DEAL_H

#include <pthread.h>

#include "disk/output.h"

#define DEAL_MOST	16u	/* largest number of folders of a recording */
/* largest number of MBUFs that a folder has taken and that are in no file yet */
#define DEAL_BATCH	OUTPUT_BATCH

struct deal;

struct deal_folder {
	struct deal	*deal;
	pthread_t	thread;
	bool		has_thread;
	/*
	 * Only the folder's thread uses the members up to @header. After the thread has ended, the
	 * recorder's thread may use them.
	 */
	struct output	output;
	/* numbers of the MBUFs that the folder has taken and not yet written, the oldest first */
	uint64_t	taken[DEAL_BATCH];
	unsigned int	count;			/* number of MBUFs in @taken */
	/*
	 * 1 + the number of the last MBUF whose write was begun in this folder; 0: none was begun
	 */
	uint64_t	after;
	void		*header;
	/* The lock of struct deal covers @ready and @failed. */
	bool		ready;			/* true: the thread waits for an MBUF */
	bool		failed;
};

struct deal {
	struct deal_folder	folders[DEAL_MOST];
	unsigned int		count;	/* number of folders */
	/*
	 * covers the members below @lock, except @ring, @mbufs, @mbuf_bytes and @share, which do
	 * not change after deal_begin()
	 */
	pthread_mutex_t		lock;
	/*
	 * The threads of the folders wait for @given_news, which is broadcast when a folder may be
	 * able to take an MBUF or the threads must end. deal_finish() waits for @done_news, which
	 * is broadcast when an MBUF was written or a folder has failed.
	 */
	pthread_cond_t		given_news, done_news;
	const uint8_t		*ring;	/* address of the capture's ring */
	uint64_t		mbufs;	/* number of MBUFs in the ring */
	size_t			mbuf_bytes;
	/* number of MBUFs that a folder may have taken and not yet written */
	unsigned int		share;
	uint8_t			*states;	/* an enum deal_state for each MBUF of the ring */
	/*
	 * MBUFs have numbers from 0 on. Those below @first were counted by deal_done(), those below
	 * @next were taken by a folder, and those below @given were given by deal_write().
	 */
	uint64_t		first, next, given;
	/* number of MBUFs that failed folders have left, and no other folder has taken yet */
	unsigned int		returned;
	unsigned int		turn;		/* index of the folder that is the next in turn */
	unsigned int		working;	/* number of folders that have not failed */
	/* true: the threads end once no MBUF (part of the ring) waits for a folder to take it */
	bool			ends;
};

/*
 * Open a file in each of the @count folders @targets (DEAL_MOST at most) as output_open() does.
 * @most is the largest size of a file in bytes; 0: no limit. Each folder's files begin with a copy
 * of @header, of @header_bytes, with the comment of deal_comment.h. Returns false with a message in
 * @why, which has OUTPUT_WHY bytes, if a folder is named twice, a file cannot be made, or there is
 * no memory. deal_discard() then deletes what was made.
 */
bool deal_open(struct deal *deal, char *const *targets, unsigned int count, uint64_t most,
	       const void *header, size_t header_bytes, char *why);

/*
 * Start a thread for each folder. The MBUFs are in the @bytes at @ring, and each has @mbuf_bytes.
 * Returns false with a message in @why if there is no memory, or if a thread cannot be started.
 * deal_close() then ends the threads that were started.
 */
bool deal_begin(struct deal *deal, const uint8_t *ring, uint64_t bytes, size_t mbuf_bytes,
		char *why);

/*
 * Give the next MBUF of the ring to the folders, without waiting for a disk. The MBUF must not
 * change until deal_done() has counted it. Returns false if all folders have failed.
 */
bool deal_write(struct deal *deal);

/*
 * Returns the number of MBUFs that were written since the previous call of deal_done(). MBUFs are
 * counted in the order of their numbers, up to the first MBUF that is in no file.
 */
unsigned int deal_done(struct deal *deal);

/* Returns true if an MBUF of deal_write() is in no file yet. */
bool deal_is_behind(struct deal *deal);

/*
 * Wait, without a time limit, until all MBUFs of deal_write() are in files. Returns false if all
 * folders have failed before.
 */
bool deal_finish(struct deal *deal);

/*
 * Let the threads write the MBUFs that wait, end the threads, and close all files. Afterwards
 * @failed of a folder says whether the folder has failed, and output.why says the reason.
 */
void deal_close(struct deal *deal);

/*
 * deal_discard() deletes the file of each folder as output_discard() does. deal_free() frees the
 * memory as output_free() does. The threads must have ended before.
 */
void deal_discard(struct deal *deal);
void deal_free(struct deal *deal);

#endif /* LANEBOX_CAPTURE_DEAL_H */
