/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the common engine: table.c hands descriptors to the card and counts them, table_run.c
 * starts, follows and stops it.
 */
#ifndef LITEPCIE_TABLE_H
#define LITEPCIE_TABLE_H

#include "backend.h"

#define DMA_ENABLE		1u
#define DMA_IDLE		2u
#define DMA_IRQ_DISABLE		(1u << 24)
#define DMA_LAST_DISABLE	(1u << 25)	/* a packet's end does not end a descriptor */

extern const struct litepcie_engine litepcie_table_engine;

/* Stop what an earlier client may have left running; the card must not be bus master yet. */
int litepcie_table_quiesce(struct litepcie *dev);

/* Rings of this shape; undone by the next one or by table_free(), which leaves memory alone. */
int litepcie_table_setup(struct litepcie *dev, size_t size, unsigned int count);
void litepcie_table_free(struct litepcie *dev);

/* Post every buffer that is free when @released have been given back, below the run's limit. */
int litepcie_table_post_c2h(struct litepcie *dev, uint64_t released);

int litepcie_table_poll(struct litepcie *dev);
int litepcie_table_c2h_release(struct litepcie *dev);
int litepcie_table_h2c_submit(struct litepcie *dev);

#endif /* LITEPCIE_TABLE_H */
