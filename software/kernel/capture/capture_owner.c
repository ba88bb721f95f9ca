// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Manages the owners of the capture's queues, and the rings that frames are written to.
 *
 * A queue belongs to one open file, or to none.  A file takes a queue by giving it a ring in the
 * program's memory (LITEPCIE_IOCTL_CAPTURE_RING), or by read(), for which the driver makes a ring.
 * The file keeps the queue until the file is closed.  The queue's ring is mapped for the card from
 * its making until the ring is dropped or the card is unbound.  If the file is closed while the
 * card is being reset, sleeps or does not answer, the card may still write to the ring.  So the
 * ring stays until the card answers again after a reset or sleep, or is unbound.
 *
 * The file that has queue 0 starts and stops the capture, and sets the rules and the table (spread)
 * by which frames get to queues.  If the file of another queue is closed while the capture runs,
 * the card may still write to that queue's ring.  So that ring stays until the capture stops.
 */

#include <linux/capability.h>
#include <linux/log2.h>

#include "capture.h"
#include "compat.h"

/*
 * size in bytes of the ring that the driver makes for read(), and of each MBUF, one of the ring's
 * equal parts
 */
#define READ_RING	SZ_4M
#define READ_MBUF	SZ_64K
/* time in us for which records may wait on the card for further ones, if read() starts queue 0 */
#define READ_WAIT_US	1

#define WAIT_CYCLES_MOST	(BIT(LITEPCIE_CAPTURE_WAIT_BITS) - 1)

/* Rings of queues --------------------------------------------------------- */

/*
 * Drop the queue's ring.  The card must not write to the ring any more: the capture is stopped, or
 * the queue takes no part in the run.  The ring is unmapped from the card, since a DMA mapping must
 * not outlive the device.
 */
static void drop_ring(struct litepcie_capture_queue *queue)
{
	lockdep_assert_held(&queue->capture->mutex);

	if (queue->ring)
		litepcie_ring_unmap(queue->ring);
	litepcie_ring_put(queue->ring);
	queue->ring = NULL;
}

/*
 * Drop the rings of queues that no file has, and clear their status.  The capture must be stopped.
 */
static void drop_left(struct litepcie_capture *capture)
{
	struct litepcie_capture_queue *queue;

	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue)) {
		if (queue->owner)
			continue;
		drop_ring(queue);
		memset(queue->status, 0, sizeof(*queue->status));
	}
}

/*
 * Returns the geometry of a ring of @bytes.  A buffer of this geometry is the smallest piece that
 * must be contiguous for the card: an MBUF (one of the equal parts of a ring), or the ring's bytes
 * divided by the number of segments that the card can take, whichever is larger.
 */
static struct litepcie_geometry shape_of(const struct litepcie_capture *capture, size_t bytes,
					 u32 mbuf_bytes)
{
	u32 most = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_SEGMENTS);
	size_t piece = max_t(size_t, mbuf_bytes, bytes / most);

	return (struct litepcie_geometry){ .size = piece, .count = bytes / piece };
}

/*
 * Returns 0 if litepcie_capture_map() has mapped the status page for the card.  Returns -EOPNOTSUPP
 * if it has not, since the card needs bounce buffers, no DMA address was free, or the host is
 * big-endian.  Then nothing can be captured.
 */
static int check_able(const struct litepcie_capture *capture)
{
	if (capture->able)
		return 0;
	dev_dbg(&capture->dev, "%s: the card does not reach all memory without a bounce buffer: nothing can be captured\n",
		current->comm);
	return -EOPNOTSUPP;
}

static void use_ring(struct litepcie_capture_file *file, struct litepcie_ring *ring,
		     u32 mbuf_bytes)
{
	struct litepcie_capture_queue *queue = file->queue;

	drop_ring(queue);
	WRITE_ONCE(queue->owner, file);
	queue->ring = ring;
	queue->capture->mbuf_bytes = mbuf_bytes;
	memset(queue->status, 0, sizeof(*queue->status));
	WRITE_ONCE(queue->error, 0);
	WRITE_ONCE(queue->limit, 0);
}

