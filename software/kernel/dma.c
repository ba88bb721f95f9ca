// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * One direction of a channel: start and stop.  Whose it is, owner.c says.
 *
 * The card goes round a table of descriptors, one for each buffer, until it is
 * stopped; progress.c says how far it is.
 */

#include <linux/iopoll.h>
#include <linux/module.h>

#include "card.h"
#include "compat.h"
#include "trace.h"

#define ENABLE_RUN		BIT(0)
#define ENABLE_IDLE		BIT(1)	/* no request half made */
#define ENABLE_TAKEN		BIT(2)	/* h2c: and nothing waits for the user's logic */

#define DESCRIPTOR_IRQ_OFF	BIT(24)
#define DESCRIPTOR_LAST_OFF	BIT(25)	/* it has nothing to do with the ends of packets */

#define WATCH_INTERVAL		HZ
#define IDLE_POLL_US		10
#define IDLE_TIMEOUT_US		(40 * LITEPCIE_LONGEST_READ_US)
#define STREAM_INTERVAL_US	100	/* between looks while data flows */
#define SETTLE_READS		64	/* each a round trip: together longer than any read */

const char *litepcie_way_name(const struct litepcie_way *way)
{
	return way->id == LITEPCIE_H2C ? "h2c" : "c2h";
}

static void way_write(struct litepcie_way *way, unsigned int reg, u32 value)
{
	writel(value, way->regs + reg);
}

static u32 way_read(struct litepcie_way *way, unsigned int reg)
{
	return readl(way->regs + reg);
}

/* Hardware ---------------------------------------------------------------- */

/*
 * A direction that does not stop may write to its ring for ever: the card loses
 * the right to make any request.  What it has sent so far arrives before its
 * answer to this access, so the memory is nobody's but ours when this returns.
 * It takes a reset, as a rule: the other direction cannot finish what it was at.
 */
static void master_off(struct litepcie_way *way)
{
	struct litepcie *card = litepcie_of(way);

	mutex_lock(&card->master_lock);
	card->unquiet |= BIT(way->cause);
	pci_clear_master(card->pdev);
	mutex_unlock(&card->master_lock);
}

/* It has stopped after all. */
static void master_on(struct litepcie_way *way)
{
	struct litepcie *card = litepcie_of(way);

	mutex_lock(&card->master_lock);
	if (card->unquiet & BIT(way->cause)) {
		card->unquiet &= ~BIT(way->cause);
		if (!card->unquiet)
			pci_set_master(card->pdev);
	}
	mutex_unlock(&card->master_lock);
}

/*
 * A stop loses nothing of h2c: what the card has fetched, the user's logic has
 * taken.  Between enter and exit.
 */
bool litepcie_dma_taken(struct litepcie_way *way)
{
	return !way->tells_taken || way_read(way, LITEPCIE_DMA_GROUP_ENABLE) & ENABLE_TAKEN;
}

/*
 * The stock endpoint's engine is idle when it has asked for all data.  What it
 * asked for would be taken for data of the next run, and of another's memory.
 */
static void let_reads_settle(struct litepcie_way *way)
{
	for (unsigned int n = 0; n < SETTLE_READS; n++)
		way_read(way, LITEPCIE_DMA_GROUP_ENABLE);
}

/*
 * Whatever the direction is doing, it makes no request when this returns: it has
 * stopped (0), or the card may make none (-EIO), or the card is lost (-ENODEV).
 */
int litepcie_dma_halt(struct litepcie_way *way)
{
	u32 value;

	way_write(way, LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N, 0);
	way_write(way, LITEPCIE_DMA_GROUP_ENABLE, 0);
	if (readl_poll_timeout(way->regs + LITEPCIE_DMA_GROUP_ENABLE, value, value & ENABLE_IDLE,
			       IDLE_POLL_US, IDLE_TIMEOUT_US)) {
		master_off(way);
		dev_err(litepcie_dev(way), "%s does not stop (enable register %#x): bus mastering is off until the card is reset\n",
			litepcie_way_name(way), value);
		return -EIO;
	}
	if (value == ~0u && litepcie_check_lost(litepcie_of(way)))
		return -ENODEV;
	if (way->in_flight)
		let_reads_settle(way);
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_RESET, 1);
	master_on(way);
	return 0;
}

