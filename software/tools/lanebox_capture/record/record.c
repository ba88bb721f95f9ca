/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Take MBUFs (the parts of equal size that the card writes) from the ring of a capture, and write
 * each to the files as a whole. While the disk is slow, the ring holds the frames that come. Unless
 * the recording is lossless, the card loses the frames that do not fit into the ring, and counts
 * them.
 *
 * If the ring has no data during a recording, the recorder sleeps. The sleep takes as long as the
 * card needs at BYTES_PER_US to fill a quarter of the ring, or 20 ms if that is less. Then the
 * recorder takes all data that is there.
 */
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ended.h"
#include "files.h"
#include "newest.h"
#include "processor.h"

/* number of bytes that a fast card is assumed to write to a ring in a microsecond */
#define BYTES_PER_US	7200u
/*
 * When the ring has no data, the recorder sleeps for 1/NAP_PART of the time in which the card fills
 * the ring at BYTES_PER_US, but for NAP_MOST_US at most.
 */
#define NAP_PART	4u
/* longest sleep of the recorder in us, so that it checks the recording's limits in time */
#define NAP_MOST_US	20000u
/* time in ms for which litepcie_capture_next() waits for data after each sleep of the recorder */
#define LOOK_MS		1
/* time in ms for which each call of litepcie_capture_next() in drop() waits for data */
#define DROP_MS		100
/*
 * The recorder waits so long, in seconds without any progress, for the last frame of a stopped
 * generator. Progress is data from the ring of the first queue, or an MBUF (part of the ring) of
 * any queue that is still being written. Without progress the frame probably waits for a queue that
 * no program records.
 */
#define STUCK_S		1.0
/* least time in seconds between two checks whether the generator or the player has ended */
#define ASK_S		0.02

/* Queues with a thread of their own, as the first queue's thread sees them --------------------- */

static void set_busy(struct recording *recording, bool busy)
{
	__atomic_store_n(&recording->busy, busy, __ATOMIC_RELAXED);
}

/*
 * Returns true if one of the @count @recordings, other than the first, is @busy: it has MBUFs
 * (parts of the ring) that are still to be written to a file.
 */
