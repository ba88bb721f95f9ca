// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * One direction of a channel: owner, ring, start and stop.
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

#define DESCRIPTOR_IRQ_OFF	BIT(24)
#define DESCRIPTOR_LAST_OFF	BIT(25)	/* a stream has no packets */

#define WATCH_INTERVAL		HZ
#define IDLE_POLL_US		10
#define IDLE_TIMEOUT_US		1000000	/* the card gives up a lost read after 10 ms */

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

/* Whatever the direction is doing, it makes no request when this returns. */
void litepcie_dma_halt(struct litepcie_way *way)
{
	u32 value;

	way_write(way, LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N, 0);
	way_write(way, LITEPCIE_DMA_GROUP_ENABLE, 0);
	if (readl_poll_timeout(way->regs + LITEPCIE_DMA_GROUP_ENABLE, value, value & ENABLE_IDLE,
			       IDLE_POLL_US, IDLE_TIMEOUT_US))
		dev_err(litepcie_dev(way), "%s does not stop (enable register %#x): is the link up?\n",
			litepcie_way_name(way), value);
	else if (value == ~0u)
		litepcie_check_lost(litepcie_of(way));
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_RESET, 1);
}

static void write_descriptor(struct litepcie_way *way, u32 buffer)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	dma_addr_t dma = litepcie_ring_dma(way->ring, buffer);
	u32 flags = DESCRIPTOR_LAST_OFF;

	if (buffer % geometry->per_interrupt || geometry->mode == LITEPCIE_MODE_POLL)
		flags |= DESCRIPTOR_IRQ_OFF;
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_VALUE, flags | geometry->size);
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_VALUE + 4, lower_32_bits(dma));
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_WE, upper_32_bits(dma));
}

static int fill_table(struct litepcie_way *way)
{
	u32 count = way->ring->geometry.count;
	u32 level;

	for (u32 buffer = 0; buffer < count; buffer++)
		write_descriptor(way, buffer);
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

/*
 * While a direction runs: notices interrupts that were lost and cards that are
 * gone, for those who only wait.
 */
static void watch(struct work_struct *work)
{
	struct litepcie_way *way = container_of(work, struct litepcie_way, watchdog.work);
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	u64 interrupts = way->interrupts;

	if (litepcie_dma_progress(way))
		litepcie_dma_news(way);
	if (geometry->mode == LITEPCIE_MODE_INTERRUPT && interrupts == way->watched_interrupts &&
	    READ_ONCE(way->hw_count) - way->watched >= 2 * geometry->per_interrupt) {
		way->missed++;
		dev_warn_ratelimited(litepcie_dev(way), "%s: the card goes on, but interrupts do not come\n",
				     litepcie_way_name(way));
	}
	way->watched = READ_ONCE(way->hw_count);
	way->watched_interrupts = interrupts;
	schedule_delayed_work(&way->watchdog, WATCH_INTERVAL);
}

void litepcie_dma_init(struct litepcie_way *way)
{
	INIT_DELAYED_WORK(&way->watchdog, watch);
	litepcie_moderation_init(way);
}

static void set_running(struct litepcie_way *way, bool running, int error)
{
	lockdep_assert_held(&way->mutex);

	spin_lock_irq(&way->wait.lock);
	way->running = running;
	way->error = error;
	way->generation++;
	way->indexed = false;
	if (running) {
		const struct litepcie_geometry *geometry = &way->ring->geometry;

		way->count = geometry->count;
		way->mode = geometry->mode;
		way->indexed = geometry->flags & LITEPCIE_RING_INDEXED;
	}
	way->position = 0;
	way->hw_count = 0;
	way->sw_count = 0;
	*way->index = (struct litepcie_index_way){
		.running = running, .error = error,
	};
	spin_unlock_irq(&way->wait.lock);
	trace_litepcie_run(way, running, error);
}

/* Ring -------------------------------------------------------------------- */

/*
 * The card, which is quiet, has no use for this ring any more.  Others may, but
 * for its pages: a mapping must not outlive the device that it is for.
 */
static void drop_ring(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	if (way->ring)
		litepcie_ring_unmap(way->ring);
	litepcie_ring_put(way->ring);
	way->ring = NULL;
}

static bool is_default(const struct litepcie_ring *ring)
{
	return !ring->memory &&
	       !memcmp(&ring->geometry, &LITEPCIE_GEOMETRY_DEFAULT, sizeof(ring->geometry));
}

/*
 * The card is quiet: a ring goes whose owner has gone while the card was away,
 * and with it what it pins.
 */
static void drop_orphan(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	if (!way->owner && way->ring && !is_default(way->ring))
		drop_ring(way);
}

/* @memory: a user's own, which the ring keeps unless it fails; NULL: the driver's. */
static int set_ring(struct litepcie_way *way, const struct litepcie_geometry *geometry,
		    struct litepcie_memory *memory)
{
	struct device *dev = &litepcie_of(way)->pdev->dev;
	enum dma_data_direction direction =
		way->id == LITEPCIE_H2C ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	struct litepcie_ring *ring;

	lockdep_assert_held(&way->mutex);

	ring = memory ? litepcie_ring_wrap(dev, direction, geometry, memory) :
			litepcie_ring_alloc(dev, direction, geometry);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	drop_ring(way);
	way->ring = ring;
	WRITE_ONCE(way->margin, geometry->count / 2);
	trace_litepcie_ring(way, ring);
	return 0;
}

/* The ring is there when this returns 0.  Between enter and exit. */
int litepcie_dma_ring(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	return way->ring ? 0 : set_ring(way, &LITEPCIE_GEOMETRY_DEFAULT, NULL);
}

/*
 * A ring of this shape, which is sound, for a direction that is @file's and
 * stopped, in @memory if that is not NULL.  Between enter and exit.
 */
int litepcie_dma_setup(struct litepcie_way *way, struct litepcie_file *file,
		       const struct litepcie_geometry *geometry, struct litepcie_memory *memory)
{
	int err;

	mutex_lock(&way->mutex);
	if (way->owner != file || way->running)
		err = -EBUSY;
	else
		err = set_ring(way, geometry, memory);
	mutex_unlock(&way->mutex);
	return err;
}

/* Consumes @event, which may be NULL, unless it fails. */
int litepcie_dma_event(struct litepcie_way *way, struct litepcie_file *file,
		       struct eventfd_ctx *event)
{
	int err = -EBUSY;

	mutex_lock(&way->mutex);
	if (way->owner == file) {
		spin_lock_irq(&way->wait.lock);
		swap(way->event, event);
		spin_unlock_irq(&way->wait.lock);
		if (event)
			eventfd_ctx_put(event);
		err = 0;
	}
	mutex_unlock(&way->mutex);
	return err;
}

/* What the next owner finds is LitePCIe's ring, as its programs expect. */
static void forget_owner(struct litepcie_way *way, bool live)
{
	struct eventfd_ctx *event = NULL;

	lockdep_assert_held(&way->mutex);

	way->owner = NULL;
	spin_lock_irq(&way->wait.lock);
	swap(way->event, event);
	spin_unlock_irq(&way->wait.lock);
	if (event)
		eventfd_ctx_put(event);
	if (!live) {
		/* Later, if the card can still reach it: it may not be quiet yet. */
		if (way->ring && !way->ring->dev)
			drop_orphan(way);
	} else if (way->ring && !is_default(way->ring) &&
		   set_ring(way, &LITEPCIE_GEOMETRY_DEFAULT, NULL)) {
		drop_ring(way);		/* litepcie_dma_ring() tries again */
	}
}

/* Start and stop ---------------------------------------------------------- */

int litepcie_dma_take(struct litepcie_way *way, struct litepcie_file *file)
{
	int err = 0;

	mutex_lock(&way->mutex);
	if (way->owner)
		err = -EBUSY;
	else
		way->owner = file;
	mutex_unlock(&way->mutex);
	return err;
}

static void stop_locked(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	if (!way->running)
		return;
	cancel_delayed_work_sync(&way->watchdog);
	set_running(way, false, 0);
	litepcie_moderation_stop(way);
	litepcie_dma_halt(way);
	litepcie_dma_news(way);
}

static int start_locked(struct litepcie_way *way)
{
	int err = litepcie_dma_ring(way);

	if (err)
		return err;
	litepcie_dma_halt(way);
	err = fill_table(way);
	if (err)
		return err;
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N, 1);
	set_running(way, true, 0);
	litepcie_moderation_start(way);
	way_write(way, LITEPCIE_DMA_GROUP_ENABLE, ENABLE_RUN);
	way->watched = 0;
	schedule_delayed_work(&way->watchdog, WATCH_INTERVAL);
	return 0;
}

