// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Runs a stream of bytes (LITEPCIE_RUN_STREAM): counts the bytes that can be copied, and hands
 * buffers over to the card.  transfer.c implements read() and write() with these functions.
 *
 * The bytes of a stream are numbered from the start of the run, beginning with 0.  stream.at is the
 * number of the byte with which the program's next read() or write() goes on.
 *
 * c2h: a buffer goes back to the card when it has been read to its end.  If the card has ended the
 * buffer early, the rest of it is skipped.
 *
 * h2c with packets off: of the bytes that were written, the card gets whole beats (of
 * LITEPCIE_BEAT_BYTES bytes each).  An incomplete beat waits for more data, until the flush time,
 * fsync() or the last close() sends it (sync.c).
 */

#include <linux/math64.h>
#include <linux/uio.h>

#include "stream.h"

/* Returns the index of the buffer with byte @at of the stream.  *@offset: offset in that buffer. */
u32 litepcie_stream_place(const struct litepcie_run *run, u64 at, u32 *offset)
{
	u32 size = run->ring->geometry.size;
	u32 buffer;

	div_u64_rem(at >> ilog2(size), run->ring->geometry.count, &buffer);
	*offset = at & (size - 1);
	return buffer;
}

/* How many bytes of a stream can be copied now ---------------------------- */

/*
 * Returns how many bytes of the ring the program may read (c2h) or write (h2c).  A c2h buffer that
 * the card has ended early counts with all of its bytes.  Returns 0 if the direction runs no
 * stream, or (h2c) if the card's table is full.
 */
static u64 ready_bytes(struct litepcie_way *way)
{
	u64 position;

	lockdep_assert_held(&way->wait.lock);
	if (way->run != LITEPCIE_RUN_STREAM)
		return 0;
	position = litepcie_held_position(way);
	if (way->id == LITEPCIE_WAY_C2H)
		return position - way->stream.at;
	if (way->held.advanced - way->hw_count >= way->depth)
		return 0;
	/*
	 * After an incomplete beat (less than LITEPCIE_BEAT_BYTES) that was sent, data goes on with
	 * the next beat, so the rest of the beat is no room.
	 */
	position = round_up(position, LITEPCIE_BEAT_BYTES);
	return litepcie_ring_bytes(way->ring) - (way->stream.at - position);
}

/*
 * Returns true if the card's descriptor table has room for the descriptors of @bytes further bytes.
 * Each buffer that these bytes touch needs one descriptor.
 */
static bool has_table_room(const struct litepcie_way *way, u64 bytes)
{
	u32 size = way->ring->geometry.size;
	u64 buffers = ((way->stream.at & (size - 1)) + bytes + size - 1) >> ilog2(size);

	return way->held.advanced - way->hw_count + buffers <= way->depth;
}

/*
 * Returns ready_bytes(), or 0 if the ring or the card's table has no room for a packet of @needs
 * bytes.  With @needs 0 there is no packet.
 */
static u64 ready_for(struct litepcie_way *way, u64 needs)
{
	u64 bytes = ready_bytes(way);

	return needs && (bytes < needs || !has_table_room(way, needs)) ? 0 : bytes;
}

/*
 * For poll(): returns true if read() or write() could copy anything now.  If the last write() was
 * refused, since there was no room for its packet, returns true only if there is room for that
 * packet.
 */
bool litepcie_stream_ready(struct litepcie_way *way)
{
	bool ready;

	spin_lock_irq(&way->wait.lock);
	ready = ready_for(way, way->stream.wanted);
	spin_unlock_irq(&way->wait.lock);
	return ready;
}

/*
 * Returns ready_bytes() for the call of which @run is the state.  Returns 0 if the run of the call
 * is over, or if the call is a write() of a packet that needs more room.
 */
u64 litepcie_stream_bytes(const struct litepcie_run *run)
{
	struct litepcie_way *way = run->way;
	u64 bytes = 0;

	spin_lock_irq(&way->wait.lock);
	if (way->generation == run->generation)
		bytes = ready_for(way, run->needs);
	spin_unlock_irq(&way->wait.lock);
	return bytes;
}

/*
 * Add @bytes to stream.at, the count of bytes that the program has read, written or skipped in this
 * run.  For a packet that is not sent, write() passes a negative number and so takes the packet's
 * bytes back.
 */
void litepcie_stream_move(const struct litepcie_run *run, s64 bytes)
{
	lockdep_assert_held(&run->way->io);

	spin_lock_irq(&run->way->wait.lock);
	run->way->stream.at += bytes;
	spin_unlock_irq(&run->way->wait.lock);
}

void litepcie_stream_warn(const struct litepcie_run *run, u64 warned)
{
	lockdep_assert_held(&run->way->io);

	spin_lock_irq(&run->way->wait.lock);
	if (run->way->generation == run->generation)
		run->way->stream.warned = warned;
	spin_unlock_irq(&run->way->wait.lock);
}

/*
 * h2c: copy at most @most bytes of @from to the ring, up to the end of a buffer.  Returns the bytes
 * copied, or -EFAULT if the first one cannot be read.  The caller holds way->io.
 */
ssize_t litepcie_stream_write(const struct litepcie_run *run, struct iov_iter *from, u64 most)
{
	u32 offset, buffer = litepcie_stream_place(run, run->way->stream.at, &offset);
	size_t bytes = min3(most, (u64)run->ring->geometry.size - offset,
			    (u64)iov_iter_count(from));
	size_t copied;

	litepcie_ring_for_cpu(run->ring, buffer);
	copied = copy_from_iter(litepcie_ring_buffer(run->ring, buffer) + offset, bytes, from);
	litepcie_stream_move(run, copied);
	return copied ? copied : -EFAULT;
}

