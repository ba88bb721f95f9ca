// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Decides when the driver asks the card for progress: at interrupts, by timer,
 * or both.
 *
 * In adaptive mode an interrupt switches its own cause off and a timer on.  The
 * timer asks the card each interval_us.  When it finds nothing new, the timer
 * ends and switches the cause on again.
 */

#include <linux/module.h>

#include "card.h"
#include "compat.h"

static ktime_t interval(const struct litepcie_way *way)
{
	return ns_to_ktime((u64)way->interval_us * NSEC_PER_USEC);
}

/*
 * Enable the direction's interrupt cause, unless the direction has been
 * stopped: then nothing would disable the cause again.
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
 * Start the timer, unless the direction has been stopped.  The lock is held,
 * since an interrupt on another processor may start the same timer, even while
 * the timer's callback runs.
 */
static void look_later(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run)
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&way->wait.lock, flags);
}

/*
 * The timer's callback.  It never returns HRTIMER_RESTART, which is allowed
 * only if nothing but the callback starts the timer.  Here an interrupt may
 * start it, too.
 */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct litepcie_way *way = container_of(timer, struct litepcie_way, timer);
	bool news = litepcie_dma_progress(way);

	if (!news && way->mode == LITEPCIE_MODE_ADAPTIVE) {
		cause_on(way);
		/*
		 * Progress made before the cause was enabled raises no
		 * interrupt, so ask the card again.  With a status line this
		 * question reads no register, so first wait until the cause is
		 * enabled in the card.
		 */
		if (way->told)
			litepcie_cause_settle(litepcie_of(way));
		news = litepcie_dma_progress(way);
		if (!news)
			return HRTIMER_NORESTART;
		litepcie_cause_enable(litepcie_of(way), way->cause, false);
	}
	if (news)
		litepcie_dma_news(way);
	look_later(way);
	return HRTIMER_NORESTART;
}

void litepcie_moderation_init(struct litepcie_way *way)
{
	hrtimer_setup(&way->timer, look, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}

/* Called when way->run is set, before the engine is enabled. */
void litepcie_moderation_start(struct litepcie_way *way)
{
	litepcie_throttle_start(way);
	if (way->mode == LITEPCIE_MODE_POLL)
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	else
		cause_on(way);
}

/*
 * Called when way->run is cleared.  When this returns, the timer is off and the
 * cause is disabled.
 */
void litepcie_moderation_stop(struct litepcie_way *way)
{
	hrtimer_cancel(&way->timer);
	litepcie_cause_enable(litepcie_of(way), way->cause, false);
}

/*
 * Called by the interrupt handler in adaptive mode, before it asks the card for
 * progress.
 */
void litepcie_moderation_interrupt(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run) {
		litepcie_cause_enable(litepcie_of(way), way->cause, false);
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	}
	spin_unlock_irqrestore(&way->wait.lock, flags);
}
