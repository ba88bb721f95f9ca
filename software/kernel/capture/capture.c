// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Runs the card's capture block, which writes frames as pcapng blocks to a ring
 * in host memory.  gateware/capture/README.md describes the block.
 *
 * The ring's memory may go only after litepcie_capture_halt() has returned: the
 * card has then written its last block and the status line behind it, or can
 * write to no memory at all.
 */

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/module.h>

#include "capture.h"
#include "compat.h"

#define WATCH_INTERVAL		HZ
#define POLL_US			10
/*
 * The capture block is stuck if it has made no progress for this time and for
 * so many looks.  The looks are counted because a virtual machine may be
 * paused for longer than this time.
 */
#define STUCK			msecs_to_jiffies(40 * LITEPCIE_LONGEST_READ_US / USEC_PER_MSEC)
#define STUCK_LOOKS		500
/* time without progress after which a frame is found to wait for room that nobody gives */
#define WAITS_FOR_ROOM		msecs_to_jiffies(500)

/* Registers --------------------------------------------------------------- */

static void __iomem *reg_of(const struct litepcie_capture *capture, unsigned int parameter)
{
	return capture->regs + litepcie_parameter(capture->block, parameter);
}

static void put(struct litepcie_capture *capture, unsigned int parameter, u32 offset, u32 value)
{
	writel(value, reg_of(capture, parameter) + offset);
}

static u32 get(struct litepcie_capture *capture, unsigned int parameter, u32 offset)
{
	return readl(reg_of(capture, parameter) + offset);
}

/*
 * Write a register of 64 bits.  Its upper half has the lower address, and the
 * card takes the value over with the lower half.
 */
static void put64(struct litepcie_capture *capture, unsigned int parameter, u64 value)
{
	put(capture, parameter, 0, upper_32_bits(value));
	put(capture, parameter, 4, lower_32_bits(value));
}

static u64 get64(struct litepcie_capture *capture, unsigned int parameter, u32 offset)
{
	u64 upper = get(capture, parameter, offset);

	return upper << 32 | get(capture, parameter, offset + 4);
}

static u32 status_of(struct litepcie_capture *capture)
{
	return get(capture, LITEPCIE_CAPTURE_STATUS, 0);
}

/* A wait for the capture block. */
struct patience {
	unsigned long	since;	/* when it began, or the block made progress last */
	unsigned int	looks;	/* at the block since then */
};

static void be_patient(struct patience *patience)
{
	*patience = (struct patience){ .since = jiffies };
}

static bool is_stuck(struct patience *patience)
{
	return ++patience->looks > STUCK_LOOKS && time_after(jiffies, patience->since + STUCK);
}

static void put_control(struct litepcie_capture *capture, u32 control)
{
	put(capture, LITEPCIE_CAPTURE_CONTROL, 0, control);
}

/* Waiters ----------------------------------------------------------------- */

/*
 * Wake the threads that wait.  Signal the eventfd of WAKE, once, if the position
 * has passed what was asked for, or if the run has @ended.
 */
static void tell_locked(struct litepcie_capture *capture, bool ended)
{
	lockdep_assert_held(&capture->wait.lock);

	wake_up_locked(&capture->wait);
	/*
	 * An interrupt may have been on its way when a later position was asked
	 * for, which has not been passed.
	 */
	if (capture->wake == U64_MAX ||
	    (!ended && litepcie_capture_position(capture) <= capture->wake))
		return;
	if (capture->event)
		litepcie_eventfd_signal(capture->event);
	capture->wake = U64_MAX;
}

/* Wake the threads that wait, because the run has ended or the card has gone. */
void litepcie_capture_news(struct litepcie_capture *capture)
{
	unsigned long flags;

	spin_lock_irqsave(&capture->wait.lock, flags);
	tell_locked(capture, true);
	spin_unlock_irqrestore(&capture->wait.lock, flags);
}

/*
 * Handle the capture's interrupt: the position has passed what was asked for.
 * With MSI the interrupt handler has cleared the cause before this call, and
 * calls this function for messages of other causes, too.
 */
void litepcie_capture_interrupt(struct litepcie *card)
{
	/*
	 * spin_lock() is enough, since interrupts are off in every interrupt
	 * handler
	 */
	spin_lock(&card->capture->wait.lock);
	tell_locked(card->capture, false);
	spin_unlock(&card->capture->wait.lock);
}

/*
 * Ask the card for an interrupt when the position has passed @position.  The
 * caller is between litepcie_enter() and litepcie_exit().
 */
