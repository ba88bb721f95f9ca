// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements the ioctl() calls that set up a direction: the buffer sizes and the memory of its
 * ring, its eventfd and its packet settings.  Also implements LITEPCIE_IOCTL_RING_INFO and
 * _FEATURES, which only report.
 */

#include <linux/eventfd.h>
#include <linux/log2.h>

#include "card.h"

static bool is_sound(const struct litepcie_way *way, const struct litepcie_ring_setup *setup)
{
	bool timed = setup->mode != LITEPCIE_MODE_INTERRUPT;

	return is_power_of_2(setup->buffer_size) && PAGE_ALIGNED(setup->buffer_size) &&
	       setup->buffer_size >= LITEPCIE_BUFFER_LEAST &&
	       setup->buffer_size <= LITEPCIE_BUFFER_MOST &&
	       setup->buffer_count >= LITEPCIE_BUFFERS_LEAST &&
	       setup->buffer_count <= way->depth && setup->buffers_per_interrupt >= 1 &&
	       setup->buffers_per_interrupt <= setup->buffer_count &&
	       setup->mode <= LITEPCIE_MODE_POLL &&
	       (timed ? setup->interval_us >= LITEPCIE_POLL_US_LEAST &&
			setup->interval_us <= LITEPCIE_POLL_US_MOST :
			!setup->interval_us) &&
	       !(setup->flags & ~LITEPCIE_RING_INDEXED) && !setup->reserved;
}

/*
 * Give the direction a ring with the buffers that @setup describes.  If @memory is not NULL, the
 * ring lies in this memory of the process, and on success @memory belongs to the ring.  After an
 * error @memory still belongs to the caller.  If @memory is NULL, the driver allocates the ring's
 * memory.
 */
static int set_up(struct litepcie_way *way, struct litepcie_file *file,
		  const struct litepcie_ring_setup *setup, struct litepcie_memory *memory)
{
	struct litepcie_geometry geometry = {
		.size		= setup->buffer_size,
		.count		= setup->buffer_count,
		.per_interrupt	= setup->buffers_per_interrupt,
		.mode		= setup->mode,
		.interval_us	= setup->interval_us,
		.flags		= setup->flags,
	};

	return litepcie_owner_setup(way, file, &geometry, memory);
}

int litepcie_setup_ring(struct litepcie_file *file, void *argument)
{
	const struct litepcie_ring_setup *setup = argument;
	struct litepcie_way *way = litepcie_find_way(file, setup->way);

	if (!way || !is_sound(way, setup))
		return -EINVAL;
	return set_up(way, file, setup, NULL);
}

/*
 * LITEPCIE_IOCTL_RING_MEMORY: make a ring in the process's own memory.  The memory is pinned before
 * litepcie_enter(), since a page may have to be read from a disk, and a reset of the card must not
 * wait for that.
 */
int litepcie_setup_memory(struct litepcie_file *file, void *argument)
{
	const struct litepcie_ring_memory *request = argument;
	const struct litepcie_ring_setup *setup = &request->setup;
	struct litepcie_way *way = litepcie_find_way(file, setup->way);
	unsigned long address = request->address;
	struct litepcie_memory *memory;
	int err;

	if (!way || !is_sound(way, setup) || !PAGE_ALIGNED(address) ||
	    address != request->address || request->reserved)
		return -EINVAL;
	memory = litepcie_memory_pin(address, (size_t)setup->buffer_size * setup->buffer_count);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	err = litepcie_enter(file->chan->card);
	if (!err) {
		err = set_up(way, file, setup, memory);
		litepcie_exit(file->chan->card);
	}
	if (err)
		litepcie_memory_unpin(memory);
	return err;
}

static struct litepcie_ring_setup setup_of(u32 id, const struct litepcie_geometry *geometry)
{
	return (struct litepcie_ring_setup){
		.way			= id,
		.buffer_size		= geometry->size,
		.buffer_count		= geometry->count,
		.buffers_per_interrupt	= geometry->per_interrupt,
		.mode			= geometry->mode,
		.interval_us		= geometry->interval_us,
		.flags			= geometry->flags,
	};
}

/*
 * Set the eventfd of direction @way.  If @way is NULL, set the eventfd of the user logic's
 * interrupt, and enable or disable the interrupt's cause in the card.  If @context is NULL, no
 * eventfd is signalled from now on.
 */
static int set_event(struct litepcie_file *file, struct litepcie_way *way,
		     struct eventfd_ctx *context)
{
	int err;

	if (way && litepcie_is_gone(file->chan->card))
		return -ENODEV;
	if (way)
		return litepcie_owner_event(way, file, context);
	err = litepcie_enter(file->chan->card);
	if (err)
		return err;
	err = litepcie_user_event(file, context);
	litepcie_exit(file->chan->card);
	return err;
}

