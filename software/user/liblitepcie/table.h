/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The channel of every back end that reaches registers and memory itself: table.c hands descriptors
 * to the card and counts them, table_run.c starts and stops it, and takes its interrupts;
 * table_notices.c lets it write records and status lines, table_looks.c looks without interrupts.
 */
#ifndef LITEPCIE_TABLE_H
#define LITEPCIE_TABLE_H

#include "engine.h"

#define DMA_ENABLE		1u
#define DMA_IDLE		2u
#define DMA_IRQ_DISABLE		(1u << 24)
#define DMA_LAST_DISABLE	(1u << 25)	/* packets and descriptors end independently */

extern const struct litepcie_channel litepcie_table_channel;

/* Stop what an earlier client may have left running; the card must not be bus master yet. */
int litepcie_table_quiesce(struct litepcie *dev);

int litepcie_table_setup(struct litepcie *dev, size_t size, unsigned int count);
int litepcie_table_export(struct litepcie *dev, const struct litepcie_ring *ring);
int litepcie_table_post(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
			uint64_t count);
int litepcie_table_poll(struct litepcie *dev);

/* Also read the registers of a card whose progress litepcie_table_poll() takes from memory. */
int litepcie_table_look(struct litepcie *dev);

/*
 * Switch on the interrupts of the active directions, or off while dev->looking. The user's
 * interrupt stays as it is.
 */
int litepcie_table_interrupts(struct litepcie *dev);

/* Start looks by timer if the run wants them, before its interrupts are switched on; end them. */
int litepcie_looks_start(struct litepcie *dev);
int litepcie_looks_stop(struct litepcie *dev);

/* After an interrupt; and after a sleep in which the timer may have expired. A look follows. */
int litepcie_looks_begin(struct litepcie *dev);
int litepcie_looks_tick(struct litepcie *dev);

/* Memory for records and status lines, if the card writes any. */
int litepcie_table_notices_setup(struct litepcie *dev);

/* Switch records and status lines of the active directions on, and all off, with the DMA at rest. */
int litepcie_table_notices_start(struct litepcie *dev);
int litepcie_table_notices_stop(struct litepcie *dev);

#endif /* LITEPCIE_TABLE_H */
