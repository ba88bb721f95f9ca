// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * read() and write() as a stream of bytes (LITEPCIE_RUN_STREAM), of any length at a time.
 *
 * The ring is treated as one endless row of bytes, and stream.at is a place in it.
 *
 * c2h: a buffer goes back to the card when it has been read to its end.  If the buffer
 * has ended early, the rest of it is skipped.
 *
 * h2c: the card gets the whole beats of what was written.  An incomplete beat waits for
 * more data, so the division into calls does not show in the user's logic.  fsync(), the
 * last close() and the flush time send the incomplete beat, as the end of a packet.
 * The end of a packet says how many bytes its beat has.  Later data begins a new beat.
 *
 * The last close() stops h2c.  A stop drops data that the card has fetched and the user's
 * logic has not taken, so close() waits until the logic has taken all.
 *
 * With packets on, each write() is one packet, and waits until there is room for all of it.
 */

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/uio.h>

#include "card.h"

#define BEAT	32u	/* bytes of the card's data path */

static unsigned int close_timeout_ms = 10000;
module_param(close_timeout_ms, uint, 0644);
MODULE_PARM_DESC(close_timeout_ms,
		 "the longest that close() waits until the card has fetched what was written (10000)");

/* One call, and the run that it works on: another thread may stop that meanwhile. */
struct run {
	struct litepcie_way	*way;
	struct litepcie_ring	*ring;		/* with a reference */
	unsigned int		generation;	/* of @way; if it differs, the run is over */
	u64			needs;	/* h2c: bytes of room that the whole packet needs, or 0 */
	ssize_t			done;	/* bytes copied so far */
	bool			ended;	/* c2h: @done is up to the end of a packet */
};

/* The buffer that holds byte @at of the row, and its *@offset in that buffer. */
static u32 place_of(const struct run *run, u64 at, u32 *offset)
{
	u32 size = run->ring->geometry.size;
	u32 buffer;

	div_u64_rem(at >> ilog2(size), run->ring->geometry.count, &buffer);
	*offset = at & (size - 1);
	return buffer;
}

/* How much ------------------------------------------------------------------------ */

/*
 * Bytes of the ring that the user may read, or write.  0 if the direction runs no stream,
 * or (h2c) if the card's table is full.
 */
static u64 ready_bytes(struct litepcie_way *way)
{
	const struct litepcie_ring *ring = way->ring;
	u64 bytes = 0;

	lockdep_assert_held(&way->wait.lock);
	if (way->run != LITEPCIE_RUN_STREAM)
		return 0;
	if (way->id == LITEPCIE_C2H)
		return litepcie_held_position(way) - way->stream.at;
	if (way->held.advanced - way->hw_count < way->depth)
		/* What is written after an incomplete beat begins with the next beat. */
		bytes = litepcie_ring_bytes(ring) -
			(way->stream.at - round_up(litepcie_held_position(way), BEAT));
	return bytes;
}

/* For poll(): could read() or write() copy anything now? */
bool litepcie_stream_ready(struct litepcie_way *way)
{
	bool ready;

	spin_lock_irq(&way->wait.lock);
	ready = ready_bytes(way);
	spin_unlock_irq(&way->wait.lock);
	return ready;
}

/* h2c: has the card's table room for @bytes more, with one descriptor for each buffer? */
static bool has_places(const struct run *run, u64 bytes)
{
	const struct litepcie_way *way = run->way;
	u32 size = run->ring->geometry.size;
	u64 buffers = ((way->stream.at & (size - 1)) + bytes + size - 1) >> ilog2(size);

	return way->held.advanced - way->hw_count + buffers <= way->depth;
}

/* ready_bytes() for a call.  0 also if its run is over, or if it needs more. */
static u64 ready_in(const struct run *run)
{
	struct litepcie_way *way = run->way;
	u64 bytes;

	spin_lock_irq(&way->wait.lock);
	bytes = way->generation == run->generation ? ready_bytes(way) : 0;
	if (run->needs && (bytes < run->needs || !has_places(run, run->needs)))
		bytes = 0;
	spin_unlock_irq(&way->wait.lock);
	return bytes;
}

