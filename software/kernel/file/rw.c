// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements read() and write().  In LitePCIe's loop (LITEPCIE_RUN_LOOP) these calls copy whole
 * buffers, by the code of this file.  Otherwise they move a stream of bytes (transfer.c), or fail
 * with -EBUSY during a held run.
 *
 * In LitePCIe's loop the card goes round its ring and does not wait for software.  Buffers for
 * which a call is too late are lost, and counted in way->lost.  c2h: buffers that are more than
 * half a ring old are skipped, since the card may overwrite them while they are read.  The driver's
 * count of finished buffers may be as old as the last interrupt.  So the card is asked again after
 * each copy, and a copy that the card may have overwritten is not returned.  h2c: data for a buffer
 * that the card has already sent comes too late, and is dropped.
 *
 * A call belongs to the loop in which it began.  Once that loop has ended, the call begins no
 * further copy, and fails unless it has copied data before: the buffers of a later run are the
 * card's, or another call's.
 */

#include <linux/math64.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "card.h"

/* State of one read() or write() in LitePCIe's loop, which another thread may stop meanwhile. */
struct run {
	struct litepcie_way	*way;
	struct litepcie_file	*file;
	/* way->generation of the loop; way->generation has another value once the loop is over */
	unsigned int		generation;
	/* ring of the loop; the call holds a reference to it while it copies */
	struct litepcie_ring	*ring;
	/* buffers for which this call was too late, and that way->lost does not count yet */
	u64			lost;
};

static bool nonblocking(const struct kiocb *iocb)
{
	return iocb->ki_flags & IOCB_NOWAIT || iocb->ki_filp->f_flags & O_NONBLOCK;
}

static u32 margin(const struct litepcie_ring *ring)
{
	return ring->geometry.count / 2;
}

static bool has_data(const struct litepcie_way *way)
{
	return way->hw_count > way->sw_count;
}

static bool has_room(const struct litepcie_way *way)
{
	return way->sw_count - way->hw_count < READ_ONCE(way->margin);
}

static bool run_begin(struct run *run, struct litepcie_way *way, struct litepcie_file *file)
{
	bool loop;

	*run = (struct run){ .way = way, .file = file };
	spin_lock_irq(&way->wait.lock);
	loop = way->run == LITEPCIE_RUN_LOOP;
	run->generation = way->generation;
	spin_unlock_irq(&way->wait.lock);
	return loop;
}

/*
 * Returns 0 while the loop of the call runs for the call's file.  Otherwise returns the error with
 * which the call must fail, since the data in the ring may be another run's.
 */
static int run_error(const struct run *run)
{
	const struct litepcie_way *way = run->way;
	const struct litepcie_file *owner = READ_ONCE(way->owner);
	/* set_run() stores the error before the generation. */
	bool over = smp_load_acquire(&way->generation) != run->generation;
	int err = owner == run->file ? READ_ONCE(way->error) : 0;

	if (litepcie_is_gone(litepcie_of(run->way)))
		return -ENODEV;
	if (err)
		return err;
	if (!owner || over)
		return -ECANCELED;
	return owner == run->file ? 0 : -EBUSY;
}

static bool is_ready(const struct run *run)
{
	struct litepcie_way *way = run->way;
	bool ready;

	spin_lock_irq(&way->wait.lock);
	ready = way->id == LITEPCIE_WAY_C2H ? has_data(way) : has_room(way);
	spin_unlock_irq(&way->wait.lock);
	return ready || run_error(run);
}

static int wait_ready(const struct run *run, bool nonblock)
{
	if (!is_ready(run)) {
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(run->way->wait, is_ready(run)))
			return -ERESTARTSYS;
	}
	return run_error(run);
}

/*
 * Take a reference to the loop's ring, which keeps the ring during the copy even if the direction
 * is released.  Returns 0, or the error of run_error().
 */
static int ring_get(struct run *run)
{
	struct litepcie_way *way = run->way;
	int err;

	mutex_lock(&way->mutex);
	err = run_error(run);
	if (!err) {
		run->ring = way->ring;
		litepcie_ring_get(run->ring);
	}
	mutex_unlock(&way->mutex);
	return err;
}

