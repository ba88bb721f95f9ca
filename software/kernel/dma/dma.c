// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Starts and stops one direction of a channel.  owner.c has the direction's ownership and its ring.
 * progress.c and held.c count the buffers that the card has finished.
 *
 * In LitePCIe's loop the card goes round a table with a descriptor for each buffer, until the
 * driver stops the direction.  In a held run (held.c) and in a stream (file/stream.c) each
 * descriptor runs once.
 */

#include <linux/iopoll.h>
#include <linux/poll.h>

#include "card.h"
#include "compat.h"
#include "trace.h"

#define WATCH_INTERVAL		HZ
#define IDLE_POLL_US		10
#define IDLE_TIMEOUT_US		(40 * LITEPCIE_LONGEST_READ_US)
/* period in us of the driver's timer in a run by read() or write() whose ring has interrupt mode */
#define STREAM_INTERVAL_US	100

const char *litepcie_way_name(const struct litepcie_way *way)
{
	return way->id == LITEPCIE_WAY_H2C ? "h2c" : "c2h";
}

static void way_write(struct litepcie_way *way, unsigned int reg, u32 value)
{
	writel(value, way->regs + reg);
}

static u32 way_read(struct litepcie_way *way, unsigned int reg)
{
	return readl(way->regs + reg);
}

/* Registers of a direction, and bus mastering ----------------------------- */

/*
 * Switch bus mastering off for the whole card, since a part of it that does not stop could write to
 * host memory for ever.  @cause is the (first) interrupt cause of that part: a direction, the
 * capture or a virtio device.  Posted writes that the card has sent arrive before its completion of
 * this configuration access.  So once this function returns, the card writes to no memory.  The
 * card's other parts cannot finish their requests, either, so as a rule only a reset of the card
 * helps.
 */
void litepcie_master_off(struct litepcie *card, u32 cause)
{
	mutex_lock(&card->master_lock);
	WRITE_ONCE(card->unquiet, card->unquiet | BIT(cause));
	pci_clear_master(card->pdev);
	mutex_unlock(&card->master_lock);
}

/*
 * Note that the part of the card whose (first) interrupt cause is @cause has stopped.  If
 * litepcie_master_off() was called for this part before, switch bus mastering on again, unless it
 * is also off because of another part.
 */
void litepcie_master_on(struct litepcie *card, u32 cause)
{
	mutex_lock(&card->master_lock);
	if (card->unquiet & BIT(cause)) {
		WRITE_ONCE(card->unquiet, card->unquiet & ~BIT(cause));
		if (!card->unquiet)
			pci_set_master(card->pdev);
	}
	mutex_unlock(&card->master_lock);
}

/*
 * h2c: returns true if the card says that all data that its h2c engine has fetched has left the
 * engine towards the user's logic.  If some has not, a stop would drop that data.  Also returns
 * true if the card has no bit for this information, or is lost.
 */
bool litepcie_dma_taken(struct litepcie_way *way)
{
	u32 value;

	if (!way->tells_taken)
		return true;
	value = way_read(way, LITEPCIE_DMA_GROUP_ENABLE);
	/*
	 * A value of all ones is no answer: a read that the root port has given up returns it, too.
	 */
	return value == ~0u ? litepcie_check_lost(litepcie_of(way)) :
			      value & LITEPCIE_DMA_ENABLE_TAKEN;
}

/*
 * For LitePCIe's own h2c engine, which says that it is idle once it has requested all data from
 * host memory.  A completion that comes after a restart would be taken for data of the next run,
 * which may be another file's.  So wait until all completions have come: the engine's last reads
 * are expected to end during LITEPCIE_SETTLE_READS register reads, one after the other.
 */
static void let_reads_settle(struct litepcie_way *way)
{
	for (unsigned int n = 0; n < LITEPCIE_SETTLE_READS; n++)
		way_read(way, LITEPCIE_DMA_GROUP_ENABLE);
}

/*
 * Returns true if @value, read from the enable register, says that the direction is idle.  A @value
 * of all ones says nothing about the direction: it is the answer of a lost card, and of a read that
 * the root port has given up.  The function then returns true only if the card is lost.
 */
static bool is_at_rest(struct litepcie_way *way, u32 value)
{
	return value == ~0u ? litepcie_check_lost(litepcie_of(way)) :
			      value & LITEPCIE_DMA_ENABLE_IDLE;
}

/*
 * Stop the direction, whatever its state, and then empty its descriptor table.  Returns:
 *   0		the direction has stopped, and makes no request
 *   -EIO	the direction has not stopped, so bus mastering has been switched off
 *   -ENODEV	the card is lost
 */
