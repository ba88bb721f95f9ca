/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Records and status lines of a card that is reached without the kernel driver. The card writes
 * both to host memory. This file allocates the memory, and sets the registers that hold its
 * address. The registers of a stream may change only while the stream is at rest. Sequence numbers
 * begin at 1 in each run, so the memory is cleared before each start.
 */
#include <string.h>

#include "litepcie_capability.h"
#include "table.h"

/* bytes of a cache line; each status line of the card lies in a cache line of its own */
#define CACHE_LINE	64u
#define H2C		0
#define C2H		1

/*
 * Returns the size of the records in bytes. The memory has the records first, then the status line
 * of h2c, then the status line of c2h.
 */
static size_t records_bytes(const struct litepcie *dev)
{
	return (dev->notices.mask + 1) * sizeof(struct litepcie_record);
}

static size_t all_bytes(const struct litepcie *dev)
{
	return records_bytes(dev) + 2 * CACHE_LINE;
}

/*
 * Returns the base-2 logarithm of the number of records. The ring has at least one record for each
 * descriptor that the card may have, so that no record is overwritten before its buffer is
 * released.
 */
static unsigned int log2_entries(const struct litepcie *dev)
{
	unsigned int log2 = LITEPCIE_RECORDS_LOG2_LEAST_ENTRIES;

	while (1u << log2 < dev->card.table_depth)
		log2++;
	return log2;
}

int litepcie_table_notices_setup(struct litepcie *dev)
{
	struct litepcie_memory *memory = NULL;
	const uint8_t *lines;
	int rc;

	if (!dev->map.notices.control || dev->notices.records)
		return 0;
	dev->notices.mask = (UINT64_C(1) << log2_entries(dev)) - 1;
	rc = dev->backend->memory(dev, LITEPCIE_MEMORY_NOTICES, NULL, all_bytes(dev), &memory,
				  &dev->notices_iova);
	if (rc < 0)
		return rc;
	lines = (const uint8_t *)memory->base + records_bytes(dev);
	dev->notices.records = memory->base;
	dev->notices.h2c = (const struct litepcie_status_way *)lines;
	dev->notices.c2h = (const struct litepcie_status_way *)(lines + CACHE_LINE);
	return 0;
}

/*
 * Add the two writes that set a register of 64 bits to @iova to the list at @p. The upper half is
 * in the first of the register's two words. The card does not use the register between the two
 * writes, since the stream is at rest.
 */
static struct litepcie_post *place(uint32_t offset, uint64_t iova, struct litepcie_post *p)
{
	p = litepcie_post_add(p, offset, iova >> 32);
	p = litepcie_post_add(p, offset + 4, (uint32_t)iova);
	return p;
}

static uint32_t flush_cycles(const struct litepcie_stream *stream)
{
	uint32_t flush_us = stream->options.flush_us;
	uint64_t cycles = (uint64_t)flush_us * stream->dev->card.clock_hz / 1000000;

	return !flush_us || cycles ? (uint32_t)cycles : 1;
}

static uint32_t control(const struct litepcie *dev)
{
	return (dev->h2c.active ? LITEPCIE_RECORDS_CONTROL_H2C_STATUS : 0) |
	       (dev->c2h.active ? LITEPCIE_RECORDS_CONTROL_C2H_STATUS |
				  LITEPCIE_RECORDS_CONTROL_C2H_RECORDS : 0);
}

/*
 * The stream of the other direction may run, so only memory and registers of the started stream are
 * changed. The other stream's bits of the control register stay as they are.
 */
int litepcie_table_notices_start(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	const struct litepcie_notice_registers *registers = &dev->map.notices;
	uint64_t lines = dev->notices_iova + records_bytes(dev);
	struct litepcie_post posts[7], *p = posts;

	if (!dev->notices.records)
		return 0;
	if (stream->direction == LITEPCIE_H2C) {
		memset((void *)dev->notices.h2c, 0, CACHE_LINE);
		p = place(registers->line[H2C], lines, p);
	} else {
		memset((void *)dev->notices.c2h, 0, CACHE_LINE);
		memset((void *)dev->notices.records, 0, records_bytes(dev));
		p = place(registers->records, dev->notices_iova, p);
		p = place(registers->line[C2H], lines + CACHE_LINE, p);
		p = litepcie_post_add(p, registers->entries, log2_entries(dev));
		p = litepcie_post_add(p, registers->flush, flush_cycles(stream));
	}
	p = litepcie_post_add(p, registers->control, control(dev));
	return dev->backend->post(dev, posts, (size_t)(p - posts), LITEPCIE_POST_OWN);
}

int litepcie_table_notices_set(struct litepcie *dev)
{
	uint32_t offset = dev->map.notices.control;

	return offset ? litepcie_put(dev, offset, control(dev)) : 0;
}
