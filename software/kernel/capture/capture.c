// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Runs the card's capture block, which writes frames as pcapng blocks to rings in host memory.
 * gateware/capture/README.md describes the block.
 *
 * The rings of a run may be freed only after litepcie_capture_halt() has returned.  Then the card
 * has written its last blocks, and after them its last status lines, or bus mastering is off, or
 * the card is lost.
 */

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/log2.h>

#include "capture.h"

#define WATCH_INTERVAL		HZ
#define POLL_US			10
/*
 * Time in jiffies.  If the stop of a run with LITEPCIE_CAPTURE_LOSSLESS makes no progress for so
 * long and a ring is full, a frame may wait for room for ever.  litepcie_capture_halt() then
 * switches LOSSLESS off in the card, so that the frame is lost instead.
 */
#define WAITS_FOR_ROOM		msecs_to_jiffies(500)

static void put(struct litepcie_capture *capture, u32 offset, u32 value)
{
	litepcie_capture_write(capture, LITEPCIE_CAPTURE_CONTROL, offset, value);
}

static u32 control_of(u32 flags)
{
	return (flags & LITEPCIE_CAPTURE_KEEP_BAD ? LITEPCIE_CAPTURE_BIT_CONTROL_KEEP_BAD : 0) |
	       (flags & LITEPCIE_CAPTURE_LOSSLESS ? LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS : 0) |
	       (flags & LITEPCIE_CAPTURE_NEWEST ? LITEPCIE_CAPTURE_BIT_CONTROL_NEWEST : 0);
}

/* Wake-ups at a position of a queue --------------------------------------- */

/*
 * Ask the card for an interrupt when the queue's position has passed *@position.  *@position is
 * loaded with the lock held: otherwise a thread that was delayed could replace the later position
 * of another thread.  For U64_MAX, U64_MAX - 1 is stored, which no queue passes, since U64_MAX in
 * queue->wake means that no position was asked for.
 */
void litepcie_capture_arm(struct litepcie_capture_queue *queue, const u64 *position)
{
	spin_lock_irq(&queue->wait.lock);
	queue->wake = min(READ_ONCE(*position), U64_MAX - 1);
	litepcie_queue_put64(queue, LITEPCIE_CAPTURE_WAKE, queue->wake);
	spin_unlock_irq(&queue->wait.lock);
}

/*
 * The watchdog of a run: check once a second whether the card still answers, and wake the threads
 * whose interrupt was lost.
 */
void litepcie_capture_watch(struct work_struct *work)
{
	struct litepcie_capture *capture =
		container_of(work, struct litepcie_capture, watchdog.work);
	struct litepcie_capture_queue *queue;

	if (litepcie_capture_status(capture) == ~0u && litepcie_check_lost(capture->card))
		litepcie_capture_news(capture);
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue)) {
		spin_lock_irq(&queue->wait.lock);
		if (litepcie_capture_position(queue) > queue->wake)
			litepcie_queue_tell(queue, false);
		spin_unlock_irq(&queue->wait.lock);
	}
	schedule_delayed_work(&capture->watchdog, WATCH_INTERVAL);
}

/* Stop of a run ----------------------------------------------------------- */

/*
 * Returns true if the limit of some queue lets the card begin no further MBUF (one of the equal
 * parts of a ring), so a frame may wait for room.  A queue that takes no part in the run has the
 * limit 0.
 */
static bool is_full(struct litepcie_capture *capture)
{
	struct litepcie_capture_queue *queue;
	u64 mbuf = capture->mbuf_bytes;

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		if (round_up(litepcie_capture_position(queue), mbuf) + mbuf > queue->limit)
			return true;
	return false;
}

/*
 * Returns true if the capture block is idle and the last status lines have arrived.  *@sum gets the
 * sum of the positions that the card has reached in all queues.  The last status lines may arrive
 * in host memory after the block has said that it is idle.  No status line is awaited from a queue
 * that takes no part in the run.  A @status of all ones says nothing about the block, since a read
 * that the root port has given up returns all ones.
 */
static bool is_at_rest(struct litepcie_capture *capture, u32 status, u64 *sum)
{
	bool rests = status != ~0u && status & LITEPCIE_CAPTURE_BIT_STATUS_IDLE;
	struct litepcie_capture_queue *queue;

	*sum = 0;
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue)) {
		u64 position = litepcie_queue_get64(queue, LITEPCIE_CAPTURE_STATUS,
						    LITEPCIE_CAPTURE_GROUP_POSITION);

		*sum += position;
		if (queue->used && litepcie_capture_position(queue) != position)
			rests = false;
	}
	return rests;
}

