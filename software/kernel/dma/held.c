// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements held runs, in which the card uses the descriptors that the driver has handed to it,
 * and then waits for more.  A stream (file/stream.c) is handed to the card in the same way.
 *
 * The card's descriptor table is in its programmed mode, in which each descriptor runs once.  The
 * register loop_status then counts the descriptors that have run, modulo 2^32: the index in its
 * lower 16 bits carries into the counter of rounds in its upper 16 bits.
 */

#include <linux/math64.h>

#include "card.h"
#include "trace.h"

/*
 * Returns the number of bytes in the first @count descriptors of the run.  @count must be at least
 * hw_count, since the entries of older descriptors are overwritten.
 */
static u64 end_of(const struct litepcie_way *way, u64 count)
{
	return count ? way->held.end[(count - 1) & way->held.mask] : 0;
}

/* For LITEPCIE_RUN_HELD and _STREAM: returns the bytes in descriptors that the card has done. */
u64 litepcie_held_position(const struct litepcie_way *way)
{
	return end_of(way, way->hw_count);
}

/*
 * Returns the number of descriptors whose data is known to have arrived, which is the card's own
 * count, except for h2c of LitePCIe's endpoint.  That endpoint counts a descriptor once its
 * data is requested, so up to in_flight bytes of the last descriptors may not have arrived.
 */
static u64 settled(const struct litepcie_way *way)
{
	u64 count = way->hw_count, have = end_of(way, way->held.done);

	if (!way->in_flight)
		return way->held.done;
	while (count < way->held.done && end_of(way, count + 1) + way->in_flight <= have)
		count++;
	return count;
}

/*
 * Called when the card counts more descriptors than it was handed, which is impossible.  The run
 * fails with -EIO, which is also what the function returns.
 */
static int lose(struct litepcie_way *way)
{
	WRITE_ONCE(way->error, -EIO);
	way->status->error = -EIO;
	return -EIO;
}

/*
 * Read the progress of a held run from the status line, which the card writes to host memory after
 * the data that the line counts.  The card may write the line again between the two loads of this
 * function.  So the position is loaded before the count: the position then never includes a buffer
 * that the count lacks.
 */
static int look_at_line(struct litepcie_way *way)
{
	u64 position = litepcie_load_told(&way->status->position);
	u64 done = litepcie_load_told(&way->status->buffers);

	if (unlikely(done > way->held.advanced))
		return lose(way);
	way->held.position = position;
	/* litepcie_held_look() may already have counted more descriptors by their records. */
	if (done <= way->held.done)
		return 0;
	WRITE_ONCE(way->held.done, done);
	WRITE_ONCE(way->hw_count, done);
	trace_litepcie_progress(way, way->hw_count, way->sw_count);
	return 1;
}

/*
 * Bring the counts of a held run up to date.  Returns 1 if hw_count has grown, 0 if not, or -EIO if
 * the card's answer cannot be true, so that the card may have gone.  If the card counts descriptors
 * that it was never handed, the run ends with that error.  An answer of all ones does not end the
 * run: a read that the root port has given up returns it, too.
 */
int litepcie_held_update(struct litepcie_way *way)
{
	void __iomem *status = way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS;
	struct litepcie_held *held = &way->held;
	u32 count, news;
	u64 done;

	lockdep_assert_held(&way->wait.lock);
	if (way->told)
		return look_at_line(way);
	count = readl(status);
	/* Either the root port has given up the read, or 2^32 - 1 is the count: read again. */
	if (unlikely(count == ~0u)) {
		if (!litepcie_answers(litepcie_of(way)))
			return -EIO;
		count = readl(status);
	}
	news = count - (u32)held->done;
	if (unlikely(news > held->advanced - held->done))
		return count == ~0u ? -EIO : lose(way);
	/*
	 * The endpoint may still hold posted writes of data that it has counted.  A second read
	 * gives them a whole round trip to arrive.
	 */
	if (news && way->id == LITEPCIE_C2H)
		readl(status);
	WRITE_ONCE(held->done, held->done + news);
	done = settled(way);
	if (done == way->hw_count)
		return 0;
	WRITE_ONCE(way->hw_count, done);
	trace_litepcie_progress(way, way->hw_count, way->sw_count);
	way->status->position = cpu_to_le64(end_of(way, done));
	/* Programs poll @buffers: c2h data must be visible to them before the new count is. */
	smp_store_release(&way->status->buffers, cpu_to_le64(done));
	return 1;
}

/*
 * Returns true if the card's register counts descriptors of a held run that the driver does not
 * know to be done.  The status line that counts them may still be on its way: a read's completion
 * does not push the writes that wait in the endpoint.  The function also returns true if the root
 * port has given up the read, since the count is not known then.
 */
bool litepcie_held_is_behind(struct litepcie_way *way)
{
	u32 count = readl(way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS);

	if (count == ~0u && litepcie_check_lost(litepcie_of(way)))
		return false;
	return count != (u32)READ_ONCE(way->held.done);
}

