/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Distribute the captured frames of a recording over files in several folders. deal.h says what
 * each function promises.
 */
#include "deal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "deal_comment.h"
#include "processor.h"

enum deal_state { DEAL_WAITS, DEAL_TAKEN, DEAL_WRITTEN };

/* The comment in a file's header -------------------------------------------------------------- */

static uint32_t word_at(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void put_word(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/*
 * Insert the comment "Lanebox: folder N of M" into the options of the pcapng section in @header,
 * which has @bytes. N is @number + 1, and M is @count. The filler at the end of the header gets
 * shorter by the size of the inserted option, so the header keeps its size.
 */
static void comment_header(uint8_t *header, size_t bytes, unsigned int number, unsigned int count)
{
	uint32_t section = word_at(header + 4), filler = word_at(header + bytes - 4), room;
	uint8_t *options = header + DEAL_OPTIONS_AT, *end = header + bytes - filler;
	char text[64];
	uint32_t length = (uint32_t)snprintf(text, sizeof(text), DEAL_COMMENT "%u of %u", number + 1,
					     count);

	room = 4 + ((length + 3) & ~3u);
	memmove(options + room, options, (size_t)(end - options));
	memset(options, 0, room);
	put_word(options, DEAL_COMMENT_CODE | length << 16);
	memcpy(options + 4, text, length);
	put_word(header + 4, section + room);
	put_word(header + section + room - 4, section + room);
	put_word(end + room, LITEPCIE_PCAPNG_FILLER);
	put_word(end + room + 4, filler - room);
	put_word(header + bytes - 4, filler - room);
}

/* Opening the folders ------------------------------------------------------------------------- */

/*
 * Returns true if targets[n] exists and is the same file or folder as one of the @targets before
 * it.
 */
static bool is_named_twice(char *const *targets, unsigned int n)
{
	struct stat ours, other;

	if (stat(targets[n], &ours) < 0)
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (stat(targets[i], &other) == 0 && other.st_dev == ours.st_dev &&
		    other.st_ino == ours.st_ino)
			return true;
	return false;
}

bool deal_open(struct deal *deal, char *const *targets, unsigned int count,
	       struct output_limits limits, const void *header, size_t header_bytes, char *why)
{
	memset(deal, 0, sizeof(*deal));
	pthread_mutex_init(&deal->lock, NULL);
	pthread_cond_init(&deal->given_news, NULL);
	pthread_cond_init(&deal->done_news, NULL);
	for (unsigned int n = 0; n < count; n++) {
		struct deal_folder *folder = &deal->folders[deal->count++];

		folder->deal = deal;
		folder->output.fd = -1;
		if (is_named_twice(targets, n)) {
			snprintf(why, OUTPUT_WHY, "%s: the folder is named twice", targets[n]);
			return false;
		}
		folder->header = aligned_alloc(header_bytes, header_bytes);
		if (!folder->header) {
			snprintf(why, OUTPUT_WHY, "no memory for the header of a file");
			return false;
		}
		memcpy(folder->header, header, header_bytes);
		comment_header(folder->header, header_bytes, n, count);
		if (!output_open(&folder->output, targets[n], limits, folder->header,
				 header_bytes)) {
			snprintf(why, OUTPUT_WHY, "%s", folder->output.why);
			return false;
		}
	}
	deal->working = count;
	return true;
}

/* MBUFs and the folders that take them -------------------------------------------------------- */

/* The callers of the functions from state_of() to fail_folder() hold deal->lock. */

static uint8_t *state_of(struct deal *deal, uint64_t number)
{
	return &deal->states[number % deal->mbufs];
}

static bool is_waiting(const struct deal *deal)
{
	return deal->returned || deal->next < deal->given;
}

/*
 * Returns true if an MBUF (part of the ring) waits for a folder and @folder may take it: no folder
 * that comes before @folder in the round robin is ready. The round robin begins with folder
 * deal->turn.
 */
static bool may_take(const struct deal_folder *folder)
{
	const struct deal *deal = folder->deal;
	unsigned int n = deal->turn;

	while (&deal->folders[n] != folder && !deal->folders[n].ready)
		n = (n + 1) % deal->count;
	return is_waiting(deal) && &deal->folders[n] == folder;
}

/*
 * Let @folder take the oldest MBUF (part of the ring) that waits for a folder. MBUFs that failed
 * folders have left are the oldest. Returns the number of the MBUF. The caller has checked that an
 * MBUF waits.
 */
static uint64_t take_mbuf(struct deal_folder *folder)
{
	struct deal *deal = folder->deal;
	uint64_t number = deal->next;

	if (deal->returned) {
		for (number = deal->first; *state_of(deal, number) != DEAL_WAITS;)
			number++;
		deal->returned--;
	} else {
		deal->next++;
	}
	*state_of(deal, number) = DEAL_TAKEN;
	folder->taken[folder->count++] = number;
	deal->turn = ((unsigned int)(folder - deal->folders) + 1) % deal->count;
	pthread_cond_broadcast(&deal->given_news);
	return number;
}

/* Mark the first @done of the MBUFs (parts of the ring) in folder->taken as written. */
static void count_written(struct deal_folder *folder, unsigned int done)
{
	for (unsigned int n = 0; n < done; n++)
		*state_of(folder->deal, folder->taken[n]) = DEAL_WRITTEN;
	folder->count -= done;
	memmove(folder->taken, folder->taken + done, folder->count * sizeof(folder->taken[0]));
	if (done)
		pthread_cond_broadcast(&folder->deal->done_news);
}

/*
 * Mark the folder as failed. Other folders, as long as one works, then write those of its MBUFs
 * (parts of the ring) that are in no file.
 */
static void fail_folder(struct deal_folder *folder)
{
	struct deal *deal = folder->deal;

	folder->failed = true;
	deal->working--;
	for (unsigned int n = 0; n < folder->count; n++)
		*state_of(deal, folder->taken[n]) = DEAL_WAITS;
	deal->returned += folder->count;
	folder->count = 0;
	pthread_cond_broadcast(&deal->given_news);
	pthread_cond_broadcast(&deal->done_news);
}

/* The thread of each folder ------------------------------------------------------------------- */

/*
 * Begin to write MBUF @number (a part of the ring) to the folder's file. If this file already has a
 * later MBUF, a failed folder has left MBUF @number, and a new file begins with it. Returns false
 * after a failure of the folder.
 */
static bool put_mbuf(struct deal_folder *folder, uint64_t number)
{
	const struct deal *deal = folder->deal;
	bool right = number >= folder->after || output_next(&folder->output);

	folder->after = number + 1;
	return right && output_write(&folder->output, deal->ring + number % deal->mbufs *
				     deal->mbuf_bytes, deal->mbuf_bytes);
}

/*
 * Wait until at most @most writes of the folder have not ended. deal->lock is released during the
 * wait. Returns false after a failure of the folder.
 */
static bool settle_folder(struct deal_folder *folder, unsigned int most)
{
	bool right;

	pthread_mutex_unlock(&folder->deal->lock);
	right = output_await(&folder->output, most);
	pthread_mutex_lock(&folder->deal->lock);
	count_written(folder, output_done(&folder->output));
	return right;
}

/*
 * Take one MBUF (part of the ring) and begin to write it. deal->lock is released during the write.
 * If the folder then has deal->share MBUFs that are not counted as written, wait until at most half
 * as many of its writes have not ended. MBUFs are counted in the order of their writes. So if the
 * oldest write has not ended, none is counted yet: then wait for all writes. Returns false after a
 * failure of the folder.
 */
static bool write_one(struct deal_folder *folder)
{
	struct deal *deal = folder->deal;
	uint64_t number = take_mbuf(folder);
	bool right;

	pthread_mutex_unlock(&deal->lock);
	right = put_mbuf(folder, number);
	pthread_mutex_lock(&deal->lock);
	count_written(folder, output_done(&folder->output));
	if (right && folder->count >= deal->share)
		right = settle_folder(folder, deal->share / 2);
	if (right && folder->count >= deal->share)
		right = settle_folder(folder, 0);
	return right;
}

static void *write_folder(void *of)
{
	struct deal_folder *folder = of;
	struct deal *deal = folder->deal;
	bool right = true;

	/*
	 * This thread has inherited the processors of the queue's thread, which may be pinned to
	 * one.
	 */
	processor_unpin();
	pthread_mutex_lock(&deal->lock);
	while (right) {
		if (may_take(folder)) {
			right = write_one(folder);
		} else if (folder->count) {
			right = settle_folder(folder, 0);
		} else if (deal->ends && !is_waiting(deal)) {
			break;
		} else {
			folder->ready = true;
			pthread_cond_wait(&deal->given_news, &deal->lock);
			folder->ready = false;
		}
	}
	if (!right)
		fail_folder(folder);
	pthread_cond_broadcast(&deal->given_news);
	pthread_mutex_unlock(&deal->lock);
	return NULL;
}

bool deal_begin(struct deal *deal, const uint8_t *ring, uint64_t bytes, size_t mbuf_bytes, char *why)
{
	uint64_t share = bytes / mbuf_bytes / (2 * deal->count);

	deal->ring = ring;
	deal->mbufs = bytes / mbuf_bytes;
	deal->mbuf_bytes = mbuf_bytes;
	deal->share = share < 1 ? 1 : share > DEAL_BATCH ? DEAL_BATCH : (unsigned int)share;
	deal->states = calloc(deal->mbufs, 1);
	for (unsigned int n = 0; deal->states && n < deal->count; n++) {
		struct deal_folder *folder = &deal->folders[n];

		output_memory(&folder->output, ring, bytes, (deal->share + 1) / 2);
		folder->has_thread = pthread_create(&folder->thread, NULL, write_folder, folder) == 0;
		if (!folder->has_thread) {
			snprintf(why, OUTPUT_WHY, "%s: there can be no thread for this folder",
				 folder->output.target);
			return false;
		}
	}
	if (!deal->states)
		snprintf(why, OUTPUT_WHY, "no memory for the states of the ring");
	return deal->states;
}

/* Functions that the recorder's thread calls -------------------------------------------------- */

bool deal_write(struct deal *deal)
{
	bool works;

	pthread_mutex_lock(&deal->lock);
	works = deal->working;
	if (works)
		*state_of(deal, deal->given++) = DEAL_WAITS;
	pthread_cond_broadcast(&deal->given_news);
	pthread_mutex_unlock(&deal->lock);
	return works;
}

unsigned int deal_done(struct deal *deal)
{
	unsigned int done = 0;

	pthread_mutex_lock(&deal->lock);
	for (; deal->first < deal->given && *state_of(deal, deal->first) == DEAL_WRITTEN; done++)
		deal->first++;
	pthread_mutex_unlock(&deal->lock);
	return done;
}

unsigned int deal_kept(struct deal *deal)
{
	unsigned int kept = 0;

	pthread_mutex_lock(&deal->lock);
	for (uint64_t number = deal->first; number < deal->given; number++)
		kept += *state_of(deal, number) == DEAL_WRITTEN;
	pthread_mutex_unlock(&deal->lock);
	return kept;
}

/*
 * Returns true if an MBUF (part of the ring) that deal_write() has given is in no file yet. The
 * caller holds deal->lock.
 */
static bool is_behind(struct deal *deal)
{
	uint64_t number = deal->first;

	while (number < deal->given && *state_of(deal, number) == DEAL_WRITTEN)
		number++;
	return number < deal->given;
}

bool deal_is_behind(struct deal *deal)
{
	bool behind;

	pthread_mutex_lock(&deal->lock);
	behind = is_behind(deal);
	pthread_mutex_unlock(&deal->lock);
	return behind;
}

bool deal_finish(struct deal *deal)
{
	bool all;

	pthread_mutex_lock(&deal->lock);
	while (is_behind(deal) && deal->working)
		pthread_cond_wait(&deal->done_news, &deal->lock);
	all = !is_behind(deal);
	pthread_mutex_unlock(&deal->lock);
	return all;
}

void deal_close(struct deal *deal)
{
	pthread_mutex_lock(&deal->lock);
	deal->ends = true;
	pthread_cond_broadcast(&deal->given_news);
	pthread_mutex_unlock(&deal->lock);
	for (unsigned int n = 0; n < deal->count; n++) {
		struct deal_folder *folder = &deal->folders[n];

		if (folder->has_thread)
			pthread_join(folder->thread, NULL);
		folder->has_thread = false;
		if (!output_close(&folder->output))
			folder->failed = true;
	}
}

void deal_discard(struct deal *deal)
{
	for (unsigned int n = 0; n < deal->count; n++)
		output_discard(&deal->folders[n].output);
}

void deal_free(struct deal *deal)
{
	for (unsigned int n = 0; n < deal->count; n++) {
		output_free(&deal->folders[n].output);
		free(deal->folders[n].header);
	}
	free(deal->states);
	deal->states = NULL;
	deal->count = 0;
}