/*
 * Stop the capture block, whatever its state.  @control is the value of the block's control
 * register while the block writes out the frames that it has.  Returns:
 *   0		the block has stopped, and no longer uses the rules of
 *		LITEPCIE_IOCTL_CAPTURE_SORT
 *   -EIO	the block has not stopped, so bus mastering has been switched off
 *   -ENODEV	the card is lost
 */
int litepcie_capture_halt(struct litepcie_capture *capture, u32 control)
{
	struct litepcie_patience patience;
	u64 before = 0, sum;

	litepcie_be_patient(&patience);
	if (capture->net)
		litepcie_capture_put_net(capture, false);
	put(capture, 0, control);
	for (;;) {
		u32 status = litepcie_capture_status(capture);
		bool rests = is_at_rest(capture, status, &sum);

		if (status == ~0u && litepcie_check_lost(capture->card))
			return -ENODEV;
		if (rests)
			break;
		if (sum != before) {
			before = sum;
			litepcie_be_patient(&patience);
		} else if (control & LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS &&
			   time_after(jiffies, patience.since + WAITS_FOR_ROOM) &&
			   is_full(capture)) {
			control &= ~LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS;
			put(capture, 0, control);
			litepcie_be_patient(&patience);
		} else if (litepcie_is_stuck(&patience)) {
			litepcie_master_off(capture->card, capture->cause);
			dev_err(&capture->dev, "the capture does not stop (status %#x, position %llu): bus mastering is off until the card is reset\n",
				status, sum);
			return -EIO;
		}
		usleep_range(POLL_US, 2 * POLL_US);
	}
	put(capture, 0, 0);
	/*
	 * If the card still sorted frames by the rules of this run, a later run with
	 * LITEPCIE_CAPTURE_NEWEST, which ignores limits, could write to the rings of this run.
	 */
	if (capture->sorter)
		litepcie_sorter_put(capture, LITEPCIE_CAPTURE_QUEUES_CONTROL, 0);
	return 0;
}

/*
 * Set the state of the queue's run, also in the status page, and wake the threads that wait for the
 * queue.  In the status page @error is stored before @run.
 */
static void set_run(struct litepcie_capture_queue *queue, u32 run, int error)
{
	lockdep_assert_held(&queue->capture->mutex);

	spin_lock_irq(&queue->wait.lock);
	WRITE_ONCE(queue->error, error);
	/* A read() that sees that the run has ended also sees @error. */
	smp_store_release(&queue->run, run);
	queue->status->error = error;
	/* A program that sees in the status page that the run has ended also sees @error. */
	smp_store_release(&queue->status->run, run);
	litepcie_queue_tell(queue, true);
	spin_unlock_irq(&queue->wait.lock);
}

/*
 * End the run of all queues, with @error if that is not 0.  @live says that the card's registers
 * can be reached.  @patient says that a LOSSLESS run keeps this setting while the block writes out
 * its last frames, so that frames may wait for room.
 */
int litepcie_capture_finish(struct litepcie_capture *capture, int error, bool live, bool patient)
{
	u32 control = control_of(capture->flags);
	struct litepcie_capture_queue *queue;
	int err = 0;

	lockdep_assert_held(&capture->mutex);

	if (capture->running)
		cancel_delayed_work_sync(&capture->watchdog);
	if (!patient)
		control &= ~LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS;
	if (capture->running && live) {
		err = litepcie_capture_halt(capture, control);
		litepcie_cause_enable(capture->card, capture->cause, false);
	}
	capture->running = false;
	/*
	 * A queue that was started, but takes no part in this run, stays ready for the next run,
	 * unless there is an error.
	 */
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue)) {
		if (queue->run && (queue->used || error))
			set_run(queue, LITEPCIE_CAPTURE_RUN_REST, error);
		queue->used = false;
	}
	return err;
}

static void seal(struct litepcie_capture_queue *queue)
{
	litepcie_queue_put(queue, LITEPCIE_CAPTURE_CONTROL, 0,
			   control_of(queue->capture->flags) | LITEPCIE_CAPTURE_BIT_CONTROL_RUN |
			   LITEPCIE_CAPTURE_BIT_CONTROL_SEAL);
}

/*
 * End a queue's part of the run, which goes on for the other queues.  The card ends the queue's
 * MBUF (one of the equal parts of its ring), and *@end gets the position at the end of that MBUF.
 * If the queue takes no part in the run, *@end gets the queue's position.  The ring must stay until
 * the run ends, since the card may go on to write to the ring.  Returns 0, -ENODEV if the card is
 * lost, or -EIO if the card does not end the MBUF.
 */
