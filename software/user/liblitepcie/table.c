/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * LitePCIe's descriptor table in its "prog" mode, in which every descriptor runs once.
 *
 * What loop_status means in this mode (litepcie/frontend/dma.py): its index counts executed
 * descriptors modulo 2^16 and its count the wraps of the index, so the register as a whole is the
 * number of executed descriptors modulo 2^32, read at one instant. A descriptor counts as executed
 *   h2c: when its data is in the card; the stock endpoint's, when the last read request for it has
 *        been issued: its data is still on the way
 *   c2h: when the last write has entered the core: up to 1.5 kB may not have reached the host
 * and its interrupt is raised at the same moment. What follows from that is in the two *_usable().
 * A card that writes records is not asked: notices.c reads what it has written.
 */
#include <errno.h>

#include "table.h"

#define BATCH	64u	/* descriptors in one message, three writes each */

/* Memory -------------------------------------------------------------------------------------- */

int litepcie_table_setup(struct litepcie *dev, size_t size, unsigned int count)
{
	struct litepcie_memory *memory = NULL;
	uint64_t iova = 0;
	int rc;

	dev->h2c.base = dev->c2h.base = NULL;
	dev->h2c.memory = dev->c2h.memory = NULL;
	rc = dev->backend->memory(dev, LITEPCIE_MEMORY_RINGS, 2 * size * count, &memory, &iova);
	if (rc == 0)
		rc = litepcie_table_notices_setup(dev);
	if (rc < 0)
		return rc;
	dev->h2c.memory = dev->c2h.memory = memory;
	dev->h2c.base = memory->base;
	dev->c2h.base = dev->h2c.base + size * count;
	dev->h2c_table.iova = iova;
	dev->c2h_table.iova = iova + size * count;
	return 0;
}

/* Descriptors --------------------------------------------------------------------------------- */

/* The three writes of a descriptor. */
static struct litepcie_post *describe(const struct litepcie_dma_registers *registers,
				      uint64_t address, uint32_t value, struct litepcie_post *p)
{
	*p++ = (struct litepcie_post) { registers->value, 4, value };
	*p++ = (struct litepcie_post) { registers->value + 4, 4, (uint32_t)address };
	*p++ = (struct litepcie_post) { registers->push, 4, address >> 32 };
	return p;
}

/* In three writes each, of which the first has a length, but none yet. */
static void add_lengths(struct litepcie_post *posts, const struct litepcie_post *end,
			const uint32_t *lengths, uint64_t slot, uint64_t mask)
{
	for (; posts < end; posts += 3, slot++)
		posts->value |= lengths[slot & mask];
}

/* Many in one go where the back end can. */
int litepcie_table_post(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
			uint64_t count)
{
	const struct litepcie_dma_registers *registers =
		table == &dev->h2c_table ? &dev->map.h2c : &dev->map.c2h;
	const uint32_t *lengths = table->lengths;
	uint32_t value = (dev->packets ? 0 : DMA_LAST_DISABLE) |
			 (lengths ? 0 : (uint32_t)dev->buffer_size);
	uint64_t mask = dev->buffer_count - 1, size = dev->buffer_size, end = first + count;
	struct litepcie_post posts[3 * BATCH];
	int rc = 0;

	while (rc == 0 && first < end) {
		uint64_t stop = end - first < BATCH ? end : first + BATCH;
		struct litepcie_post *p = posts;

		for (; first < stop; first++) {
			uint64_t slot = first & mask;

			p = describe(registers, table->iova + slot * size,
				     table->asks[slot] ? value : value | DMA_IRQ_DISABLE, p);
		}
		if (lengths)
			add_lengths(posts, p, lengths, stop - (uint64_t)(p - posts) / 3, mask);
		rc = dev->backend->post(dev, posts, (size_t)(p - posts));
	}
	return rc;
}

/* Counts -------------------------------------------------------------------------------------- */

static int read_status(struct litepcie *dev, const struct litepcie_table *table,
		       const struct litepcie_dma_registers *registers, uint32_t *advance)
{
	uint32_t status;
	int rc = litepcie_get(dev, registers->loop_status, &status);

	if (rc < 0)
		return rc;
	*advance = status - (uint32_t)table->done;	/* right across the wrap at 2^32 */
	if (*advance > table->posted - table->done)
		return litepcie_fail(dev, -EIO, "the card says it has finished %u buffers more, "
				     "but it was given %llu (loop_status 0x%08x); it has lost its "
				     "state", *advance,
				     (unsigned long long)(table->posted - table->done), status);
	return 0;
}

static int read_done(struct litepcie *dev, struct litepcie_table *table,
		     const struct litepcie_dma_registers *registers)
{
	uint32_t advance;
	int rc = read_status(dev, table, registers, &advance);

	if (rc == 0)
		litepcie_engine_done(dev, table, table->done + advance);
	return rc;
}

/* Where buffers are shorter, the bytes that have come say which of those that are done are here. */
static int h2c_arrived(struct litepcie *dev)
{
	struct litepcie_table *h2c = &dev->h2c_table;
	uint64_t received = 0;
	int rc = litepcie_engine_received(dev, &received);

	while (rc == 0 && h2c->arrived < h2c->done) {
		uint64_t bytes = litepcie_engine_h2c_bytes(dev, h2c->arrived, h2c->arrived + 1);

		if (h2c->arrived_bytes + bytes > received)
			break;
		h2c->arrived_bytes += bytes;
		h2c->arrived++;
	}
	if (rc == 0 && h2c->arrived > dev->h2c.hw)
		dev->h2c.hw = h2c->arrived;
	return rc;
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

	if (rc == 0 && behind && h2c->lengths)
		return h2c_arrived(dev);
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
	bool told = dev->notices.records;
	int rc = 0;

	if (dev->h2c.active)
		rc = told ? litepcie_notices_h2c(dev) : h2c_usable(dev);
	if (rc == 0 && dev->c2h.active)
		rc = told ? litepcie_notices_c2h(dev) : c2h_usable(dev);
	return rc;
}

/* Nothing came for a while: is the card still there? What its register counts, memory will tell. */
int litepcie_table_look(struct litepcie *dev)
{
	uint32_t advance;
	int rc = 0;

	if (dev->notices.records && dev->h2c.active)
		rc = read_status(dev, &dev->h2c_table, &dev->map.h2c, &advance);
	if (rc == 0 && dev->notices.records && dev->c2h.active)
		rc = read_status(dev, &dev->c2h_table, &dev->map.c2h, &advance);
	return rc < 0 ? rc : litepcie_table_poll(dev);
}
