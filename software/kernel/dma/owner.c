// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Manages the owner of a direction, and the ring that holds the direction's data.
 *
 * A direction belongs to one open file, or to none.  Each ring is made for one open file: no other
 * file of the device node can map, export, read or write the ring.  A file that has not set up a
 * ring gets one of LITEPCIE_GEOMETRY_DEFAULT, called its own ring.  The own ring is made when it is
 * first needed, and kept until the file is closed or sets up another ring.  A direction's ring is
 * mapped for the card while the ring's file owns the direction, but not after the card is unbound.
 * If the file gives the direction up while the card cannot be stopped, the ring stays mapped until
 * litepcie_owner_drop_orphan().
 */

#include "card.h"
#include "compat.h"
#include "trace.h"

/* The ring of a direction, and of a file ---------------------------------- */

static struct device *dma_device(struct litepcie_way *way)
{
	return &litepcie_of(way)->pdev->dev;
}

/*
 * Make a ring for the direction.  If @memory is not NULL, the ring lies in this memory of the
 * process, and on success @memory belongs to the ring.  After an error @memory still belongs to the
 * caller.  If @memory is NULL, the driver allocates the ring's memory.
 */
static struct litepcie_ring *make_ring(struct litepcie_way *way,
				       const struct litepcie_geometry *geometry,
				       struct litepcie_memory *memory,
				       struct litepcie_allowance *allowance)
{
	enum dma_data_direction direction =
		way->id == LITEPCIE_WAY_H2C ? DMA_TO_DEVICE : DMA_FROM_DEVICE;

	if (memory)
		return litepcie_ring_wrap(dma_device(way), direction, geometry, memory);
	return litepcie_ring_alloc(dma_device(way), direction, geometry, allowance);
}

/*
 * Take the ring from the direction, which must be stopped.  User mappings and dma-bufs may keep the
 * ring and its pages.  The ring is unmapped from the card, since a DMA mapping must not outlive the
 * device.
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
	spin_lock_irq(&way->wait.lock);
	WRITE_ONCE(way->margin, ring->geometry.count / 2);
	spin_unlock_irq(&way->wait.lock);
	trace_litepcie_ring(way, ring);
}

/* Make the file's own ring, unless the file has it already.  A new ring is left unmapped. */
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

/*
 * Unless the direction has a ring, map the owner's own ring (of default geometry, made if there is
 * none) for the card, and make it the direction's ring.  Returns 0 or -ENOMEM.
 */
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
 * Returns, with a reference, the ring that @file has in this direction, or would have as the
 * direction's owner.  Returns -EBUSY if another file owns the direction, or -ENOMEM.  Takes
 * way->mutex.
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

/*
 * Returns the direction's allowance if @geometry has LitePCIe's size and number of buffers, else
 * NULL.  LitePCIe's programs do not expect a limit on locked memory.  So one ring of this size may
 * take the allowance, and is then not charged as locked memory.
 */
static struct litepcie_allowance *allowance_for(struct litepcie_way *way,
						const struct litepcie_geometry *geometry)
{
	const struct litepcie_geometry *free = &LITEPCIE_GEOMETRY_DEFAULT;

	return geometry->size == free->size && geometry->count == free->count ? way->allowance :
										NULL;
}

/*
 * Give the direction a new ring, which lies in @memory if that is not NULL.  @file must own the
 * direction, and the direction must be stopped, or the call fails with -EBUSY.  The caller has
 * checked @geometry.  After an error the direction keeps its ring, and @memory belongs to the
 * caller.  Takes way->mutex.
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

/* The owner of a direction ------------------------------------------------ */

/* Make @file the owner of a DMA direction that has no owner and is stopped. */
void litepcie_owner_set(struct litepcie_way *way, struct litepcie_file *file)
{
	lockdep_assert_held(&way->mutex);

	WRITE_ONCE(way->owner, file);
	spin_lock_irq(&way->wait.lock);
	WRITE_ONCE(way->sw_count, 0);
	spin_unlock_irq(&way->wait.lock);
}

/*
 * Take the direction from its owner.  Data that was written to the ring but not sent is dropped.
 * If @live is true, the direction is known to have stopped, so its ring is dropped.  If @live is
 * false, the card may still access a ring that is mapped for the card.  So the direction keeps such
 * a ring until litepcie_owner_drop_orphan().
 */