/* Put a descriptor into the card's table: these bytes of the ring, in one buffer. */
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last)
{
	u32 size = way->ring->geometry.size;
	dma_addr_t dma = litepcie_ring_dma(way->ring, offset >> ilog2(size)) +
			 (offset & (size - 1));
	u32 flags = (last ? 0 : DESCRIPTOR_LAST_OFF) | (irq ? 0 : DESCRIPTOR_IRQ_OFF);

	way_write(way, LITEPCIE_DMA_GROUP_TABLE_VALUE, flags | bytes);
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_VALUE + 4, lower_32_bits(dma));
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_WE, upper_32_bits(dma));
}

/* For the loop: a descriptor for each buffer. */
static int fill_table(struct litepcie_way *way)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	u32 count = geometry->count;
	u32 level;

	for (u32 buffer = 0; buffer < count; buffer++)
		litepcie_dma_describe(way, (u64)buffer * geometry->size, geometry->size,
				      geometry->mode != LITEPCIE_MODE_POLL &&
				      buffer % geometry->per_interrupt == 0, false);
	/* Also waits until the card has them all. */
	level = way_read(way, LITEPCIE_DMA_GROUP_TABLE_LEVEL);
	if (level == count)
		return 0;
	if (litepcie_check_lost(litepcie_of(way)))
		return -ENODEV;
	dev_err(litepcie_dev(way), "%s took %u of %u descriptors\n", litepcie_way_name(way),
		level, count);
	return -EIO;
}

/* Watchdog ---------------------------------------------------------------- */

/* The card has gone on for two interrupts and more, of which none has come. */
static bool interrupts_are_missing(struct litepcie_way *way)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	bool missing;

	spin_lock_irq(&way->wait.lock);
	missing = way->mode == LITEPCIE_MODE_INTERRUPT &&
		  way->interrupts == way->watched_interrupts &&
		  way->hw_count - way->watched >= 2 * geometry->per_interrupt;
	if (missing)
		way->missed++;
	way->watched = way->hw_count;
	way->watched_interrupts = way->interrupts;
	spin_unlock_irq(&way->wait.lock);
	return missing;
}

/*
 * While a direction runs: notices interrupts that were lost and cards that are
 * gone, for those who only wait.
 */
static void watch(struct work_struct *work)
{
	struct litepcie_way *way = container_of(work, struct litepcie_way, watchdog.work);

	litepcie_dma_ask(way);
	if (interrupts_are_missing(way))
		dev_warn_ratelimited(litepcie_dev(way), "%s: the card goes on, but interrupts do not come\n",
				     litepcie_way_name(way));
	schedule_delayed_work(&way->watchdog, WATCH_INTERVAL);
}

void litepcie_dma_init(struct litepcie_way *way)
{
	INIT_DELAYED_WORK(&way->watchdog, watch);
	litepcie_moderation_init(way);
}

/* In the page that everybody reads.  Why it ended is there before that it did. */
static void show_run(struct litepcie_way *way)
{
	struct litepcie_status_way *status = way->status;

	status->position = 0;
	status->advanced = 0;
	smp_store_release(&status->buffers, 0);
	status->error = way->error;
	smp_store_release(&status->run, way->run);
}

static void set_run(struct litepcie_way *way, u32 run, int error)
{
	lockdep_assert_held(&way->mutex);

	spin_lock_irq(&way->wait.lock);
	way->run = run;
	way->error = error;
	way->generation++;
	way->indexed = false;
	if (run) {
		const struct litepcie_geometry *geometry = &way->ring->geometry;

		way->count = geometry->count;
		way->mode = geometry->mode;
		way->interval_us = geometry->interval_us;
		/* read() and write() wait for each buffer, and want one interrupt for many. */
		if (run == LITEPCIE_RUN_STREAM && way->mode == LITEPCIE_MODE_INTERRUPT) {
			way->mode = LITEPCIE_MODE_ADAPTIVE;
			way->interval_us = STREAM_INTERVAL_US;
		}
		way->stream = (struct litepcie_stream){ };
		way->indexed = geometry->flags & LITEPCIE_RING_INDEXED;
		way->held.advanced = 0;
		way->held.done = 0;
		way->held.bytes = 0;
	}
	way->position = 0;
	way->hw_count = 0;
	way->sw_count = 0;
	show_run(way);
	spin_unlock_irq(&way->wait.lock);
	trace_litepcie_run(way, run, error);
}

/* Start and stop ---------------------------------------------------------- */

