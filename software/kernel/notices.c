// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * What the card tells the host in memory: a status line for each direction, in
 * the channel's status page, and a record for each c2h buffer that has ended.
 *
 * The pages are ordinary ones, so that user mappings outlive the card.  Where the
 * processor does not see what the card writes, or has the other byte order, the
 * card tells nothing, and is asked.  A card without the block is asked, too.
 */

#include <linux/log2.h>
#include <linux/module.h>

#include "card.h"
#include "compat.h"

#define CONTROL_H2C	LITEPCIE_RECORDS_CONTROL_H2C_STATUS
#define CONTROL_C2H	(LITEPCIE_RECORDS_CONTROL_C2H_STATUS | LITEPCIE_RECORDS_CONTROL_C2H_RECORDS)

static_assert(sizeof(struct litepcie_record) == LITEPCIE_RECORD_SIZE);
static_assert(offsetof(struct litepcie_record, bytes) == LITEPCIE_RECORD_BYTES);
static_assert(offsetof(struct litepcie_record, flags) == LITEPCIE_RECORD_FLAGS);
static_assert(offsetof(struct litepcie_record, sequence) == LITEPCIE_RECORD_SEQUENCE);
static_assert(offsetof(struct litepcie_status_way, position) == LITEPCIE_STATUS_LINE_POSITION);
static_assert(offsetof(struct litepcie_status_way, buffers) == LITEPCIE_STATUS_LINE_BUFFERS);
static_assert(offsetof(struct litepcie_status_way, errors) == LITEPCIE_STATUS_LINE_ERRORS);
static_assert(offsetof(struct litepcie_status_way, time) == LITEPCIE_STATUS_LINE_TIME);

static void __iomem *reg_of(const struct litepcie_notices *notices, unsigned int parameter)
{
	return notices->regs + litepcie_parameter(notices->block, parameter);
}

static void write_place(const struct litepcie_notices *notices, unsigned int parameter, u64 place)
{
	void __iomem *reg = reg_of(notices, parameter);

	/* LitePCIe's registers of 64 bits begin with the upper half. */
	writel(upper_32_bits(place), reg);
	writel(lower_32_bits(place), reg + 4);
}

/* Memory ------------------------------------------------------------------ */

size_t litepcie_notices_bytes(const struct litepcie_notices *notices)
{
	return notices->able ? notices->entries * sizeof(struct litepcie_record) : 0;
}

static size_t mapped_bytes(const struct litepcie_notices *notices)
{
	return PAGE_SIZE << notices->order;
}

static int map_page(struct device *dev, struct page *page, size_t bytes, dma_addr_t *dma)
{
	*dma = dma_map_page(dev, page, 0, bytes, DMA_BIDIRECTIONAL);
	return dma_mapping_error(dev, *dma) ? -ENOMEM : 0;
}

static void unmap_page(struct device *dev, size_t bytes, dma_addr_t dma)
{
	dma_unmap_page(dev, dma, bytes, DMA_BIDIRECTIONAL);
}

/* The card reaches both, or neither. */
static void map_pages(struct litepcie_chan *chan)
{
	struct litepcie_notices *notices = &chan->notices;
	struct device *dev = &chan->card->pdev->dev;

	if (map_page(dev, virt_to_page(chan->status), PAGE_SIZE, &notices->status_dma))
		return;
	if (map_page(dev, virt_to_page(notices->records), mapped_bytes(notices),
		     &notices->records_dma)) {
		unmap_page(dev, PAGE_SIZE, notices->status_dma);
		return;
	}
	/* The card puts a record's place into the lower bits. */
	notices->able = !litepcie_needs_sync(dev, notices->status_dma) &&
			!litepcie_needs_sync(dev, notices->records_dma) &&
			IS_ALIGNED(notices->records_dma, mapped_bytes(notices));
	notices->mapped = true;
	if (!notices->able)
		litepcie_notices_unmap(chan);
}

/* The card is quiet, and will not be asked for notices again. */
void litepcie_notices_unmap(struct litepcie_chan *chan)
{
	struct litepcie_notices *notices = &chan->notices;

	if (!notices->mapped)
		return;
	notices->mapped = false;
	unmap_page(&chan->card->pdev->dev, mapped_bytes(notices), notices->records_dma);
	unmap_page(&chan->card->pdev->dev, PAGE_SIZE, notices->status_dma);
}

void litepcie_notices_free(struct litepcie_chan *chan)
{
	if (chan->notices.records)
		put_page(virt_to_page(chan->notices.records));
}

/* Of the card; 0: it does not say. */
static u32 clock_hz(struct litepcie *card)
{
	const struct litepcie_block *endpoint = litepcie_block_find(card, LITEPCIE_BLOCK_ENDPOINT, 0);

	return endpoint ? litepcie_parameter(endpoint, LITEPCIE_ENDPOINT_CLOCK_HZ) : 0;
}

