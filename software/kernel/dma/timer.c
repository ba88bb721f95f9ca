// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Has the timer by which the driver asks the card for progress in poll mode and in adaptive mode.
 *
 * In adaptive mode an interrupt of a direction disables the direction's interrupt cause and starts
 * the timer, which asks the card every interval_us.  When the timer finds nothing new, it enables
 * the cause again, and ends unless the card has made progress meanwhile.
 */

#include "card.h"
#include "compat.h"

static ktime_t interval(const struct litepcie_way *way)
{
	return ns_to_ktime((u64)way->interval_us * NSEC_PER_USEC);
}

/*
 * Enable the direction's interrupt cause, unless the direction has stopped: litepcie_timer_stop()
 * disables the cause when the direction stops, and nothing would disable it again.
 */
static void cause_on(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run)
		litepcie_cause_enable(litepcie_of(way), way->cause, true);
	spin_unlock_irqrestore(&way->wait.lock, flags);
}

/*
 * Start the timer, unless the direction has been stopped.  wait.lock is taken, since an interrupt
 * on another processor may start the same timer, even while the timer's callback runs.
 */
static void poll_later(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run)
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&way->wait.lock, flags);
}

/*
 * The timer's callback, which asks the card for progress.  The callback starts the timer again by
 * poll_later() instead of returning HRTIMER_RESTART: that needs hrtimer_forward(), which fails if
 * an interrupt has started the timer meanwhile.
 */
static enum hrtimer_restart poll_card(struct hrtimer *timer)
{
	struct litepcie_way *way = container_of(timer, struct litepcie_way, timer);
	bool news = litepcie_dma_progress(way), behind;

	if (!news && READ_ONCE(way->mode) == LITEPCIE_MODE_ADAPTIVE) {
		cause_on(way);
		/*
		 * Progress that the card made before the direction's interrupt cause was enabled
		 * raises no interrupt, so ask the card again.  If the card reports its progress by
		 * a status line, the write of that line may still be under way.  So
		 * litepcie_held_is_behind() compares the card's register loop_status (a count of
		 * descriptors) with the driver's count.
		 */
		behind = way->reports && litepcie_held_is_behind(way);
		news = litepcie_dma_progress(way);
		if (!news && !behind)
			return HRTIMER_NORESTART;
		litepcie_cause_enable(litepcie_of(way), way->cause, false);
	}
	if (news)
		litepcie_dma_news(way);
	poll_later(way);
	return HRTIMER_NORESTART;
}

void litepcie_timer_init(struct litepcie_way *way)
{
	hrtimer_setup(&way->timer, poll_card, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

/*
 * Set the card's interrupt moderation for a run that begins, and switch on the interrupt cause, or
 * in poll mode the timer.  Called after way->run has been set and before the DMA engine is enabled.
 */
void litepcie_timer_start(struct litepcie_way *way)
{
	litepcie_moderation_start(way);
	if (way->mode == LITEPCIE_MODE_POLL)
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	else
		cause_on(way);
}

/*
 * Stop the timer and disable the interrupt cause, for a run that ends.  Called after way->run has
 * been cleared.
 */
void litepcie_timer_stop(struct litepcie_way *way)
{
	hrtimer_cancel(&way->timer);
	litepcie_cause_enable(litepcie_of(way), way->cause, false);
}

/*
 * Called by the interrupt handler in adaptive mode, before the handler asks the card for progress:
 * disable the direction's interrupt cause and start the timer, unless the direction has stopped.
 */
void litepcie_timer_interrupt(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run) {
		litepcie_cause_enable(litepcie_of(way), way->cause, false);
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	}
	spin_unlock_irqrestore(&way->wait.lock, flags);
}
