/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The channel of every back end that reaches registers and memory itself: table.c hands descriptors
 * to the card and counts them, table_run.c starts and stops it, and takes its interrupts;
 * table_notices.c lets it write records and status lines.
 */
#ifndef LITEPCIE_TABLE_H
#define LITEPCIE_TABLE_H

#include "engine.h"

#define DMA_ENABLE		1u
#define DMA_IDLE		2u
#define DMA_IRQ_DISABLE		(1u << 24)
#define DMA_LAST_DISABLE	(1u << 25)	/* a packet's end does not end a descriptor */

extern const struct litepcie_channel litepcie_table_channel;

/* Stop what an earlier client may have left running; the card must not be bus master yet. */
int litepcie_table_quiesce(struct litepcie *dev);

int litepcie_table_setup(struct litepcie *dev, size_t size, unsigned int count);
int litepcie_table_post(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
			uint64_t count);
int litepcie_table_poll(struct litepcie *dev);

/* The registers, where the other two say it by memory. */
int litepcie_table_look(struct litepcie *dev);

/* Memory for records and status lines, if the card writes any. */
int litepcie_table_notices_setup(struct litepcie *dev);

/* From now on those of the active directions are written, and no more. All rests. */
int litepcie_table_notices_start(struct litepcie *dev);
int litepcie_table_notices_stop(struct litepcie *dev);

#endif /* LITEPCIE_TABLE_H */
