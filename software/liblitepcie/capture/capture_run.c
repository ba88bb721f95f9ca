/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Start and stop the capture block by its registers.
 *
 * All queues of the card run together. The start of another queue than 0 only notes that its ring
 * is ready. The start of queue 0 gives the rings of all ready queues to the card and begins the
 * run. The stop of queue 0 ends the run of all queues. Captures of the other queues may be used by
 * other threads, which learn of the start and the stop from struct litepcie_capture_run.
 *
 * The back ends that use this file give the card each ring at one bus address, so a ring is one
 * segment. The registers for rings and sizes may change only while the block is at rest. Each start
 * of queue 0 sets those of all started queues.
 */
#include "capture.h"

#include <string.h>

/* Bits of the register capture_control, beside CAPTURE_RUN. */
#define KEEP_BAD	(1u << LITEPCIE_CAPTURE_CONTROL_KEEP_BAD_OFFSET)
#define LOSSLESS	(1u << LITEPCIE_CAPTURE_CONTROL_LOSSLESS_OFFSET)
#define NEWEST		(1u << LITEPCIE_CAPTURE_CONTROL_NEWEST_OFFSET)
#define CLEAR		(1u << LITEPCIE_CAPTURE_CONTROL_CLEAR_OFFSET)
#define SEAL		(1u << LITEPCIE_CAPTURE_CONTROL_SEAL_OFFSET)

/*
 * time in ms without progress of the card after which the stop of a capture with `lossless` assumes
 * that a frame waits for room in the ring; half of rest_ms if that is less
 */
#define STUCK_MS	500

/*
 * Call @function for the capture of queue 0 and of each other queue that was started for the same
 * run. Returns the first error.
 */
static int each(struct litepcie *dev, int (*function)(struct litepcie_capture *capture))
{
	int rc = 0;

	for (unsigned int queue = 0; rc == 0 && queue < LITEPCIE_QUEUES_MOST; queue++) {
		struct litepcie_capture *capture = dev->captures[queue];

		if (capture &&
		    (!queue || __atomic_load_n(&capture->running, __ATOMIC_RELAXED)) &&
		    capture->run == dev->captures[0]->run)
			rc = function(capture);
	}
	return rc;
}

/* Start of a run ------------------------------------------------------------------------------ */

static unsigned int log2_of(uint64_t value)
{
	return 63 - (unsigned int)__builtin_clzll(value);
}

static uint32_t control_of(const struct litepcie_capture *capture)
{
	const struct litepcie_capture_config *config = &capture->config;

	return (config->keep_bad ? KEEP_BAD : 0) | (config->lossless ? LOSSLESS : 0) |
	       (config->newest ? NEWEST : 0);
}

/* Switch on or off that the card copies the frames of its net device to the capture. */
static int copy_net(struct litepcie *dev, bool on)
{
	uint32_t offset = dev->map.net.control;

	return offset ? litepcie_writel(dev, offset, on ? LITEPCIE_CAPTURE_NET_BIT_ON : 0) : 0;
}

/*
 * Check that the sizes and modes of a queue are those of queue 0, since the card has one register
 * of each for all queues. Returns -EINVAL with a sentence if a size or a mode differs. The settings
 * snap and wait_ns are not compared: those of queue 0 hold for all queues.
 */
static int check_alike(struct litepcie_capture *capture)
{
	const struct litepcie_capture_config *ours = &capture->config;
	const struct litepcie_capture_config *first = &capture->dev->captures[0]->config;

	if (ours->ring_bytes == first->ring_bytes && ours->mbuf_bytes == first->mbuf_bytes &&
	    control_of(capture) == control_of(capture->dev->captures[0]) &&
	    ours->net == first->net)
		return 0;
	return litepcie_fail(-EINVAL, "queue %u: ring_bytes, mbuf_bytes, keep_bad, lossless, "
			     "newest and net must be those of queue 0", ours->queue);
}

/*
 * Returns -EINVAL with a sentence unless all queues of the card are started. It is called for a
 * start with `newest` and with rules or a spread. With `newest` the card does not stop at a limit.
 * So it would write frames of a queue that was not started to the last ring that this queue had.
 */
static int check_newest(struct litepcie *dev)
{
	for (unsigned int queue = 1; queue < dev->map.sorter.queues; queue++) {
		const struct litepcie_capture *capture = dev->captures[queue];

		if (!capture || !__atomic_load_n(&capture->running, __ATOMIC_RELAXED) ||
		    capture->run != dev->captures[0]->run)
			return litepcie_fail(-EINVAL, "newest and rules or a spread: start all "
					     "queues before queue 0; queue %u is not", queue);
	}
	return 0;
}

