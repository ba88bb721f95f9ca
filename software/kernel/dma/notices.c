// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Manages notices, by which the card reports its progress in host memory: a status line for each
 * direction, in the channel's status page, and a record for each c2h buffer that has ended.
 *
 * The pages of the notices have struct pages and reference counts, so user mappings may outlive the
 * card.  In LitePCIe's loop (LITEPCIE_RUN_LOOP: the card goes round the ring and never waits) the
 * driver reads the card's registers instead of using notices.  In other runs the driver reads
 * registers, too, if it cannot use notices.  The reasons can be: the capability table has no usable
 * block RECORDS or no clock frequency; memory or DMA addresses are lacking; the DMA address of the
 * records is not aligned to their size; the card's writes would need dma_sync_*(); or the processor
 * is big-endian.
 */

#include <linux/log2.h>

#include "card.h"
#include "compat.h"

#define CONTROL_H2C	LITEPCIE_RECORDS_CONTROL_H2C_STATUS
#define CONTROL_C2H	(LITEPCIE_RECORDS_CONTROL_C2H_STATUS | LITEPCIE_RECORDS_CONTROL_C2H_RECORDS)

static void __iomem *reg_of(const struct litepcie_notices *notices, unsigned int parameter)
{
	return notices->regs + litepcie_parameter(notices->block, parameter);
}

static void write_place(const struct litepcie_notices *notices, unsigned int parameter, u64 place)
{
	void __iomem *reg = reg_of(notices, parameter);

	/* In LitePCIe's registers of 64 bits the upper half has the lower address. */
	writel(upper_32_bits(place), reg);
	writel(lower_32_bits(place), reg + 4);
}

/* Memory for records and status lines ------------------------------------- */

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

/*
 * Map the status page and the ring of records for the card: both, or neither.  Sets @able if the
 * card can use them.
 */
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
	/*
	 * The card computes a record's address as the OR of the ring's base and an offset, so the
	 * ring must be aligned to its own size.
	 */
	notices->able = !litepcie_needs_sync(dev, notices->status_dma) &&
			!litepcie_needs_sync(dev, notices->records_dma) &&
			IS_ALIGNED(notices->records_dma, mapped_bytes(notices));
	notices->mapped = true;
	if (!notices->able)
		litepcie_notices_unmap(chan);
}

/*
 * Unmap the pages of status lines and records from the card, which must not write to them any more.
 * The caller makes sure that no run with a status line starts after this call.
 */
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

/*
 * Returns true if the driver can use the block RECORDS: the driver knows its version, its registers
 * lie within the block, and it allows a ring of @entries records.  @entries is at least the number
 * of descriptors in the card's table.
 */
static bool is_usable(const struct litepcie_block *block, u32 entries)
{
	if (!litepcie_block_is_known(block, LITEPCIE_RECORDS_MOST_ENTRIES) ||
	    block->size < 2 * sizeof(u32))
		return false;
	for (unsigned int n = 0; n < LITEPCIE_RECORDS_MOST_ENTRIES; n++)
		if (litepcie_parameter(block, n) > block->size - 2 * sizeof(u32))
			return false;
	return entries <= litepcie_parameter(block, LITEPCIE_RECORDS_MOST_ENTRIES);
}

/*
 * Set up status lines and records of channel @index, which is stopped.  The DMA mask must be set
 * before this call.
 */
void litepcie_notices_init(struct litepcie_chan *chan, unsigned int index)
{
	struct litepcie_notices *notices = &chan->notices;
	struct litepcie *card = chan->card;
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_COMP;
	u32 entries = roundup_pow_of_two(chan->way[LITEPCIE_WAY_C2H].depth);
	struct page *page;

	notices->block = litepcie_block_find(card, LITEPCIE_BLOCK_RECORDS, index);
	if (!notices->block || !is_usable(notices->block, entries) ||
	    !litepcie_cycles(card, USEC_PER_SEC))
		return;
	notices->regs = card->bar0 + notices->block->offset;
	/*
	 * An earlier kernel's driver may have left status lines and records on.  The card would
	 * then write them to memory that has other users by now.
	 */
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

/* Status lines and records of one run ------------------------------------- */

/*
 * Change bits of the register `control` of the block RECORDS, which has bits of both directions.
 * The field notices->control has the register's new value.  @live says that the register can be
 * reached.  If @live is false, litepcie_notices_off() writes the register when the card has come
 * back.
 */
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
	return way->id == LITEPCIE_WAY_C2H ? CONTROL_C2H : CONTROL_H2C;
}

/* Clear the status line, so that no program takes counts of an earlier run for new ones. */
static void clear_line(struct litepcie_way *way)
{
	struct litepcie_status_way *status = way->status;

	status->position = 0;
	status->errors = 0;
	status->time = 0;
	/*
	 * A program that reads this 0 in @buffers, and then the other words of the line, gets no
	 * value of an earlier run.
	 */
	smp_store_release(&status->buffers, 0);
}

static u32 flush_cycles(struct litepcie *card, u32 flush_us)
{
	return clamp_t(u64, litepcie_cycles(card, flush_us), !!flush_us, U32_MAX);
}

/*
 * Let the card write the status line and (c2h) the records of a direction that is stopped and whose
 * descriptor table is empty.  c2h: a partly filled buffer ends when no more data has come for
 * @flush_us microseconds.  If @flush_us is 0, no buffer ends for this reason.
 */
void litepcie_notices_start(struct litepcie_way *way, u32 flush_us)
{
	struct litepcie_notices *notices = &way->chan->notices;
	u64 line = notices->status_dma + offsetof(struct litepcie_status, way[way->id]);

	lockdep_assert_held(&way->mutex);

	WRITE_ONCE(way->reports, true);
	clear_line(way);
	if (way->id == LITEPCIE_WAY_C2H) {
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

/*
 * Switch off the status line and the records of a direction that is stopped.  @live says that the
 * card's registers can be reached.
 */
void litepcie_notices_stop(struct litepcie_way *way, bool live)
{
	lockdep_assert_held(&way->mutex);

	if (!way->reports)
		return;
	WRITE_ONCE(way->reports, false);
	set_control(&way->chan->notices, control_of(way), 0, live);
	clear_line(way);
}

/*
 * Switch off the direction's status line and records after a reset or sleep of the card.
 * The control register may have kept its value through the reset.
 */
void litepcie_notices_off(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	if (!way->chan->notices.able)
		return;
	set_control(&way->chan->notices, control_of(way), 0, true);
	clear_line(way);
}

/* Counts from records and status lines ------------------------------------ */

/*
 * c2h: returns true if the card has written the record of descriptor @number of the run, counted
 * from 0.  The descriptor's buffer has then ended.
 */
bool litepcie_notices_ended(const struct litepcie_way *way, u64 number)
{
	const struct litepcie_notices *notices = &way->chan->notices;
	const struct litepcie_record *record = &notices->records[number & (notices->entries - 1)];

	return litepcie_load_reported(&record->sequence) == number + 1;
}

/*
 * c2h: read length and flags from the record of descriptor @number (from 0), whose buffer has
 * ended.  The card wrote the length, so the caller limits *@bytes to the buffer's size before it
 * copies data.
 */
void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags)
{
	const struct litepcie_notices *notices = &way->chan->notices;
	const struct litepcie_record *record = &notices->records[number & (notices->entries - 1)];

	*bytes = le32_to_cpu(READ_ONCE(record->bytes));
	*flags = le32_to_cpu(READ_ONCE(record->flags));
}
