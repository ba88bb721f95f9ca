// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Whose a direction is, and in which ring its data is.
 *
 * A direction belongs to an open file, or to none.  So does each ring: another
 * file never sees one, and finds nothing in its own that it did not put there.
 * A file that has asked for no shape has LitePCIe's ring, made when it is first
 * needed and kept until the file is closed.  The card reaches a ring only while
 * the direction is the file's.
 */

#include <linux/module.h>

#include "card.h"
#include "trace.h"

/* Rings ------------------------------------------------------------------- */

static struct device *dma_device(struct litepcie_way *way)
{
	return &litepcie_of(way)->pdev->dev;
}

/* @memory: a user's own, which the ring keeps unless it fails; NULL: the driver's. */
static struct litepcie_ring *make_ring(struct litepcie_way *way,
				       const struct litepcie_geometry *geometry,
				       struct litepcie_memory *memory,
				       struct litepcie_allowance *allowance)
{
	enum dma_data_direction direction =
		way->id == LITEPCIE_H2C ? DMA_TO_DEVICE : DMA_FROM_DEVICE;

	if (memory)
		return litepcie_ring_wrap(dma_device(way), direction, geometry, memory);
	return litepcie_ring_alloc(dma_device(way), direction, geometry, allowance);
}

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

static void use_ring(struct litepcie_way *way, struct litepcie_ring *ring)
{
	drop_ring(way);
	way->ring = ring;
	WRITE_ONCE(way->margin, ring->geometry.count / 2);
	trace_litepcie_ring(way, ring);
}

/* LitePCIe's ring is there when this returns 0, the file's own.  Between enter and exit. */
static int make_own_ring(struct litepcie_way *way, struct litepcie_file *file)
{
	struct litepcie_ring *ring;

	lockdep_assert_held(&way->mutex);

	if (file->ring[way->id])
		return 0;
	ring = make_ring(way, &LITEPCIE_GEOMETRY_DEFAULT, NULL, way->allowance);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	litepcie_ring_unmap(ring);
	file->ring[way->id] = ring;
	return 0;
}

static void drop_own_ring(struct litepcie_way *way, struct litepcie_file *file)
{
	lockdep_assert_held(&way->mutex);

	litepcie_ring_put(file->ring[way->id]);
	file->ring[way->id] = NULL;
}

/* The owner's ring is there when this returns 0.  Between enter and exit. */
int litepcie_owner_ring(struct litepcie_way *way)
{
	struct litepcie_ring *ring;
	int err;

	lockdep_assert_held(&way->mutex);

	if (way->ring)
		return 0;
	err = make_own_ring(way, way->owner);
	if (err)
		return err;
	ring = way->owner->ring[way->id];
	err = litepcie_ring_map(ring, dma_device(way));
	if (err)
		return err;
	litepcie_ring_get(ring);
	use_ring(way, ring);
	return 0;
}

/*
 * The ring that @file has in this direction, with a reference; -EBUSY: another
 * file has the direction, and its data is none of this one's business.  Between
 * enter and exit.
 */
struct litepcie_ring *litepcie_owner_ring_of(struct litepcie_way *way, struct litepcie_file *file)
{
	struct litepcie_ring *ring = NULL;
	int err;

	mutex_lock(&way->mutex);
	if (way->owner == file) {
		err = litepcie_owner_ring(way);
		ring = way->ring;
	} else if (way->owner) {
		err = -EBUSY;
	} else {
		err = make_own_ring(way, file);
		ring = file->ring[way->id];
	}
	if (!err)
		litepcie_ring_get(ring);
	mutex_unlock(&way->mutex);
	return err ? ERR_PTR(err) : ring;
}

/* The shape of that ring, which need not be there yet. */
struct litepcie_geometry litepcie_owner_geometry(struct litepcie_way *way,
						 struct litepcie_file *file)
{
	struct litepcie_geometry geometry = LITEPCIE_GEOMETRY_DEFAULT;

	mutex_lock(&way->mutex);
	if (way->owner == file && way->ring)
		geometry = way->ring->geometry;
	mutex_unlock(&way->mutex);
	return geometry;
}

/* A program of ours needs no more than LitePCIe's, which know of no limit. */
static struct litepcie_allowance *allowance_for(struct litepcie_way *way,
						const struct litepcie_geometry *geometry)
{
	const struct litepcie_geometry *free = &LITEPCIE_GEOMETRY_DEFAULT;

	return geometry->size == free->size && geometry->count == free->count ? way->allowance :
										NULL;
}

/*
 * A ring of this shape, which is sound, for a direction that is @file's and
 * stopped, in @memory if that is not NULL.  Between enter and exit.
 */
int litepcie_owner_setup(struct litepcie_way *way, struct litepcie_file *file,
			 const struct litepcie_geometry *geometry, struct litepcie_memory *memory)
{
	struct litepcie_ring *ring;
	int err = 0;

	mutex_lock(&way->mutex);
	if (way->owner != file || way->run) {
		err = -EBUSY;
		goto unlock;
	}
	ring = make_ring(way, geometry, memory, allowance_for(way, geometry));
	if (IS_ERR(ring)) {
		err = PTR_ERR(ring);
		goto unlock;
	}
	drop_own_ring(way, file);
	use_ring(way, ring);
unlock:
	mutex_unlock(&way->mutex);
	return err;
}

