/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The calls about the memory of a ring. litepcie_ring_place() puts a ring into the program's own
 * memory, litepcie_ring_keep() keeps its mapping, and litepcie_ring_export() shares it with another
 * process.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "ring.h"

static const char *name_of(unsigned int direction)
{
	return direction == LITEPCIE_H2C ? "h2c" : "c2h";
}

static struct litepcie_ring *ring_of(struct litepcie *dev, unsigned int direction)
{
	if (direction == LITEPCIE_H2C || direction == LITEPCIE_C2H)
		return direction == LITEPCIE_H2C ? &dev->h2c : &dev->c2h;
	litepcie_fail(dev, -EINVAL, "direction 0x%x: choose h2c or c2h", direction);
	return NULL;
}

/* Place a ring -------------------------------------------------------------------------------- */

/*
 * True if this process may read and write all @bytes of @memory. *@shared then tells whether some
 * of it is shared memory. The answer comes from the list of the process's mappings, as a test by
 * writing could overwrite what another thread writes at the same time.
 */
static bool may_write(const void *memory, size_t bytes, bool *shared)
{
	uintptr_t at = (uintptr_t)memory, end = at + bytes, from, to;
	bool whole = end > at;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128], rights[5];

	*shared = false;
	while (maps && at < end && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, rights) != 3 ||
		    at < from || at >= to)
			continue;
		if (rights[0] != 'r' || rights[1] != 'w')
			break;
		*shared |= rights[3] == 's';
		at = to;
	}
	if (maps)
		fclose(maps);
	return whole && at >= end;
}

static int check_place(struct litepcie *dev, const char *name, void *memory, size_t bytes,
		       const struct litepcie_ring *other)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), ring = dev->buffer_size * dev->buffer_count;
	bool shared;

	if ((uintptr_t)memory % page)
		return litepcie_fail(dev, -EINVAL, "a place for %s at %p: it must be a multiple of "
				     "a page, %zu bytes", name, memory, page);
	if (bytes < ring)
		return litepcie_fail(dev, -EINVAL, "a place for %s of %zu bytes: a ring of %u buffers "
				     "of %zu bytes takes %zu", name, bytes, dev->buffer_count,
				     dev->buffer_size, ring);
	if (other->place && (uintptr_t)memory < (uintptr_t)other->place + other->place_bytes &&
	    (uintptr_t)other->place < (uintptr_t)memory + bytes)
		return litepcie_fail(dev, -EINVAL, "a place for %s at %p: the other direction's ring "
				     "lies at %p already", name, memory, other->place);
	if (!may_write(memory, bytes, &shared))
		return litepcie_fail(dev, -EFAULT, "a place for %s at %p: not all of its %zu bytes are "
				     "memory that this program may read and write", name, memory,
				     bytes);
	if (shared && dev->backend->exchanges)
		return litepcie_fail(dev, -EOPNOTSUPP, "a place for %s at %p is shared memory: a "
				     "simulated board takes private memory (MAP_PRIVATE) only", name,
				     memory);
	return 0;
}

static int place(struct litepcie *dev, unsigned int direction, struct litepcie_ring *ring,
		 void *memory, size_t bytes)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int rc = channel->check ? channel->check(dev) : 0;

	if (rc == 0)
		rc = litepcie_check_idle(dev);
	if (rc == 0 && memory)
		rc = check_place(dev, name_of(direction), memory, bytes,
				 ring == &dev->h2c ? &dev->c2h : &dev->h2c);
	if (rc < 0)
		return rc;
	if (memory)
		litepcie_memory_huge(memory, bytes);
	ring->place = memory;
	ring->place_bytes = memory ? bytes : 0;
	ring->base = NULL;
	/* this call drops the rings, so the next start of DMA makes new ones */
	litepcie_engine_free(dev);
	return 0;
}

int litepcie_ring_place(struct litepcie *dev, unsigned int direction, void *memory, size_t bytes)
{
	struct litepcie_ring *ring = ring_of(dev, direction);

	if (!ring)
		return -EINVAL;
	litepcie_lock(dev);
	return litepcie_unlock(dev, place(dev, direction, ring, memory, bytes));
}

/* Keep a ring's memory ------------------------------------------------------------------------ */

static int keep(struct litepcie *dev, const struct litepcie_ring *ring,
		struct litepcie_memory **memory)
{
	if (!ring->base)
		return litepcie_fail(dev, -EINVAL, "the ring has no memory before its first start");
	atomic_fetch_add(&ring->memory->users, 1);
	*memory = ring->memory;
	return 0;
}

int litepcie_ring_keep(struct litepcie *dev, unsigned int direction,
		       struct litepcie_memory **memory)
{
	const struct litepcie_ring *ring = ring_of(dev, direction);

	*memory = NULL;
	if (!ring)
		return -EINVAL;
	litepcie_lock(dev);
	return litepcie_unlock(dev, keep(dev, ring, memory));
}

/* Export a ring ------------------------------------------------------------------------------- */

static int export(struct litepcie *dev, unsigned int direction, const struct litepcie_ring *ring)
{
	const struct litepcie_channel *channel = dev->backend->channel;
	int rc = channel->check ? channel->check(dev) : 0;

	if (rc == 0)
		rc = litepcie_check_active(dev, direction);
	if (rc == 0 && ring->memory->placed)
		return litepcie_fail(dev, -EADDRINUSE, "the %s ring lies in this program's own memory, "
				     "which only the program can share", name_of(direction));
	return rc < 0 ? rc : channel->export(dev, ring);
}

int litepcie_ring_export(struct litepcie *dev, unsigned int direction, int *fd)
{
	const struct litepcie_ring *ring = ring_of(dev, direction);
	int rc;

	*fd = -1;
	if (!ring)
		return -EINVAL;
	litepcie_lock(dev);
	rc = litepcie_unlock(dev, export(dev, direction, ring));
	if (rc < 0)
		return rc;
	*fd = rc;
	return 0;
}
