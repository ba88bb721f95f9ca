/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Write the recording of a queue to several folders, best with one disk for each. The MBUFs (the
 * parts of equal size that the card writes into its ring) are given to the folders round robin.
 * Each folder has a thread and files of its own. A folder that is not ready for an MBUF is passed
 * over, so a slow folder gets fewer MBUFs.
 *
 * Each file that was written without a failure is valid by itself: it has a header, and whole MBUFs
 * in the order of their numbers. A comment in the header says that the recording is in several
 * folders, since the file lacks the MBUFs of the other folders. If a folder fails, its MBUFs that
 * are in no file go to the folders that still work. Such an MBUF begins a new file in its new
 * folder if that folder's file already has a later MBUF. The recording fails when all folders have
 * failed.
 */
#ifndef LANEBOX_CAPTURE_DEAL_H
#define LANEBOX_CAPTURE_DEAL_H

#include <pthread.h>

#include "disk/output.h"

#define DEAL_MOST	16u	/* largest number of folders of a recording */
/* largest number of MBUFs (parts of the ring) that one folder may have taken and not yet written */
#define DEAL_BATCH	OUTPUT_BUSY

struct deal;

struct deal_folder {
	struct deal	*deal;
	pthread_t	thread;
	bool		has_thread;
	/*
	 * While the folder's thread runs, only this thread uses the members from @output to @after.
	 * Before and later the recorder's thread may use them.
	 */
	struct output	output;
	/*
	 * numbers of the MBUFs (parts of the ring) that the folder has taken and that are not yet
	 * counted as written, in the order in which it took them
	 */
	uint64_t	taken[DEAL_BATCH];
	unsigned int	count;			/* number of MBUFs in @taken */
	/*
	 * 1 + the number of the last MBUF (part of the ring) whose write was begun in this folder;
	 * 0: none was begun
	 */
	uint64_t	after;
	void		*header;
	/* While the threads run, the lock of struct deal covers @ready and @failed. */
	/* true: the folder's thread waits for an MBUF (part of the ring) */
	bool		ready;
	bool		failed;
};

struct deal {
	struct deal_folder	folders[DEAL_MOST];
	unsigned int		count;	/* number of @folders in use */
	/*
	 * @lock covers the members below it while the threads run, except @ring, @mbufs,
	 * @mbuf_bytes and @share, which do not change after deal_begin()
	 */
	pthread_mutex_t		lock;
	/*
	 * The threads of the folders wait for @given_news, which is broadcast when a folder may be
	 * able to take an MBUF (part of the ring) or the threads must end. deal_finish() waits for
	 * @done_news, which is broadcast when an MBUF was written or a folder has failed.
	 */
	pthread_cond_t		given_news, done_news;
	const uint8_t		*ring;	/* address of the capture's ring */
	uint64_t		mbufs;	/* number of MBUFs (equal parts) in the ring */
	size_t			mbuf_bytes;
	/*
	 * largest number of MBUFs (parts of the ring) that a folder may have taken and not yet
	 * written
	 */
	unsigned int		share;
	/*
	 * for each MBUF (part of the ring): an enum deal_state, which says whether the MBUF waits
	 * for a folder, was taken by one, or is written
	 */
	uint8_t			*states;
	/*
	 * MBUFs (parts of the ring) have numbers from 0 on. Those below @first were counted by
	 * deal_done(), those below @next were taken by a folder at least once, and those below
	 * @given were given by deal_write().
	 */
	uint64_t		first, next, given;
	/*
	 * number of MBUFs (parts of the ring) that a folder had taken when it failed and that no
	 * other folder has taken yet
	 */
	unsigned int		returned;
	/*
	 * index of the folder at which the round robin begins for the next MBUF (part of the ring)
	 */
	unsigned int		turn;
	unsigned int		working;	/* number of folders that have not failed */
	/*
	 * true: deal_close() was called. A folder's thread then ends when no MBUF (part of the
	 * ring) waits for a folder and the thread has written the MBUFs that its folder has taken.
	 */
	bool			ends;
};

/*
 * Open a file in each of the @count folders @targets (DEAL_MOST at most) as output_open() does.
 * @limits say when a new file begins in a folder. Each folder's files begin with a copy
 * of @header, of @header_bytes, to which the comment of deal_comment.h is added. Returns false with
 * a message in @why, which has OUTPUT_WHY bytes, if a folder is named twice, a file cannot be made,
 * or there is no memory. deal_discard() then deletes the files that were made.
 */
bool deal_open(struct deal *deal, char *const *targets, unsigned int count,
	       struct output_limits limits, const void *header, size_t header_bytes, char *why);

/*
 * Start a thread for each folder. The MBUFs (parts of the ring) are in the @bytes at @ring, and
 * each has @mbuf_bytes. Returns false with a message in @why if there is no memory, or if a thread
 * cannot be started. deal_close() then ends the threads that were started.
 */
bool deal_begin(struct deal *deal, const uint8_t *ring, uint64_t bytes, size_t mbuf_bytes,
		char *why);

/*
 * Give the next MBUF (part of the ring) to the folders. The call does not wait for a disk. The MBUF
 * must not change until deal_done() has counted it. Returns false if all folders have failed.
 */
bool deal_write(struct deal *deal);

/*
 * Returns how many MBUFs (parts of the ring) it counts as written that no earlier call of
 * deal_done() has counted. MBUFs are counted in the order of their numbers, up to the first MBUF
 * that is in no file.
 */
unsigned int deal_done(struct deal *deal);

/*
 * Returns the number of MBUFs (parts of the ring) that are in files and that deal_done() has not
 * counted, including MBUFs behind one that is in no file.
 */
unsigned int deal_kept(struct deal *deal);

/* Returns true if an MBUF (part of the ring) that deal_write() has given is in no file yet. */
bool deal_is_behind(struct deal *deal);

/*
 * Wait, without a time limit, until all MBUFs (parts of the ring) that deal_write() has given are
 * in files, or all folders have failed. Returns true if all these MBUFs are in files.
 */
bool deal_finish(struct deal *deal);

/*
 * Let the threads of the folders that still work write the given MBUFs (parts of the ring) that are
 * in no file yet, end all threads, and close all files. Afterwards @failed of a folder says whether
 * the folder has failed, and its output.why has the reason.
 */
void deal_close(struct deal *deal);

/*
 * deal_discard() deletes the file of each folder as output_discard() does. deal_free() closes files
 * that are open, and frees the memory of the folders and of @deal's states. The threads must have
 * ended before either call.
 */
void deal_discard(struct deal *deal);
void deal_free(struct deal *deal);

#endif /* LANEBOX_CAPTURE_DEAL_H */
