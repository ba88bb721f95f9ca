/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Switch the DMA's interrupts, and poll the card's progress by a timer in place of them. In
 * adaptive mode polling begins after an interrupt and ends when a poll finds no progress. Otherwise
 * polling goes on for the whole run. The kernel driver does the same (software/kernel/dma/timer.c).
 */
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "table.h"

static int set_timer(struct litepcie *dev, uint32_t every_us)
{
	const struct timespec every = {
		.tv_sec = every_us / 1000000, .tv_nsec = every_us % 1000000 * 1000L,
	};
	const struct itimerspec setting = { every, every };

	if (timerfd_settime(dev->timer, 0, &setting, NULL) < 0)
		return litepcie_fail_errno(errno, "the timer that polls the card");
	return 0;
}

/*
 * Open the timer, and an epoll instance on the timer and on dev->interrupt. Both stay open until
 * the handle is closed, since another thread may sleep on them.
 */
static int open_timer(struct litepcie *dev)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (dev->timer < 0)
		dev->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (dev->timer >= 0 && dev->news < 0)
		dev->news = epoll_create1(EPOLL_CLOEXEC);
	if (dev->news < 0 ||
	    (epoll_ctl(dev->news, EPOLL_CTL_ADD, dev->timer, &event) < 0 && errno != EEXIST) ||
	    (epoll_ctl(dev->news, EPOLL_CTL_ADD, dev->interrupt, &event) < 0 &&
	     errno != EEXIST))
		return litepcie_fail_errno(errno, "no descriptor that polls the card");
	return 0;
}

int litepcie_table_interrupts(struct litepcie *dev)
{
	uint32_t mask = (dev->h2c.active ? dev->map.h2c_cause : 0) |
			(dev->c2h.active ? dev->map.c2h_cause : 0);

	return litepcie_change(dev, dev->map.irq_enable, litepcie_table_causes(dev),
			       dev->polling ? 0 : mask);
}

int litepcie_polling_start(struct litepcie *dev)
{
	int rc = dev->poll_us ? open_timer(dev) : 0;

	dev->polling = dev->poll_us && !dev->adaptive;
	dev->looked = 0;
	return rc == 0 && dev->polling ? set_timer(dev, dev->poll_us) : rc;
}

int litepcie_polling_stop(struct litepcie *dev)
{
	dev->polling = false;
	return dev->timer < 0 ? 0 : set_timer(dev, 0);
}

int litepcie_polling_begin(struct litepcie *dev)
{
	if (!dev->adaptive || dev->polling)
		return 0;
	dev->polling = true;
	return litepcie_table_interrupts(dev) ?: set_timer(dev, dev->poll_us);
}

/*
 * End polling and go back to interrupts. Progress that was made before the interrupts were enabled
 * raises no interrupt, so the card is asked once more. If that finds progress, polling goes on.
 */
static int end(struct litepcie *dev)
{
	int behind;

	dev->polling = false;
	behind = litepcie_table_interrupts(dev) ?: litepcie_table_behind(dev);
	if (behind <= 0)
		return behind ?: set_timer(dev, 0);
	dev->polling = true;
	return litepcie_table_interrupts(dev);
}

int litepcie_polling_tick(struct litepcie *dev)
{
	uint64_t before = dev->looked;
	int rc;

	if (!dev->polling || !litepcie_take_event(dev->timer) || !dev->adaptive)
		return 0;
	rc = litepcie_table_progress(dev, LITEPCIE_ASK_MEMORY);
	dev->looked = dev->h2c.done + dev->c2h.done;
	return rc < 0 || dev->looked != before ? rc : end(dev);
}
