/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * This file keeps and tells the state of the capture block: whether its run is on, and whether the
 * card answers. It also reads the block's status register, and waits, for example until the block
 * is at rest.
 */
#include "capture.h"

void litepcie_run_set_state(struct litepcie *dev, uint32_t state)
{
	__atomic_store_n(&dev->run.state, state, __ATOMIC_RELEASE);
}

void litepcie_run_set_restless(struct litepcie *dev, bool restless)
{
	__atomic_store_n(&dev->run.restless, restless, __ATOMIC_RELAXED);
}

bool litepcie_run_is_on(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_run *run = &capture->dev->run;

	return __atomic_load_n(&run->state, __ATOMIC_ACQUIRE) == LITEPCIE_RUN_ON &&
	       __atomic_load_n(&run->number, __ATOMIC_RELAXED) == capture->run;
}

bool litepcie_run_is_ahead(const struct litepcie_capture *capture)
{
	uint32_t number = __atomic_load_n(&capture->dev->run.number, __ATOMIC_RELAXED);

	return (int32_t)(number - capture->run) < 0;
}

bool litepcie_run_is_complete(const struct litepcie_capture *capture)
{
	return __atomic_load_n(&capture->dev->run.complete, __ATOMIC_ACQUIRE) == capture->run;
}

/*
 * True if the run for which the capture was started is over. As a rule the card has then written
 * its last status lines: the stop of queue 0 waits for them before it sets the state to 0.
 */
static bool is_over(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_run *run = &capture->dev->run;
	uint32_t state = __atomic_load_n(&run->state, __ATOMIC_ACQUIRE);
	int32_t later = (int32_t)(__atomic_load_n(&run->number, __ATOMIC_RELAXED) - capture->run);

	return later > 0 || (later == 0 && !state);
}

/*
 * If the library has a run on but the bit RUN is 0 in the register capture_control, the card was
 * reset. dev->run is read before the register and again after it, since another thread may start or
 * stop the run in between.
 */
int litepcie_run_answers(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	bool on = capture->running && litepcie_run_is_on(capture);
	uint32_t control;
	int rc;

	litepcie_lock(dev);
	rc = litepcie_get_answer(dev, dev->map.capture.control, &control);
	litepcie_unlock(dev);
	if (rc < 0)
		return rc;
	if (on && litepcie_run_is_on(capture) && !(control & CAPTURE_RUN))
		return litepcie_fail(-EIO, "%s: the card was reset while it captured", dev->name);
	if (capture->running && capture->config.queue && is_over(capture))
		capture->ended = true;
	return 0;
}

int litepcie_capture_status(struct litepcie_capture *capture, uint32_t *status)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_run_answers(capture);

	if (rc == 0)
		rc = litepcie_readl(dev, dev->map.capture.status, status);
	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	rc = litepcie_check_wanted(dev);
	litepcie_unlock(dev);
	return rc;
}

/*
 * Some callers free memory after litepcie_capture_await(), so the card must have come to rest. For
 * this reason a signal does not end the wait. Only the end of rest_ms, or an error of
 * litepcie_capture_status(), ends it early.
 */
int litepcie_capture_await(struct litepcie_capture *capture, uint32_t mask, uint32_t value,
			   const char *what, const char *advice)
{
	int64_t deadline = litepcie_deadline(capture->config.rest_ms);
	unsigned int nap_us = 10;
	uint32_t status = 0;
	int rc = litepcie_capture_status(capture, &status);

	/*
	 * A register read that the root port has given up returns all ones, which is no status of
	 * the card. So the register is read again.
	 */
	while (rc == 0 && (status == UINT32_MAX || (status & mask) != value)) {
		if (!litepcie_slice(deadline))
			return litepcie_capture_late(capture, what, advice);
		litepcie_capture_nap(&nap_us);
		rc = litepcie_capture_status(capture, &status);
	}
	return rc;
}