void litepcie_owner_forget(struct litepcie_way *way, bool live)
{
	struct eventfd_ctx *event = NULL;

	lockdep_assert_held(&way->mutex);

	WRITE_ONCE(way->owner, NULL);
	spin_lock_irq(&way->wait.lock);
	swap(way->event, event);
	WRITE_ONCE(way->error, 0);
	*way->status = (struct litepcie_status_way){ };
	WRITE_ONCE(way->hw_count, 0);
	WRITE_ONCE(way->sw_count, 0);
	spin_unlock_irq(&way->wait.lock);
	/* poll() reports a direction without owner as ready, so wake the threads in poll(). */
	litepcie_dma_news(way);
	if (event)
		eventfd_ctx_put(event);
	if (live || (way->ring && !way->ring->dev))
		drop_ring(way);
}

/*
 * If the direction has no owner, drop its ring.  It still has one if its last owner gave the
 * direction up while the card could not be stopped.
 */
void litepcie_owner_drop_orphan(struct litepcie_way *way)
{
	lockdep_assert_held(&way->mutex);

	if (!way->owner)
		drop_ring(way);
}

/*
 * Make @file the direction's owner.  Returns -EBUSY if the direction has an owner, even if that is
 * @file.  Takes way->mutex.
 */
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

/*
 * Returns true if another file owns the direction.  That file may own it for long, so a read() or
 * write() does not wait for the direction.
 */
bool litepcie_owner_is_other(const struct litepcie_way *way, const struct litepcie_file *file)
{
	const struct litepcie_file *owner = READ_ONCE(way->owner);

	return owner && owner != file;
}

/*
 * Signal a new eventfd at once if the run has made progress or failed before the eventfd was set,
 * since the card may send no further interrupt.
 */
static void tell_newcomer(struct litepcie_way *way, const struct eventfd_ctx *before)
{
	lockdep_assert_held(&way->wait.lock);
	if (way->event && way->event != before && (way->hw_count || way->error))
		litepcie_eventfd_signal(way->event);
}

/*
 * Set the direction's eventfd.  If @event is NULL, the direction has no eventfd from now on.
 * Returns -EBUSY if @file does not own the direction.  On success the reference to @event is
 * consumed.
 */
int litepcie_owner_event(struct litepcie_way *way, struct litepcie_file *file,
			 struct eventfd_ctx *event)
{
	int err = -EBUSY;

	mutex_lock(&way->mutex);
	if (way->owner == file) {
		spin_lock_irq(&way->wait.lock);
		swap(way->event, event);
		tell_newcomer(way, event);
		spin_unlock_irq(&way->wait.lock);
		if (event)
			eventfd_ctx_put(event);
		err = 0;
	}
	mutex_unlock(&way->mutex);
	return err;
}

/* Drop the file's own ring, because the file is being closed.  Takes way->mutex. */
void litepcie_owner_leave(struct litepcie_way *way, struct litepcie_file *file)
{
	mutex_lock(&way->mutex);
	drop_own_ring(way, file);
	mutex_unlock(&way->mutex);
}

void litepcie_owner_unmap(struct litepcie_way *way)
{
	mutex_lock(&way->mutex);
	if (way->ring)
		litepcie_ring_unmap(way->ring);
	litepcie_owner_drop_orphan(way);
	mutex_unlock(&way->mutex);
}

/* Registers that act on the data of both directions ----------------------- */

/*
 * Write @value to a register that acts on the data of both directions of the channel.  @acts_on
 * has, for each direction, the register's bits that act on that direction.  Returns -EBUSY if
 * @value would change a bit that acts on a direction owned by another file.
 */
int litepcie_owner_steer(struct litepcie_file *file, struct litepcie_chan *chan,
			 void __iomem *reg, u32 value, const u32 acts_on[LITEPCIE_WAYS])
{
	u32 changed, others = 0;
	int err = 0;

	mutex_lock(&chan->way[LITEPCIE_WAY_H2C].mutex);
	mutex_lock_nested(&chan->way[LITEPCIE_WAY_C2H].mutex, SINGLE_DEPTH_NESTING);
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++)
		if (chan->way[n].owner && chan->way[n].owner != file)
			others |= acts_on[n];
	changed = others ? readl(reg) ^ value : 0;
	if (changed & others)
		err = -EBUSY;
	else
		writel(value, reg);
	mutex_unlock(&chan->way[LITEPCIE_WAY_C2H].mutex);
	mutex_unlock(&chan->way[LITEPCIE_WAY_H2C].mutex);
	return err;
}