/*
 * Bring hw_count up to what the program may already have read in the status line and in the c2h
 * records, for which no interrupt was needed.  The card writes a buffer's record before the status
 * line, and delays the line while more data comes.
 */
void litepcie_held_look(struct litepcie_way *way)
{
	struct litepcie_held *held = &way->held;
	bool news = litepcie_dma_progress(way);

	if (way->told && way->id == LITEPCIE_C2H) {
		spin_lock_irq(&way->wait.lock);
		while (held->done < held->advanced && litepcie_notices_ended(way, held->done))
			WRITE_ONCE(held->done, held->done + 1);
		news |= way->hw_count != held->done;
		WRITE_ONCE(way->hw_count, held->done);
		spin_unlock_irq(&way->wait.lock);
	}
	if (news)
		litepcie_dma_news(way);
}

/*
 * Hand one descriptor to the card, for @bytes at @offset of the ring, within one buffer.  With @irq
 * the card interrupts when it is done with the descriptor.  @last means for h2c that the packet
 * ends with the descriptor, and for c2h that the end of a packet ends the descriptor.  The caller
 * holds way->mutex and has made sure that the card's table has room.  Needs litepcie_enter().
 */
void litepcie_held_append(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last)
{
	struct litepcie_held *held = &way->held;

	spin_lock_irq(&way->wait.lock);
	held->bytes += bytes;
	held->end[held->advanced & held->mask] = held->bytes;
	WRITE_ONCE(held->advanced, held->advanced + 1);
	spin_unlock_irq(&way->wait.lock);
	litepcie_dma_describe(way, offset, bytes, irq, last);
}

/* Returns how many descriptors were handed over to the card and are not yet known to be done. */
u64 litepcie_held_outstanding(struct litepcie_way *way)
{
	u64 outstanding;

	spin_lock_irq(&way->wait.lock);
	outstanding = way->held.advanced - way->hw_count;
	spin_unlock_irq(&way->wait.lock);
	return outstanding;
}

static int check_lengths(const struct litepcie_geometry *geometry,
			 const struct litepcie_advance *advance, const u32 *lengths)
{
	for (u32 i = 0; lengths && i < advance->count; i++)
		if (!lengths[i] || lengths[i] > geometry->size)
			return -EINVAL;
	return 0;
}

static void hand_over(struct litepcie_way *way, const struct litepcie_advance *advance,
		      const u32 *lengths)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	bool notify = advance->flags & LITEPCIE_ADVANCE_NOTIFY;
	bool never = geometry->mode == LITEPCIE_MODE_POLL;

	for (u32 i = 0; i < advance->count; i++) {
		u64 number = way->held.advanced;
		u32 buffer, rest;

		div_u64_rem(number, geometry->count, &buffer);
		div_u64_rem(number + 1, geometry->per_interrupt, &rest);
		litepcie_held_append(way, (u64)buffer * geometry->size,
				     lengths ? lengths[i] : geometry->size,
				     !never && (!rest || (notify && i + 1 == advance->count)),
				     way->ends.packets);
	}
	WRITE_ONCE(way->status->advanced, way->held.advanced);
}

static int advance_locked(struct litepcie_way *way, struct litepcie_file *file,
			  const struct litepcie_advance *advance, const u32 *lengths)
{
	const struct litepcie_geometry *geometry;
	int err = litepcie_dma_start(way, file, LITEPCIE_RUN_HELD);

	if (err)
		return err;
	geometry = &way->ring->geometry;
	if (litepcie_held_outstanding(way) + advance->count > geometry->count)
		litepcie_held_look(way);
	if (READ_ONCE(way->error))
		return way->error;
	if (litepcie_held_outstanding(way) + advance->count > geometry->count)
		return -EINVAL;
	err = check_lengths(geometry, advance, lengths);
	if (!err)
		hand_over(way, advance, lengths);
	return err;
}

/*
 * LITEPCIE_IOCTL_ADVANCE: hand buffers over to the card, and start a stopped direction.  If
 * @lengths is NULL, all buffers are full.  advance->advanced gets the count of the run's
 * descriptors that were handed over, even after an error.  Returns -EINVAL if the card would have
 * more buffers than the ring, or if a length is 0 or too large.  After -EINVAL no buffer has been
 * handed over, but the direction has been started.  Other errors are those of
 * litepcie_dma_start() and of the run.  Needs litepcie_enter().
 */
int litepcie_held_advance(struct litepcie_file *file, struct litepcie_advance *advance,
			  const u32 *lengths)
{
	struct litepcie_way *way = litepcie_find_way(file, advance->way);
	int err;

	mutex_lock(&way->mutex);
	err = advance_locked(way, file, advance, lengths);
	advance->advanced = way->held.advanced;
	mutex_unlock(&way->mutex);
	return err;
}
