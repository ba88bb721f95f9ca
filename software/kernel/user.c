// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The interrupt of the logic in the card's user slot: an eventfd of one file is
 * signalled.  Its cause is enabled while there is one.
 */

#include <linux/module.h>

#include "card.h"
#include "compat.h"

int litepcie_user_init(struct litepcie *card)
{
	const struct litepcie_block *block = litepcie_block_find(card, LITEPCIE_BLOCK_USER, 0);
	struct litepcie_user *user = &card->user;

	spin_lock_init(&user->lock);
	user->cause = LITEPCIE_CAUSES_MAX;
	if (!block || block->parameters <= LITEPCIE_USER_CAUSE)
		return 0;
	user->cause = litepcie_parameter(block, LITEPCIE_USER_CAUSE);
	if (user->cause >= LITEPCIE_CAUSES_MAX || card->cause[user->cause])
		return -EINVAL;
	snprintf(user->irq_name, sizeof(user->irq_name), "%s-user",
		 dev_name(&card->chan[0]->dev));
	return 0;
}

/* In the interrupt handler, the cause being cleared. */
void litepcie_user_interrupt(struct litepcie *card)
{
	struct litepcie_user *user = &card->user;

	spin_lock(&user->lock);	/* interrupts are off */
	if (user->event)
		litepcie_eventfd_signal(user->event);
	spin_unlock(&user->lock);
}

/* -EBUSY: another file has it.  What was there before is in *@event. */
static int swap_event(struct litepcie_user *user, struct litepcie_file *file,
		      struct eventfd_ctx **event)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&user->lock, flags);
	if (user->event && user->file != file) {
		err = -EBUSY;
	} else {
		user->file = *event ? file : NULL;
		swap(user->event, *event);
	}
	spin_unlock_irqrestore(&user->lock, flags);
	return err;
}

/* Consumes @event, which may be NULL, unless it fails.  Between enter and exit. */
int litepcie_user_event(struct litepcie_file *file, struct eventfd_ctx *event)
{
	struct litepcie *card = file->chan->card;
	struct litepcie_user *user = &card->user;
	bool enable = event;
	int err;

	if (user->cause == LITEPCIE_CAUSES_MAX)
		return -ENXIO;
	err = swap_event(user, file, &event);
	if (err)
		return err;
	/* What was raised while nobody listened is nobody's news. */
	if (enable && !event)
		writel(BIT(user->cause), card->irq_clear);
	litepcie_cause_enable(card, user->cause, enable);
	if (event)
		eventfd_ctx_put(event);
	return 0;
}

/* The file is closed.  @live: the caller has entered. */
void litepcie_user_leave(struct litepcie_file *file, bool live)
{
	struct litepcie *card = file->chan->card;
	struct eventfd_ctx *event = NULL;

	if (READ_ONCE(card->user.file) != file)
		return;
	if (live)
		litepcie_user_event(file, NULL);
	else if (!swap_event(&card->user, file, &event) && event)
		eventfd_ctx_put(event);
}

/* The card is reset or goes, and no interrupt comes any more. */
void litepcie_user_forget(struct litepcie *card)
{
	struct litepcie_user *user = &card->user;
	struct eventfd_ctx *event = NULL;

	spin_lock_irq(&user->lock);
	swap(user->event, event);
	user->file = NULL;
	spin_unlock_irq(&user->lock);
	if (event)
		eventfd_ctx_put(event);
}
