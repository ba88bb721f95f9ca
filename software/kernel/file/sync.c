// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Handles the last bytes that were written to a stream.  fsync(), the last close() and the end of
 * the flush time send an incomplete beat (less than LITEPCIE_BEAT_BYTES), as the end of a packet.
 * The end of a packet says how many bytes its last beat has.  Data that is written later begins a
 * new beat.  LitePCIe's endpoint can send only whole beats, so with that endpoint an incomplete
 * beat is never sent.
 *
 * fsync() waits until the card has fetched all data that it can send.  The last close() of the
 * stream's file stops h2c.  A stop drops data that the card has fetched and the user's logic has
 * not taken.  So close() first waits until the logic has taken all data, if the card can tell that,
 * but no longer than close_timeout_ms.
 */

#include <linux/module.h>

#include "stream.h"

static unsigned int close_timeout_ms = 10000;
module_param(close_timeout_ms, uint, 0644);
MODULE_PARM_DESC(close_timeout_ms,
		 "longest wait of close() in ms until the card's logic has what was written (10000)");

/*
 * If the direction runs a stream that @file owns, fill in @run, with a reference to the ring, and
 * return true.  If @file is NULL, any file may own the stream.
 */
static bool find_run(struct litepcie_run *run, struct litepcie_way *way,
		     const struct litepcie_file *file)
{
	bool found;

	mutex_lock(&way->mutex);
	found = way->run == LITEPCIE_RUN_STREAM && (!file || way->owner == file);
	if (found) {
		*run = (struct litepcie_run){ way, way->ring, way->generation, way->ends };
		litepcie_ring_get(run->ring);
	}
	mutex_unlock(&way->mutex);
	return found;
}

/* The flush time of an incomplete h2c beat -------------------------------- */

/*
 * h2c: if the run has a flush time and bytes that were not handed over to the card, let flush()
 * send them once that time is over.  The caller holds way->io.
 */
void litepcie_stream_flush_later(const struct litepcie_run *run)
{
	lockdep_assert_held(&run->way->io);

	if (run->ends.flush_us && !litepcie_stream_is_over(run) && litepcie_stream_has_rest(run))
		mod_delayed_work(system_wq, &run->way->flusher,
				 usecs_to_jiffies(run->ends.flush_us) + 1);
}

/*
 * Send the last bytes of an h2c stream when the flush time is over, though they are no whole beat.
 * If a call such as write() holds way->io, try again one tick of the kernel's timer later instead
 * of waiting: a write() that waits for room may hold the lock for long.
 */
static void flush(struct work_struct *work)
{
	struct litepcie_way *way = container_of(work, struct litepcie_way, flusher.work);
	struct litepcie_run run;

	if (!mutex_trylock(&way->io)) {
		schedule_delayed_work(&way->flusher, 1);
		return;
	}
	if (find_run(&run, way, NULL)) {
		if (litepcie_stream_bytes(&run))
			litepcie_stream_hand_over(&run, true);
		litepcie_stream_flush_later(&run);
		litepcie_ring_put(run.ring);
	}
	mutex_unlock(&way->io);
}

void litepcie_stream_init(struct litepcie_way *way)
{
	INIT_DELAYED_WORK(&way->flusher, flush);
}

/* fsync() and close() of a stream ----------------------------------------- */

/*
 * Returns true if the card counts all bytes of the run as fetched.  LitePCIe's endpoint cannot send
 * an incomplete last beat (less than LITEPCIE_BEAT_BYTES), so with that endpoint such a beat may be
 * missing.  *@rest gets the number of bytes that have not been handed over to the card.  If the run
 * is over, the function returns false.
 */
static bool is_fetched(const struct litepcie_run *run, u64 *rest)
{
	struct litepcie_way *way = run->way;
	bool fetched;

	spin_lock_irq(&way->wait.lock);
	*rest = way->stream.at - way->held.bytes;
	fetched = way->generation == run->generation && way->held.done == way->held.advanced &&
		  *rest < (way->in_flight ? LITEPCIE_BEAT_BYTES : 1);
	spin_unlock_irq(&way->wait.lock);
	return fetched;
}

static void poll_card(struct litepcie_way *way)
{
	if (litepcie_enter(litepcie_of(way)))
		return;
	if (litepcie_dma_progress(way))
		litepcie_dma_news(way);
	litepcie_exit(litepcie_of(way));
}

/*
 * Returns true if litepcie_dma_taken() says that a stop of the direction loses no data that the
 * card has fetched.  Also returns true if litepcie_enter() fails, since the card cannot be asked
 * then.
 */
static bool is_taken(struct litepcie_way *way)
{
	bool taken;

	if (litepcie_enter(litepcie_of(way)))
		return true;
	taken = litepcie_dma_taken(way);
	litepcie_exit(litepcie_of(way));
	return taken;
}

