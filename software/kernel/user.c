// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Handles the interrupt of the logic in the card's user slot.  The interrupt signals the eventfd
 * that one open file has set.  While no eventfd is set, the interrupt's cause is disabled.
 */

#include "capture/capture.h"
#include "compat.h"

/*
 * Find the interrupt cause of the user's logic in the capability table, if the table gives one.
 * Returns -EINVAL if the cause is too large or another block has it.
 */
int litepcie_user_init(struct litepcie *card)
{
	const struct litepcie_block *block = litepcie_block_find(card, LITEPCIE_BLOCK_USER, 0);
	struct litepcie_user *user = &card->user;

	spin_lock_init(&user->lock);
	user->cause = LITEPCIE_CAUSES_MAX;
	if (!block || block->parameters <= LITEPCIE_USER_CAUSE)
		return 0;
	user->cause = litepcie_parameter(block, LITEPCIE_USER_CAUSE);
	if (user->cause >= LITEPCIE_CAUSES_MAX || card->cause[user->cause] ||
	    card->virtio_causes & BIT(user->cause) ||
	    (card->capture && card->capture->cause == user->cause))
		return -EINVAL;
	snprintf(user->irq_name, sizeof(user->irq_name), "%s-user",
		 dev_name(&card->chan[0]->dev));
	return 0;
}

/*
 * Signal the eventfd, if one is set, for an interrupt of the user's logic.  With MSI the interrupt
 * handler has cleared the cause before this call.
 */
void litepcie_user_interrupt(struct litepcie *card)
{
	struct litepcie_user *user = &card->user;

	/* spin_lock() is enough, since an interrupt handler calls this function */
	spin_lock(&user->lock);
	if (user->event)
		litepcie_eventfd_signal(user->event);
	spin_unlock(&user->lock);
}

/*
 * Exchange *@event and the eventfd of the user's logic.  If @live is true, litepcie_enter() has
 * succeeded, and the interrupt's cause is enabled if the logic has an eventfd after the exchange,
 * and disabled otherwise.  If @live is false, the cause stays as it is.  user->lock is held
 * meanwhile, so that the cause fits the eventfd after concurrent calls, too.  Returns -EBUSY if
 * another file has set the logic's eventfd.
 */
static int swap_event(struct litepcie_file *file, struct eventfd_ctx **event, bool live)
{
	struct litepcie *card = file->chan->card;
	struct litepcie_user *user = &card->user;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&user->lock, flags);
	if (user->event && user->file != file) {
		err = -EBUSY;
	} else {
		/* Drop an interrupt that the user's logic raised before an eventfd was set. */
		if (live && *event && !user->event)
			writel(BIT(user->cause), card->irq_clear);
		WRITE_ONCE(user->file, *event ? file : NULL);
		swap(user->event, *event);
		if (live)
			litepcie_cause_enable(card, user->cause, user->event);
	}
	spin_unlock_irqrestore(&user->lock, flags);
	return err;
}

/*
 * Set the eventfd that the interrupt of the user's logic signals.  If @event is NULL, no eventfd is
 * signalled from now on.  Returns -ENXIO if the logic has no interrupt, or -EBUSY if another file
 * has set an eventfd.  On success the reference to @event is consumed.
 */
int litepcie_user_event(struct litepcie_file *file, struct eventfd_ctx *event)
{
	int err;

	if (file->chan->card->user.cause == LITEPCIE_CAUSES_MAX)
		return -ENXIO;
	err = swap_event(file, &event, true);
	if (!err && event)
		eventfd_ctx_put(event);
	return err;
}

/*
 * Drop the eventfd that @file has set for the user's logic, because the file is being closed.
 * @live says whether litepcie_enter() has succeeded.
 */
void litepcie_user_leave(struct litepcie_file *file, bool live)
{
	struct eventfd_ctx *event = NULL;

	if (READ_ONCE(file->chan->card->user.file) != file)
		return;
	if (!swap_event(file, &event, live) && event)
		eventfd_ctx_put(event);
}

/*
 * Drop the eventfd of the user's logic when the card is reset, removed, put to sleep or shut down.
 * The caller has disabled the card's interrupts.
 */
void litepcie_user_forget(struct litepcie *card)
{
	struct litepcie_user *user = &card->user;
	struct eventfd_ctx *event = NULL;

	spin_lock_irq(&user->lock);
	swap(user->event, event);
	WRITE_ONCE(user->file, NULL);
	spin_unlock_irq(&user->lock);
	if (event)
		eventfd_ctx_put(event);
}