static void ring_put(struct run *run)
{
	struct litepcie_way *way = run->way;

	if (run->lost) {
		spin_lock_irq(&way->wait.lock);
		way->lost += run->lost;
		spin_unlock_irq(&way->wait.lock);
		dev_warn_ratelimited(litepcie_dev(way), "%s too late, %llu buffers lost\n",
				     way->id == LITEPCIE_WAY_C2H ? "Reading" : "Writing",
				     run->lost);
		run->lost = 0;
	}
	litepcie_ring_put(run->ring);
}

static u32 buffer_of(const struct run *run, s64 count)
{
	u32 buffer;

	div_u64_rem(count, run->ring->geometry.count, &buffer);
	return buffer;
}

/*
 * c2h: get the index of the next buffer to read, and the number of buffers that are ready.  Buffers
 * that are more than half a ring old are skipped before, and counted as lost.  Returns false if no
 * buffer is ready or the loop has ended.
 */
static bool next_data(struct run *run, u32 *buffer, size_t *buffers)
{
	struct litepcie_way *way = run->way;
	bool found;

	spin_lock_irq(&way->wait.lock);
	found = way->generation == run->generation && has_data(way);
	if (found && way->hw_count - way->sw_count > margin(run->ring)) {
		run->lost += way->hw_count - way->sw_count - margin(run->ring);
		WRITE_ONCE(way->sw_count, way->hw_count - margin(run->ring));
	}
	*buffer = buffer_of(run, way->sw_count);
	*buffers = way->hw_count - way->sw_count;
	spin_unlock_irq(&way->wait.lock);
	return found;
}

/*
 * h2c: get the index of the next buffer to write.  Returns false if no buffer is free or the loop
 * has ended.  *@late gets the number of buffers that the card sent before the program wrote them,
 * limited to @most, which count as lost.  The caller drops as many buffers of its data.
 */
static bool next_room(struct run *run, u32 *buffer, size_t *late, size_t most)
{
	struct litepcie_way *way = run->way;
	bool found;

	*late = 0;
	spin_lock_irq(&way->wait.lock);
	found = way->generation == run->generation && has_room(way);
	if (found && way->sw_count < way->hw_count) {
		*late = min_t(u64, way->hw_count - way->sw_count, most);
		WRITE_ONCE(way->sw_count, way->sw_count + *late);
		run->lost += *late;
	}
	*buffer = buffer_of(run, way->sw_count);
	spin_unlock_irq(&way->wait.lock);
	return found;
}

static void done_with(struct run *run, u32 buffers)
{
	spin_lock_irq(&run->way->wait.lock);
	if (run->way->generation == run->generation)
		WRITE_ONCE(run->way->sw_count, run->way->sw_count + buffers);
	spin_unlock_irq(&run->way->wait.lock);
}

/*
 * c2h: ask the card how far it is.  Returns true if the card had not begun to overwrite the buffer
 * that was copied first, whose number is sw_count.  The card may have filled hw_count + 1 buffers
 * and may be filling the next one, which must not lie where buffer sw_count lies, one ring earlier.
 * Also returns false if the run is over or litepcie_enter() fails.
 */
static bool copy_is_whole(struct run *run)
{
	struct litepcie_way *way = run->way;
	bool whole;

	if (litepcie_enter(litepcie_of(way)))
		return false;
	litepcie_dma_progress(way);
	litepcie_exit(litepcie_of(way));
	spin_lock_irq(&way->wait.lock);
	whole = way->generation == run->generation &&
		way->hw_count - way->sw_count + 1 < run->ring->geometry.count;
	spin_unlock_irq(&way->wait.lock);
	return whole;
}

/*
 * Copy @buffers buffers of the ring, from index @buffer on.  Returns the number of bytes copied,
 * which is less if @to has a bad address.
 */
static size_t copy_buffers(struct litepcie_ring *ring, u32 buffer, size_t buffers,
			   struct iov_iter *to)
{
	size_t size = ring->geometry.size, bytes = 0;

	for (size_t n = 0; n < buffers && bytes == n * size; n++) {
		u32 index = (buffer + (u32)n) % ring->geometry.count;

		litepcie_ring_for_cpu(ring, index);
		bytes += copy_to_iter(litepcie_ring_buffer(ring, index), size, to);
	}
	return bytes;
}