int litepcie_setup_event(struct litepcie_file *file, void *argument)
{
	const struct litepcie_event *event = argument;
	struct litepcie_way *way = litepcie_find_way(file, event->way);
	struct eventfd_ctx *context = NULL;
	int err;

	if ((!way && event->way != LITEPCIE_EVENT_USER) || event->fd < -1 ||
	    event->reserved[0] || event->reserved[1])
		return -EINVAL;
	if (event->fd >= 0)
		context = eventfd_ctx_fdget(event->fd);
	if (IS_ERR(context))
		return PTR_ERR(context);
	err = set_event(file, way, context);
	if (err && context)
		eventfd_ctx_put(context);
	return err;
}

/*
 * LITEPCIE_IOCTL_PACKETS: store the packet settings of @file.  They act on each later run that the
 * file starts by LITEPCIE_IOCTL_ADVANCE (a held run), or by read() or write() (a stream).  They do
 * not act on a run that is under way.
 */
int litepcie_setup_packets(struct litepcie_file *file, void *argument)
{
	const struct litepcie_packets *packets = argument;
	struct litepcie_way *way = litepcie_find_way(file, packets->way);

	if (!way || packets->flags & ~LITEPCIE_PACKETS_ON ||
	    packets->flush_us > LITEPCIE_FLUSH_US_MOST ||
	    memchr_inv(packets->reserved, 0, sizeof(packets->reserved)))
		return -EINVAL;
	if (litepcie_is_gone(file->chan->card))
		return -ENODEV;
	if (!file->chan->notices.able && (packets->flags || packets->flush_us))
		return -EOPNOTSUPP;
	mutex_lock(&way->mutex);
	file->ends[way->id] = (struct litepcie_ends){
		.packets	= packets->flags & LITEPCIE_PACKETS_ON,
		.flush_us	= packets->flush_us,
	};
	mutex_unlock(&way->mutex);
	return 0;
}

/*
 * LITEPCIE_IOCTL_FEATURES: say which parts of the ABI work with this card.  The answer does not
 * change while the file is open.
 */
int litepcie_setup_features(struct litepcie_file *file, void *argument)
{
	struct litepcie_features *features = argument;
	struct litepcie_chan *chan = file->chan;

	if (features->version || features->reserved || features->flags ||
	    memchr_inv(features->reserved2, 0, sizeof(features->reserved2)))
		return -EINVAL;
	features->version = LITEPCIE_VERSION;
	features->flags = LITEPCIE_FEATURE_HELD | LITEPCIE_FEATURE_MEMORY | LITEPCIE_FEATURE_EXPORT;
	if (chan->notices.able)
		features->flags |= LITEPCIE_FEATURE_PACKETS;
	if (chan->card->user.cause != LITEPCIE_CAUSES_MAX)
		features->flags |= LITEPCIE_FEATURE_USER_EVENT;
	return 0;
}

/*
 * LITEPCIE_IOCTL_RING_INFO: describe the ring of the direction, whichever file owns the direction.
 * If the direction has no owner, or its owner has no ring yet, describe the ring that @file would
 * get.
 */
int litepcie_setup_info(struct litepcie_file *file, void *argument)
{
	struct litepcie_ring_info *info = argument;
	struct litepcie_way *way = litepcie_find_way(file, info->way);
	const struct litepcie_geometry *geometry = &LITEPCIE_GEOMETRY_DEFAULT;
	const struct litepcie_ring *ring;
	u32 id = info->way;

	if (!way || info->reserved)
		return -EINVAL;
	*info = (struct litepcie_ring_info){
		.way		= id,
		.ring_offset	= (u64)(LITEPCIE_REGION_H2C + id) << LITEPCIE_MMAP_SHIFT,
		.status_offset	= (u64)LITEPCIE_REGION_STATUS << LITEPCIE_MMAP_SHIFT,
		.index_offset	= (u64)LITEPCIE_REGION_INDEX << LITEPCIE_MMAP_SHIFT,
		.table_depth	= way->depth,
	};
	if (way->id == LITEPCIE_WAY_C2H)
		info->records_bytes = litepcie_notices_bytes(&file->chan->notices);
	if (info->records_bytes)
		info->records_offset = (u64)LITEPCIE_REGION_RECORDS << LITEPCIE_MMAP_SHIFT;
	mutex_lock(&way->mutex);
	/* A ring that a direction without owner still has belongs to no file. */
	ring = way->owner && way->ring ? way->ring : file->ring[way->id];
	if (ring) {
		geometry = &ring->geometry;
		info->chunk_bytes = litepcie_chunk_bytes(ring);
	}
	info->setup = setup_of(id, geometry);
	info->ring_bytes = (u64)geometry->size * geometry->count;
	if (ring && ring->memory)
		info->setup.flags |= LITEPCIE_RING_MEMORY;
	if (way->owner && way->owner != file)
		info->setup.flags |= LITEPCIE_RING_BUSY;
	mutex_unlock(&way->mutex);
	return 0;
}