/*
 * Make the direction run, or not, for @file, which becomes its owner by starting
 * it; to ask for what is so already is free to everybody.  Between enter and
 * exit.
 */
int litepcie_dma_run(struct litepcie_way *way, struct litepcie_file *file, bool run)
{
	int err = 0;

	mutex_lock(&way->mutex);
	if (run == way->running)
		goto unlock;
	if (way->owner && way->owner != file) {
		err = -EBUSY;
		goto unlock;
	}
	if (run) {
		err = start_locked(way);
		if (!err)
			way->owner = file;
	} else {
		stop_locked(way);
	}
unlock:
	mutex_unlock(&way->mutex);
	return err;
}

/*
 * Let others have the direction, stopped, if it is @file's.  @live: the caller
 * has entered.
 */
void litepcie_dma_give(struct litepcie_way *way, struct litepcie_file *file, bool live)
{
	mutex_lock(&way->mutex);
	if (way->owner == file) {
		if (live)
			stop_locked(way);
		/* One that was lost on the way may not have stopped. */
		forget_owner(way, live && !litepcie_is_gone(litepcie_of(way)));
	}
	mutex_unlock(&way->mutex);
}

/*
 * The hardware is about to go, or has gone: whoever waits gets @error.  The
 * caller has made sure that nobody enters any more.
 */
void litepcie_dma_abort(struct litepcie_way *way, int error)
{
	mutex_lock(&way->mutex);
	cancel_delayed_work_sync(&way->watchdog);
	set_running(way, false, way->running ? error : way->error);
	litepcie_moderation_stop(way);
	if (!READ_ONCE(litepcie_of(way)->lost))
		litepcie_dma_halt(way);
	mutex_unlock(&way->mutex);
	litepcie_dma_news(way);
}

/* The card is quiet and leaves: take the memory away from it. */
void litepcie_dma_unmap(struct litepcie_way *way)
{
	mutex_lock(&way->mutex);
	if (way->ring)
		litepcie_ring_unmap(way->ring);
	drop_orphan(way);
	mutex_unlock(&way->mutex);
}

/* The card is back, and nobody has entered yet: whatever it does, it ends here. */
void litepcie_dma_settle(struct litepcie_way *way)
{
	mutex_lock(&way->mutex);
	litepcie_dma_halt(way);
	drop_orphan(way);
	mutex_unlock(&way->mutex);
}
