// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Enables and disables single interrupt causes of the card.  irq.c has the interrupt handlers, and
 * disables all causes at once.
 */

#include "card.h"

/*
 * Enable or disable one interrupt cause at the card, in any context.  A message that the card has
 * sent before may still come.
 */
void litepcie_cause_enable(struct litepcie *card, u32 cause, bool enable)
{
	unsigned long flags;

	spin_lock_irqsave(&card->irq_lock, flags);
	if (enable)
		WRITE_ONCE(card->irq_enabled, card->irq_enabled | BIT(cause));
	else
		WRITE_ONCE(card->irq_enabled, card->irq_enabled & ~BIT(cause));
	writel(card->irq_enabled, card->irq_enable);
	spin_unlock_irqrestore(&card->irq_lock, flags);
}

/*
 * Wait until writes to the interrupt registers have arrived at the card: the completion of a
 * register read comes only after the writes before it have arrived.
 */
void litepcie_cause_settle(struct litepcie *card)
{
	readl(card->irq_enable);
}