static int put_ring(struct litepcie_capture *capture)
{
	const struct litepcie_capture_registers *registers = &capture->dev->map.capture;
	int rc = litepcie_queue_put64(capture, registers->segment_base, capture->ring_iova);

	if (rc == 0)
		rc = litepcie_queue_put(capture, registers->segment_index, 0);
	if (rc == 0)
		rc = litepcie_queue_put(capture, registers->last_segment, 0);
	return rc < 0 ? rc : litepcie_queue_put64(capture, registers->status_base,
						  capture->line_iova);
}

static int put_own_staging(struct litepcie_capture *capture)
{
	return litepcie_queue_put(capture, capture->dev->map.sorter.quota,
				  capture->config.staging_bytes / LITEPCIE_CAPTURE_CELL);
}

/*
 * Say how much of the staging memory each queue of the card may use at once. A queue that takes no
 * part in the run gets an equal part, since an earlier run may have given it another one.
 */
static int put_staging(struct litepcie *dev)
{
	struct litepcie_capture any = { .dev = dev };
	int rc = 0;

	for (unsigned int queue = 0; rc == 0 && queue < dev->map.sorter.queues; queue++) {
		any.config.queue = queue;
		rc = litepcie_queue_put(&any, dev->map.sorter.quota,
					dev->map.capture.staging_bytes / LITEPCIE_CAPTURE_CELL);
	}
	return rc < 0 ? rc : each(dev, put_own_staging);
}

static int put_settings(struct litepcie_capture *capture)
{
	const struct litepcie_capture_registers *registers = &capture->dev->map.capture;
	const struct litepcie_capture_config *config = &capture->config;
	struct litepcie *dev = capture->dev;
	const struct {
		uint32_t offset, value;
	} words[] = {
		{ registers->segment_log2, log2_of(config->ring_bytes) },
		{ registers->mbuf_log2, log2_of(config->mbuf_bytes) },
		{ registers->snap, config->snap },
		{ registers->wait, litepcie_capture_wait_cycles(dev, config->wait_ns) },
		{ dev->map.sorter.control, dev->run.sort },
	};
	size_t count = sizeof(words) / sizeof(words[0]) - !dev->map.sorter.queues;
	int rc = each(dev, check_alike);

	if (rc == 0 && dev->run.sort && config->newest)
		rc = check_newest(dev);
	if (rc == 0)
		rc = each(dev, put_ring);
	if (rc == 0 && dev->map.sorter.quota)
		rc = put_staging(dev);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = litepcie_writel(dev, words[i].offset, words[i].value);
	return rc;
}

int litepcie_run_allow(struct litepcie_capture *capture, uint64_t limit)
{
	return litepcie_queue_put64(capture, capture->dev->map.capture.limit, limit);
}

static int allow_ring(struct litepcie_capture *capture)
{
	return litepcie_run_allow(capture, capture->config.ring_bytes);
}

/*
 * Begin the run: write the bit RUN and set the state of the run, under one lock. So a stop of
 * another queue by another thread comes either before the run or during it, see seal().
 */
static int begin_run(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc;

	litepcie_lock(dev);
	litepcie_run_set_restless(dev, true);
	rc = litepcie_put(dev, dev->map.capture.control, control_of(capture) | CAPTURE_RUN);
	if (rc == 0) {
		__atomic_store_n(&dev->run.number, capture->run, __ATOMIC_RELAXED);
		litepcie_run_set_state(dev, LITEPCIE_RUN_ON);
	}
	litepcie_unlock(dev);
	return rc;
}

static int start_all(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	uint32_t offset = dev->map.capture.control;
	int rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE, "the last capture",
					LITEPCIE_RESET_ADVICE);

	if (rc == 0)
		rc = put_settings(capture);
	if (rc == 0)
		rc = litepcie_writel(dev, offset, CLEAR);
	if (rc == 0)
		rc = litepcie_capture_await(capture, CAPTURE_IDLE | CAPTURE_ACCOUNTS_BUSY,
					    CAPTURE_IDLE, "the clearing of the counts",
					    LITEPCIE_RESET_ADVICE);
	if (rc == 0)
		rc = each(dev, allow_ring);
	if (rc == 0)
		rc = copy_net(dev, capture->config.net);
	if (rc == 0 && litepcie_capture_is_clocked(dev, &capture->config))
		rc = litepcie_capture_set_clock(dev);
	return rc < 0 ? rc : begin_run(capture);
}

/*
 * The memory of the status line is cleared before the card begins. So the line of an earlier start
 * cannot be taken for one of this start.
 */
int litepcie_run_start(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc = 0;

	if (dev->run.state)
		return litepcie_fail(-EBUSY, "%s: the capture of queue 0 runs: start queue %u "
				     "before it", dev->name, capture->config.queue);
	/*
	 * After a stop that did not see the card at rest, capture->run must stay that of the last
	 * run until the card is at rest, so that a close keeps the memory of the queue.
	 */
	if (__atomic_load_n(&dev->run.restless, __ATOMIC_RELAXED))
		rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE, "the last capture",
					    LITEPCIE_RESET_ADVICE);
	if (rc < 0)
		return rc;
	memset((void *)capture->line, 0, sizeof(*capture->line));
	capture->run = dev->run.number + 1;
	capture->limit = capture->config.ring_bytes;
	capture->limits = 1;
	return capture->config.queue ? 0 : start_all(capture);
}

