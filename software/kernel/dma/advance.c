// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Hands DMA descriptors to the card in the runs in which the card waits for more of them: held runs
 * (LITEPCIE_IOCTL_ADVANCE), and streams of read() or write() (file/stream.c).  held.c counts the
 * descriptors that the card is done with.
 */

#include <linux/math64.h>

#include "card.h"

/*
 * Bring hw_count up to what the program may already have read in the status line and in the c2h
 * records.  The card writes the record of a c2h buffer before the status line that counts the
 * buffer, and may delay that line while more data comes.
 */
static void catch_up(struct litepcie_way *way)
{
	struct litepcie_held *held = &way->held;
	bool news = litepcie_dma_progress(way);

	if (way->reports && way->id == LITEPCIE_WAY_C2H) {
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
 * the card raises the direction's interrupt cause when it is done with the descriptor.  @last means
 * for h2c that the packet ends with the descriptor, and for c2h that the end of a packet or the
 * flush time ends the descriptor.  The caller holds way->mutex and has made sure that the card's
 * table has room.
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

static u64 outstanding(struct litepcie_way *way)
{
	u64 count;

	spin_lock_irq(&way->wait.lock);
	count = way->held.advanced - way->hw_count;
	spin_unlock_irq(&way->wait.lock);
	return count;
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
	if (outstanding(way) + advance->count > geometry->count)
		catch_up(way);
	if (READ_ONCE(way->error))
		return way->error;
	if (outstanding(way) + advance->count > geometry->count)
		return -EINVAL;
	err = check_lengths(geometry, advance, lengths);
	if (!err)
		hand_over(way, advance, lengths);
	return err;
}

/*
 * LITEPCIE_IOCTL_ADVANCE: hand buffers over to the card, and start a stopped direction.  If
 * @lengths is NULL, all buffers are full.  advance->advanced gets the number of buffers that were
 * handed over since the start of the run.  Returns -EINVAL if the card would have more buffers than
 * the ring, or if a length is 0 or larger than a buffer.  After -EINVAL none of these buffers has
 * been handed over, but the direction runs.  Other errors are those of litepcie_dma_start() and of
 * the run.
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
