/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Set the capture block's clock from the host's clock, for the back ends that reach registers
 * themselves. gateware/capture/clock.py describes the clock. It only adds a number to its time. So
 * the time that passes between the read and the write of the clock makes no error.
 */
#include "capture.h"

#include <string.h>
#include <time.h>

/* the most accurate of so many comparisons of the two clocks is used */
#define LOOKS	8

static uint64_t host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Compare the two clocks once. A read of the lower half latches the upper half in the card. Sets
 * *@ahead to how far the host's clock is ahead of the card's in ns, modulo 2^64, and *@took to the
 * duration of the read in ns. The caller holds the lock.
 */
static int look(struct litepcie *dev, uint64_t *ahead, uint64_t *took)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	uint64_t before = host_ns(), behind;
	uint32_t low, high;
	int rc = litepcie_get(dev, registers->clock_low, &low);

	behind = host_ns();
	if (rc == 0)
		rc = litepcie_get(dev, registers->clock_high, &high);
	if (rc < 0)
		return rc;
	*took = behind - before;
	*ahead = before + *took / 2 - ((uint64_t)high << 32 | low);
	return 0;
}

bool litepcie_capture_is_clocked(const struct litepcie *dev,
				 const struct litepcie_capture_config *config)
{
	if (config->clock == LITEPCIE_CLOCK_AUTO)
		return dev->map.capture.clock_offset &&
		       strcmp(dev->card.target, LITEPCIE_SIMULATED) != 0;
	return config->clock == LITEPCIE_CLOCK_HOST;
}

int litepcie_capture_set_clock(struct litepcie *dev)
{
	uint64_t ahead = 0, took, found, least = UINT64_MAX;
	uint32_t offset = dev->map.capture.clock_offset;
	int rc = 0;

	litepcie_lock(dev);
	for (unsigned int n = 0; rc == 0 && n < LOOKS; n++) {
		rc = look(dev, &found, &took);
		if (rc == 0 && took < least) {
			least = took;
			ahead = found;
		}
	}
	/* The card adds the number at the write of its lower half. */
	if (rc == 0)
		rc = litepcie_put(dev, offset, (uint32_t)(ahead >> 32));
	if (rc == 0)
		rc = litepcie_put(dev, offset + 4, (uint32_t)ahead);
	litepcie_unlock(dev);
	return rc;
}