static void move(const struct run *run, s64 bytes)
{
	spin_lock_irq(&run->way->wait.lock);
	run->way->stream.at += bytes;
	spin_unlock_irq(&run->way->wait.lock);
}

/* Handing over -------------------------------------------------------------------- */

/* c2h: hand over all buffers that were read to their end.  At the start that is all. */
static void give_back(struct litepcie_way *way)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	u64 end = (way->stream.at >> ilog2(geometry->size)) + geometry->count;

	lockdep_assert_held(&way->mutex);
	while (way->held.advanced < end) {
		u32 buffer;

		div_u64_rem(way->held.advanced, geometry->count, &buffer);
		litepcie_ring_for_card(way->ring, buffer);
		litepcie_held_append(way, (u64)buffer * geometry->size, geometry->size, true,
				     way->told);
	}
}

/*
 * h2c: hand over what was written, up to the end of its buffer, as one descriptor.
 * @all: including an incomplete last beat, which ends a packet.  The caller has made sure
 * that the card's table has room.
 */
static void send_part(struct litepcie_way *way, bool all)
{
	u32 size = way->ring->geometry.size;
	u64 given = way->held.bytes;
	u32 bytes = min_t(u64, way->stream.at - given, size - (given & (size - 1)));
	u32 buffer;

	lockdep_assert_held(&way->mutex);
	if (!all)
		bytes = round_down(bytes, BEAT);
	if (!bytes)
		return;
	div_u64_rem(given >> ilog2(size), way->ring->geometry.count, &buffer);
	litepcie_ring_for_card(way->ring, buffer);
	litepcie_held_append(way, (u64)buffer * size + (given & (size - 1)), bytes, true,
			     given + bytes == way->stream.at && (way->ends.packets || bytes % BEAT));
	spin_lock_irq(&way->wait.lock);
	way->held.bytes = round_up(way->held.bytes, BEAT);
	way->stream.at = max(way->stream.at, way->held.bytes);
	spin_unlock_irq(&way->wait.lock);
}

/* Hand buffers over to the card.  -ECANCELED: the run is over. */
static int hand_over(const struct run *run, bool all)
{
	struct litepcie_way *way = run->way;
	int err = litepcie_enter(litepcie_of(way));

	if (err)
		return err;
	mutex_lock(&way->mutex);
	if (way->generation != run->generation)
		err = -ECANCELED;
	else if (way->id == LITEPCIE_C2H)
		give_back(way);
	else
		send_part(way, all);
	if (!err)
		WRITE_ONCE(way->status->advanced, way->held.advanced);
	mutex_unlock(&way->mutex);
	litepcie_exit(litepcie_of(way));
	return err;
}

/* The end of a run ----------------------------------------------------------------- */

static bool is_over(const struct run *run)
{
	struct litepcie_way *way = run->way;

	return READ_ONCE(way->generation) != run->generation || READ_ONCE(way->error) ||
	       litepcie_is_gone(litepcie_of(way));
}

/* The flush time of h2c ------------------------------------------------------------ */

static void flush_later(const struct run *run)
{
	struct litepcie_way *way = run->way;

	if (way->ends.flush_us && way->stream.at != way->held.bytes)
		mod_delayed_work(system_wq, &way->flusher, usecs_to_jiffies(way->ends.flush_us) + 1);
}

/* Fill in @run if a stream runs and @file owns it; any owner will do if @file is NULL. */
static bool find_run(struct run *run, struct litepcie_way *way, const struct litepcie_file *file)
{
	bool found;

	mutex_lock(&way->mutex);
	found = way->run == LITEPCIE_RUN_STREAM && (!file || way->owner == file);
	if (found) {
		*run = (struct run){ way, way->ring, way->generation };
		litepcie_ring_get(run->ring);
	}
	mutex_unlock(&way->mutex);
	return found;
}

/*
 * Send an incomplete beat, since the flush time is over.  If a call holds way->io, try again
 * later instead of waiting: a write() that waits for room may hold it for long.
 */
