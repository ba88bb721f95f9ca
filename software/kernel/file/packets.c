// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements packets in a stream (LITEPCIE_IOCTL_PACKETS), and uses the records of c2h buffers.
 *
 * h2c with packets on: each write() is one packet.  Without O_NONBLOCK write() waits until the ring
 * has room for all of the packet.  It copies all of the packet before the card gets the first part.
 *
 * c2h: if the driver can use records, the card's record says where a buffer has ended and why.
 * read() needs the record with packets off, too: a buffer may end early by the flush time, and its
 * data may be bad.
 */

#include <linux/uio.h>

#include "stream.h"

/* h2c: packets that write() sends ----------------------------------------- */

/*
 * h2c: store in stream.wanted the length in bytes of the packet for which write() found no room, or
 * 0 for none.  litepcie_stream_ready() returns false until the ring has room for that packet.
 */
static void set_wanted(const struct litepcie_run *run, u64 bytes)
{
	struct litepcie_way *way = run->way;
	bool less = false;

	lockdep_assert_held(&way->io);

	spin_lock_irq(&way->wait.lock);
	if (way->generation == run->generation) {
		less = bytes < way->stream.wanted;
		way->stream.wanted = bytes;
	}
	spin_unlock_irq(&way->wait.lock);
	/*
	 * poll() now waits for less room than before, and the free room may be enough already, so
	 * wake the threads in poll().
	 */
	if (less)
		litepcie_dma_news(way);
}

/*
 * h2c: begin a write() of @bytes.  With packets on, all of these bytes are one packet.  Returns
 * -EMSGSIZE if the packet is longer than the ring without one buffer.
 */
int litepcie_packet_begin(struct litepcie_run *run, size_t bytes)
{
	const struct litepcie_ring *ring = run->ring;

	if (!run->ends.packets)
		return 0;
	/* A packet that begins within a buffer may touch one buffer more than its length needs. */
	if (bytes > litepcie_ring_bytes(ring) - ring->geometry.size)
		return -EMSGSIZE;
	run->needs = bytes;
	set_wanted(run, 0);
	return 0;
}

/*
 * Called when a read() or write() that must not wait finds nothing that it can copy.  h2c with
 * packets on: litepcie_stream_ready() then returns false until the ring has room for the packet of
 * this write().  Otherwise nothing is done.
 */
void litepcie_packet_refuse(const struct litepcie_run *run)
{
	if (run->needs)
		set_wanted(run, run->needs);
}

/*
 * h2c: send the bytes of @from as one packet.  All of them are copied to the ring before the first
 * part of them is handed over to the card, so nothing is sent after -EFAULT.  After an error of
 * litepcie_stream_hand_over() the run is over or about to end, and the rest of the packet is
 * dropped.  The caller holds way->io and has made sure that ring and table have room.
 */
int litepcie_packet_write(struct litepcie_run *run, struct iov_iter *from)
{
	size_t bytes = iov_iter_count(from), done = 0;
	int err;

	while (done < bytes) {
		ssize_t part = litepcie_stream_write(run, from, bytes - done);

		if (part < 0) {
			litepcie_stream_move(run, -(s64)done);
			/* the packet was taken back, so the ring has room again: wake poll() */
			litepcie_dma_news(run->way);
			return part;
		}
		done += part;
	}
	/*
	 * litepcie_stream_hand_over() is called at least once, since it returns an error if another
	 * thread has stopped the run.
	 */
	do {
		err = litepcie_stream_hand_over(run, true);
	} while (!err && litepcie_stream_has_rest(run));
	run->done = err ? 0 : done;
	return err;
}

/* c2h: packets that read() returns ---------------------------------------- */

static int get_end(const struct litepcie_run *run, u32 *bytes, u32 *flags)
{
	struct litepcie_way *way = run->way;
	u32 size = run->ring->geometry.size;
	int err = 0;

	*bytes = size;
	*flags = 0;
	spin_lock_irq(&way->wait.lock);
	if (way->generation != run->generation)
		err = -ECANCELED;
	else if (way->reports)
		litepcie_notices_read(way, way->stream.at >> ilog2(size), bytes, flags);
	spin_unlock_irq(&way->wait.lock);
	/*
	 * The length comes from the card.  It is limited to the buffer's size, so that no byte
	 * beyond the buffer is copied.
	 */
	*bytes = min(*bytes, size);
	return err;
}

/*
 * Returns true if read() must fail at the next buffer, because the record of that buffer has
 * LITEPCIE_RECORD_ERROR.  read() fails once for each such buffer.  If this read() has copied
 * data already, it returns that data, and the next read() fails.
 */
static bool is_bad(const struct litepcie_run *run, u32 flags)
{
	const struct litepcie_stream *stream = &run->way->stream;
	u64 number = (stream->at >> ilog2(run->ring->geometry.size)) + 1;

	if (!(flags & LITEPCIE_RECORD_ERROR) || stream->warned == number)
		return false;
	if (!run->done)
		litepcie_stream_warn(run, number);
	return true;
}

/*
 * c2h: get the length in bytes and the flags of the buffer that read() returns next.  Returns
 * -EBADMSG if the buffer's data is bad and no read() has failed for this buffer yet, or -ECANCELED
 * if the run is over.
 */
int litepcie_packet_read(const struct litepcie_run *run, u32 *bytes, u32 *flags)
{
	int err = get_end(run, bytes, flags);

	if (!err && is_bad(run, *flags))
		err = -EBADMSG;
	return err;
}
