// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Sets how frames get to the queues of the capture block, switches the generator of test frames,
 * and reads the card's counts of frames that were delivered, lost or discarded.
 */

#include "capture.h"

/*
 * fields in the word ACTION of a rule: NAMES_QUEUE is the bit that says that the rule names a
 * queue, and QUEUE_OF() gets the number of that queue
 */
#define NAMES_QUEUE	BIT(LITEPCIE_CAPTURE_RULE_ACTION_HAS_QUEUE)
#define QUEUE_OF(_action)					\
	((_action) >> LITEPCIE_CAPTURE_RULE_ACTION_QUEUE &	\
	 (LITEPCIE_CAPTURE_QUEUES - 1))

/* Rules and spread (a table of queues), by which frames get to queues ----- */

static bool is_sort(const struct litepcie_capture *capture,
		    const struct litepcie_capture_sort *wanted)
{
	if (wanted->flags & ~(LITEPCIE_CAPTURE_SORT_ON | LITEPCIE_CAPTURE_SORT_BY_PORT) ||
	    wanted->rules > LITEPCIE_CAPTURE_RULES ||
	    memchr_inv(wanted->reserved, 0, sizeof(wanted->reserved)))
		return false;
	for (u32 n = 0; n < wanted->rules; n++) {
		u32 action = wanted->rule[n][LITEPCIE_CAPTURE_RULE_ACTION];

		if (action & NAMES_QUEUE && QUEUE_OF(action) >= capture->queues)
			return false;
	}
	for (unsigned int n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++)
		if (wanted->spread[n] >= capture->queues)
			return false;
	return true;
}

/*
 * Store the rules and the spread (a table of queues) of @wanted, by which frames get to the queues
 * from the next start on.  Without LITEPCIE_CAPTURE_SORT_ON all frames go to queue 0.  Returns 0,
 * -EOPNOTSUPP if the card has no rules, -EBUSY while the capture runs, or -EINVAL if @wanted is not
 * valid.
 */
int litepcie_capture_sort(struct litepcie_capture *capture,
			  const struct litepcie_capture_sort *wanted)
{
	lockdep_assert_held(&capture->mutex);

	if (!capture->sorter)
		return -EOPNOTSUPP;
	if (capture->running)
		return -EBUSY;
	if (!is_sort(capture, wanted))
		return -EINVAL;
	capture->sort = *wanted;
	if (!(wanted->flags & LITEPCIE_CAPTURE_SORT_ON))
		capture->sort.flags = 0;
	return 0;
}

/*
 * Write the stored rules and the spread (a table of queues) to the card, and switch their use on.
 * The capture is stopped, so the card uses neither yet.  Both are written at each start of a
 * capture that sorts: a card whose power was cut while it slept has forgotten them.
 */
void litepcie_capture_put_sort(struct litepcie_capture *capture)
{
	const struct litepcie_capture_sort *sort = &capture->sort;

	lockdep_assert_held(&capture->mutex);

	for (u32 n = 0; n < sort->rules << LITEPCIE_CAPTURE_WORD_BITS; n++) {
		litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_RULE_DATA,
				    (&sort->rule[0][0])[n]);
		litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_RULE_INDEX, n);
	}
	for (u32 n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++) {
		u32 queue = sort->spread[n];

		litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_SPREAD,
				    n | queue << LITEPCIE_CAPTURE_QUEUES_QUEUE_PLACE);
	}
	litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_CONTROL,
			    LITEPCIE_CAPTURE_QUEUES_BIT_SORT |
			    (sort->flags & LITEPCIE_CAPTURE_SORT_BY_PORT ?
				     LITEPCIE_CAPTURE_QUEUES_BIT_BY_PORT : 0) |
			    sort->rules << LITEPCIE_CAPTURE_QUEUES_RULES_PLACE);
}

/* Generator of test frames ------------------------------------------------ */

/* Stop the generator of test frames, without waiting for the end of its last frame. */
void litepcie_capture_silence(struct litepcie_capture *capture)
{
	litepcie_capture_write(capture, LITEPCIE_CAPTURE_GENERATOR_CONTROL, 0, 0);
}

/*
 * Start the generator of test frames, or stop it if @wanted->size is 0.  A generator that runs
 * begins anew with frame 0.  Returns 0, -EBUSY if the generator does not finish its last frame,
 * which may wait for room in a ring, or -ENODEV if the card is lost.
 */