int litepcie_dma_halt(struct litepcie_way *way)
{
	u32 value;

	way_write(way, LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N, 0);
	way_write(way, LITEPCIE_DMA_GROUP_ENABLE, 0);
	if (readl_poll_timeout(way->regs + LITEPCIE_DMA_GROUP_ENABLE, value,
			       is_at_rest(way, value), IDLE_POLL_US, IDLE_TIMEOUT_US)) {
		litepcie_master_off(litepcie_of(way), way->cause);
		dev_err(litepcie_dev(way), "%s does not stop (enable register %#x): bus mastering is off until the card is reset\n",
			litepcie_way_name(way), value);
		return -EIO;
	}
	if (value == ~0u)
		return -ENODEV;
	if (way->in_flight)
		let_reads_settle(way);
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_RESET, 1);
	litepcie_master_on(litepcie_of(way), way->cause);
	return 0;
}

/* Put a descriptor into the card's table.  litepcie_held_append() explains the arguments. */
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last)
{
	u32 size = way->ring->geometry.size;
	dma_addr_t dma = litepcie_ring_dma(way->ring, offset >> ilog2(size)) +
			 (offset & (size - 1));
	u32 flags = (last ? 0 : LITEPCIE_DESCRIPTOR_LAST_DISABLE) |
		    (irq ? 0 : LITEPCIE_DESCRIPTOR_IRQ_DISABLE);

	way_write(way, LITEPCIE_DMA_GROUP_TABLE_VALUE, flags | bytes);
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_VALUE + 4, lower_32_bits(dma));
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_WE, upper_32_bits(dma));
}

/* For LITEPCIE_RUN_LOOP: put a descriptor for each buffer of the ring into the card's table. */
static int fill_table(struct litepcie_way *way)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	u32 count = geometry->count;
	u32 level;

	for (u32 buffer = 0; buffer < count; buffer++)
		litepcie_dma_describe(way, (u64)buffer * geometry->size, geometry->size,
				      geometry->mode != LITEPCIE_MODE_POLL &&
				      buffer % geometry->per_interrupt == 0, false);
	/* The register read returns only after all descriptors have arrived at the card. */
	level = way_read(way, LITEPCIE_DMA_GROUP_TABLE_LEVEL);
	if (level == count)
		return 0;
	if (litepcie_check_lost(litepcie_of(way)))
		return -ENODEV;
	dev_err(litepcie_dev(way), "%s: the card's table holds only %u of %u descriptors: the direction is not started\n",
		litepcie_way_name(way), level, count);
	return -EIO;
}

/* Watchdog of a direction that runs --------------------------------------- */

/*
 * For a run in interrupt mode (without the driver's timer): returns true if no interrupt has come
 * since the watchdog last ran, although the card has finished as many buffers since as should raise
 * two interrupts.  In other modes returns false.
 */
static bool interrupts_are_missing(struct litepcie_way *way)
{
	const struct litepcie_geometry *geometry = &way->ring->geometry;
	bool missing;

	spin_lock_irq(&way->wait.lock);
	missing = way->mode == LITEPCIE_MODE_INTERRUPT &&
		  way->interrupts == way->watched_interrupts &&
		  way->hw_count - way->watched >= 2 * geometry->per_interrupt;
	if (missing)
		way->missed++;
	way->watched = way->hw_count;
	way->watched_interrupts = way->interrupts;
	spin_unlock_irq(&way->wait.lock);
	return missing;
}

/*
 * The watchdog, which runs once a second while the direction runs.  The watchdog asks the card for
 * progress, and so wakes programs whose interrupt was lost, and programs that wait on a card that
 * has gone.
 */
static void watch(struct work_struct *work)
{
	struct litepcie_way *way = container_of(work, struct litepcie_way, watchdog.work);

	litepcie_dma_ask(way);
	if (interrupts_are_missing(way))
		dev_warn_ratelimited(litepcie_dev(way), "%s: the card goes on, but interrupts do not come\n",
				     litepcie_way_name(way));
	schedule_delayed_work(&way->watchdog, WATCH_INTERVAL);
}

void litepcie_dma_init(struct litepcie_way *way)
{
	INIT_DELAYED_WORK(&way->watchdog, watch);
	litepcie_timer_init(way);
}