/* Stop of a run, or of a queue's part of it --------------------------------------------------- */

/*
 * True if the limit (the position up to which the card may write) lets the card begin no further
 * MBUF (part of the ring), so that a frame may wait for room. Never true with `newest`, since the
 * card then ignores the limit.
 */
static bool is_full(const struct litepcie_capture *capture)
{
	uint64_t mbuf = capture->config.mbuf_bytes;
	uint64_t begun = (capture->seen.position + mbuf - 1) / mbuf * mbuf;

	return !capture->config.newest && begun + mbuf > capture->limit;
}

/*
 * Clear the card's bit LOSSLESS, with which frames wait for room in the ring, if the ring is full
 * and the card's position has not moved for STUCK_MS, or half of rest_ms if that is less. Only the
 * program could make room, and the program waits in litepcie_capture_stop(). A status line that
 * cannot be true counts as a position that does not move. On a card with several queues the ring of
 * another queue may be the full one, so only the time for which the position of queue 0 has not
 * moved counts.
 */
static void unblock(struct litepcie_capture *capture, int64_t *moved_ms, uint64_t *position)
{
	int rest_ms = capture->config.rest_ms;
	int stuck_ms = rest_ms > 0 && rest_ms / 2 < STUCK_MS ? rest_ms / 2 : STUCK_MS;
	bool known = litepcie_capture_poll(capture) == 0;
	bool waits = is_full(capture) || capture->dev->map.sorter.queues;

	if (!capture->config.lossless)
		return;
	if (known && (capture->seen.position != *position || !waits)) {
		*position = capture->seen.position;
		*moved_ms = litepcie_now_ms();
	} else if (litepcie_now_ms() - *moved_ms > stuck_ms) {
		litepcie_writel(capture->dev, capture->dev->map.capture.control,
				control_of(capture) & ~LOSSLESS);
	}
}

/*
 * Read the status of the capture block during a stop. A card that does not answer, or was reset, is
 * an error. A kernel that wants the card back is no error here: it must not end the wait for the
 * card's rest, because the memory of the rings must not be freed before.
 */
static int get_status(struct litepcie_capture *capture, uint32_t *status)
{
	int rc = litepcie_run_answers(capture);

	return rc < 0 ? rc : litepcie_readl(capture->dev, capture->dev->map.capture.status, status);
}

static int come_to_rest(struct litepcie_capture *capture)
{
	int64_t deadline = litepcie_deadline(capture->config.rest_ms), moved_ms = litepcie_now_ms();
	uint64_t position = capture->seen.position;
	unsigned int nap_us = 10;
	uint32_t status = 0;
	int rc = get_status(capture, &status);

	while (rc == 0 && !litepcie_says(status, CAPTURE_IDLE)) {
		if (!litepcie_slice(deadline))
			return litepcie_capture_late(capture, "the writing of the last frames",
						     LITEPCIE_RESET_ADVICE);
		unblock(capture, &moved_ms, &position);
		litepcie_capture_nap(&nap_us);
		rc = get_status(capture, &status);
	}
	return rc;
}

/*
 * Wait until the capture's status line in memory has @position or a later one, for rest_ms at most.
 * The last line may arrive after the register says that the block is idle. The stop of queue 0 also
 * waits for the lines of other queues, whose captures other threads use. So only the line of queue
 * 0 is copied to capture->seen.
 */
static int await_line(struct litepcie_capture *capture, uint64_t position)
{
	int64_t deadline = litepcie_deadline(capture->config.rest_ms);
	const uint64_t *line = &capture->line->position;
	unsigned int nap_us = 10;
	uint32_t status;
	int rc = 0;

	while (rc == 0 && __atomic_load_n(line, __ATOMIC_ACQUIRE) < position) {
		if (!litepcie_slice(deadline))
			return litepcie_fail(-ETIMEDOUT, "%s: the capture ended at %llu bytes, but "
					     "its status line still says %llu after %d ms: reset "
					     "the card", capture->dev->name,
					     (unsigned long long)position,
					     (unsigned long long)*line, capture->config.rest_ms);
		litepcie_capture_nap(&nap_us);
		rc = get_status(capture, &status);
		if (rc == 0 && !capture->config.queue)
			rc = litepcie_capture_poll(capture);
	}
	return rc;
}