static bool others_are_busy(const struct recording *recordings, unsigned int count)
{
	for (unsigned int n = 1; n < count; n++)
		if (__atomic_load_n(&recordings[n].busy, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* Data from the ring to the files ------------------------------------------------------------- */

/*
 * If the time of the recording's first packet is not known yet, and @span has a packet, store the
 * time of the first packet of @span in recording->first_ns and last_ns.
 */
static void take_times(struct recording *recording, const struct litepcie_span *span)
{
	struct litepcie_packet packet;
	size_t at = 0;

	if (recording->first_ns != UINT64_MAX)
		return;
	if (litepcie_record_next(span, &at, &packet) == 1)
		recording->first_ns = recording->last_ns = packet.time_ns;
}

/*
 * Set recording->last_ns to the time of the last packet in @mbuf, the last MBUF (part of the ring)
 * that was taken from the ring. If @mbuf has no packet, last_ns stays as it is. If the card's
 * counts could not be read, or if the card has come so far that it may have written over @mbuf,
 * last_ns becomes UINT64_MAX: the time is not known.
 */
static void take_last_time(struct recording *recording, const struct litepcie_span *mbuf)
{
	const struct litepcie_capture_config *config = &recording->config;
	struct litepcie_packet packet;
	size_t at = 0;

	if (!recording->counted ||
	    recording->stats.position > mbuf->mbuf * config->mbuf_bytes + config->ring_bytes) {
		recording->last_ns = UINT64_MAX;
		return;
	}
	while (mbuf->data && litepcie_record_next(mbuf, &at, &packet) == 1)
		recording->last_ns = packet.time_ns;
}

/*
 * Give the MBUFs (parts of the ring) that files_done() counts as written back to the card, so that
 * the ring has room for frames. Returns false after a failure, which is noted.
 */
static bool give_back(struct util *util, struct recording *recording)
{
	size_t bytes = (size_t)files_done(recording) * recording->config.mbuf_bytes;
	int rc = bytes ? litepcie_capture_release(recording->capture, bytes) : 0;

	recording->taken -= bytes;
	set_busy(recording, files_are_behind(recording));
	util_check(util, rc, "giving the ring back");
	return rc >= 0;
}

/*
 * Wait for data of an empty ring: hand the queued writes to the kernel, give the MBUFs (parts of
 * the ring) that are counted as written back to the card, and sleep for the time in which the card
 * fills a quarter of the ring, for 20 ms at most. Returns false after a failure.
 */
static bool rest(struct util *util, struct recording *recording)
{
	uint64_t us = recording->config.ring_bytes / NAP_PART / BYTES_PER_US;
	struct timespec nap = { .tv_nsec = 1000 * (long)(us < NAP_MOST_US ? us : NAP_MOST_US) };

	if (!files_push(util, recording) || !give_back(util, recording))
		return false;
	nanosleep(&nap, NULL);
	return true;
}

/*
 * Begin to write the MBUF (part of the ring) that ends with the data of @span, and let @last
 * describe this whole MBUF. At the first call the address of the ring is computed from the address
 * and the number of the MBUF. Returns false after a failure.
 */
static bool write_mbuf(struct util *util, struct recording *recording,
		       const struct litepcie_span *span, struct litepcie_span *last)
{
	const struct litepcie_capture_config *config = &recording->config;
	uint64_t at = span->mbuf * config->mbuf_bytes & (config->ring_bytes - 1);

	*last = *span;
	last->data = span->data + span->bytes - config->mbuf_bytes;
	last->bytes = config->mbuf_bytes;
	if (!recording->ring) {
		recording->ring = last->data - at;
		if (!files_take_ring(util, recording))
			return false;
	}
	return files_write(util, recording, last->data, last->bytes);
}

/*
 * Find the next data in the ring, and let @span describe it (address, size, MBUF). If the ring has
 * no data and @waits is true, sleep and try once more. If the data ends an MBUF (part of the ring),
 * begin to write that MBUF, let @last describe it, and give the MBUFs that are counted as written
 * back to the card. Returns 1 if there is data; 0 if no data came in time, a signal came or the
 * capture has ended (recording->over); -1 after a failure.
 */
static int take(struct util *util, struct recording *recording, struct litepcie_span *span,
		struct litepcie_span *last, bool waits)
{
	int rc = litepcie_capture_next(recording->capture, span, 0);

	if (rc == 0 && waits) {
		if (!rest(util, recording))
			return -1;
		rc = litepcie_capture_next(recording->capture, span, LOOK_MS);
	}
	recording->over = rc == -EPIPE;
	if (rc == -EINTR || recording->over)
		return 0;
	util_check(util, rc, "recording");
	if (rc <= 0)
		return rc < 0 ? -1 : 0;
	take_times(recording, span);
	recording->taken += span->bytes;
	if (!span->sealed)
		return 1;
	/*
	 * write_mbuf() may wait for the disk. @busy is set before that, since the thread of the
	 * first queue may read it meanwhile.
	 */
	set_busy(recording, true);
	if (!write_mbuf(util, recording, span, last))
		return -1;
	return give_back(util, recording) ? 1 : -1;
}

/* The end of a recording ---------------------------------------------------------------------- */

/*
 * Record until one of the recording's limits is reached, the generator or the player has ended
 * (record_has_ended()), the capture has ended (recording->over), or a signal comes. Returns false
 * after a failure.
 */
static bool follow(struct util *util, struct recording *recording, struct litepcie_span *last)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	double begun = util_now(), asked = begun;
	int rc = 0;

	while (rc >= 0 && !util_interrupted()) {
		double now;

		rc = take(util, recording, &span, last, true);
		if (recording->over)
			break;
		if (rc > 0 && recording->packets && span.records >= recording->packets)
			break;
		now = util_now();
		if (recording->seconds > 0 && now - begun >= recording->seconds)
			break;
		if (now - asked >= ASK_S && record_has_ended(util, recording))
			break;
		if (now - asked >= ASK_S)
			asked = now;
	}
	return rc >= 0 && !util->failed;
}

/*
 * Stop the generator, unless it was not started or has made all its frames. With --lossless its
 * last frame may wait for room in the ring of the first queue, so data is taken from this ring
 * until the generator has delivered that frame. The frame may also wait for room in the ring of
 * another of the @count queues, whose disk is slow.
 *
 * If for more than STUCK_S seconds no data comes from the first ring, and no MBUF (part of a ring)
 * of the @count queues is still to be written, the frame probably waits for a queue that no program
 * records. Then end_generator() returns true, and the stop of the capture, which follows, ends the
 * wait of the frame. Returns false after a failure.
 */
static bool end_generator(struct util *util, struct recording *recordings, unsigned int count,
			  struct litepcie_span *last)
{
	struct recording *recording = &recordings[0];
	struct litepcie_span span = { .struct_size = sizeof(span) };
	double moved = util_now();
	uint64_t made;
	int rc, taken;

	if (!recording->generates || recording->made_known)
		return true;
	rc = litepcie_capture_generate_stop(recording->capture);
	while (rc == 0) {
		rc = litepcie_capture_generated(recording->capture, &made);
		taken = rc == 0 ? take(util, recording, &span, last, true) : 0;
		if (taken < 0)
			return false;
		if (taken > 0 || files_are_behind(recording) || others_are_busy(recordings, count))
			moved = util_now();
		else if (util_now() - moved > STUCK_S)
			break;
	}
	util_check(util, rc, "stopping the generator");
	return rc >= 0;
}

/*
 * If the recording has a player, stop it. Data is taken from the ring until the player's thread has
 * ended, since a frame of the player may wait for room in the ring. Returns false after a failure.
 */
static bool end_player(struct util *util, struct recording *recording, struct litepcie_span *last)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };

	if (!recording->play)
		return true;
	play_stop(recording->play);
	while (!recording->play->ended)
		if (take(util, recording, &span, last, true) < 0)
			return false;
	return play_end(util, recording->play);
}

