// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * read() and write() of a held direction: a stream of bytes, of any length at a time.
 *
 * The ring is one row of bytes.  c2h has all buffers that were read to their end; of
 * one that has ended early the rest is passed over.  h2c has the whole beats of what
 * was written: an incomplete one waits for more, so that pieces of any length reach
 * the user's logic as one would.  fsync(), the last close() and the flush time send
 * it as it is, as the end of a packet, which says how many bytes it has; what is
 * written then begins a new beat.  The last close() stops h2c, so it waits until the
 * user's logic has taken all: a stop drops what the card has fetched and the logic
 * has not taken.
 *
 * With packets a write() is one, which waits until there is room for all of it.
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

/* What one call works on: the run that it began with. */
struct run {
	struct litepcie_way	*way;
	struct litepcie_ring	*ring;
	unsigned int		generation;
	u64			needs;	/* bytes without which it can do nothing */
	ssize_t			done;	/* bytes so far */
	bool			ended;	/* c2h: with the end of a packet */
};

/* A place in the row of bytes, in the ring. */
static u32 place_of(const struct run *run, u64 at, u32 *offset)
{
	u32 size = run->ring->geometry.size;
	u32 buffer;

	div_u64_rem(at >> ilog2(size), run->ring->geometry.count, &buffer);
	*offset = at & (size - 1);
	return buffer;
}

/* How much ------------------------------------------------------------------------ */

/* Bytes that the user may read, or write.  0 when the run is over. */
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
		/* What was written after an incomplete beat begins with the next. */
		bytes = litepcie_ring_bytes(ring) -
			(way->stream.at - round_up(litepcie_held_position(way), BEAT));
	return bytes;
}

/* For poll(): read() or write() would not wait, or would start the direction. */
bool litepcie_stream_ready(struct litepcie_way *way)
{
	bool ready;

	spin_lock_irq(&way->wait.lock);
	ready = ready_bytes(way);
	spin_unlock_irq(&way->wait.lock);
	return ready;
}

/* h2c: the table has room for so many bytes of the ring, each buffer a descriptor. */
static bool has_places(const struct run *run, u64 bytes)
{
	const struct litepcie_way *way = run->way;
	u32 size = run->ring->geometry.size;
	u64 buffers = ((way->stream.at & (size - 1)) + bytes + size - 1) >> ilog2(size);

	return way->held.advanced - way->hw_count + buffers <= way->depth;
}

/* The same for a call, and 0 if another thread has ended its run. */
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

/* c2h: all buffers that have been read to their end, at first all there are. */
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
 * h2c: the next part of what was written, up to the end of its buffer; @all: with
 * an incomplete last beat, which ends a packet.  There is room in the table.
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

/* To the card, if the run still is. */
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

/* The run that there is, if it is one of write(): for @file, or for anybody. */
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

/* Somebody else may be at it, for no longer than a moment or with a write() that waits for room. */
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

/* The stream runs for the file when this returns 0, and its ring stays as long as the call. */
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

/* Why a run is over, for those who waited for it. */
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

/* c2h: how the buffer ended that is read next, of the run's ring; the run may be over. */
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
	*bytes = min(*bytes, size);	/* the card says so, and must not lead beyond the buffer */
	return err;
}

/* A bad packet's buffer: true once, for the call that tells of it and does nothing else. */
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

/* All that can be done without waiting: 0, or why no more can be. */
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
		/* Of c2h the data is the user's, whatever has happened to the run since. */
		if (!err || run->way->id == LITEPCIE_C2H)
			run->done += part;
	}
	return err;
}

/* All of it in the ring first: it is one packet, or none. */
static int write_packet(struct run *run, struct iov_iter *from)
{
	size_t bytes = iov_iter_count(from), done = 0;
	int err = 0;

	while (done < bytes) {
		ssize_t part = write_part(run, from, bytes - done);

		if (part < 0) {
			move(run, -(s64)done);
			return part;
		}
		done += part;
	}
	while (!err && run->way->held.bytes < run->way->stream.at)
		err = hand_over(run, true);
	run->done = err ? 0 : done;
	return err;
}

/*
 * Is a blocking call not at its end yet?  write() takes all that it is given, and
 * read() a packet to its end; a read() of bytes is content with some.
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

	/* From the middle of a buffer on it lies in one more than it could fill. */
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

/* One at a time, the wait included: what two readers or writers get is not mixed. */
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

/* Never 0, which would be the end of the file: a card has none. */
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

/* The card is asked, too: the last descriptor may have ended without an interrupt. */
static void look(struct litepcie_way *way)
{
	if (litepcie_enter(litepcie_of(way)))
		return;
	if (litepcie_dma_progress(way))
		litepcie_dma_news(way);
	litepcie_exit(litepcie_of(way));
}

/* Nothing of what was written would be lost if the direction were stopped now. */
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
 * Until the card has fetched all that was written, or the time is over.  @closing:
 * until the user's logic has taken it, too, and no signal ends it.
 */
static int drain(const struct run *run, unsigned long timeout, bool closing)
{
	struct litepcie_way *way = run->way;
	unsigned long end = jiffies + timeout;
	int err = 0;

	/* The stock endpoint cuts lengths to whole beats. */
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

/* Descriptors whose data the host did not give, since the last call; the card had zeros. */
static bool has_failed(struct litepcie_way *way)
{
	u64 errors = way->told ? READ_ONCE(way->status->errors) : 0;
	bool failed = errors > way->stream.warned;

	if (failed)
		way->stream.warned = errors;
	return failed;
}

/* fsync(): the card has fetched what was written.  0 also where nothing was. */
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

/* The last close(): the same for a bounded time. */
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