/* It counts as stopped even when this fails, and makes no request. */
int litepcie_dma_stop(struct litepcie_way *way)
{
	int err;

	lockdep_assert_held(&way->mutex);

	if (!way->run)
		return 0;
	cancel_delayed_work_sync(&way->watchdog);
	set_run(way, LITEPCIE_RUN_REST, 0);
	litepcie_moderation_stop(way);
	err = litepcie_dma_halt(way);
	litepcie_notices_stop(way, true);
	litepcie_dma_news(way);
	return err;
}

/* What the file has asked for of its packets, and a card that tells of them. */
static void begin_notices(struct litepcie_way *way, u32 run)
{
	struct litepcie_ends ends = way->owner->ends[way->id];

	/* A buffer ends early only where a packet may end it. */
	if (run != LITEPCIE_RUN_STREAM && !ends.packets)
		ends.flush_us = 0;
	if (run == LITEPCIE_RUN_LOOP)
		ends = (struct litepcie_ends){ };
	way->ends = ends;
	if (run != LITEPCIE_RUN_LOOP && way->chan->notices.able)
		litepcie_notices_start(way, ends.flush_us);
}

/* For its owner.  Between enter and exit. */
static int start_locked(struct litepcie_way *way, u32 run)
{
	int err = litepcie_owner_ring(way);

	if (!err)
		err = litepcie_dma_halt(way);
	/* The other direction does not stop, and the card may make no request. */
	if (!err && READ_ONCE(litepcie_of(way)->unquiet))
		err = -EIO;
	if (!err && run == LITEPCIE_RUN_LOOP)
		err = fill_table(way);
	if (err)
		return err;
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N, run == LITEPCIE_RUN_LOOP);
	begin_notices(way, run);
	WRITE_ONCE(way->owner->index->way[way->id].software, 0);
	set_run(way, run, 0);
	litepcie_moderation_start(way);
	way_write(way, LITEPCIE_DMA_GROUP_ENABLE, ENABLE_RUN);
	way->watched = 0;
	schedule_delayed_work(&way->watchdog, WATCH_INTERVAL);
	return 0;
}

/*
 * Make the direction run like this for @file, which becomes its owner by starting
 * it.  To ask for the loop that runs already is free to everybody.  What ended a
 * held run must be heard of before the next.  Between enter and exit.
 */
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run)
{
	bool loop = run == LITEPCIE_RUN_LOOP;
	int err;

	lockdep_assert_held(&way->mutex);

	if (way->run == run && (loop || way->owner == file))
		return 0;
	if (way->run || (way->owner && way->owner != file))
		return -EBUSY;
	if (way->owner)
		return way->error && !loop ? way->error : start_locked(way, run);
	litepcie_owner_set(way, file);
	err = start_locked(way, run);
	if (err)
		litepcie_owner_forget(way, true);
	return err;
}

/* Stop it for @file; to ask that of one at rest is free to everybody.  Between enter and exit. */
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file)
{
	lockdep_assert_held(&way->mutex);

	if (way->run && way->owner != file)
		return -EBUSY;
	if (way->run)
		return litepcie_dma_stop(way);
	if (way->owner == file && way->error)
		set_run(way, LITEPCIE_RUN_REST, 0);
	return 0;
}

/*
 * The hardware is about to go, or has gone: whoever waits gets @error.  The
 * caller has made sure that nobody enters any more.
 */
void litepcie_dma_abort(struct litepcie_way *way, int error)
{
	mutex_lock(&way->mutex);
	cancel_delayed_work_sync(&way->watchdog);
	set_run(way, LITEPCIE_RUN_REST, way->run ? error : way->error);
	litepcie_moderation_stop(way);
	if (!READ_ONCE(litepcie_of(way)->lost))
		litepcie_dma_halt(way);
	litepcie_notices_stop(way, !READ_ONCE(litepcie_of(way)->lost));
	mutex_unlock(&way->mutex);
	litepcie_dma_news(way);
}

/*
 * The card is back, and nobody has entered yet: whatever it does, it ends here,
 * or the card is of no use.
 */
int litepcie_dma_settle(struct litepcie_way *way)
{
	int err;

	mutex_lock(&way->mutex);
	err = litepcie_dma_halt(way);
	if (!err)
		litepcie_notices_off(way);
	litepcie_owner_drop_orphan(way);
	mutex_unlock(&way->mutex);
	return err;
}