/*
 * Send all bytes that were written, and wait until the card has fetched them, for @timeout jiffies
 * at most.  With @closing also wait until the user's logic has taken them, and ignore signals.
 * Returns 0, -ETIMEDOUT, -ERESTARTSYS after a signal, or an error of litepcie_stream_hand_over() or
 * litepcie_stream_reason().  Returns -EOPNOTSUPP if the card has got all data except an incomplete
 * last beat (less than LITEPCIE_BEAT_BYTES), which it cannot send.
 */
static int drain(const struct litepcie_run *run, unsigned long timeout, bool closing)
{
	struct litepcie_way *way = run->way;
	unsigned long end = jiffies + timeout;
	bool fetched;
	int err = 0;
	u64 rest;

	lockdep_assert_held(&way->io);

	while (!err && !((fetched = is_fetched(run, &rest)) && (!closing || is_taken(way)))) {
		if (litepcie_stream_bytes(run) || !rest)
			err = litepcie_stream_hand_over(run, !way->in_flight);
		poll_card(way);
		if (!err && litepcie_stream_is_over(run))
			err = litepcie_stream_reason(run);
		if (!err && !closing && signal_pending(current))
			err = -ERESTARTSYS;
		if (!err && time_after(jiffies, end))
			err = -ETIMEDOUT;
		/*
		 * No interrupt tells that the user's logic has taken data, so this loop calls
		 * is_taken() again after one tick.
		 */
		if (!err)
			wait_event_timeout(way->wait,
					   (!fetched && is_fetched(run, &rest)) ||
					   litepcie_stream_is_over(run), 1);
	}
	return !err && rest ? -EOPNOTSUPP : err;
}

/*
 * Returns true if the status line counts more failed h2c descriptors than at the last call that
 * returned true, or at the start of the run.  Reads of their data from host memory have failed, and
 * the user's logic has got zeros in place of the missing data.  Returns false in a run without a
 * status line.
 */
static bool has_failed(const struct litepcie_run *run)
{
	struct litepcie_way *way = run->way;
	bool failed;
	u64 errors;

	spin_lock_irq(&way->wait.lock);
	errors = way->reports ? le64_to_cpu(READ_ONCE(way->status->errors)) : 0;
	failed = way->generation == run->generation && errors > way->stream.warned;
	if (failed)
		way->stream.warned = errors;
	spin_unlock_irq(&way->wait.lock);
	return failed;
}

/*
 * fsync(): wait without a time limit until the card has fetched all bytes that were written.
 * Returns -ENODEV if the card has gone, -ERESTARTSYS after a signal, -EIO if has_failed() returns
 * true, or an error of drain().  If @file owns the direction and runs no stream, returns the error
 * that ended its last run, if there was one.  Otherwise returns 0.
 */
int litepcie_stream_sync(struct litepcie_file *file)
{
	struct litepcie_way *way = &file->chan->way[LITEPCIE_WAY_H2C];
	struct litepcie_run run;
	int err = 0;

	if (litepcie_is_gone(litepcie_of(way)))
		return -ENODEV;
	/*
	 * If another file owns the direction, this file has no data under way.  So fsync() does not
	 * wait for way->io, which the last close() of the other file may hold for long.
	 */
	if (litepcie_owner_is_other(way, file))
		return 0;
	if (mutex_lock_interruptible(&way->io))
		return -ERESTARTSYS;
	if (find_run(&run, way, file)) {
		err = drain(&run, MAX_JIFFY_OFFSET, false);
		if (!err && has_failed(&run))
			err = -EIO;
		litepcie_ring_put(run.ring);
	} else if (READ_ONCE(way->owner) == file) {
		err = READ_ONCE(way->error);
	}
	mutex_unlock(&way->io);
	return err;
}

/*
 * The last close() of @file: if @file owns an h2c stream, wait, at most close_timeout_ms, until the
 * user's logic has all data, or until the card has fetched all data if it cannot tell what the
 * logic has.  The calls of other files do not wait for way->io meanwhile: as long
 * as @file is the owner, their write() fails with -EBUSY, and their fsync() returns 0.
 */
void litepcie_stream_close(struct litepcie_file *file)
{
	struct litepcie_way *way = &file->chan->way[LITEPCIE_WAY_H2C];
	struct litepcie_run run;
	u64 left = 0;
	int err;

	if (!find_run(&run, way, file))
		return;
	mutex_lock(&way->io);
	err = drain(&run, msecs_to_jiffies(close_timeout_ms), true);
	mutex_unlock(&way->io);
	if (err) {
		spin_lock_irq(&way->wait.lock);
		if (way->generation == run.generation)
			left = way->stream.at - (err == -EOPNOTSUPP ? way->held.bytes :
						 litepcie_held_position(way));
		way->unsent += left;
		spin_unlock_irq(&way->wait.lock);
	}
	if (err == -ETIMEDOUT)
		dev_warn(litepcie_dev(way), "close() has waited %u ms: %llu bytes that the card has not fetched are dropped, and data that the user's logic has not taken\n",
			 close_timeout_ms, left);
	else if (err == -EOPNOTSUPP)
		dev_warn(litepcie_dev(way), "close() drops the last %llu bytes: this card sends only whole beats\n",
			 left);
	litepcie_ring_put(run.ring);
}