/* Handing buffers over to the card ---------------------------------------- */

/*
 * c2h: hand over to the card all buffers that the program has read to their end.  At the start of
 * the run all buffers of the ring are handed over.
 */
static void give_back(struct litepcie_way *way)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	u64 end = (way->stream.at >> ilog2(geometry->size)) + geometry->count;

	lockdep_assert_held(&way->io);
	lockdep_assert_held(&way->mutex);
	while (way->held.advanced < end) {
		u32 buffer;

		div_u64_rem(way->held.advanced, geometry->count, &buffer);
		litepcie_ring_for_card(way->ring, buffer);
		litepcie_held_append(way, (u64)buffer * geometry->size, geometry->size, true,
				     way->reports);
	}
}

/*
 * h2c: hand over to the card the bytes that were written and not handed over yet, up to the end of
 * the buffer in which they begin, as one descriptor.  Without @all only whole beats (of
 * LITEPCIE_BEAT_BYTES bytes) are handed over.  An incomplete beat, or with packets on the last byte
 * that was written, ends a packet.  The caller has made sure that the card's table has room.
 */
static void send_part(struct litepcie_way *way, bool all)
{
	u32 size = way->ring->geometry.size;
	u64 given = way->held.bytes;
	u32 bytes = min_t(u64, way->stream.at - given, size - (given & (size - 1)));
	bool last;
	u32 buffer;

	lockdep_assert_held(&way->io);
	lockdep_assert_held(&way->mutex);
	if (!all)
		bytes = round_down(bytes, LITEPCIE_BEAT_BYTES);
	if (!bytes)
		return;
	div_u64_rem(given >> ilog2(size), way->ring->geometry.count, &buffer);
	litepcie_ring_for_card(way->ring, buffer);
	last = given + bytes == way->stream.at &&
	       (way->ends.packets || bytes % LITEPCIE_BEAT_BYTES);
	litepcie_held_append(way, (u64)buffer * size + (given & (size - 1)), bytes, true, last);
	spin_lock_irq(&way->wait.lock);
	way->held.bytes = round_up(way->held.bytes, LITEPCIE_BEAT_BYTES);
	way->stream.at = max(way->stream.at, way->held.bytes);
	spin_unlock_irq(&way->wait.lock);
}

/*
 * c2h: hand over to the card the buffers that were read to their end.  h2c: hand over written bytes
 * of one buffer in whole beats (of LITEPCIE_BEAT_BYTES bytes), and with @all also an incomplete
 * last beat.  Returns -ECANCELED if the run is over, or the error of litepcie_enter().  The caller
 * holds way->io.  Takes way->mutex.
 */
int litepcie_stream_hand_over(const struct litepcie_run *run, bool all)
{
	struct litepcie_way *way = run->way;
	int err = litepcie_enter(litepcie_of(way));

	if (err)
		return err;
	mutex_lock(&way->mutex);
	if (way->generation != run->generation)
		err = -ECANCELED;
	else if (way->id == LITEPCIE_WAY_C2H)
		give_back(way);
	else
		send_part(way, all);
	if (!err)
		WRITE_ONCE(way->status->advanced, way->held.advanced);
	mutex_unlock(&way->mutex);
	litepcie_exit(litepcie_of(way));
	return err;
}

/*
 * h2c: returns true if bytes that were written have not been handed over to the card.  Also returns
 * true if the run is over: litepcie_stream_hand_over() then returns an error.
 */
bool litepcie_stream_has_rest(const struct litepcie_run *run)
{
	struct litepcie_way *way = run->way;
	bool rest;

	spin_lock_irq(&way->wait.lock);
	rest = way->generation != run->generation || way->held.bytes != way->stream.at;
	spin_unlock_irq(&way->wait.lock);
	return rest;
}

/* Start and end of a stream's run ----------------------------------------- */

/*
 * Start the stream for @file, unless the stream runs already.  @run gets a reference to the
 * stream's ring.  Returns 0, or the error of litepcie_enter() or litepcie_dma_start().
 */
int litepcie_stream_begin(struct litepcie_run *run, struct litepcie_way *way,
			  struct litepcie_file *file)
{
	int err = litepcie_enter(litepcie_of(way));
	bool started;

	if (err)
		return err;
	mutex_lock(&way->mutex);
	started = way->run != LITEPCIE_RUN_STREAM;
	err = litepcie_dma_start(way, file, LITEPCIE_RUN_STREAM);
	if (!err) {
		*run = (struct litepcie_run){ way, way->ring, way->generation, way->ends };
		litepcie_ring_get(run->ring);
		if (started && way->id == LITEPCIE_WAY_C2H)
			give_back(way);
		WRITE_ONCE(way->status->advanced, way->held.advanced);
	}
	mutex_unlock(&way->mutex);
	litepcie_exit(litepcie_of(way));
	return err;
}

/* Returns true if the run in which the call began has stopped or failed, or the card has gone. */
bool litepcie_stream_is_over(const struct litepcie_run *run)
{
	struct litepcie_way *way = run->way;

	/*
	 * set_run() stores way->error, which litepcie_stream_reason() returns, before
	 * way->generation.
	 */
	return smp_load_acquire(&way->generation) != run->generation || READ_ONCE(way->error) ||
	       litepcie_is_gone(litepcie_of(way));
}

int litepcie_stream_reason(const struct litepcie_run *run)
{
	struct litepcie_way *way = run->way;

	if (litepcie_is_gone(litepcie_of(way)))
		return -ENODEV;
	return READ_ONCE(way->error) ? READ_ONCE(way->error) : -ECANCELED;
}