static int await_last_line(struct litepcie_capture *capture)
{
	uint64_t position;
	int rc = litepcie_queue_get64(capture, capture->dev->map.capture.position, &position);

	if (rc == 0)
		rc = await_line(capture, position);
	if (rc == 0 && position % capture->config.mbuf_bytes)
		rc = litepcie_fail(-EIO, "%s: the capture ended at %llu bytes, inside an MBUF of "
				   "%u: the card must seal the last one", capture->dev->name,
				   (unsigned long long)position, capture->config.mbuf_bytes);
	return rc;
}

void litepcie_run_free(struct litepcie *dev, unsigned int queue)
{
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE + 2 * queue);
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE_STATUS + 2 * queue);
}

void litepcie_run_free_left(struct litepcie *dev)
{
	litepcie_lock(dev);
	for (unsigned int queue = 0; queue < LITEPCIE_QUEUES_MOST; queue++)
		if (dev->run.left & 1u << queue)
			litepcie_run_free(dev, queue);
	dev->run.left = 0;
	litepcie_unlock(dev);
}

/*
 * Stop the run of all queues, then the sorting of frames. If the card still sorted frames, a later
 * run of another program with `newest` could write to the rings of this run.
 */
static int stop_all(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc;

	/*
	 * The state of the run and the register capture_control are changed under one lock, since
	 * seal() in another thread also checks the state and writes the bit RUN.
	 */
	litepcie_lock(dev);
	litepcie_run_set_state(dev, LITEPCIE_RUN_STOPS);
	rc = litepcie_put(dev, dev->map.capture.control, control_of(capture));
	litepcie_unlock(dev);
	if (rc == 0)
		rc = copy_net(dev, false);
	if (rc == 0)
		rc = come_to_rest(capture);
	litepcie_run_set_restless(dev, rc < 0);
	if (rc == 0)
		rc = each(dev, await_last_line);
	if (rc == 0 && dev->map.sorter.queues)
		rc = litepcie_writel(dev, dev->map.sorter.control, 0);
	if (rc == 0)
		__atomic_store_n(&dev->run.complete, capture->run, __ATOMIC_RELEASE);
	litepcie_run_set_state(dev, 0);
	if (rc == 0)
		litepcie_run_free_left(dev);
	return rc < 0 ? rc : litepcie_capture_poll(capture);
}

/*
 * For the stop of a queue other than 0: let the card seal (complete) the queue's current MBUF (part
 * of the ring). Returns 1, or 0 if the queue's run is not on (it has not begun, or is over), or
 * -errno. The state of the run is checked and the register is written under one lock. The write has
 * the bit RUN. So without the check it could start a run again that another thread, or a reset of
 * the card, has just ended.
 *
 * If the run has not begun yet, there is nothing to seal, and the queue has no data. But another
 * thread may be starting queue 0, and may have given this queue's ring to the card already. So
 * capture->end becomes 0: what the card then writes to the ring is not given to the program.
 */
static int seal(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	uint32_t control = 0;
	int rc = 0;

	litepcie_lock(dev);
	if (litepcie_run_is_on(capture))
		rc = litepcie_get_answer(dev, dev->map.capture.control, &control);
	else if (litepcie_run_is_ahead(capture))
		capture->end = 0;
	if (rc < 0 || !(control & CAPTURE_RUN)) {
		litepcie_unlock(dev);
		return rc;
	}
	rc = litepcie_queue_put_locked(capture, dev->map.capture.control,
				       control_of(dev->captures[0]) | CAPTURE_RUN | SEAL);
	litepcie_unlock(dev);
	return rc < 0 ? rc : 1;
}

/*
 * Stop the capture of a queue other than 0: let the card seal (complete) the queue's current MBUF
 * (part of the ring), with which the queue's data ends. The other queues go on. If no run is on,
 * nothing is done. If it cannot be known where that MBUF ends, the queue's data ends with the
 * status line from before the stop: that data can still be given.
 */
static int stop_part(struct litepcie_capture *capture)
{
	uint64_t position, mbuf = capture->config.mbuf_bytes;
	int rc;

	litepcie_capture_poll(capture);
	rc = seal(capture);
	if (rc == 0)
		return 0;
	if (rc > 0)
		rc = litepcie_queue_get64(capture, capture->dev->map.capture.position, &position);
	/*
	 * A frame that came after the seal may have begun another MBUF, which stays open if no
	 * more frames come. The data ends with that MBUF, so it is sealed, too.
	 */
	if (rc == 0 && position % mbuf)
		rc = seal(capture);
	if (rc < 0) {
		capture->end = capture->seen.position;
		return rc;
	}
	capture->end = (position + mbuf - 1) / mbuf * mbuf;
	rc = await_line(capture, capture->end);
	return rc < 0 ? rc : litepcie_capture_poll(capture);
}

int litepcie_run_stop(struct litepcie_capture *capture)
{
	if (!capture->config.queue)
		return stop_all(capture);
	return stop_part(capture);
}