void litepcie_capture_arm(struct litepcie_capture *capture, u64 position)
{
	spin_lock_irq(&capture->wait.lock);
	capture->wake = position;
	put64(capture, LITEPCIE_CAPTURE_WAKE, position);
	spin_unlock_irq(&capture->wait.lock);
}

/*
 * Look once a second whether the card is still there.  An interrupt that was
 * lost is made up for.
 */
void litepcie_capture_watch(struct work_struct *work)
{
	struct litepcie_capture *capture =
		container_of(work, struct litepcie_capture, watchdog.work);

	if (status_of(capture) == ~0u && litepcie_check_lost(capture->card))
		litepcie_capture_news(capture);
	spin_lock_irq(&capture->wait.lock);
	if (litepcie_capture_position(capture) > capture->wake)
		tell_locked(capture, false);
	spin_unlock_irq(&capture->wait.lock);
	schedule_delayed_work(&capture->watchdog, WATCH_INTERVAL);
}

/* Stop -------------------------------------------------------------------- */

/*
 * Returns true if the card may begin no other MBUF, so a frame may wait for
 * room.
 */
static bool is_full(const struct litepcie_capture *capture)
{
	u64 mbuf = capture->mbuf_bytes;

	return round_up(litepcie_capture_position(capture), mbuf) + mbuf > capture->limit;
}

/*
 * Returns true if the block is idle and its last status line has arrived.  The
 * block says that it is idle once it has handed its last write to the endpoint,
 * so the line may come later.  Without a run no line is awaited.
 */
static bool is_at_rest(struct litepcie_capture *capture, u32 status)
{
	if (!(status & LITEPCIE_CAPTURE_BIT_STATUS_IDLE))
		return false;
	return !capture->run ||
	       litepcie_capture_position(capture) ==
		       get64(capture, LITEPCIE_CAPTURE_STATUS, LITEPCIE_CAPTURE_GROUP_POSITION);
}

/*
 * Stop the capture block, whatever its state.  @control has the settings that
 * stay while it writes out what it has.  When the function returns, the card
 * writes nothing more.  Returns:
 *   0		the block has stopped
 *   -EIO	the block has not stopped, so bus mastering has been switched off
 *   -ENODEV	the card is lost
 */
int litepcie_capture_halt(struct litepcie_capture *capture, u32 control)
{
	struct patience patience;
	u64 before = 0;

	be_patient(&patience);
	put_control(capture, control);
	for (;;) {
		u32 status = status_of(capture);
		u64 position = get64(capture, LITEPCIE_CAPTURE_STATUS,
				     LITEPCIE_CAPTURE_GROUP_POSITION);

		if (status == ~0u && litepcie_check_lost(capture->card))
			return -ENODEV;
		if (is_at_rest(capture, status))
			break;
		if (position != before) {
			before = position;
			be_patient(&patience);
		} else if (control & LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS &&
			   time_after(jiffies, patience.since + WAITS_FOR_ROOM) &&
			   is_full(capture)) {
			control &= ~LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS;
			put_control(capture, control);
			be_patient(&patience);
		} else if (is_stuck(&patience)) {
			litepcie_master_off(capture->card, capture->cause);
			dev_err(&capture->dev, "the capture does not stop (status %#x, position %llu): bus mastering is off until the card is reset\n",
				status, position);
			return -EIO;
		}
		usleep_range(POLL_US, 2 * POLL_US);
	}
	put_control(capture, 0);
	return 0;
}

/*
 * Publish the state of the run in the status page, and wake those who wait.
 * @error is stored before @run, so a reader that sees the end of a run also
 * sees its reason.
 */
static void set_run(struct litepcie_capture *capture, u32 run, int error)
{
	lockdep_assert_held(&capture->mutex);

	spin_lock_irq(&capture->wait.lock);
	WRITE_ONCE(capture->run, run);
	WRITE_ONCE(capture->error, error);
	capture->status->error = error;
	smp_store_release(&capture->status->run, run);
	tell_locked(capture, true);
	spin_unlock_irq(&capture->wait.lock);
}

/*
 * End the run, with @error if that is not 0.  @live says that the card's
 * registers can be reached.  @control has the settings that stay while the block
 * writes out what it has.
 */
int litepcie_capture_finish(struct litepcie_capture *capture, int error, bool live, u32 control)
{
	int err = 0;

	lockdep_assert_held(&capture->mutex);

	if (!capture->run)
		return 0;
	cancel_delayed_work_sync(&capture->watchdog);
	if (live) {
		err = litepcie_capture_halt(capture, control);
		litepcie_cause_enable(capture->card, capture->cause, false);
	}
	set_run(capture, LITEPCIE_CAPTURE_RUN_REST, error);
	return err;
}