int litepcie_capture_part(struct litepcie_capture_queue *queue, u64 *end)
{
	struct litepcie_capture *capture = queue->capture;
	struct litepcie_patience patience;
	int err = 0;

	lockdep_assert_held(&capture->mutex);

	*end = litepcie_capture_position(queue);
	if (queue->used) {
		seal(queue);
		*end = litepcie_queue_get64(queue, LITEPCIE_CAPTURE_STATUS,
					    LITEPCIE_CAPTURE_GROUP_POSITION);
		/*
		 * A frame that came after the seal may have begun another MBUF,
		 * which stays open if no more frames come.
		 */
		if (*end & (capture->mbuf_bytes - 1))
			seal(queue);
		*end = round_up(*end, (u64)capture->mbuf_bytes);
	}
	litepcie_be_patient(&patience);
	while (!err && litepcie_capture_position(queue) < *end) {
		if (litepcie_capture_status(capture) == ~0u && litepcie_check_lost(capture->card))
			err = -ENODEV;
		else if (litepcie_is_stuck(&patience))
			err = -EIO;
		usleep_range(POLL_US, 2 * POLL_US);
	}
	set_run(queue, LITEPCIE_CAPTURE_RUN_REST, 0);
	return err;
}

/* Start of a run ---------------------------------------------------------- */

/*
 * Returns the size in bytes of a segment: the smallest contiguous piece of any ring of the run.
 * All rings have segments of this size, since the card has one register for it.
 */
static size_t segment_of(struct litepcie_capture *capture)
{
	struct litepcie_capture_queue *queue;
	size_t least = LITEPCIE_CAPTURE_RING_MOST;

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		if (queue->used)
			least = min(least, litepcie_chunk_bytes(queue->ring));
	return least;
}

static bool fits(struct litepcie_capture *capture, size_t segment)
{
	u32 most = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_SEGMENTS);
	struct litepcie_capture_queue *queue;

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		if (queue->used && litepcie_ring_bytes(queue->ring) / segment > most)
			return false;
	return true;
}

static void put_ring(struct litepcie_capture_queue *queue, size_t segment)
{
	const struct litepcie_ring *ring = queue->ring;
	size_t chunk = litepcie_chunk_bytes(ring);
	unsigned int count = litepcie_ring_bytes(ring) / segment;

	for (unsigned int n = 0; n < count; n++) {
		size_t offset = n * segment;

		litepcie_queue_put_segment(queue, n,
					   ring->chunk[offset / chunk].dma + offset % chunk);
	}
	litepcie_queue_put(queue, LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_LAST_SEGMENT,
			   count - 1);
	litepcie_queue_put64(queue, LITEPCIE_CAPTURE_STATUS_BASE,
			     queue->capture->status_dma +
				     queue->number * sizeof(*queue->status));
}

/*
 * Set the positions and the counts of frames of all queues in the card back to 0.  Returns -ENODEV
 * if the card is lost, or -EIO if the card does not finish clearing the counts.
 */
static int clear(struct litepcie_capture *capture)
{
	int err;

	put(capture, 0, LITEPCIE_CAPTURE_BIT_CONTROL_CLEAR);
	err = litepcie_capture_await(capture, LITEPCIE_CAPTURE_BIT_STATUS_ACCOUNTS_BUSY, 0);
	if (err == -EIO)
		dev_err(&capture->dev, "the capture's accounts are not cleared: reset the card\n");
	return err;
}

/*
 * Let the card write to the queue's ring up to position @limit.  A limit that is not beyond the
 * last one of the run is ignored.
 */
void litepcie_capture_allow(struct litepcie_capture_queue *queue, u64 limit)
{
	lockdep_assert_held(&queue->capture->mutex);

	if (limit <= queue->limit)
		return;
	WRITE_ONCE(queue->limit, limit);
	WRITE_ONCE(queue->status->limit, limit);
	litepcie_queue_put64(queue, LITEPCIE_CAPTURE_LIMIT, limit);
}

/*
 * Set @used of the queues that have been started.  Returns 0 if these queues can run together, else
 * -EINVAL.  With LITEPCIE_CAPTURE_NEWEST, which ignores limits, a card that sorts frames by rules
 * needs a started ring for each queue: the card could otherwise write to the ring of an earlier
 * run.
 */
static int check_queues(struct litepcie_capture *capture)
{
	struct litepcie_capture_queue *queue;
	u32 flags = capture->queue->flags;

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue)) {
		queue->used = queue->run;
		/* Only queue 0's start sets the clock, and each queue has its own staging memory. */
		if (queue->used && (queue->flags ^ flags) &
		    ~(LITEPCIE_CAPTURE_HOST_CLOCK | LITEPCIE_CAPTURE_STAGING))
			return -EINVAL;
		if (!queue->used && capture->sort.flags && flags & LITEPCIE_CAPTURE_NEWEST)
			return -EINVAL;
	}
	return fits(capture, segment_of(capture)) ? 0 : -EINVAL;
}