/*
 * Stop the capture of the first of @count queues. With the setting `newest` the threads of the
 * others wait for that. Returns 0 or -errno.
 */
static int stop(struct recording *recordings, unsigned int count)
{
	int rc = litepcie_capture_stop(recordings->capture);

	if (recordings->config.newest)
		newest_end(recordings, count);
	return rc;
}

/*
 * Stop the capture, and write the whole MBUFs (parts of the ring) that are left in the ring, even
 * if the stop has failed. Returns false after a failure.
 */
static bool end(struct util *util, struct recording *recordings, unsigned int count,
		struct litepcie_span *last)
{
	struct recording *recording = &recordings[0];
	struct litepcie_span span = { .struct_size = sizeof(span) };
	int rc = stop(recordings, count), taken;

	util_check(util, rc, "stopping the capture");
	do
		taken = take(util, recording, &span, last, false);
	while (taken > 0);
	if (taken == 0 && !files_finish(util, recording))
		return false;
	return rc >= 0 && taken == 0 && give_back(util, recording);
}

/* A recording from its start to its end ------------------------------------------------------- */

/*
 * Read the capture's settings, and open the recording's first file (the first of each folder)
 * before the card takes frames. Returns false after a failure, such as a --size that is too small
 * for the page of header and one MBUF (part of the ring).
 */
static bool prepare(struct util *util, struct recording *recording)
{
	const uint64_t page = LITEPCIE_CAPTURE_HEADER_BYTES;
	uint64_t least;

	litepcie_capture_settings(recording->capture, &recording->config);
	least = page + recording->config.mbuf_bytes;
	recording->header = aligned_alloc(page, page);
	if (!recording->header) {
		util_fail(util, "%s", strerror(ENOMEM));
		return false;
	}
	litepcie_capture_header(recording->capture, recording->header, page);
	if (recording->limits.bytes && recording->limits.bytes < least) {
		util_fail(util, "--size %llu: it must be %llu or more, so that a file has an MBUF "
			  "behind its header", (unsigned long long)recording->limits.bytes,
			  (unsigned long long)least);
		return false;
	}
	return files_open(util, recording, page);
}

/*
 * Give the card the rules and spread of the recording, and start the capture of the queue, the
 * generator and the player, as far as the recording has them. The capture of a queue other than 0
 * takes no frames before queue 0 is started. Returns false after a failure. -EINVAL sets
 * recording->refused, and other failures are noted.
 */