/* Start ------------------------------------------------------------------- */

static u32 control_of(u32 flags)
{
	return (flags & LITEPCIE_CAPTURE_KEEP_BAD ? LITEPCIE_CAPTURE_BIT_CONTROL_KEEP_BAD : 0) |
	       (flags & LITEPCIE_CAPTURE_LOSSLESS ? LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS : 0) |
	       (flags & LITEPCIE_CAPTURE_NEWEST ? LITEPCIE_CAPTURE_BIT_CONTROL_NEWEST : 0);
}

static void put_segments(struct litepcie_capture *capture)
{
	const struct litepcie_ring *ring = capture->ring;

	for (unsigned int n = 0; n < ring->chunks; n++) {
		put64(capture, LITEPCIE_CAPTURE_SEGMENT_BASE, ring->chunk[n].dma);
		put(capture, LITEPCIE_CAPTURE_SEGMENT_BASE,
		    LITEPCIE_CAPTURE_GROUP_SEGMENT_INDEX, n);
	}
	put(capture, LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_LAST_SEGMENT,
	    ring->chunks - 1);
	put(capture, LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_SEGMENT_LOG2,
	    ilog2(litepcie_chunk_bytes(ring)));
}

/*
 * Set the position back to 0.  The line is cleared first, so that no program
 * takes the line of an earlier run for one of this run.
 */
static int clear(struct litepcie_capture *capture)
{
	struct patience patience;
	u32 status;

	be_patient(&patience);
	memset(capture->status, 0, sizeof(*capture->status));
	put_control(capture, LITEPCIE_CAPTURE_BIT_CONTROL_CLEAR);
	do {
		status = status_of(capture);
		if (status == ~0u && litepcie_check_lost(capture->card))
			return -ENODEV;
		if (!(status & LITEPCIE_CAPTURE_BIT_STATUS_ACCOUNTS_BUSY))
			return 0;
		usleep_range(POLL_US, 2 * POLL_US);
	} while (!is_stuck(&patience));
	dev_err(&capture->dev, "the capture's accounts are not cleared (status %#x): reset the card\n",
		status);
	return -EIO;
}

/*
 * Let the card write up to @limit.  The caller is between litepcie_enter() and
 * litepcie_exit().
 */
void litepcie_capture_allow(struct litepcie_capture *capture, u64 limit)
{
	lockdep_assert_held(&capture->mutex);

	if (limit <= capture->limit)
		return;
	WRITE_ONCE(capture->limit, limit);
	WRITE_ONCE(capture->status->limit, limit);
	put64(capture, LITEPCIE_CAPTURE_LIMIT, limit);
}

/*
 * Start a run of kind @run in the capture's ring.  The caller has checked
 * @start, and is between litepcie_enter() and litepcie_exit().
 */
int litepcie_capture_begin(struct litepcie_capture *capture,
			   const struct litepcie_capture_start *start, u32 run)
{
	int err;

	lockdep_assert_held(&capture->mutex);

	/*
	 * If a part of the card did not stop, bus mastering is off, and its
	 * last writes may still wait.  Only a reset of the card helps.
	 */
	if (READ_ONCE(capture->card->unquiet))
		return -EIO;
	err = litepcie_capture_halt(capture, 0);
	if (err)
		return err;
	put_segments(capture);
	put(capture, LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_MBUF_LOG2,
	    ilog2(capture->mbuf_bytes));
	put(capture, LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_SNAP, start->snap);
	put(capture, LITEPCIE_CAPTURE_CONTROL, LITEPCIE_CAPTURE_GROUP_WAIT, start->wait_cycles);
	put64(capture, LITEPCIE_CAPTURE_STATUS_BASE, capture->status_dma);
	err = clear(capture);
	if (err)
		return err;
	capture->flags = start->flags;
	capture->snap = start->snap;
	WRITE_ONCE(capture->limit, 0);
	litepcie_capture_allow(capture, start->limit);
	set_run(capture, run, 0);
	litepcie_cause_enable(capture->card, capture->cause, true);
	put_control(capture, control_of(start->flags) | LITEPCIE_CAPTURE_BIT_CONTROL_RUN);
	schedule_delayed_work(&capture->watchdog, WATCH_INTERVAL);
	return 0;
}

/* Generator and accounts -------------------------------------------------- */

/*
 * Stop the generator of frames, and wait until it makes none.  Returns -EBUSY if
 * its last frame waits for room in the ring.
 */
