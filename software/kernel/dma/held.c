// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Counts the descriptors that the card is done with in a held run or a stream (file/stream.c).  In
 * these runs the card uses each descriptor once, and then waits until the driver hands over more.
 * advance.c hands descriptors to the card.
 *
 * In these runs the register loop_status is the card's count of descriptors, modulo 2^32: the index
 * in its lower 16 bits carries into the counter of rounds in its upper 16 bits.
 */

#include "card.h"
#include "trace.h"

/*
 * Returns the number of bytes in the first @count descriptors of the run, as the ring held.end has
 * it.  @count must be at least hw_count, since the entries of older descriptors may have been
 * overwritten.
 */
static u64 end_of(const struct litepcie_way *way, u64 count)
{
	return count ? way->held.end[(count - 1) & way->held.mask] : 0;
}

u64 litepcie_held_position(const struct litepcie_way *way)
{
	return end_of(way, way->hw_count);
}

/*
 * Returns the number of descriptors whose data is known to have arrived.  That is the card's own
 * count, except for h2c of LitePCIe's endpoint.  That endpoint counts an h2c descriptor once its
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
 * Read the progress of a held run or a stream (in both the card waits for more descriptors) from
 * the status line, which the card writes to host memory after the c2h data that the line counts.
 * The card may write the line again between the two loads of this function.  So the position is
 * loaded before the count: the position then never includes a descriptor that the count lacks.
 * Returns 1 if the count has grown, 0 if not, or -EIO if the count cannot be true.
 */
static int read_line(struct litepcie_way *way)
{
	u64 position = litepcie_load_reported(&way->status->position);
	u64 done = litepcie_load_reported(&way->status->buffers);

	if (unlikely(done > way->held.advanced))
		return lose(way);
	way->held.position = position;
	/* catch_up() in advance.c may already have counted more descriptors by their records. */
	if (done <= way->held.done)
		return 0;
	WRITE_ONCE(way->held.done, done);
	WRITE_ONCE(way->hw_count, done);
	trace_litepcie_progress(way, way->hw_count, way->sw_count);
	return 1;
}

/*
 * Bring the counts of descriptors in a held run or a stream, in which the card waits for more of
 * them, up to date.  Returns 1 if hw_count has grown, 0 if not, or -EIO if the card's answer cannot
 * be true, so that the card may have gone.  If the card counts descriptors that it was never
 * handed, the run fails with -EIO.  A register value of all ones does not fail the run, since a
 * read that the root port has given up returns all ones, too.
 */
int litepcie_held_update(struct litepcie_way *way)
{
	void __iomem *status = way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS;
	struct litepcie_held *held = &way->held;
	u32 count, news;
	u64 done;

	lockdep_assert_held(&way->wait.lock);
	if (way->reports)
		return read_line(way);
	count = readl(status);
	/*
	 * All ones may be the count, the value of a read that the root port has given up, or that
	 * of a card that has gone.  If the card answers, read the count again.
	 */
	if (unlikely(count == ~0u)) {
		if (!litepcie_answers(litepcie_of(way)))
			return -EIO;
		count = readl(status);
	}
	news = count - (u32)held->done;
	if (unlikely(news > held->advanced - held->done))
		return count == ~0u ? -EIO : lose(way);
	/*
	 * The endpoint may still hold posted writes of c2h data that loop_status has counted.  A
	 * second read gives these writes the time of a whole round trip to arrive.
	 */
	if (news && way->id == LITEPCIE_WAY_C2H)
		readl(status);
	WRITE_ONCE(held->done, held->done + news);
	done = settled(way);
	if (done == way->hw_count)
		return 0;
	WRITE_ONCE(way->hw_count, done);
	trace_litepcie_progress(way, way->hw_count, way->sw_count);
	way->status->position = cpu_to_le64(end_of(way, done));
	/*
	 * Programs poll @buffers of the status page: they must not see a new count before the c2h
	 * data.
	 */
	smp_store_release(&way->status->buffers, cpu_to_le64(done));
	return 1;
}

/*
 * For a run in which the card writes a status line: returns true if the register loop_status counts
 * descriptors that the driver does not know to be done.  The status line that counts them may still
 * be on its way, since the completion of a register read does not push the writes that wait in the
 * endpoint.  Also returns true if the root port has given up the read, since the count is then not
 * known.  Returns false if the card is lost.
 */
bool litepcie_held_is_behind(struct litepcie_way *way)
{
	u32 count = readl(way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS);

	if (count == ~0u && litepcie_check_lost(litepcie_of(way)))
		return false;
	return count != (u32)READ_ONCE(way->held.done);
}