static void flush(struct work_struct *work)
{
	struct litepcie_way *way = container_of(work, struct litepcie_way, flusher.work);
	struct run run;

	if (!mutex_trylock(&way->io)) {
		schedule_delayed_work(&way->flusher, 1);
		return;
	}
	if (find_run(&run, way, NULL)) {
		if (ready_in(&run))
			hand_over(&run, true);
		if (!is_over(&run))
			flush_later(&run);
		litepcie_ring_put(run.ring);
	}
	mutex_unlock(&way->io);
}

void litepcie_stream_init(struct litepcie_way *way)
{
	INIT_DELAYED_WORK(&way->flusher, flush);
}

/* A call -------------------------------------------------------------------------- */

/* Start the stream for @file, if it does not run yet, and keep its ring for the call. */
static int run_begin(struct run *run, struct litepcie_way *way, struct litepcie_file *file)
{
	int err = litepcie_enter(litepcie_of(way));
	bool started;

	if (err)
		return err;
	mutex_lock(&way->mutex);
	started = way->run != LITEPCIE_RUN_STREAM;
	err = litepcie_dma_start(way, file, LITEPCIE_RUN_STREAM);
	if (!err) {
		*run = (struct run){ way, way->ring, way->generation };
		litepcie_ring_get(run->ring);
		if (started && way->id == LITEPCIE_C2H)
			give_back(way);
		WRITE_ONCE(way->status->advanced, way->held.advanced);
	}
	mutex_unlock(&way->mutex);
	litepcie_exit(litepcie_of(way));
	return err;
}

/* The error of a call whose run is over. */
static int reason(const struct run *run)
{
	struct litepcie_way *way = run->way;

	if (litepcie_is_gone(litepcie_of(way)))
		return -ENODEV;
	return READ_ONCE(way->error) ? READ_ONCE(way->error) : -ECANCELED;
}

static int wait_ready(const struct run *run, bool nonblock)
{
	if (nonblock)
		return is_over(run) ? reason(run) : -EAGAIN;
	if (wait_event_interruptible(run->way->wait, ready_in(run) || is_over(run)))
		return -ERESTARTSYS;
	return is_over(run) ? reason(run) : 0;
}

/* c2h: length and flags of the buffer that is read next.  -ECANCELED: the run is over. */
static int get_end(const struct run *run, u32 *bytes, u32 *flags)
{
	struct litepcie_way *way = run->way;
	u32 size = run->ring->geometry.size;
	int err = 0;

	*bytes = size;
	*flags = 0;
	spin_lock_irq(&way->wait.lock);
	if (way->generation != run->generation)
		err = -ECANCELED;
	else if (way->told)
		litepcie_notices_read(way, way->stream.at >> ilog2(size), bytes, flags);
	spin_unlock_irq(&way->wait.lock);
	*bytes = min(*bytes, size);	/* the card wrote it: never copy beyond the buffer */
	return err;
}

/*
 * Does read() fail at this buffer, because its packet came with `error`?  It does so once
 * for each such buffer.  If the call has data already, it returns that, and the next
 * call fails.
 */
static bool is_bad(const struct run *run, u32 flags)
{
	struct litepcie_stream *stream = &run->way->stream;
	u64 number = (stream->at >> ilog2(run->ring->geometry.size)) + 1;

	if (!(flags & LITEPCIE_RECORD_FLAG_ERROR) || stream->warned == number)
		return false;
	if (!run->done)
		stream->warned = number;
	return true;
}

static ssize_t read_part(struct run *run, struct iov_iter *to)
{
	u32 offset, buffer = place_of(run, run->way->stream.at, &offset);
	u32 size = run->ring->geometry.size;
	u32 length, flags;
	size_t bytes, copied;
	int err = get_end(run, &length, &flags);

	if (err)
		return err;
	if (is_bad(run, flags))
		return -EBADMSG;
	bytes = min_t(u64, length - min(offset, length), iov_iter_count(to));
	litepcie_ring_for_cpu(run->ring, buffer);
	copied = copy_to_iter(litepcie_ring_buffer(run->ring, buffer) + offset, bytes, to);
	if (bytes && !copied)
		return -EFAULT;
	if (offset + copied < length) {
		move(run, copied);
		return copied;
	}
	run->ended = run->way->ends.packets && run->done + copied &&
		     flags & (LITEPCIE_RECORD_FLAG_LAST | LITEPCIE_RECORD_FLAG_FLUSHED);
	move(run, size - offset);
	return copied;
}

