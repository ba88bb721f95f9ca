// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * When to look how far the card is: by interrupt, by timer, or by both.
 *
 * Adaptive: an interrupt switches its cause off and a timer on, which looks at
 * intervals and, when it finds nothing new, switches the cause on again.
 */

#include <linux/module.h>

#include "card.h"
#include "compat.h"

static ktime_t interval(const struct litepcie_way *way)
{
	return ns_to_ktime((u64)way->interval_us * NSEC_PER_USEC);
}

/* Not once it is stopped: nobody would switch it off again. */
static void cause_on(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run)
		litepcie_cause_enable(litepcie_of(way), way->cause, true);
	spin_unlock_irqrestore(&way->wait.lock, flags);
}

/*
 * Look again after the interval, unless the direction is stopped.  Only under the
 * lock: an interrupt on another processor starts the same timer, even while its
 * callback runs.
 */
static void look_later(struct litepcie_way *way)
{
	unsigned long flags;

	spin_lock_irqsave(&way->wait.lock, flags);
	if (way->run)
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&way->wait.lock, flags);
}

/* Never HRTIMER_RESTART, which is for timers that nobody else starts. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct litepcie_way *way = container_of(timer, struct litepcie_way, timer);
	bool news = litepcie_dma_progress(way);

	if (!news && way->mode == LITEPCIE_MODE_ADAPTIVE) {
		cause_on(way);
		/* What came between looking and switching raises no interrupt: it is on by now. */
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

/* The direction is about to run, and is marked so. */
void litepcie_moderation_start(struct litepcie_way *way)
{
	if (way->mode == LITEPCIE_MODE_POLL)
		hrtimer_start(&way->timer, interval(way), HRTIMER_MODE_REL);
	else
		cause_on(way);
}

/* The direction is marked as stopped; nobody looks when this returns. */
void litepcie_moderation_stop(struct litepcie_way *way)
{
	hrtimer_cancel(&way->timer);
	litepcie_cause_enable(litepcie_of(way), way->cause, false);
}

/* In the interrupt handler of an adaptive direction, before the card is asked. */
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