static bool start(struct util *util, struct recording *recording)
{
	int rc = 0;

	if (recording->sorting)
		rc = litepcie_capture_sort(recording->capture, recording->sorting);
	if (rc == 0)
		rc = litepcie_capture_start(recording->capture);
	/* The start has chosen the clock, unless an option has. */
	if (rc == 0)
		litepcie_capture_settings(recording->capture, &recording->config);
	if (rc == 0 && recording->generates)
		rc = litepcie_capture_generate(recording->capture, &recording->generator);
	if (rc == 0 && recording->play)
		rc = play_begin(util, recording->play);
	recording->refused = rc == -EINVAL;
	if (!recording->refused)
		util_check(util, rc, "starting the capture");
	return rc == 0;
}

/*
 * Read the card's counts of the recording's frames (accounts), set recording->last_ns from @last,
 * the last MBUF (part of the ring) of the recording, and close the files.
 */
static void conclude(struct util *util, struct recording *recording, const struct litepcie_span *last)
{
	int rc = litepcie_capture_stats(recording->capture, &recording->stats);

	recording->discards.struct_size = sizeof(recording->discards);
	if (rc == 0 && !recording->config.queue)
		rc = litepcie_capture_discards(recording->capture, &recording->discards);
	util_check(util, rc, "reading the accounts");
	recording->counted = rc == 0;
	take_last_time(recording, last);
	files_close(util, recording);
}

/*
 * Record the first of @count queues, and stop its capture at the end. Returns false after a
 * failure.
 */
static bool follow_to_the_end(struct util *util, struct recording *recordings, unsigned int count,
			      struct litepcie_span *last)
{
	struct recording *recording = &recordings[0];

	if (recording->config.newest)
		return newest_follow(util, recording) && end(util, recordings, count, last);
	return follow(util, recording, last) && end_generator(util, recordings, count, last) &&
	       end_player(util, recording, last) && end(util, recordings, count, last);
}

/*
 * Record the first of @count queues, until the recording has ended or failed. At the end its
 * capture is stopped. If this queue is queue 0, that ends the captures of all queues.
 */
static void run(struct util *util, struct recording *recordings, unsigned int count)
{
	struct recording *recording = &recordings[0];
	struct litepcie_span last = { .struct_size = sizeof(last) };
	bool right = follow_to_the_end(util, recordings, count, &last);

	/*
	 * After a failure no more data is taken from the ring: an MBUF (part of the ring) that
	 * could not be written would be missing in the files before that data.
	 */
	if (!right) {
		if (!recording->config.queue)
			litepcie_capture_generate_stop(recording->capture);
		stop(recordings, count);
		if (recording->play) {
			play_stop(recording->play);
			play_end(util, recording->play);
		}
	}
	conclude(util, recording, &last);
}

/* Queues with threads of their own ------------------------------------------------------------- */

/*
 * Give all data in the ring of a queue whose recording has failed back to the card, and all data
 * that comes until queue 0 is stopped or a call of the library fails. This is for a lossless
 * recording, in which a frame that waits for room in a full ring holds up the frames of all queues.
 * A failure is noted, with the number of those bytes that are in no file.
 */
static void drop(struct util *util, struct recording *recording)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	/*
	 * @kept: bytes of MBUFs (parts of the ring) that are in the files, but not yet given back
	 */
	uint64_t kept = (uint64_t)files_kept(recording) * recording->config.mbuf_bytes;
	uint64_t dropped = recording->taken - kept;
	int rc = litepcie_capture_release(recording->capture, recording->taken);

	while (rc >= 0) {
		rc = litepcie_capture_next(recording->capture, &span, DROP_MS);
		if (rc == 1) {
			dropped += span.bytes;
			rc = litepcie_capture_release(recording->capture, span.bytes);
		} else if (rc == -EINTR) {
			rc = 0;
		}
	}
	recording->over = rc == -EPIPE;
	if (!recording->over)
		util_check(util, rc, "recording");
	util_fail(util, "%llu bytes behind the file's end were dropped, so that this queue does not "
		  "hold up the others", (unsigned long long)dropped);
}

/*
 * The thread of a queue other than the first: record the queue until queue 0 is stopped. After a
 * failure of this queue the recordings of the other queues go on.
 */