static bool is_ring(const struct litepcie_capture_ring *request)
{
	return is_power_of_2(request->bytes) && is_power_of_2(request->mbuf_bytes) &&
	       request->bytes >= LITEPCIE_CAPTURE_RING_LEAST &&
	       request->bytes <= LITEPCIE_CAPTURE_RING_MOST &&
	       request->mbuf_bytes >= LITEPCIE_CAPTURE_MBUF_LEAST &&
	       request->mbuf_bytes <= LITEPCIE_CAPTURE_MBUF_MOST &&
	       request->mbuf_bytes <= request->bytes / 4 &&
	       PAGE_ALIGNED(request->address) &&
	       request->address == (unsigned long)request->address && !request->reserved &&
	       !memchr_inv(request->reserved2, 0, sizeof(request->reserved2));
}

/*
 * Returns 0 if @file may give its queue a ring with MBUFs (equal parts) of @mbuf_bytes.  Returns
 * -EBUSY if another file has the queue, the capture runs, the queue was started, or @file uses
 * read().  Returns -EINVAL if another queue's ring has MBUFs of another size, since the card has
 * one size for all rings, or the error of check_able().
 */
static int may_take(const struct litepcie_capture_file *file, u32 mbuf_bytes)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	struct litepcie_capture_queue *queue;

	if (file->queue->owner && file->queue->owner != file) {
		dev_dbg(&capture->dev, "%s: another program has queue %u of the capture: let it finish first\n",
			current->comm, file->queue->number);
		return -EBUSY;
	}
	if (capture->running || file->queue->run || file->header)
		return -EBUSY;
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		if (queue != file->queue && queue->ring && capture->mbuf_bytes != mbuf_bytes)
			return -EINVAL;
	return check_able(capture);
}

static int wrap_memory(struct litepcie_capture_file *file, struct litepcie_capture_ring *request,
		       struct litepcie_memory *memory)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	struct litepcie_geometry shape = shape_of(capture, request->bytes, request->mbuf_bytes);
	struct litepcie_ring *ring;
	int err;

	mutex_lock(&capture->mutex);
	err = may_take(file, request->mbuf_bytes);
	if (err)
		goto unlock;
	ring = litepcie_ring_wrap(litepcie_capture_dma(capture), DMA_FROM_DEVICE, &shape, memory);
	if (IS_ERR(ring)) {
		err = PTR_ERR(ring);
		goto unlock;
	}
	use_ring(file, ring, request->mbuf_bytes);
	request->segment_bytes = litepcie_chunk_bytes(ring);
	request->segments = ring->chunks;
unlock:
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * LITEPCIE_IOCTL_CAPTURE_QUEUE: choose the queue that the file's calls are about.  Returns -EINVAL
 * if there is no such queue, or -EBUSY if the file has a queue already, which it keeps.
 */
int litepcie_capture_choose(struct litepcie_capture_file *file,
			    const struct litepcie_capture_choice *choice)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	int err = 0;

	if (memchr_inv(choice->reserved, 0, sizeof(choice->reserved)) ||
	    choice->queue >= capture->queues)
		return -EINVAL;
	mutex_lock(&capture->mutex);
	if (file->queue->owner == file)
		err = -EBUSY;
	else
		WRITE_ONCE(file->queue, &capture->queue[choice->queue]);
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * LITEPCIE_IOCTL_CAPTURE_RING: make a ring in the process's own memory.  The memory is pinned
 * before litepcie_enter(), since a page may have to be read from a disk, and a reset of the card
 * must not wait for that.
 */
int litepcie_capture_use_memory(struct litepcie_capture_file *file,
				struct litepcie_capture_ring *request)
{
	struct litepcie *card = READ_ONCE(file->queue)->capture->card;
	struct litepcie_memory *memory;
	int err;

	if (!is_ring(request))
		return -EINVAL;
	memory = litepcie_memory_pin(request->address, request->bytes);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	err = litepcie_enter(card);
	if (!err) {
		err = wrap_memory(file, request, memory);
		litepcie_exit(card);
	}
	if (err)
		litepcie_memory_unpin(memory);
	return err;
}

