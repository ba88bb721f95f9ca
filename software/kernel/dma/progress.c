// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Keeps the driver's counts of buffers that the card has finished, and wakes the threads that wait
 * for more.  Every interrupt of a direction runs this code, so the code must be short.
 *
 * In LitePCIe's loop the card's register loop_status has the index of the last descriptor that the
 * card has counted, and the number of rounds before.  From the first counted descriptor on, index
 * plus rounds, in descriptors, is one less than the number of descriptors that the card has
 * counted.  The driver takes this smaller number as the number of finished buffers.  So for each
 * buffer that the driver calls finished, the card has counted the next buffer, too.  LitePCIe's own
 * h2c engine counts a buffer when it has requested the data, and has at most 8 KiB in flight.  So
 * with LitePCIe's buffers of 8 KiB the data of a finished buffer has been fetched (h2c) or is in
 * memory (c2h).
 */

#include <linux/poll.h>

#include "card.h"
#include "compat.h"
#include "trace.h"

/*
 * The register loop_status has the index in its lowest bits, and above it the card's counter of
 * rounds, which wraps to 0 after ROUNDS rounds.
 */
#define INDEX_MASK	((1u << LITEPCIE_INDEX_BITS) - 1)
#define ROUNDS		BIT_ULL(32 - LITEPCIE_INDEX_BITS)

/*
 * Ask the card how many buffers it has finished.  Returns 1 if there are more than at the last
 * call, or 0 if not.  Returns -EIO if the answer cannot be true, so that the card may have gone.
 * In a held run or a stream, in which the card waits for more descriptors, these are counted
 * instead.  After -EIO the caller drops wait.lock and then calls litepcie_check_lost(), which takes
 * wait.lock to wake the waiting threads.
 */
static __always_inline int update_locked(struct litepcie_way *way)
{
	u64 position, done, before = way->position;
	u32 status, count = way->count;

	lockdep_assert_held(&way->wait.lock);
	if (way->run != LITEPCIE_RUN_LOOP)
		return way->run ? litepcie_held_update(way) : 0;
	status = readl(way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS);
	if (unlikely((status & INDEX_MASK) >= count))
		return -EIO;
	position = (u64)(status >> LITEPCIE_INDEX_BITS) * count + (status & INDEX_MASK);
	done = way->hw_count + position - before + (position < before ? count * ROUNDS : 0);
	WRITE_ONCE(way->hw_count, done);
	way->position = position;
	trace_litepcie_progress(way, done, way->sw_count);
	way->status->position = cpu_to_le64(done * way->ring->geometry.size);
	/*
	 * Programs poll @buffers of the status page: they must not see a new count before the c2h
	 * data.
	 */
	smp_store_release(&way->status->buffers, cpu_to_le64(done));
	return position != before;
}

/*
 * Wake the threads that wait in poll() for this direction, or all threads in poll() if the
 * direction has an error to report.  When the card is lost, card.c wakes all of them.  The barrier
 * of wq_has_sleeper() pairs with that of poll_wait(): either the polling thread sees the new
 * counts, or this function sees the sleeping thread.  Interrupts are off already, so the queue's
 * lock is taken without the saving of flags that wake_up_poll() does.
 */
static __always_inline void tell_pollers(struct litepcie_way *way)
{
	struct litepcie_chan *chan = way->chan;
	__poll_t news = way->id == LITEPCIE_WAY_C2H ? EPOLLIN | EPOLLRDNORM :
						      EPOLLOUT | EPOLLWRNORM;

	if (!wq_has_sleeper(&chan->pollers))
		return;
	if (way->error)
		news |= EPOLLERR | EPOLLHUP;
	spin_lock(&chan->pollers.lock);
	wake_up_locked_poll(&chan->pollers, news);
	spin_unlock(&chan->pollers.lock);
}

static __always_inline void tell_locked(struct litepcie_way *way)
{
	lockdep_assert_held(&way->wait.lock);

	/*
	 * A thread that is about to wait for buffers queues itself under wait.lock, and then checks
	 * the counts again.  So it does not miss this wake-up.
	 */
	if (waitqueue_active(&way->wait))
		wake_up_locked(&way->wait);
	tell_pollers(way);
	if (way->event)
		litepcie_eventfd_signal(way->event);
}

/*
 * Ask the card how many buffers it has finished, in any context.  Returns true if there are more
 * than before, or if the run has failed.  The card is asked with wait.lock held: otherwise an older
 * answer could be stored after a newer one.
 */
bool litepcie_dma_progress(struct litepcie_way *way)
{
	unsigned long flags;
	int news;

	spin_lock_irqsave(&way->wait.lock, flags);
	news = update_locked(way);
	spin_unlock_irqrestore(&way->wait.lock, flags);
	if (unlikely(news < 0))
		litepcie_check_lost(litepcie_of(way));
	/*
	 * In runs in which the card waits for descriptors (held runs and streams), way->error is
	 * set if the card counts descriptors that it was never handed.  Other impossible answers,
	 * and all of them in LitePCIe's loop, do not set way->error, and the run goes on.
	 */
	return news > 0 || (news < 0 && READ_ONCE(way->error));
}

void litepcie_dma_news(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	tell_locked(way);
	spin_unlock_irqrestore(&way->wait.lock, flags);
}

/*
 * Ask the card for progress, for the watchdog and LITEPCIE_IOCTL_COUNTS, and wake the waiting
 * threads if the card has made progress or the run has failed.  In a run in which the card writes
 * its status line, a card that has gone just stops writing.  So a register is read to find out
 * whether the card still answers.
 */
void litepcie_dma_ask(struct litepcie_way *way)
{
	if (way->reports && readl(way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS) == ~0u)
		litepcie_check_lost(litepcie_of(way));
	if (litepcie_dma_progress(way))
		litepcie_dma_news(way);
}

/*
 * Handle the direction's interrupt: ask the card for progress and wake the waiting threads.  With
 * MSI the interrupt handler has cleared the direction's cause before this call.  In adaptive mode
 * the handler has also called litepcie_timer_interrupt() before.
 */
void litepcie_dma_interrupt(struct litepcie_way *way)
{
	int news;

	/* spin_lock() is enough, since an interrupt handler calls this function */
	spin_lock(&way->wait.lock);
	news = update_locked(way);
	way->interrupts++;
	tell_locked(way);
	spin_unlock(&way->wait.lock);
	if (unlikely(news < 0))
		litepcie_check_lost(litepcie_of(way));
}