static void show_run(struct litepcie_way *way)
{
	struct litepcie_status_way *status = way->status;

	status->position = 0;
	status->advanced = 0;
	/*
	 * A program that reads this 0 in @buffers of the status page, and then @position or
	 * @advanced, gets no value of an earlier run.
	 */
	smp_store_release(&status->buffers, 0);
	status->error = way->error;
	/* A program that sees in the status page that a run has ended also sees @error. */
	smp_store_release(&status->run, way->run);
}

static void set_run(struct litepcie_way *way, u32 run, int error)
{
	lockdep_assert_held(&way->mutex);

	spin_lock_irq(&way->wait.lock);
	WRITE_ONCE(way->run, run);
	WRITE_ONCE(way->error, error);
	/* A thread that sees the new generation, so that its run is over, also sees @error. */
	smp_store_release(&way->generation, way->generation + 1);
	WRITE_ONCE(way->indexed, false);
	if (run) {
		const struct litepcie_geometry *geometry = &way->ring->geometry;
		u32 mode = geometry->mode;

		WRITE_ONCE(way->count, geometry->count);
		way->interval_us = geometry->interval_us;
		/*
		 * In a stream every descriptor asks for an interrupt.  Adaptive mode is used
		 * instead of interrupt mode, since one interrupt then serves all descriptors that
		 * follow closely.
		 */
		if (run == LITEPCIE_RUN_STREAM && mode == LITEPCIE_MODE_INTERRUPT) {
			mode = LITEPCIE_MODE_ADAPTIVE;
			way->interval_us = STREAM_INTERVAL_US;
		}
		WRITE_ONCE(way->mode, mode);
		way->stream = (struct litepcie_stream){ };
		WRITE_ONCE(way->indexed, geometry->flags & LITEPCIE_RING_INDEXED);
		WRITE_ONCE(way->held.advanced, 0);
		WRITE_ONCE(way->held.done, 0);
		way->held.bytes = 0;
		way->held.position = 0;
	}
	way->position = 0;
	WRITE_ONCE(way->hw_count, 0);
	WRITE_ONCE(way->sw_count, 0);
	show_run(way);
	spin_unlock_irq(&way->wait.lock);
	trace_litepcie_run(way, run, error);
}

/* Start and stop of a direction ------------------------------------------- */

/*
 * Stop the direction.  Returns 0 if it was stopped already, else what litepcie_dma_halt() returns.
 * After an error, too, the direction counts as stopped.
 */
int litepcie_dma_stop(struct litepcie_way *way)
{
	int err;

	lockdep_assert_held(&way->mutex);

	if (!way->run)
		return 0;
	cancel_delayed_work_sync(&way->watchdog);
	set_run(way, LITEPCIE_RUN_REST, 0);
	litepcie_timer_stop(way);
	err = litepcie_dma_halt(way);
	litepcie_notices_stop(way, true);
	litepcie_dma_news(way);
	return err;
}

/*
 * Set the run's packet settings, way->ends, by the owner's settings of LITEPCIE_IOCTL_PACKETS.  In
 * a held run or a stream the direction's status line and (c2h) records are switched on, if
 * notices.able is set.  In LitePCIe's loop, in which the card never waits for the driver, packets
 * are off, and neither status lines nor records are used.
 */
static void begin_notices(struct litepcie_way *way, u32 run)
{
	struct litepcie_ends ends = way->owner->ends[way->id];

	/*
	 * In a held run (started by LITEPCIE_IOCTL_ADVANCE) with packets off a c2h buffer ends only
	 * when it is full, so no flush time is set.
	 */
	if (run != LITEPCIE_RUN_STREAM && !ends.packets)
		ends.flush_us = 0;
	if (run == LITEPCIE_RUN_LOOP)
		ends = (struct litepcie_ends){ };
	way->ends = ends;
	if (run != LITEPCIE_RUN_LOOP && way->chan->notices.able)
		litepcie_notices_start(way, ends.flush_us);
}

/*
 * Start the direction for way->owner, with a ring of default geometry if it has none.  Returns 0,
 * -ENOMEM, or -ENODEV if the card is lost.  Returns -EIO if the direction does not stop first, if
 * another part of the card has failed to stop before, or if the card's table does not take all
 * descriptors of a loop.
 */