/*
 * Say how much of the staging memory each queue may use at once.  A queue that takes no part in
 * the run gets an equal part, since an earlier run may have given it another one.
 */
static void put_staging(struct litepcie_capture *capture)
{
	u32 equal = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_STAGING_BYTES);
	struct litepcie_capture_queue *queue;

	if (!litepcie_capture_has_quotas(capture->sorter))
		return;
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		litepcie_queue_put_staging(queue, queue->used && queue->staging ?
					   queue->staging : equal);
}

static int set_up(struct litepcie_capture *capture, const struct litepcie_capture_start *start)
{
	struct litepcie_capture_queue *queue;
	size_t segment = segment_of(capture);

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		if (queue->used)
			put_ring(queue, segment);
	put(capture, LITEPCIE_CAPTURE_GROUP_SEGMENT_LOG2, ilog2(segment));
	put(capture, LITEPCIE_CAPTURE_GROUP_MBUF_LOG2, ilog2(capture->mbuf_bytes));
	put(capture, LITEPCIE_CAPTURE_GROUP_SNAP, start->snap);
	put(capture, LITEPCIE_CAPTURE_GROUP_WAIT, start->wait_cycles);
	put_staging(capture);
	if (capture->sort.flags)
		litepcie_capture_put_sort(capture);
	return clear(capture);
}

/*
 * Let a queue take part in the run that begins.  A thread may already sleep until a position that
 * it has asked for with WAKE.  The card has forgotten that position, so it is written again.
 */
static void join(struct litepcie_capture_queue *queue)
{
	litepcie_capture_allow(queue, queue->first);
	/* A program that sees the state of the new run also sees the run's limit. */
	smp_store_release(&queue->status->run, queue->run);
	spin_lock_irq(&queue->wait.lock);
	if (queue->wake != U64_MAX)
		litepcie_queue_put64(queue, LITEPCIE_CAPTURE_WAKE, queue->wake);
	spin_unlock_irq(&queue->wait.lock);
}

static int begin_all(struct litepcie_capture *capture, const struct litepcie_capture_start *start)
{
	struct litepcie_capture_queue *queue;
	int err;

	err = litepcie_capture_halt(capture, 0);
	if (!err)
		err = check_queues(capture);
	if (!err)
		err = set_up(capture, start);
	if (err)
		return err;
	capture->flags = start->flags;
	capture->snap = start->snap;
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue)) {
		WRITE_ONCE(queue->limit, 0);
		if (queue->used)
			join(queue);
	}
	litepcie_cause_enable(capture->card, capture->cause, true);
	capture->running = true;
	if (start->flags & LITEPCIE_CAPTURE_HOST_CLOCK)
		litepcie_capture_set_clock(capture);
	if (capture->net)
		litepcie_capture_put_net(capture, start->flags & LITEPCIE_CAPTURE_NET);
	put(capture, 0, control_of(start->flags) | LITEPCIE_CAPTURE_BIT_CONTROL_RUN);
	schedule_delayed_work(&capture->watchdog, WATCH_INTERVAL);
	return 0;
}

/*
 * Start a run of kind @run in the queue's ring.  A queue other than 0 only gets ready: the start of
 * queue 0 begins the run of queue 0 and of all queues that are ready.  The caller has checked
 * @start, and is between litepcie_enter() and litepcie_exit().  Returns -EBUSY if the capture runs;
 * -EIO if the capture does not stop first or does not clear its counts, or if a part of the card
 * has failed to stop before; -EINVAL if the queues cannot run together; or -ENODEV if the card is
 * lost.
 */
int litepcie_capture_begin(struct litepcie_capture_queue *queue,
			   const struct litepcie_capture_start *start, u32 run)
{
	struct litepcie_capture *capture = queue->capture;
	int err = 0;

	lockdep_assert_held(&capture->mutex);

	/*
	 * If a part of the card did not stop, bus mastering is off, and the part's last writes may
	 * still wait.  As a rule only a reset of the card helps.
	 */
	if (READ_ONCE(capture->card->unquiet))
		return -EIO;
	if (capture->running)
		return -EBUSY;
	queue->flags = start->flags;
	queue->staging = start->staging_bytes;
	queue->first = start->limit;
	/*
	 * Clear the status line.  Otherwise a program would take an earlier run's line for a line
	 * of this run.
	 */
	memset(queue->status, 0, sizeof(*queue->status));
	set_run(queue, run, 0);
	if (!queue->number)
		err = begin_all(capture, start);
	if (err) {
		set_run(queue, LITEPCIE_CAPTURE_RUN_REST, 0);
		for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
			queue->used = false;
	}
	return err;
}
