// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements read() and write() of a stream of bytes.  stream.c has the run of the stream, and
 * packets.c the code for packets, and for the records of c2h buffers.
 */

#include <linux/uio.h>

#include "stream.h"

static int wait_ready(const struct litepcie_run *run, bool nonblock)
{
	if (!nonblock &&
	    wait_event_interruptible(run->way->wait,
				     litepcie_stream_bytes(run) || litepcie_stream_is_over(run)))
		return -ERESTARTSYS;
	if (litepcie_stream_is_over(run))
		return litepcie_stream_reason(run);
	if (!nonblock)
		return 0;
	litepcie_packet_refuse(run);
	return -EAGAIN;
}

/*
 * c2h: copy as much of one buffer as @to has room for.  Returns the number of bytes copied, which
 * may be 0 for a buffer that the card has ended without data, or -errno.
 */
static ssize_t read_part(struct litepcie_run *run, struct iov_iter *to)
{
	u32 offset, buffer = litepcie_stream_place(run, run->way->stream.at, &offset);
	u32 size = run->ring->geometry.size;
	u32 length, flags;
	size_t bytes, copied;
	int err = litepcie_packet_read(run, &length, &flags);

	if (err)
		return err;
	bytes = min_t(u64, length - min(offset, length), iov_iter_count(to));
	litepcie_ring_for_cpu(run->ring, buffer);
	copied = copy_to_iter(litepcie_ring_buffer(run->ring, buffer) + offset, bytes, to);
	if (bytes && !copied)
		return -EFAULT;
	if (offset + copied < length) {
		litepcie_stream_move(run, copied);
		return copied;
	}
	run->ended = run->ends.packets && run->done + copied &&
		     flags & (LITEPCIE_RECORD_LAST | LITEPCIE_RECORD_FLUSHED);
	litepcie_stream_move(run, size - offset);
	return copied;
}

/*
 * Copy the data that is ready, as far as @iter goes, without waiting.  A read() stops when
 * run->ended is set.  Returns 0, or the error that ended the copying.
 */
static int transfer_ready(struct litepcie_run *run, struct iov_iter *iter)
{
	ssize_t part;
	int err = 0;
	u64 most;

	while (!err && !run->ended && iov_iter_count(iter) && (most = litepcie_stream_bytes(run))) {
		part = run->way->id == LITEPCIE_WAY_C2H ? read_part(run, iter) :
						      litepcie_stream_write(run, iter, most);
		if (part < 0)
			return part;
		err = litepcie_stream_hand_over(run, false);
		/*
		 * c2h: the program has got the copied bytes, even if the run has ended meanwhile.
		 */
		if (!err || run->way->id == LITEPCIE_WAY_C2H)
			run->done += part;
	}
	return err;
}

/*
 * Returns true if the call must go on, with or without waiting.  write() goes on until it has taken
 * all of its data.  read() with packets on goes on until the program's buffer is full, or to the
 * end of a packet or of a c2h buffer that the flush time has ended.  read() with packets off
 * returns as soon as it has some data.
 */
static bool goes_on(const struct litepcie_run *run, const struct iov_iter *iter)
{
	if (!iov_iter_count(iter) || run->ended)
		return false;
	return !run->done || run->way->id == LITEPCIE_WAY_H2C || run->ends.packets;
}

static int transfer(struct litepcie_run *run, struct iov_iter *iter, bool nonblock)
{
	int err = 0;

	if (run->way->id == LITEPCIE_WAY_H2C)
		err = litepcie_packet_begin(run, iov_iter_count(iter));
	while (!err && goes_on(run, iter)) {
		if (!litepcie_stream_bytes(run))
			err = wait_ready(run, nonblock);
		else
			err = run->needs ? litepcie_packet_write(run, iter) :
					   transfer_ready(run, iter);
	}
	return err;
}

/*
 * Make the transfer of one read() or write().  The caller holds way->io, even while the call waits,
 * so that the data of two calls is not mixed.
 */
static ssize_t transfer_locked(struct litepcie_way *way, struct litepcie_file *file,
			       struct iov_iter *iter, bool nonblock)
{
	struct litepcie_run run;
	int err;

	lockdep_assert_held(&way->io);

	err = litepcie_stream_begin(&run, way, file);
	if (err)
		return err;
	err = transfer(&run, iter, nonblock);
	if (way->id == LITEPCIE_WAY_H2C)
		litepcie_stream_flush_later(&run);
	litepcie_ring_put(run.ring);
	return run.done ? run.done : err;
}

/*
 * Make a read() or write() of a stream.  Returns bytes or -errno, but never 0, which would mean the
 * end of the file.  If another file owns the direction, the call fails with -EBUSY and does not
 * wait for way->io: a last close() of that file may hold the lock for close_timeout_ms.
 */
ssize_t litepcie_stream_transfer(struct litepcie_way *way, struct litepcie_file *file,
				 struct iov_iter *iter, bool nonblock)
{
	ssize_t done;

	if (litepcie_is_gone(litepcie_of(way)))
		return -ENODEV;
	if (litepcie_owner_is_other(way, file))
		return -EBUSY;
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