static int start_locked(struct litepcie_way *way, u32 run)
{
	int err;

	lockdep_assert_held(&way->mutex);

	err = litepcie_owner_ring(way);
	if (!err)
		err = litepcie_dma_halt(way);
	/* If another part of the card did not stop, bus mastering is off, so no run can start. */
	if (!err && READ_ONCE(litepcie_of(way)->unquiet))
		err = -EIO;
	if (!err && run == LITEPCIE_RUN_LOOP)
		err = fill_table(way);
	if (err)
		return err;
	way_write(way, LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N, run == LITEPCIE_RUN_LOOP);
	begin_notices(way, run);
	WRITE_ONCE(way->owner->index->way[way->id].software, 0);
	set_run(way, run, 0);
	litepcie_timer_start(way);
	way_write(way, LITEPCIE_DMA_GROUP_ENABLE, LITEPCIE_DMA_ENABLE_RUN);
	way->watched = 0;
	schedule_delayed_work(&way->watchdog, WATCH_INTERVAL);
	/*
	 * poll() may report a direction as ready once the direction runs, and a thread may sleep in
	 * poll() already.
	 */
	wake_up_poll(&way->chan->pollers, EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM);
	return 0;
}

/*
 * Start a run of kind @run for @file, which becomes the owner if the direction has none.  If @file
 * owns a run of this kind, or any file owns a run of LITEPCIE_RUN_LOOP and @run is that kind, the
 * call does nothing and returns 0.  Otherwise it returns -EBUSY if another file owns the direction
 * or the direction runs.  If the direction has been stopped by an error, the start of a held run or
 * a stream fails with that error.  litepcie_dma_end(), the start of a loop, or a release of the
 * direction clears the error.  Other errors are those of start_locked().
 */
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run)
{
	bool loop = run == LITEPCIE_RUN_LOOP;
	int err;

	lockdep_assert_held(&way->mutex);

	if (way->run == run && (loop || way->owner == file))
		return 0;
	if (way->run || (way->owner && way->owner != file))
		return -EBUSY;
	if (way->owner)
		return way->error && !loop ? way->error : start_locked(way, run);
	litepcie_owner_set(way, file);
	err = start_locked(way, run);
	if (err)
		litepcie_owner_forget(way, true);
	return err;
}

/*
 * Stop the direction for its owner @file, and clear the error of its last run.  Returns -EBUSY if
 * another file's run is under way, or the error of litepcie_dma_stop().  If the direction is
 * stopped, files that do not own it may make this call, too, which then does nothing.
 */
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file)
{
	lockdep_assert_held(&way->mutex);

	if (way->run && way->owner != file)
		return -EBUSY;
	if (way->run)
		return litepcie_dma_stop(way);
	if (way->owner == file && way->error)
		set_run(way, LITEPCIE_RUN_REST, 0);
	return 0;
}

/*
 * If @file owns the direction, stop the direction and make it free for other files.  @live says
 * that litepcie_enter() has succeeded: otherwise no register is touched.  Takes way->mutex.
 */
void litepcie_dma_give(struct litepcie_way *way, struct litepcie_file *file, bool live)
{
	mutex_lock(&way->mutex);
	if (way->owner == file) {
		if (live)
			/* litepcie_dma_stop() logs its failure itself */
			litepcie_dma_stop(way);
		/* If the card was lost during the stop, the direction may not have stopped. */
		litepcie_owner_forget(way, live && !litepcie_is_gone(litepcie_of(way)));
	}
	mutex_unlock(&way->mutex);
}

/*
 * End the direction's run with @error and wake the waiting threads, because the card is being
 * reset, put to sleep, shut down or removed.  A direction at rest keeps the error of its last run.
 * The caller has made sure that litepcie_enter() fails.
 */
void litepcie_dma_abort(struct litepcie_way *way, int error)
{
	mutex_lock(&way->mutex);
	cancel_delayed_work_sync(&way->watchdog);
	set_run(way, LITEPCIE_RUN_REST, way->run ? error : way->error);
	litepcie_timer_stop(way);
	if (!READ_ONCE(litepcie_of(way)->lost))
		litepcie_dma_halt(way);
	litepcie_notices_stop(way, !READ_ONCE(litepcie_of(way)->lost));
	mutex_unlock(&way->mutex);
	litepcie_dma_news(way);
}

/*
 * Called when the card answers again after a reset or sleep, while litepcie_enter() still fails:
 * stop the direction, whatever its state.  Returns 0 or the error of litepcie_dma_halt(), after
 * which the caller gives up the card.
 */
int litepcie_dma_settle(struct litepcie_way *way)
{
	int err;

	mutex_lock(&way->mutex);
	err = litepcie_dma_halt(way);
	if (!err)
		litepcie_notices_off(way);
	litepcie_owner_drop_orphan(way);
	mutex_unlock(&way->mutex);
	return err;
}
