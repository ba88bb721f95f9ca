/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Wait for interrupts of the logic in the card's user slot. On the back ends sim and vfio, of all
 * threads of the handle that wait for the DMA or for the user's logic, one sleeps until the card
 * interrupts, and wakes the others. Behind the kernel driver each thread sleeps for itself.
 */
#include "helpers.h"

static int check_user(struct litepcie *dev)
{
	if (!dev->map.user_cause)
		return litepcie_fail(-ENOENT, "the user slot's logic has no registers, so the "
				     "capability table lists no interrupt for it");
	return 0;
}

int litepcie_user_enable(struct litepcie *dev, bool on)
{
	int rc = check_user(dev);

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	dev->user_raised = false;
	rc = dev->backend->channel->user_enable(dev, on);
	litepcie_unlock(dev);
	return rc;
}

/*
 * Wait for an interrupt of the user's logic, up to @timeout_ms, or for ever if that is negative.
 * The check before the first sleep finds an interrupt that has come already. On the back ends sim
 * and vfio the later checks find an interrupt whose message was lost. Returns 1 after an interrupt,
 * 0 when the time is over, or -errno.
 */
static int wait_for_user(struct litepcie *dev, int timeout_ms)
{
	int64_t deadline = litepcie_deadline(timeout_ms), looked = litepcie_now_ms();
	int rc = dev->backend->channel->user_poll(dev);

	while (rc >= 0 && !dev->user_raised) {
		int slice = litepcie_slice(deadline);

		if (!slice)
			return 0;
		rc = litepcie_sleep_once(dev, 0, slice);
		if (rc >= 0 && !dev->user_enabled)
			return litepcie_fail(-ECANCELED, "another thread switched the user's "
					     "interrupt off while this one waited for it");
		/*
		 * The timer by which the DMA is polled may end a sleep early. To save register
		 * reads, the next check for the user's interrupt is made only when @slice ms have
		 * passed since the last one.
		 */
		if (rc == 0 && litepcie_now_ms() - looked >= slice) {
			rc = dev->backend->channel->user_poll(dev);
			looked = litepcie_now_ms();
		}
	}
	if (rc < 0)
		return rc;
	dev->user_raised = false;
	return 1;
}

int litepcie_user_wait(struct litepcie *dev, int timeout_ms)
{
	int rc = check_user(dev);

	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	if (dev->user_enabled)
		rc = wait_for_user(dev, timeout_ms);
	else
		rc = litepcie_fail(-EINVAL, "the user's interrupt is off: switch it on before a "
				   "wait");
	litepcie_unlock(dev);
	return rc;
}
