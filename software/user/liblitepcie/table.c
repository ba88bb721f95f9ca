/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The engine of every back end that reaches registers and memory itself: LitePCIe's descriptor
 * table in its "prog" mode, in which every descriptor runs once. The card only ever has descriptors of buffers that the software has filled
 * (h2c) or emptied (c2h), so nothing is overrun, however slow the software is.
 *
 * What loop_status means in this mode (litepcie/frontend/dma.py): its index counts executed
 * descriptors modulo 2^16 and its count the wraps of the index, so the register as a whole is the
 * number of executed descriptors modulo 2^32, read at one instant. A descriptor counts as executed
 *   h2c: when its data is in the card; the stock endpoint's, when the last read request for it has
 *        been issued: its data is still on the way
 *   c2h: when the last write has entered the core: up to 1.5 kB may not have reached the host
 * and its interrupt is raised at the same moment. What follows from that is in the two *_usable().
 */
#include <errno.h>

#include "table.h"

#define BATCH	64u	/* descriptors in one message, three writes each */

/* Descriptors --------------------------------------------------------------------------------- */

/* Whether buffer @number asks for an interrupt, when the last one that is posted now is @last. */
static bool asks_interrupt(const struct litepcie *dev, const struct litepcie_table *table,
			   uint64_t number, uint64_t last)
{
	return !table->silent && ((number + 1) % dev->interrupt_every == 0 || number == last);
}

static struct litepcie_post *describe(const struct litepcie *dev, struct litepcie_table *table,
				      const struct litepcie_dma_registers *registers,
				      uint64_t last, struct litepcie_post *p)
{
	unsigned int slot = table->posted & (dev->buffer_count - 1);
	uint64_t address = table->iova + slot * dev->buffer_size;
	bool asks = asks_interrupt(dev, table, table->posted, last);
	uint32_t flags = DMA_LAST_DISABLE | (asks ? 0 : DMA_IRQ_DISABLE);

	table->asks[slot] = asks;
	table->posted++;
	*p++ = (struct litepcie_post) { registers->value, 4, flags | (uint32_t)dev->buffer_size };
	*p++ = (struct litepcie_post) { registers->value + 4, 4, (uint32_t)address };
	*p++ = (struct litepcie_post) { registers->push, 4, address >> 32 };
	return p;
}

/*
 * Append @count descriptors to the table, many in one go where the back end can. The table has one
 * entry for each buffer and keeps that of a buffer until it is done, so it cannot overflow. @last
 * is the number of the buffer that asks for an interrupt beside the regular ones.
 */
static int post(struct litepcie *dev, struct litepcie_table *table,
		const struct litepcie_dma_registers *registers, uint64_t count, uint64_t last)
{
	struct litepcie_post posts[3 * BATCH];
	int rc = 0;

	while (rc == 0 && count) {
		struct litepcie_post *p = posts;
		uint64_t n = count < BATCH ? count : BATCH;

		for (uint64_t i = 0; i < n; i++)
			p = describe(dev, table, registers, last, p);
		rc = dev->backend->post(dev, posts, 3 * n);
		count -= n;
	}
	return rc;
}

/* Everything that was given back and is still below the limit of the run. */
int litepcie_table_post_c2h(struct litepcie *dev, uint64_t released)
{
	uint64_t end = released + dev->buffer_count, last = UINT64_MAX;

	if (dev->c2h_limit) {
		last = dev->c2h_limit - 1;
		if (end > dev->c2h_limit)
			end = dev->c2h_limit;
	}
	return post(dev, &dev->c2h_table, &dev->map.c2h, end - dev->c2h_table.posted, last);
}

/* Counts -------------------------------------------------------------------------------------- */

static int read_done(struct litepcie *dev, struct litepcie_table *table,
		     const struct litepcie_dma_registers *registers)
{
	uint32_t status, advance;
	int rc = litepcie_get(dev, registers->loop_status, &status);

	if (rc < 0)
		return rc;
	advance = status - (uint32_t)table->done;	/* right across the wrap at 2^32 */
	if (advance > table->posted - table->done)
		return litepcie_fail(dev, -EIO, "the card says it has finished %u buffers more, "
				     "but it was given %llu (loop_status 0x%08x); it has lost its "
				     "state", advance,
				     (unsigned long long)(table->posted - table->done), status);
	for (; advance; advance--, table->done++)
		table->asked += table->asks[table->done & (dev->buffer_count - 1)];
	return 0;
}

/*
 * h2c: reads of so many bytes may be in flight when a buffer counts as done (by the capability
 * table). What has not arrived can only belong to the last buffers that are done, so all but those
 * may be written again.
 */
static int h2c_usable(struct litepcie *dev)
{
	struct litepcie_table *h2c = &dev->h2c_table;
	uint64_t behind = (dev->map.h2c_in_flight + dev->buffer_size - 1) / dev->buffer_size;
	int rc = read_done(dev, h2c, &dev->map.h2c);

	if (rc == 0 && h2c->done > behind && h2c->done - behind > dev->h2c.hw)
		dev->h2c.hw = h2c->done - behind;
	return rc;
}

/*
 * c2h: writes leave the core in order, so all but the last buffer that is done is in memory. The
 * last one too, if it was done when an earlier read was answered: the tail that was on its way then
 * has had the time of a whole round trip through the host. One that raised an interrupt is what the
 * program waits for, so a second read settles it. When everything that was posted is done no
 * further interrupt will come to look again, and the last one is settled at once.
 */
static int c2h_usable(struct litepcie *dev)
{
	struct litepcie_table *c2h = &dev->c2h_table;
	uint64_t settled = c2h->done;
	int rc = read_done(dev, c2h, &dev->map.c2h);
	bool awaited = c2h->asks[(c2h->done - 1) & (dev->buffer_count - 1)];

	while (rc == 0 && c2h->done > settled && (awaited || c2h->done == c2h->posted)) {
		settled = c2h->done;
		rc = read_done(dev, c2h, &dev->map.c2h);
		awaited = false;	/* now it is, and what has come since speaks for itself */
	}
	if (rc == 0)
		dev->c2h.hw = c2h->done > settled ? c2h->done - 1 : settled;
	return rc;
}

int litepcie_table_poll(struct litepcie *dev)
{
	int rc = 0;

	if (dev->h2c.active)
		rc = h2c_usable(dev);
	if (rc == 0 && dev->c2h.active)
		rc = c2h_usable(dev);
	return rc;
}

/* Ring ---------------------------------------------------------------------------------------- */

int litepcie_table_c2h_release(struct litepcie *dev)
{
	return litepcie_table_post_c2h(dev, dev->c2h.sw);
}

/* A short batch may be the last for a while, so its end is announced. */
int litepcie_table_h2c_submit(struct litepcie *dev)
{
	uint64_t end = dev->h2c.sw, count = end - dev->h2c_table.posted;
	uint64_t last = count < dev->interrupt_every ? end - 1 : UINT64_MAX;

	return post(dev, &dev->h2c_table, &dev->map.h2c, count, last);
}