/* The registers that all versions have, and a ring that no handed over buffer overflows. */
static bool is_usable(const struct litepcie_block *block, u32 entries)
{
	for (unsigned int n = 0; n < LITEPCIE_RECORDS_MOST_ENTRIES; n++)
		if (litepcie_parameter(block, n) > block->size - 2 * sizeof(u32))
			return false;
	return !block->bar && block->parameters > LITEPCIE_RECORDS_MOST_ENTRIES &&
	       block->size >= 2 * sizeof(u32) &&
	       entries <= litepcie_parameter(block, LITEPCIE_RECORDS_MOST_ENTRIES);
}

/* Channel @nth's, which rests; when the card's address width is known. */
void litepcie_notices_init(struct litepcie_chan *chan, unsigned int nth)
{
	struct litepcie_notices *notices = &chan->notices;
	struct litepcie *card = chan->card;
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_COMP;
	u32 entries = roundup_pow_of_two(chan->way[LITEPCIE_C2H].depth);
	struct page *page;

	notices->block = litepcie_block_find(card, LITEPCIE_BLOCK_RECORDS, nth);
	if (!notices->block || !is_usable(notices->block, entries) || !clock_hz(card))
		return;
	notices->regs = card->bar0 + notices->block->offset;
	/* Whoever was there before us may have left them on, for memory that is another's now. */
	writel(0, reg_of(notices, LITEPCIE_RECORDS_CONTROL));
	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		return;
	notices->entries = entries;
	notices->order = get_order(entries * sizeof(struct litepcie_record));
	page = alloc_pages_node(dev_to_node(&card->pdev->dev), gfp, notices->order);
	if (!page)
		return;
	notices->records = page_address(page);
	map_pages(chan);
}

/* A run ------------------------------------------------------------------- */

/* One register has bits of both directions.  A reset of the card clears those that it had. */
static void set_control(struct litepcie_notices *notices, u32 clear, u32 set, bool live)
{
	mutex_lock(&notices->lock);
	notices->control = (notices->control & ~clear) | set;
	if (live)
		writel(notices->control, reg_of(notices, LITEPCIE_RECORDS_CONTROL));
	mutex_unlock(&notices->lock);
}

static u32 control_of(const struct litepcie_way *way)
{
	return way->id == LITEPCIE_C2H ? CONTROL_C2H : CONTROL_H2C;
}

/* Nothing of an earlier run is there, for those who look. */
static void clear_line(struct litepcie_way *way)
{
	struct litepcie_status_way *status = way->status;

	status->position = 0;
	status->errors = 0;
	status->time = 0;
	smp_store_release(&status->buffers, 0);
}

static u32 flush_cycles(struct litepcie *card, u32 flush_us)
{
	u64 cycles = (u64)flush_us * clock_hz(card) / USEC_PER_SEC;

	return clamp_t(u64, cycles, !!flush_us, U32_MAX);
}

/* The direction rests, and its table is empty.  Between enter and exit. */
void litepcie_notices_start(struct litepcie_way *way, u32 flush_us)
{
	struct litepcie_notices *notices = &way->chan->notices;
	u64 line = notices->status_dma + offsetof(struct litepcie_status, way[way->id]);

	way->told = true;
	clear_line(way);
	if (way->id == LITEPCIE_C2H) {
		memset(notices->records, 0, litepcie_notices_bytes(notices));
		write_place(notices, LITEPCIE_RECORDS_WRITER_STATUS_BASE, line);
		write_place(notices, LITEPCIE_RECORDS_WRITER_RECORDS_BASE, notices->records_dma);
		writel(ilog2(notices->entries),
		       reg_of(notices, LITEPCIE_RECORDS_WRITER_RECORDS_ENTRIES));
		writel(flush_cycles(litepcie_of(way), flush_us),
		       reg_of(notices, LITEPCIE_RECORDS_WRITER_FLUSH));
	} else {
		write_place(notices, LITEPCIE_RECORDS_READER_STATUS_BASE, line);
	}
	set_control(notices, 0, control_of(way), true);
}

/* The direction rests, and writes nothing more; @live: its registers can be reached. */
void litepcie_notices_stop(struct litepcie_way *way, bool live)
{
	if (!way->told)
		return;
	way->told = false;
	set_control(&way->chan->notices, control_of(way), 0, live);
	clear_line(way);
}

/* The card is back, and what it was before may have outlived a reset.  It rests. */
void litepcie_notices_off(struct litepcie_way *way)
{
	if (!way->chan->notices.able)
		return;
	set_control(&way->chan->notices, control_of(way), 0, true);
	clear_line(way);
}

/* Counts ------------------------------------------------------------------ */

/* c2h: descriptor @number, from 0 on, has ended. */
bool litepcie_notices_ended(const struct litepcie_way *way, u64 number)
{
	const struct litepcie_notices *notices = &way->chan->notices;
	const struct litepcie_record *record = &notices->records[number & (notices->entries - 1)];

	return smp_load_acquire(&record->sequence) == number + 1;
}

/* c2h: of a buffer that is the user's.  A user's memory is copied by what this says. */
void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags)
{
	const struct litepcie_notices *notices = &way->chan->notices;
	const struct litepcie_record *record = &notices->records[number & (notices->entries - 1)];

	*bytes = READ_ONCE(record->bytes);
	*flags = READ_ONCE(record->flags);
}