/* Owner ------------------------------------------------------------------- */

/* The direction is nobody's, and at rest. */
void litepcie_owner_set(struct litepcie_way *way, struct litepcie_file *file)
{
	lockdep_assert_held(&way->mutex);

	way->owner = file;
	spin_lock_irq(&way->wait.lock);
	way->sw_count = 0;
	spin_unlock_irq(&way->wait.lock);
}

/*
 * Nobody has it, and what was written but never sent is forgotten.  @live: the
 * card is quiet, or else it keeps its memory until it is.
 */
void litepcie_owner_forget(struct litepcie_way *way, bool live)
{
	struct eventfd_ctx *event = NULL;

	lockdep_assert_held(&way->mutex);

	way->owner = NULL;
	spin_lock_irq(&way->wait.lock);
	swap(way->event, event);
	way->error = 0;
	*way->status = (struct litepcie_status_way){ };
	way->hw_count = 0;
	way->sw_count = 0;
	spin_unlock_irq(&way->wait.lock);
	/* What another file waits for, room in the ring, is there now. */
	litepcie_dma_news(way);
	if (event)
		eventfd_ctx_put(event);
	if (live || (way->ring && !way->ring->dev))
		drop_ring(way);
}

/*
 * The card is quiet: a ring goes whose owner has gone while the card was away,
 * and with it what it pins.
 */
void litepcie_owner_drop_orphan(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	if (!way->owner)
		drop_ring(way);
}

int litepcie_owner_take(struct litepcie_way *way, struct litepcie_file *file)
{
	int err = 0;

	mutex_lock(&way->mutex);
	if (way->owner)
		err = -EBUSY;
	else
		litepcie_owner_set(way, file);
	mutex_unlock(&way->mutex);
	return err;
}

/* For read() and write(): the direction is @file's, and has a ring. */
int litepcie_owner_begin(struct litepcie_way *way, struct litepcie_file *file)
{
	int err = litepcie_enter(litepcie_of(way));

	if (err)
		return err;
	mutex_lock(&way->mutex);
	if (way->owner == file) {
		err = litepcie_owner_ring(way);
	} else if (way->owner) {
		err = -EBUSY;
	} else {
		litepcie_owner_set(way, file);
		err = litepcie_owner_ring(way);
		if (err)
			litepcie_owner_forget(way, true);
	}
	mutex_unlock(&way->mutex);
	litepcie_exit(litepcie_of(way));
	return err;
}

/* Consumes @event, which may be NULL, unless it fails. */
int litepcie_owner_event(struct litepcie_way *way, struct litepcie_file *file,
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

static void give_locked(struct litepcie_way *way, struct litepcie_file *file, bool live)
{
	lockdep_assert_held(&way->mutex);

	if (way->owner != file)
		return;
	if (live)
		litepcie_dma_stop(way);	/* the log has it if that fails */
	/* One that was lost on the way may not have stopped. */
	litepcie_owner_forget(way, live && !litepcie_is_gone(litepcie_of(way)));
}

/*
 * Let others have the direction, stopped, if it is @file's.  @live: the caller
 * has entered.
 */
void litepcie_owner_give(struct litepcie_way *way, struct litepcie_file *file, bool live)
{
	mutex_lock(&way->mutex);
	give_locked(way, file, live);
	mutex_unlock(&way->mutex);
}

/* The same when @file is closed. */
void litepcie_owner_leave(struct litepcie_way *way, struct litepcie_file *file, bool live)
{
	mutex_lock(&way->mutex);
	give_locked(way, file, live);
	drop_own_ring(way, file);
	mutex_unlock(&way->mutex);
}

/* The card is quiet and leaves: take the memory away from it. */
void litepcie_owner_unmap(struct litepcie_way *way)
{
	mutex_lock(&way->mutex);
	if (way->ring)
		litepcie_ring_unmap(way->ring);
	litepcie_owner_drop_orphan(way);
	mutex_unlock(&way->mutex);
}

/* Steering ---------------------------------------------------------------- */

/*
 * Write @value to a register that decides what both directions of the channel
 * carry.  Bits that act on a direction of another file's stay: -EBUSY.  Between
 * enter and exit.
 */
int litepcie_owner_steer(struct litepcie_file *file, struct litepcie_chan *chan,
			 void __iomem *reg, u32 value, const u32 acts_on[LITEPCIE_WAYS])
{
	u32 changed, others = 0;
	int err = 0;

	mutex_lock(&chan->way[LITEPCIE_H2C].mutex);
	mutex_lock_nested(&chan->way[LITEPCIE_C2H].mutex, SINGLE_DEPTH_NESTING);
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++)
		if (chan->way[n].owner && chan->way[n].owner != file)
			others |= acts_on[n];
	changed = others ? readl(reg) ^ value : 0;
	if (changed & others)
		err = -EBUSY;
	else
		writel(value, reg);
	mutex_unlock(&chan->way[LITEPCIE_C2H].mutex);
	mutex_unlock(&chan->way[LITEPCIE_H2C].mutex);
	return err;
}