/* Start and stop of a queue by the file that has it ----------------------- */

/*
 * Returns 0 if @file has its queue, and the queue's last run did not end with an error, or STOP has
 * cleared that error.  Otherwise returns that error, -EBUSY if another file has the queue, or
 * -EINVAL if no file has the queue.
 */
int litepcie_capture_check_owner(const struct litepcie_capture_file *file)
{
	const struct litepcie_capture_queue *queue = file->queue;

	lockdep_assert_held(&queue->capture->mutex);

	if (queue->owner && queue->owner != file)
		return -EBUSY;
	if (!queue->owner)
		return -EINVAL;
	return queue->error;
}

/*
 * Returns 0 if @file has queue 0, and so may set what all queues have in common.  Returns -EINVAL
 * if @file has another queue, or an error of litepcie_capture_check_owner().
 */
int litepcie_capture_check_first(const struct litepcie_capture_file *file)
{
	int err = litepcie_capture_check_owner(file);

	return err || !file->queue->number ? err : -EINVAL;
}

/* True if @staging_bytes of a START are those that its flags allow. */
static bool is_staging(const struct litepcie_capture_start *start)
{
	u32 bytes = start->staging_bytes;

	if (!(start->flags & LITEPCIE_CAPTURE_STAGING))
		return !bytes;
	return bytes >= LITEPCIE_CAPTURE_STAGING_LEAST &&
	       bytes <= LITEPCIE_CAPTURE_STAGING_MOST && !(bytes % LITEPCIE_CAPTURE_CELL);
}

static bool is_start(const struct litepcie_capture_queue *queue,
		     const struct litepcie_capture_start *start)
{
	return !(start->flags & ~CAPTURE_START_FLAGS) &&
	       start->snap <= LITEPCIE_CAPTURE_FRAME_MOST &&
	       start->wait_cycles <= WAIT_CYCLES_MOST && is_staging(start) &&
	       start->limit <= litepcie_ring_bytes(queue->ring) &&
	       !memchr_inv(start->reserved, 0, sizeof(start->reserved));
}

/*
 * Returns 0, or -EOPNOTSUPP if the @flags of a START need something of the card that older gateware
 * does not have: a clock that can be set, or quotas of the staging memory.
 */