static ssize_t write_part(const struct run *run, struct iov_iter *from, u64 most)
{
	u32 offset, buffer = place_of(run, run->way->stream.at, &offset);
	size_t bytes = min3(most, (u64)run->ring->geometry.size - offset,
			    (u64)iov_iter_count(from));
	size_t copied;

	litepcie_ring_for_cpu(run->ring, buffer);
	copied = copy_from_iter(litepcie_ring_buffer(run->ring, buffer) + offset, bytes, from);
	move(run, copied);
	return copied ? copied : -EFAULT;
}

/* Copy all that can be copied without waiting.  Returns 0, or why no more can be. */
static int transfer_ready(struct run *run, struct iov_iter *iter)
{
	ssize_t part;
	int err = 0;
	u64 most;

	while (!err && !run->ended && iov_iter_count(iter) && (most = ready_in(run))) {
		part = run->way->id == LITEPCIE_C2H ? read_part(run, iter) :
						      write_part(run, iter, most);
		if (part < 0)
			return part;
		err = hand_over(run, false);
		/* c2h: the data has been copied to the user, even if the run is over now. */
		if (!err || run->way->id == LITEPCIE_C2H)
			run->done += part;
	}
	return err;
}

/* Copy all of the packet to the ring before its first part is sent: all of it, or none. */
static int write_packet(struct run *run, struct iov_iter *from)
{
	size_t bytes = iov_iter_count(from), done = 0;
	int err;

	while (done < bytes) {
		ssize_t part = write_part(run, from, bytes - done);

		if (part < 0) {
			move(run, -(s64)done);
			return part;
		}
		done += part;
	}
	/* At least once: if another thread has stopped the run, hand_over() says so. */
	do {
		err = hand_over(run, true);
	} while (!err && run->way->held.bytes < run->way->stream.at);
	run->done = err ? 0 : done;
	return err;
}

/*
 * Must a blocking call go on?  write() goes on until it has taken everything, read() of
 * packets to the end of the packet.  read() without packets returns as soon as it has
 * some data.
 */
static bool goes_on(const struct run *run, const struct iov_iter *iter)
{
	if (!iov_iter_count(iter) || run->ended)
		return false;
	return !run->done || run->way->id == LITEPCIE_H2C || run->way->ends.packets;
}

static int transfer(struct run *run, struct iov_iter *iter, bool nonblock)
{
	bool packet = run->way->id == LITEPCIE_H2C && run->way->ends.packets;
	int err = 0;

	/* A packet may begin in the middle of a buffer, and so take one buffer more. */
	if (packet && iov_iter_count(iter) >
		      litepcie_ring_bytes(run->ring) - run->ring->geometry.size)
		return -EMSGSIZE;
	run->needs = packet ? iov_iter_count(iter) : 0;
	while (!err && goes_on(run, iter)) {
		if (!ready_in(run))
			err = wait_ready(run, nonblock);
		else
			err = packet ? write_packet(run, iter) : transfer_ready(run, iter);
	}
	return err;
}

/* With way->io held, also while it waits: the data of two calls is not mixed. */
static ssize_t transfer_locked(struct litepcie_way *way, struct litepcie_file *file,
			       struct iov_iter *iter, bool nonblock)
{
	struct run run;
	int err = run_begin(&run, way, file);

	if (err)
		return err;
	err = transfer(&run, iter, nonblock);
	if (way->id == LITEPCIE_H2C)
		flush_later(&run);
	litepcie_ring_put(run.ring);
	return run.done ? run.done : err;
}

/* Never returns 0, which would mean the end of the file. */
ssize_t litepcie_stream_transfer(struct litepcie_way *way, struct litepcie_file *file,
				 struct iov_iter *iter, bool nonblock)
{
	ssize_t done;

