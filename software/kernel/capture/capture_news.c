// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Wakes the threads that wait for a queue of the capture.  The functions touch no register, so
 * card.c may call them for a card that has gone.
 */

#include "capture.h"
#include "compat.h"

/*
 * Wake the threads that wait for the queue, if the card has passed the position queue->wake, or if
 * @ended says that the threads must see another change, such as the end of the run.  If a position
 * was asked for, also signal the eventfd of LITEPCIE_IOCTL_CAPTURE_WAKE, and forget the position,
 * so that the eventfd is signalled once.  The caller holds queue->wait.lock.
 */
void litepcie_queue_tell(struct litepcie_capture_queue *queue, bool ended)
{
	lockdep_assert_held(&queue->wait.lock);

	/*
	 * The interrupt that led to this call may be that of another queue.  The card may also have
	 * raised the interrupt before WAKE asked for a later position, which the card has not
	 * passed yet.
	 */
	if (!ended && (queue->wake == U64_MAX || litepcie_capture_position(queue) <= queue->wake))
		return;
	wake_up_locked(&queue->wait);
	if (queue->wake == U64_MAX)
		return;
	if (queue->event)
		litepcie_eventfd_signal(queue->event);
	queue->wake = U64_MAX;
}

/* Wake the threads that wait for the queue, whatever position they wait for. */
void litepcie_queue_news(struct litepcie_capture_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->wait.lock, flags);
	litepcie_queue_tell(queue, true);
	spin_unlock_irqrestore(&queue->wait.lock, flags);
}

/* Wake the threads that wait for any queue of the capture, whatever position they wait for. */
void litepcie_capture_news(struct litepcie_capture *capture)
{
	struct litepcie_capture_queue *queue;

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		litepcie_queue_news(queue);
}

/*
 * Handle the capture's interrupt: the position of a queue has passed queue->wake.  With MSI the
 * interrupt handler clears the cause, if it is set, before this call, and also calls this function
 * for messages of other causes.
 */
void litepcie_capture_interrupt(struct litepcie *card)
{
	struct litepcie_capture_queue *queue;

	/* spin_lock() is enough, since an interrupt handler calls this function */
	for (queue = card->capture->queue; queue; queue = litepcie_queue_after(queue)) {
		spin_lock(&queue->wait.lock);
		litepcie_queue_tell(queue, false);
		spin_unlock(&queue->wait.lock);
	}
}