static void *work(void *of)
{
	struct recording *recording = of;
	struct litepcie_span span = { .struct_size = sizeof(span) };
	struct litepcie_span last = { .struct_size = sizeof(last) };
	struct util *util = recording->util;

	while (sem_wait(&recording->gate) < 0)
		;	/* a signal ends sem_wait(), which is then called again */
	if (recording->called_off)
		return NULL;
	if (recording->pinned)
		processor_pin(util, recording->cpu);
	else
		processor_unpin();
	if (recording->config.newest)
		newest_wait(recording);
	while (!recording->over && take(util, recording, &span, &last, true) >= 0)
		;
	/*
	 * end_generator(), in the first queue's thread, waits while another queue is @busy. From
	 * here on, this queue hands no MBUF (part of the ring) to its files, so it must not be
	 * waited for.
	 */
	set_busy(recording, false);
	if (recording->over && files_finish(util, recording))
		give_back(util, recording);
	else if (!recording->over && recording->config.lossless)
		drop(util, recording);
	conclude(util, recording, &last);
	return NULL;
}

/*
 * Make the thread of a queue, which waits until open_gates() lets it begin. Returns false after a
 * failure, which is noted.
 */
static bool begin_thread(struct util *util, struct recording *recording)
{
	int rc;

	sem_init(&recording->gate, 0, 0);
	recording->called_off = false;
	recording->util = calloc(1, sizeof(*recording->util));
	rc = recording->util ? pthread_create(&recording->thread, NULL, work, recording) : ENOMEM;
	if (rc == 0)
		return true;
	free(recording->util);
	recording->util = NULL;
	util_fail(util, "the thread of queue %u: %s", recording->config.queue, strerror(rc));
	return false;
}

/*
 * Let the waiting threads of the queues go on: they record if @started is true, and otherwise end.
 */
static void open_gates(struct recording *recordings, unsigned int count, bool started)
{
	for (unsigned int n = 1; n < count; n++) {
		recordings[n].called_off = !started;
		if (recordings[n].util)
			sem_post(&recordings[n].gate);
	}
}

/*
 * If the queue has a thread, wait for its end, and note its failures as failures of the command in
 * @util.
 */
static void end_thread(struct util *util, struct recording *recording)
{
	struct util *own = recording->util;

	if (!own)
		return;
	pthread_join(recording->thread, NULL);
	for (unsigned int n = 0; n < own->failed && n < UTIL_FAILURES; n++)
		util_fail(util, "queue %u: %.480s", recording->config.queue, own->failures[n]);
	free(own);
	recording->util = NULL;
}

/*
 * Open the files, make the threads, and start the captures of all @count queues. The capture of the
 * first queue is started last: if it is queue 0, all captures begin with it. The threads are made
 * before, since the ring of a queue without a thread would fill up. Returns false after a failure.
 */
static bool begin(struct util *util, struct recording *recordings, unsigned int count)
{
	bool right = true;

	for (unsigned int n = 0; right && n < count; n++) {
		recordings[n].first_ns = UINT64_MAX;
		right = prepare(util, &recordings[n]);
	}
	for (unsigned int n = 1; right && n < count; n++)
		right = begin_thread(util, &recordings[n]);
	for (unsigned int n = count; right && n--;)
		right = start(util, &recordings[n]);
	open_gates(recordings, count, right);
	return right;
}

bool record(struct util *util, struct recording *recordings, unsigned int count)
{
	int awake = processor_keep_awake();
	bool begun, refused = false;

	processor_remember();
	begun = (!recordings->pinned || processor_pin(util, recordings->cpu)) &&
		begin(util, recordings, count);
	if (begun)
		run(util, recordings, count);
	for (unsigned int n = 0; n < count; n++) {
		end_thread(util, &recordings[n]);
		if (!begun)
			files_discard(&recordings[n]);
		refused |= recordings[n].refused;
	}
	/*
	 * If a setting was refused, record_refuse() needs the text of litepcie_why(), which a
	 * failing close could replace. The captures then stay open until litepcie_close().
	 */
	for (unsigned int n = 0; n < count && !refused; n++) {
		litepcie_capture_close(recordings[n].capture);
		recordings[n].capture = NULL;
	}
	if (awake >= 0)
		close(awake);
	return begun;
}