int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_capture_generate *wanted)
{
	const u32 idle = LITEPCIE_CAPTURE_BIT_STATUS_GENERATOR_IDLE;
	const struct {
		u32 offset, value;
	} words[] = {
		{ LITEPCIE_CAPTURE_GROUP_GENERATOR_SIZE, wanted->size },
		{ LITEPCIE_CAPTURE_GROUP_GENERATOR_PERIOD, wanted->period },
		{ LITEPCIE_CAPTURE_GROUP_GENERATOR_COUNT, wanted->count },
		{ LITEPCIE_CAPTURE_GROUP_GENERATOR_SEED, wanted->seed },
		{ LITEPCIE_CAPTURE_GROUP_GENERATOR_PORT_MASK, wanted->port_mask },
		{ 0, 1 },
	};
	int err;

	litepcie_capture_silence(capture);
	if (!wanted->size)
		return 0;
	err = litepcie_capture_await(capture, idle, idle);
	for (size_t n = 0; !err && n < ARRAY_SIZE(words); n++)
		litepcie_capture_write(capture, LITEPCIE_CAPTURE_GENERATOR_CONTROL,
				       words[n].offset, words[n].value);
	return err == -EIO ? -EBUSY : err;
}

/*
 * Read the generator's state into @info.  The state is read before the count of frames, so the
 * count of a generator that is found idle includes its last frame.  Returns -ENODEV if the card is
 * lost.
 */
int litepcie_capture_generated(struct litepcie_capture *capture,
			       struct litepcie_capture_info *info)
{
	u32 status = litepcie_capture_status(capture);

	if (status == ~0u && litepcie_check_lost(capture->card))
		return -ENODEV;
	info->generating = !(status & LITEPCIE_CAPTURE_BIT_STATUS_GENERATOR_IDLE);
	info->generated = litepcie_capture_read(capture, LITEPCIE_CAPTURE_GENERATOR_CONTROL,
						LITEPCIE_CAPTURE_GROUP_GENERATOR_MADE);
	return 0;
}

/* Counts of frames: delivered, lost, discarded ---------------------------- */

/*
 * Let the card copy the counts of frames of all queues, all at one moment.  Returns -ENODEV if the
 * card is lost, or -EIO if the copy does not end.
 */
static int snapshot(struct litepcie_capture *capture)
{
	lockdep_assert_held(&capture->mutex);

	litepcie_capture_write(capture, LITEPCIE_CAPTURE_ACCOUNT_CONTROL, 0,
			       LITEPCIE_CAPTURE_BIT_ACCOUNT_SNAPSHOT);
	return litepcie_capture_await(capture, LITEPCIE_CAPTURE_BIT_STATUS_ACCOUNTS_BUSY, 0);
}

/*
 * Read the queue's counts of frames for each port, all of one moment, into @info.  Returns 0 or the
 * error of snapshot().
 */
int litepcie_capture_accounts(struct litepcie_capture_queue *queue,
			      struct litepcie_capture_info *info)
{
	int err = snapshot(queue->capture);

	for (u32 port = 0; !err && port < LITEPCIE_CAPTURE_PORTS; port++) {
		struct litepcie_capture_port *to = &info->port[port];
		u32 first = LITEPCIE_CAPTURE_FATES * port;

		litepcie_queue_get_account(queue, first + LITEPCIE_CAPTURE_FATE_DELIVERED,
					   &to->delivered);
		litepcie_queue_get_account(queue, first + LITEPCIE_CAPTURE_FATE_BAD, &to->bad);
		litepcie_queue_get_account(queue, first + LITEPCIE_CAPTURE_FATE_LOST_RING,
					   &to->lost_ring);
		litepcie_queue_get_account(queue, first + LITEPCIE_CAPTURE_FATE_LOST_STAGING,
					   &to->lost_staging);
	}
	return err;
}

/*
 * Read the counts of frames that rules have discarded: first for each rule, then for each port.
 * Returns 0, -EOPNOTSUPP if the card has no rules, or the error of snapshot().
 */
int litepcie_capture_discards(struct litepcie_capture *capture,
			      struct litepcie_capture_discards *discards)
{
	int err;

	if (!capture->sorter)
		return -EOPNOTSUPP;
	err = snapshot(capture);
	for (u32 n = 0; !err && n < ARRAY_SIZE(discards->account); n++) {
		litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_DISCARD_INDEX, n);
		discards->account[n].frames =
			litepcie_sorter_get64(capture, LITEPCIE_CAPTURE_QUEUES_DISCARD_FRAMES);
		discards->account[n].bytes =
			litepcie_sorter_get64(capture, LITEPCIE_CAPTURE_QUEUES_DISCARD_BYTES);
	}
	return err;
}