static int check_card(const struct litepcie_capture *capture, u32 flags)
{
	if (flags & LITEPCIE_CAPTURE_HOST_CLOCK && !litepcie_capture_has_clock(capture->block))
		return -EOPNOTSUPP;
	if (flags & LITEPCIE_CAPTURE_STAGING && !litepcie_capture_has_quotas(capture->sorter))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Check LITEPCIE_CAPTURE_NET in the @flags of a START, by which the frames of the card's net device
 * are recorded, too.  These frames are the host's network traffic, so the process needs
 * CAP_NET_RAW, as for a packet socket.  Returns 0 if the flag is off or allowed, -EOPNOTSUPP if the
 * card cannot copy such frames, or -EPERM.
 */
static int check_net(const struct litepcie_capture *capture, u32 flags)
{
	if (!(flags & LITEPCIE_CAPTURE_NET))
		return 0;
	if (!capture->net)
		return -EOPNOTSUPP;
	return capable(CAP_NET_RAW) ? 0 : -EPERM;
}

/*
 * LITEPCIE_IOCTL_CAPTURE_START: start the file's queue.  Returns 0, -EBUSY if the queue was started
 * already or the file uses read(), -EINVAL if @start is not valid, or an error of
 * litepcie_capture_check_owner(), check_net(), check_card() or litepcie_capture_begin().
 */
int litepcie_capture_start_file(struct litepcie_capture_file *file,
				const struct litepcie_capture_start *start)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	int err;

	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_owner(file);
	if (!err && (file->queue->run || file->header))
		err = -EBUSY;
	if (!err && !is_start(file->queue, start))
		err = -EINVAL;
	if (!err)
		err = check_net(capture, start->flags);
	if (!err)
		err = check_card(capture, start->flags);
	if (!err) {
		WRITE_ONCE(file->wake, 0);
		err = litepcie_capture_begin(file->queue, start, LITEPCIE_CAPTURE_RUN_RING);
	}
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * End the part that @queue has in a run.  For queue 0 the run of all queues ends.  @live and
 * @patient are those of litepcie_capture_finish().  *@position gets the position up to which the
 * ring has data.
 */
static int end_run(struct litepcie_capture_queue *queue, bool live, bool patient, u64 *position)
{
	struct litepcie_capture *capture = queue->capture;
	int err = 0;

	*position = litepcie_capture_position(queue);
	if (queue->number)
		return queue->run && live ? litepcie_capture_part(queue, position) : 0;
	if (capture->running)
		err = litepcie_capture_finish(capture, 0, live, patient);
	if (live && !litepcie_is_gone(capture->card))
		drop_left(capture);
	*position = litepcie_capture_position(queue);
	return err;
}

/*
 * LITEPCIE_IOCTL_CAPTURE_STOP: end the queue's run and clear its error.  If no file has the queue,
 * nothing is done.  Returns 0, -EINVAL if a field of @stop is not 0, -EBUSY if another file has the
 * queue, -ENODEV if the card is lost, or -EIO if the card does not end the run (queue 0) or the
 * queue's MBUF (another queue).
 */
int litepcie_capture_stop_file(struct litepcie_capture_file *file,
			       struct litepcie_capture_stop *stop)
{
	struct litepcie_capture_queue *queue;
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	int err = 0;

	if (stop->position || memchr_inv(stop->reserved, 0, sizeof(stop->reserved)))
		return -EINVAL;
	mutex_lock(&capture->mutex);
	queue = file->queue;
	if (queue->owner && queue->owner != file) {
		err = -EBUSY;
	} else if (queue->owner) {
		err = end_run(queue, true, true, &stop->position);
		WRITE_ONCE(queue->error, 0);
		WRITE_ONCE(queue->status->error, 0);
	}
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * Returns the flags with which read() starts a queue.  The clock of a simulated card stays as it
 * is, so that two runs of a simulation give the same frames.
 */
static u32 flags_to_read(const struct litepcie_capture *capture)
{
	return litepcie_capture_has_clock(capture->block) &&
	       strcmp(capture->card->target, "sim") ? LITEPCIE_CAPTURE_HOST_CLOCK : 0;
}

/*
 * For read(): make @file the owner of its queue, with a ring of the driver's, and start the queue.
 * Returns 0, -EINVAL if the file has a ring of its own, or an error of may_take(),
 * litepcie_ring_alloc() or litepcie_capture_begin().
 */
int litepcie_capture_take_to_read(struct litepcie_capture_file *file)
{
	struct litepcie_capture_queue *queue = file->queue;
	struct litepcie_capture *capture = queue->capture;
	struct litepcie_geometry shape = shape_of(capture, READ_RING, READ_MBUF);
	struct litepcie_capture_start start = {
		.flags		= flags_to_read(capture),
		.wait_cycles	= litepcie_cycles(capture->card, READ_WAIT_US),
		.limit		= READ_RING,
	};
	struct litepcie_ring *ring;
	int err;

	lockdep_assert_held(&capture->mutex);

	if (queue->owner == file)
		return -EINVAL;
	err = may_take(file, READ_MBUF);
	if (err)
		return err;
	ring = litepcie_ring_alloc(litepcie_capture_dma(capture), DMA_FROM_DEVICE, &shape,
				   capture->allowance);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	use_ring(file, ring, READ_MBUF);
	err = litepcie_capture_begin(queue, &start, LITEPCIE_CAPTURE_RUN_READ);
	if (err) {
		WRITE_ONCE(queue->owner, NULL);
		drop_ring(queue);
	}
	return err;
}

/* The end of an open file, and of the card -------------------------------- */

/*
 * Take the queue from its owner.  If @stopped is true, the card is known not to write to the ring
 * any more, so the ring is dropped.  Otherwise a ring that is mapped for the card stays, since the
 * card may still write to it.
 */
static void forget_owner(struct litepcie_capture_queue *queue, bool stopped)
{
	struct eventfd_ctx *event = NULL;

	lockdep_assert_held(&queue->capture->mutex);

	WRITE_ONCE(queue->owner, NULL);
	spin_lock_irq(&queue->wait.lock);
	swap(queue->event, event);
	queue->wake = U64_MAX;
	WRITE_ONCE(queue->run, LITEPCIE_CAPTURE_RUN_REST);
	WRITE_ONCE(queue->error, 0);
	if (!queue->used) {
		WRITE_ONCE(queue->limit, 0);
		memset(queue->status, 0, sizeof(*queue->status));
	}
	spin_unlock_irq(&queue->wait.lock);
	if (event)
		eventfd_ctx_put(event);
	if (stopped || (queue->ring && !queue->ring->dev))
		drop_ring(queue);
	/* Wake poll() of other files: the queue has no owner any more, so they may take it. */
	litepcie_queue_news(queue);
}

/*
 * For a file that is being closed: if the file has a queue, take the queue from the file.  For
 * queue 0 the run of all queues ends.  The run of another queue goes on.  No program gives room in
 * that queue's ring back to the card any more, and frames must not wait for such room for ever.  So
 * the queue gets a limit without end: the card writes over the ring's old data, and the ring stays
 * until the run ends.
 */
void litepcie_capture_leave(struct litepcie_capture_file *file)
{
	struct litepcie_capture_queue *queue = file->queue;
	struct litepcie_capture *capture = queue->capture;
	bool entered = !litepcie_enter(capture->card), live;

	mutex_lock(&capture->mutex);
	if (queue->owner == file) {
		if (!queue->number)
			capture->sort.flags = 0;
		if (!queue->number && entered) {
			litepcie_capture_silence(capture);
			/* litepcie_capture_halt() logs its failure itself */
			litepcie_capture_finish(capture, 0, true, false);
		}
		/* If the card was lost during the stop, the capture possibly has not stopped. */
		live = entered && !litepcie_is_gone(capture->card);
		if (live && queue->used)
			litepcie_capture_allow(queue, U64_MAX);
		forget_owner(queue, live && !queue->used);
		if (live && !queue->number)
			drop_left(capture);
	}
	mutex_unlock(&capture->mutex);
	if (entered)
		litepcie_exit(capture->card);
}

/*
 * End the run of all queues with @error and wake the waiting threads, because the card is being
 * reset, put to sleep, shut down or removed.  The caller has made sure that litepcie_enter() fails.
 */
void litepcie_capture_abort(struct litepcie *card, int error)
{
	struct litepcie_capture *capture = card->capture;
	bool live = !READ_ONCE(card->lost);

	if (!capture)
		return;
	mutex_lock(&capture->mutex);
	if (live)
		litepcie_capture_silence(capture);
	litepcie_capture_finish(capture, error, live, false);
	mutex_unlock(&capture->mutex);
	litepcie_capture_news(capture);
}

/*
 * Stop the capture block at the probe, or when the card answers again after a reset or sleep.
 * Returns 0 or an error of litepcie_capture_halt(), after which the caller gives up the card.
 */
int litepcie_capture_settle(struct litepcie *card)
{
	struct litepcie_capture *capture = card->capture;
	int err;

	if (!capture)
		return 0;
	mutex_lock(&capture->mutex);
	litepcie_capture_silence(capture);
	err = litepcie_capture_halt(capture, 0);
	if (!err)
		litepcie_master_on(card, capture->cause);
	drop_left(capture);
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * Unmap the rings and the status page from the card, which is stopped.  The driver is letting go of
 * the card, or its probe has failed.
 */
void litepcie_capture_unmap(struct litepcie *card)
{
	struct litepcie_capture *capture = card->capture;
	struct litepcie_capture_queue *queue;

	if (!capture)
		return;
	mutex_lock(&capture->mutex);
	for (queue = capture->queue; queue; queue = litepcie_queue_after(queue))
		if (queue->ring)
			litepcie_ring_unmap(queue->ring);
	drop_left(capture);
	if (capture->able)
		dma_unmap_page(&card->pdev->dev, capture->status_dma, PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
	capture->able = false;
	mutex_unlock(&capture->mutex);
}