static int silence(struct litepcie_capture *capture)
{
	struct patience patience;
	u32 status;

	be_patient(&patience);
	put(capture, LITEPCIE_CAPTURE_GENERATOR_CONTROL, 0, 0);
	do {
		status = status_of(capture);
		if (status == ~0u && litepcie_check_lost(capture->card))
			return -ENODEV;
		if (status & LITEPCIE_CAPTURE_BIT_STATUS_GENERATOR_IDLE)
			return 0;
		usleep_range(POLL_US, 2 * POLL_US);
	} while (!is_stuck(&patience));
	return -EBUSY;
}

/* Stop the generator of frames, without waiting for its last frame. */
void litepcie_capture_silence(struct litepcie_capture *capture)
{
	put(capture, LITEPCIE_CAPTURE_GENERATOR_CONTROL, 0, 0);
}

/*
 * Start the generator of frames, or stop it if @wanted->size is 0.  A generator
 * that runs begins anew with frame 0.
 */
int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_capture_generate *wanted)
{
	unsigned int first = LITEPCIE_CAPTURE_GENERATOR_CONTROL;
	int err;

	if (!wanted->size) {
		litepcie_capture_silence(capture);
		return 0;
	}
	err = silence(capture);
	if (err)
		return err;
	put(capture, first, LITEPCIE_CAPTURE_GROUP_GENERATOR_SIZE, wanted->size);
	put(capture, first, LITEPCIE_CAPTURE_GROUP_GENERATOR_PERIOD, wanted->period);
	put(capture, first, LITEPCIE_CAPTURE_GROUP_GENERATOR_COUNT, wanted->count);
	put(capture, first, LITEPCIE_CAPTURE_GROUP_GENERATOR_SEED, wanted->seed);
	put(capture, first, LITEPCIE_CAPTURE_GROUP_GENERATOR_PORT_MASK, wanted->port_mask);
	put(capture, first, 0, 1);
	return 0;
}

static void get_account(struct litepcie_capture *capture, u32 number,
			struct litepcie_capture_account *account)
{
	unsigned int first = LITEPCIE_CAPTURE_ACCOUNT_CONTROL;

	put(capture, first, 0, number);
	account->frames = get64(capture, first, LITEPCIE_CAPTURE_GROUP_ACCOUNT_FRAMES);
	account->bytes = get64(capture, first, LITEPCIE_CAPTURE_GROUP_ACCOUNT_BYTES);
}

/*
 * Read the generator's state into @info.  The state comes before the count: a
 * generator that is idle has counted its last frame.
 */
int litepcie_capture_generated(struct litepcie_capture *capture,
			       struct litepcie_capture_info *info)
{
	u32 status = status_of(capture);

	if (status == ~0u && litepcie_check_lost(capture->card))
		return -ENODEV;
	info->generating = !(status & LITEPCIE_CAPTURE_BIT_STATUS_GENERATOR_IDLE);
	info->generated = get(capture, LITEPCIE_CAPTURE_GENERATOR_CONTROL,
			      LITEPCIE_CAPTURE_GROUP_GENERATOR_MADE);
	return 0;
}

/* Read the accounts of all ports, as of one moment, into @info. */
int litepcie_capture_accounts(struct litepcie_capture *capture, struct litepcie_capture_info *info)
{
	struct patience patience;
	u32 status;

	lockdep_assert_held(&capture->mutex);

	be_patient(&patience);
	put(capture, LITEPCIE_CAPTURE_ACCOUNT_CONTROL, 0, LITEPCIE_CAPTURE_BIT_ACCOUNT_SNAPSHOT);
	do {
		status = status_of(capture);
		if (status == ~0u && litepcie_check_lost(capture->card))
			return -ENODEV;
		if (is_stuck(&patience))
			return -EIO;
	} while (status & LITEPCIE_CAPTURE_BIT_STATUS_ACCOUNTS_BUSY);
	for (u32 port = 0; port < LITEPCIE_CAPTURE_MOST_PORTS; port++) {
		struct litepcie_capture_port *to = &info->port[port];
		u32 first = LITEPCIE_CAPTURE_FATES * port;

		get_account(capture, first + LITEPCIE_CAPTURE_FATE_DELIVERED, &to->delivered);
		get_account(capture, first + LITEPCIE_CAPTURE_FATE_BAD, &to->bad);
		get_account(capture, first + LITEPCIE_CAPTURE_FATE_LOST_RING, &to->lost_ring);
		get_account(capture, first + LITEPCIE_CAPTURE_FATE_LOST_STAGING, &to->lost_staging);
	}
	return 0;
}
