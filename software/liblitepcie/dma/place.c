/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The memory of a ring: check whether the program's own memory can be used for it, keep the ring
 * mapped after its stream is closed, and share the ring with another process.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "dma/engine/engine.h"

/* The program's own memory -------------------------------------------------------------------- */

/*
 * True if this process may read and write all @bytes of @memory. *@shared then tells whether a part
 * of @memory is shared memory. The answer comes from /proc/self/maps, as a test by writing could
 * overwrite what another thread writes at the same time.
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

int litepcie_check_memory(struct litepcie_stream *stream)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), ring = litepcie_ring_bytes(stream);
	const struct litepcie_stream_options *options = &stream->options;
	size_t bytes = options->memory_bytes;
	uintptr_t at = (uintptr_t)options->memory;
	struct litepcie *dev = stream->dev;
	const struct litepcie_stream *other = stream == &dev->h2c ? &dev->c2h : &dev->h2c;
	bool shared;

	if (at % page)
		return litepcie_fail(-EINVAL, "memory for %s at %p: it must be a multiple of a "
				     "page, %zu bytes", stream->name, options->memory, page);
	if (bytes < ring)
		return litepcie_fail(-EINVAL, "memory for %s of %zu bytes: a ring of %u buffers of "
				     "%zu bytes takes %zu", stream->name, bytes,
				     options->buffer_count, options->buffer_size, ring);
	if (other->open && other->options.memory &&
	    at < (uintptr_t)other->options.memory + other->options.memory_bytes &&
	    (uintptr_t)other->options.memory < at + bytes)
		return litepcie_fail(-EINVAL, "memory for %s at %p: the other direction's ring "
				     "lies at %p already", stream->name, options->memory,
				     other->options.memory);
	if (!may_write(options->memory, bytes, &shared))
		return litepcie_fail(-EFAULT, "memory for %s at %p: not all of its %zu bytes are "
				     "memory that this program may read and write", stream->name,
				     options->memory, bytes);
	if (shared && dev->backend->exchanges)
		return litepcie_fail(-EOPNOTSUPP, "memory for %s at %p is shared memory: a "
				     "simulated board takes private memory (MAP_PRIVATE) only",
				     stream->name, options->memory);
	litepcie_memory_huge(options->memory, bytes);
	return 0;
}

/* Mappings of a ring's memory that are kept --------------------------------------------------- */

static int keep(const struct litepcie_stream *stream, struct litepcie_memory **memory)
{
	if (!stream->base)
		return litepcie_fail(-EINVAL, "the ring has no memory before its first start");
	atomic_fetch_add(&stream->memory->users, 1);
	*memory = stream->memory;
	return 0;
}

int litepcie_stream_keep(struct litepcie_stream *stream, struct litepcie_memory **memory)
{
	int rc;

	*memory = NULL;
	litepcie_lock(stream->dev);
	rc = keep(stream, memory);
	litepcie_unlock(stream->dev);
	return rc;
}

/* Sharing a ring with another process --------------------------------------------------------- */

static int export(const struct litepcie_stream *stream)
{
	int rc = litepcie_check_active(stream->dev, stream->direction);

	if (rc == 0 && stream->memory->placed)
		return litepcie_fail(-EADDRINUSE, "the %s ring lies in this program's own memory, "
				     "which only the program can share", stream->name);
	return rc < 0 ? rc : stream->dev->backend->channel->export(stream);
}

int litepcie_stream_export(struct litepcie_stream *stream, int *fd)
{
	int rc;

	litepcie_lock(stream->dev);
	rc = export(stream);
	litepcie_unlock(stream->dev);
	*fd = rc < 0 ? -1 : rc;
	return rc < 0 ? rc : 0;
}
