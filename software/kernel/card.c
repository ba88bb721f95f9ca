// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Keeps the state of a card (live, offline or gone).  Calls of programs access the hardware only
 * between litepcie_enter() and litepcie_exit(), which are defined in this file.
 */

#include <linux/slab.h>

#include "capture/capture.h"
#include "trace.h"

struct litepcie *litepcie_card_alloc(struct pci_dev *pdev)
{
	struct litepcie *card = kzalloc(sizeof(*card), GFP_KERNEL);

	if (!card)
		return NULL;
	kref_init(&card->kref);
	init_rwsem(&card->live);
	spin_lock_init(&card->irq_lock);
	mutex_init(&card->files_lock);
	mutex_init(&card->master_lock);
	INIT_LIST_HEAD(&card->files);
	card->pdev = pdev;
	card->state = LITEPCIE_OFFLINE;
	return card;
}

static void card_release(struct kref *kref)
{
	struct litepcie *card = container_of(kref, struct litepcie, kref);

	kfree(card->blocks);
	kfree(card->table);
	kfree(card);
}

void litepcie_card_get(struct litepcie *card)
{
	kref_get(&card->kref);
}

/*
 * Drop a reference to the card.  The drop of the last reference frees struct litepcie.  An open
 * file keeps its channel, and the channel keeps the card, perhaps for long after the PCI function
 * has gone.
 */
void litepcie_card_put(struct litepcie *card)
{
	kref_put(&card->kref, card_release);
}

/*
 * Enter the card.  From a successful call until litepcie_exit() the hardware may be used, and the
 * kernel's reset or removal of the card waits for litepcie_exit().  A card that is pulled out does
 * not wait.  Returns -ENODEV if the card has gone or no longer answers, and -EIO if the card is
 * being probed or reset, sleeps or was shut down.
 */
int litepcie_enter(struct litepcie *card)
{
	int err = 0;

	down_read(&card->live);
	if (litepcie_is_gone(card))
		err = -ENODEV;
	else if (card->state != LITEPCIE_LIVE)
		err = -EIO;
	if (err)
		up_read(&card->live);
	return err;
}

void litepcie_exit(struct litepcie *card)
{
	up_read(&card->live);
}

static void wake_everybody(struct litepcie *card)
{
	struct litepcie_way *way;

	for (unsigned int n = 0; (way = litepcie_nth_way(card, n)); n++) {
		wake_up_all(&way->wait);
		wake_up_all(&way->chan->pollers);
	}
	if (card->capture)
		litepcie_capture_news(card->capture);
}

/*
 * Wait until no thread is between litepcie_enter() and litepcie_exit(), set the card's state, and
 * wake all threads that wait for the card.  May sleep.
 */
void litepcie_set_state(struct litepcie *card, enum litepcie_state state)
{
	down_write(&card->live);
	WRITE_ONCE(card->state, state);
	up_write(&card->live);
	trace_litepcie_state(card, state);
	wake_everybody(card);
}

/*
 * Mark the card as lost, and wake all threads that wait for the card.  Calls of open files that
 * need the card fail with -ENODEV from then on, until revive() finds the card usable after a later
 * reset or sleep.  The caller must not hold wait.lock of a direction or of a capture's queue.
 */
void litepcie_lose(struct litepcie *card)
{
	WRITE_ONCE(card->lost, true);
	wake_everybody(card);
}

/*
 * Returns true if the card answers a read.  The function reads the first word of the capability
 * table, which is never all ones on a card that answers.  So the result tells a lost card from
 * a register whose value is all ones.  The function may be called in any context, and with any lock
 * held.
 */
bool litepcie_answers(struct litepcie *card)
{
	return readl(card->bar0 + LITEPCIE_CAP_OFFSET) != ~0u;
}

/*
 * Called when a register reads as all ones.  Returns true if the card no longer answers or counts
 * as lost already.  The call that notices the loss wakes all threads that wait for the card.  The
 * function may be called in any context, but not with wait.lock of a direction or of a capture's
 * queue held, since it takes these locks to wake the threads.
 */
bool litepcie_check_lost(struct litepcie *card)
{
	if (READ_ONCE(card->lost))
		return true;
	if (litepcie_answers(card))
		return false;
	if (!xchg(&card->lost, true)) {
		dev_err(&card->pdev->dev,
			"the card no longer answers (registers read as all ones): open files get ENODEV until it is removed or reset\n");
		wake_everybody(card);
	}
	return true;
}