	if (nonblock) {
		if (!mutex_trylock(&way->io))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&way->io)) {
		return -ERESTARTSYS;
	}
	done = transfer_locked(way, file, iter, nonblock);
	mutex_unlock(&way->io);
	return done;
}

/* The end of what was written ------------------------------------------------------ */

static bool is_fetched(struct litepcie_way *way)
{
	bool fetched;

	spin_lock_irq(&way->wait.lock);
	fetched = way->held.done == way->held.advanced && way->held.bytes == way->stream.at;
	spin_unlock_irq(&way->wait.lock);
	return fetched;
}

/* Ask the card for progress: the last descriptor may have ended without an interrupt. */
static void look(struct litepcie_way *way)
{
	if (litepcie_enter(litepcie_of(way)))
		return;
	if (litepcie_dma_progress(way))
		litepcie_dma_news(way);
	litepcie_exit(litepcie_of(way));
}

/* Could the direction be stopped now without loss?  A card that is away loses nothing more. */
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
 * Send all that was written, and wait until the card has fetched it, for @timeout jiffies
 * at most.  @closing: also wait until the user's logic has taken it, and ignore signals.
 */
static int drain(const struct run *run, unsigned long timeout, bool closing)
{
	struct litepcie_way *way = run->way;
	unsigned long end = jiffies + timeout;
	int err = 0;

	/* LitePCIe's endpoint cuts lengths to whole beats, so it cannot send this. */
	if (way->in_flight && way->stream.at % BEAT)
		return -EOPNOTSUPP;
	while (!err && !(is_fetched(way) && (!closing || is_taken(way)))) {
		if (ready_in(run) || way->stream.at == way->held.bytes)
			err = hand_over(run, true);
		look(way);
		if (!err && is_over(run))
			err = reason(run);
		if (!err && !closing && signal_pending(current))
			err = -ERESTARTSYS;
		if (!err && time_after(jiffies, end))
			err = -ETIMEDOUT;
		if (!err)
			wait_event_timeout(way->wait, is_fetched(way) || is_over(run), 1);
	}
	return err;
}

/*
 * Have reads of h2c data failed since the last call?  The user's logic has got zeros in
 * place of such data.
 */
static bool has_failed(struct litepcie_way *way)
{
	u64 errors = way->told ? READ_ONCE(way->status->errors) : 0;
	bool failed = errors > way->stream.warned;

	if (failed)
		way->stream.warned = errors;
	return failed;
}

/* fsync(): wait until the card has fetched what was written.  0 if nothing was. */
int litepcie_stream_sync(struct litepcie_file *file)
{
	struct litepcie_way *way = &file->chan->way[LITEPCIE_H2C];
	struct run run;
	int err = 0;

	if (litepcie_is_gone(litepcie_of(way)))
		return -ENODEV;
	if (mutex_lock_interruptible(&way->io))
		return -ERESTARTSYS;
	if (find_run(&run, way, file)) {
		err = drain(&run, MAX_JIFFY_OFFSET, false);
		if (!err && has_failed(way))
			err = -EIO;
		litepcie_ring_put(run.ring);
	} else if (way->owner == file) {
		err = READ_ONCE(way->error);
	}
	mutex_unlock(&way->io);
	return err;
}

/* The last close(): wait until the user's logic has taken all, for a limited time. */
void litepcie_stream_close(struct litepcie_file *file)
{
	struct litepcie_way *way = &file->chan->way[LITEPCIE_H2C];
	struct run run;
	u64 left = 0;
	int err;

	if (!find_run(&run, way, file))
		return;
	err = drain(&run, msecs_to_jiffies(close_timeout_ms), true);
	if (err) {
		spin_lock_irq(&way->wait.lock);
		if (way->generation == run.generation)
			left = way->stream.at - litepcie_held_position(way);
		way->unsent += left;
		spin_unlock_irq(&way->wait.lock);
	}
	if (err == -ETIMEDOUT)
		dev_warn(litepcie_dev(way), "closed after %u ms with data that the card (%llu bytes) or its logic has not taken: it is dropped\n",
			 close_timeout_ms, left);
	litepcie_ring_put(run.ring);
}
