/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Times of a capture: how long complete records wait in the card for more, and how the program's
 * thread waits for the card.
 */
#include "capture.h"

#include <time.h>

#define NAP_MOST_US	1000u

uint64_t litepcie_capture_wait_cycles(const struct litepcie *dev, uint32_t wait_ns)
{
	uint64_t cycles = (uint64_t)wait_ns * dev->card.clock_hz / 1000000000;

	if (wait_ns == LITEPCIE_CAPTURE_AT_ONCE)
		return 0;
	return cycles ? cycles : 1;
}

int litepcie_capture_nap(unsigned int *nap_us)
{
	struct timespec nap = { .tv_nsec = 1000 * (long)*nap_us };
	int rc = nanosleep(&nap, NULL);

	if (*nap_us < NAP_MOST_US)
		*nap_us = 2 * *nap_us < NAP_MOST_US ? 2 * *nap_us : NAP_MOST_US;
	if (rc < 0)
		return litepcie_fail(-EINTR, "a signal ended the wait for the capture");
	return 0;
}

int litepcie_capture_late(const struct litepcie_capture *capture, const char *what,
			  const char *advice)
{
	return litepcie_fail(-ETIMEDOUT, "%s: %s did not end within %d ms: %s", capture->dev->name,
			     what, capture->config.rest_ms, advice);
}

int litepcie_capture_wait(struct litepcie_capture *capture, unsigned int *nap_us, int most_ms)
{
	if (!capture->access->wait)
		return litepcie_capture_nap(nap_us);
	return capture->access->wait(capture, most_ms);
}
