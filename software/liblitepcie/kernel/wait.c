/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Waits behind Lanebox's driver: waits for buffers, in which each thread sleeps for the directions
 * that it waits for, and waits for the interrupt of the user's logic. This file also makes the
 * descriptor of litepcie_dma_fd(), which a program gives to poll().
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "kernel.h"

/* Waiting for buffers ------------------------------------------------------------------------- */

/*
 * Set beyond which counts of @directions the driver's poll() wakes. The index page, which this
 * handle shares with the driver, has a field `software` for each direction. For c2h poll() wakes
 * when the card has finished more than `software` buffers, and for h2c when that number plus the
 * ring's number of buffers minus 1 is more than `software`. The function sets the fields so that
 * poll() wakes when the card has finished more buffers than the library knows of. The field of a
 * direction that is not waited for stays as it is, since another thread may sleep for that
 * direction and know of fewer buffers.
 */
static void ask_for_news(struct litepcie *dev, unsigned int directions)
{
	struct litepcie_index *index = kernel_of(dev)->index;

	if (directions & LITEPCIE_C2H)
		__atomic_store_n(&index->way[LITEPCIE_WAY_C2H].software, dev->c2h.hw,
				 __ATOMIC_RELEASE);
	if (directions & LITEPCIE_H2C)
		__atomic_store_n(&index->way[LITEPCIE_WAY_H2C].software,
				 dev->h2c.hw + dev->h2c.options.buffer_count - 1, __ATOMIC_RELEASE);
}

/*
 * True if the card has finished more than @known buffers of the direction @way, or if the run has
 * ended. The driver's status page shows both. For c2h the card's record of buffer @known may show
 * earlier that the buffer is filled. kernel_progress() takes over the new count after the wait.
 */
static bool has_news(struct litepcie *dev, unsigned int way, uint64_t known)
{
	const struct litepcie_status_way *status = &kernel_of(dev)->status->way[way];

	return (way == LITEPCIE_WAY_C2H && litepcie_notices_has(dev, known)) ||
	       __atomic_load_n(&status->buffers, __ATOMIC_ACQUIRE) > known ||
	       __atomic_load_n(&status->error, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&status->run, __ATOMIC_ACQUIRE) != LITEPCIE_RUN_HELD;
}

static int wait_for_news(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	struct pollfd fd = {
		.fd = directions ? kernel_of(dev)->fd : kernel_of(dev)->user,
		.events = (directions & LITEPCIE_H2C ? POLLOUT : 0) |
			  (directions == LITEPCIE_H2C ? 0 : POLLIN),
	};
	int rc, error;

	if ((directions & LITEPCIE_H2C && has_news(dev, LITEPCIE_WAY_H2C, dev->h2c.hw)) ||
	    (directions & LITEPCIE_C2H && has_news(dev, LITEPCIE_WAY_C2H, dev->c2h.hw)))
		return 1;
	if (!timeout_ms)
		return 0;
	ask_for_news(dev, directions);
	rc = litepcie_poll(dev, &fd, 1, timeout_ms);
	if (!directions && rc > 0)
		/* kernel_user_poll() finds no interrupt if another thread has taken it meanwhile */
		kernel_user_poll(dev);
	if (rc < 0 || !(fd.revents & (POLLERR | POLLHUP)))
		return rc;
	/*
	 * POLLERR says that a run has failed, and POLLHUP that the card is gone. kernel_progress()
	 * asks the driver, and returns the error with a sentence.
	 */
	error = kernel_progress(dev, LITEPCIE_ASK_CARD);
	return error < 0 ? error : rc;
}

/*
 * Sleep for up to @timeout_ms, then clear the eventfd of litepcie_dma_fd(), unless @directions is
 * 0. Returns 1 if the card may have made progress, 0 when the time is over, or -errno. The caller
 * reads the counts afterwards, so no progress is missed: later progress makes the eventfd readable
 * again.
 */
int kernel_wait(struct litepcie *dev, unsigned int directions, int timeout_ms)
{
	int rc = wait_for_news(dev, directions, timeout_ms);

	/*
	 * A wait for the user's logic reads no DMA counts, so it must not clear the DMA's eventfd.
	 */
	if (directions)
		litepcie_take_event(kernel_of(dev)->event);
	return rc;
}

/* The descriptor of litepcie_dma_fd(), for poll() --------------------------------------------- */

static int watch(struct litepcie *dev, unsigned int way, int fd)
{
	struct litepcie_event event = { .way = way, .fd = fd };

	return kernel_ioctl(dev, LITEPCIE_IOCTL_EVENT, &event,
			    way == LITEPCIE_EVENT_USER ? "the user's interrupt" : "DMA event");
}

/* Open an eventfd and put it into *@fd, unless *@fd is one already. */
static int open_event(int *fd)
{
	if (*fd < 0)
		*fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *fd < 0 ? litepcie_fail_errno(errno, "eventfd") : 0;
}

int kernel_event_fd(struct litepcie *dev)
{
	struct kernel *kernel = kernel_of(dev);
	int rc;

	if (!dev->h2c.active && !dev->c2h.active)
		return litepcie_fail(-EINVAL, "no direction is running: start it first");
	rc = open_event(&kernel->event);
	if (rc == 0 && dev->h2c.active)
		rc = watch(dev, LITEPCIE_WAY_H2C, kernel->event);
	if (rc == 0 && dev->c2h.active)
		rc = watch(dev, LITEPCIE_WAY_C2H, kernel->event);
	return rc < 0 ? rc : kernel->event;
}

/* Interrupts of the user's logic -------------------------------------------------------------- */

int kernel_user_enable(struct litepcie *dev, bool on)
{
	struct kernel *kernel = kernel_of(dev);
	int rc = kernel_check_held(dev) ?: open_event(&kernel->user);

	if (rc == 0)
		/* forget an interrupt of the user's logic that came before this call */
		litepcie_take_event(kernel->user);
	if (rc == 0 && (on || dev->user_enabled))
		rc = watch(dev, LITEPCIE_EVENT_USER, on ? kernel->user : -1);
	dev->user_enabled = rc == 0 && on;
	if (rc == -EBUSY)
		return litepcie_fail(rc, "%s: another program waits for the interrupt of the "
				     "user's logic", dev->name);
	return rc;
}

int kernel_user_poll(struct litepcie *dev)
{
	if (!litepcie_take_event(kernel_of(dev)->user))
		return 0;
	dev->user_raised = true;
	return 1;
}