/*
 * Copy the buffers that are ready.  The card is asked after each copy, which has at most one buffer
 * more than a sixteenth of the ring.  If the card may have overwritten buffers while they were
 * copied, the copy is dropped, next_data() skips the lost buffers and counts them, and from then on
 * this function copies one buffer at a time.
 */
static ssize_t read_buffers(struct run *run, struct iov_iter *to)
{
	size_t size = run->ring->geometry.size, most = 1 + run->ring->geometry.count / 16, buffers;
	ssize_t done = 0;
	u32 buffer;

	lockdep_assert_held(&run->way->io);

	while (iov_iter_count(to) >= size && next_data(run, &buffer, &buffers)) {
		size_t copied;

		buffers = min3(buffers, most, iov_iter_count(to) / size);
		copied = copy_buffers(run->ring, buffer, buffers, to);
		if (copied == buffers * size && copy_is_whole(run)) {
			done_with(run, buffers);
			done += copied;
			continue;
		}
		iov_iter_revert(to, copied);
		most = 1;
		if (copied < buffers * size)
			return done ? done : -EFAULT;
		if (signal_pending(current))
			return done ? done : -ERESTARTSYS;
	}
	return done;
}

static ssize_t write_buffers(struct run *run, struct iov_iter *from)
{
	u32 size = run->ring->geometry.size;
	ssize_t done = 0;
	size_t late;
	u32 buffer;

	lockdep_assert_held(&run->way->io);

	while (iov_iter_count(from) >= size &&
	       next_room(run, &buffer, &late, iov_iter_count(from) / size)) {
		iov_iter_advance(from, late * size);
		done += late * size;
		if (iov_iter_count(from) < size)
			break;
		litepcie_ring_for_cpu(run->ring, buffer);
		if (!copy_from_iter_full(litepcie_ring_buffer(run->ring, buffer), size, from))
			return done ? done : -EFAULT;
		litepcie_ring_for_card(run->ring, buffer);
		done_with(run, 1);
		done += size;
	}
	return done;
}

/*
 * Copy the buffers that are ready, as far as @iter goes.  Returns the bytes copied or (h2c)
 * dropped, -EINVAL if @iter is shorter than a buffer, or another error.  Returns 0 if nothing was
 * copied, since another call took the buffers, the loop was stopped, or (c2h) the card may have
 * overwritten them.  With @nonblock, returns -EAGAIN if another thread is copying.
 */
static ssize_t transfer_some(struct run *run, struct iov_iter *iter, bool nonblock)
{
	struct litepcie_way *way = run->way;
	ssize_t done;

	if (nonblock && !mutex_trylock(&way->io))
		return -EAGAIN;
	if (!nonblock && mutex_lock_interruptible(&way->io))
		return -ERESTARTSYS;
	done = ring_get(run);
	if (!done) {
		if (iov_iter_count(iter) < run->ring->geometry.size)
			done = -EINVAL;
		else if (way->id == LITEPCIE_WAY_C2H)
			done = read_buffers(run, iter);
		else
			done = write_buffers(run, iter);
		ring_put(run);
	}
	mutex_unlock(&way->io);
	return done;
}

/*
 * read() and write(): move whole buffers in LitePCIe's loop (the card goes round the ring and never
 * waits), and a stream of bytes otherwise.  Returns bytes or -errno.  Returns 0 only for a length
 * of 0, since 0 would mean the end of the file.
 */
static ssize_t transfer(struct kiocb *iocb, struct iov_iter *iter, u32 id)
{
	struct litepcie_file *file = iocb->ki_filp->private_data;
	struct litepcie_way *way = &file->chan->way[id];
	struct run run;
	ssize_t done = 0;

	if (!iov_iter_count(iter))
		return 0;
	if (!run_begin(&run, way, file))
		return litepcie_stream_transfer(way, file, iter, nonblocking(iocb));
	while (!done) {
		done = wait_ready(&run, nonblocking(iocb));
		if (!done)
			done = transfer_some(&run, iter, nonblocking(iocb));
	}
	return done;
}

ssize_t litepcie_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return transfer(iocb, to, LITEPCIE_WAY_C2H);
}

int litepcie_fsync(struct file *filp, loff_t start, loff_t end, int datasync)
{
	return litepcie_stream_sync(filp->private_data);
}

ssize_t litepcie_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return transfer(iocb, from, LITEPCIE_WAY_H2C);
}
