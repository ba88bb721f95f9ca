/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Memory of rings in this process. It is unmapped when the last that needs it has dropped it: the
 * back end, which drops it for a ring of another shape or at the close, and programs that keep it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend.h"

struct litepcie_memory *litepcie_memory_new(struct litepcie *dev, void *base, size_t size)
{
	struct litepcie_memory *memory = malloc(sizeof(*memory));

	if (!memory) {
		munmap(base, size);
		litepcie_fail(dev, -ENOMEM, "%s", strerror(ENOMEM));
		return NULL;
	}
	*memory = (struct litepcie_memory) { .users = 1, .base = base, .size = size };
	return memory;
}

void litepcie_ring_drop(struct litepcie_memory *memory)
{
	if (!memory || atomic_fetch_sub(&memory->users, 1) > 1)
		return;
	munmap(memory->base, memory->size);
	free(memory);
}

static int keep(struct litepcie *dev, const struct litepcie_ring *ring,
		struct litepcie_memory **memory)
{
	if (!ring->memory)
		return litepcie_fail(dev, -EINVAL, "the ring has no memory before its first start");
	atomic_fetch_add(&ring->memory->users, 1);
	*memory = ring->memory;
	return 0;
}

int litepcie_ring_keep(struct litepcie *dev, unsigned int direction,
		       struct litepcie_memory **memory)
{
	*memory = NULL;
	if (direction != LITEPCIE_H2C && direction != LITEPCIE_C2H)
		return litepcie_fail(dev, -EINVAL, "direction 0x%x: choose h2c or c2h", direction);
	litepcie_lock(dev);
	return litepcie_unlock(dev, keep(dev, direction == LITEPCIE_H2C ? &dev->h2c : &dev->c2h,
					 memory));
}
