// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Manages the owner of the capture, and the ring that frames are written to.
 *
 * The capture belongs to one open file, or to none.  The file takes it with a
 * ring in its own memory (RING), or with a ring of the driver's (read()), and
 * keeps it until the file is closed.  The ring is mapped for the card from then
 * on.  If the file is closed while the card is away, the card may still write to
 * the ring.  So the ring stays until the card is reset, removed or unbound.
 */

#include <linux/log2.h>
#include <linux/module.h>

#include "capture.h"
#include "compat.h"

/* The ring of read(), and the MBUFs (parts) into which it is divided */
#define READ_RING	SZ_4M
#define READ_MBUF	SZ_64K
/* time in us that records wait on the card for more before read() gets them */
#define READ_WAIT_US	1

#define WAIT_CYCLES_MOST	(BIT(LITEPCIE_CAPTURE_WAIT_BITS) - 1)

/* Rings ------------------------------------------------------------------- */

/*
 * Take the ring from the capture, which must be at rest.  Its DMA mapping ends
 * here, since it must not outlive the device.
 */
static void drop_ring(struct litepcie_capture *capture)
{
	lockdep_assert_held(&capture->mutex);

	if (capture->ring)
		litepcie_ring_unmap(capture->ring);
	litepcie_ring_put(capture->ring);
	capture->ring = NULL;
}

/*
 * Returns the shape of a ring of @bytes.  A buffer of this shape is the least
 * piece that the card must find contiguous: an MBUF, or as much as makes a list
 * of at most as many pieces as the card takes.
 */
static struct litepcie_geometry shape_of(const struct litepcie_capture *capture, size_t bytes,
					 u32 mbuf_bytes)
{
	u32 most = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_SEGMENTS);
	size_t piece = max_t(size_t, mbuf_bytes, bytes / most);

	return (struct litepcie_geometry){ .size = piece, .count = bytes / piece };
}

/*
 * Returns 0 if the card can write to host memory by itself, as a capture needs
 * it.
 */
static int check_able(const struct litepcie_capture *capture)
{
	if (capture->able)
		return 0;
	dev_dbg(&capture->dev, "%s: the card does not reach all memory without a bounce buffer: nothing can be captured\n",
		current->comm);
	return -EOPNOTSUPP;
}

/* Make @ring the capture's ring, and @file its owner. */
static void use_ring(struct litepcie_capture *capture, struct litepcie_capture_file *file,
		     struct litepcie_ring *ring, u32 mbuf_bytes)
{
	drop_ring(capture);
	WRITE_ONCE(capture->owner, file);
	capture->ring = ring;
	capture->mbuf_bytes = mbuf_bytes;
	memset(capture->status, 0, sizeof(*capture->status));
	WRITE_ONCE(capture->error, 0);
	WRITE_ONCE(capture->limit, 0);
}

static bool is_ring(const struct litepcie_capture_ring *request)
{
	return is_power_of_2(request->bytes) && is_power_of_2(request->mbuf_bytes) &&
	       request->bytes >= LITEPCIE_CAPTURE_LEAST_RING &&
	       request->bytes <= LITEPCIE_CAPTURE_MOST_RING &&
	       request->mbuf_bytes >= LITEPCIE_CAPTURE_LEAST_MBUF &&
	       request->mbuf_bytes <= LITEPCIE_CAPTURE_MOST_MBUF &&
	       request->mbuf_bytes <= request->bytes / 4 &&
	       PAGE_ALIGNED(request->address) &&
	       request->address == (unsigned long)request->address && !request->reserved &&
	       !memchr_inv(request->reserved2, 0, sizeof(request->reserved2));
}

/*
 * Returns 0 if @file may give the capture a ring: it must be nobody else's, and
 * at rest.
 */
static int may_take(const struct litepcie_capture *capture,
		    const struct litepcie_capture_file *file)
{
	if (capture->owner && capture->owner != file) {
		dev_dbg(&capture->dev, "%s: another program has the capture: let it finish first\n",
			current->comm);
		return -EBUSY;
	}
	return capture->run || file->header ? -EBUSY : 0;
}

static int wrap_memory(struct litepcie_capture_file *file, struct litepcie_capture_ring *request,
		       struct litepcie_memory *memory)
{
	struct litepcie_capture *capture = file->capture;
	struct litepcie_geometry shape = shape_of(capture, request->bytes, request->mbuf_bytes);
	struct litepcie_ring *ring;
	int err;

	mutex_lock(&capture->mutex);
	err = may_take(capture, file);
	if (!err)
		err = check_able(capture);
	if (err)
		goto unlock;
	ring = litepcie_ring_wrap(litepcie_capture_dma(capture), DMA_FROM_DEVICE, &shape, memory);
	if (IS_ERR(ring)) {
		err = PTR_ERR(ring);
		goto unlock;
	}
	use_ring(capture, file, ring, request->mbuf_bytes);
	request->segment_bytes = litepcie_chunk_bytes(ring);
	request->segments = ring->chunks;
unlock:
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * LITEPCIE_IOCTL_CAPTURE_RING: make a ring in the process's own memory.  The
 * memory is pinned before litepcie_enter(), since a page may have to be read
 * from a disk, and a reset of the card must not wait for that.
 */
int litepcie_capture_use_memory(struct litepcie_capture_file *file,
				struct litepcie_capture_ring *request)
{
	struct litepcie *card = file->capture->card;
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

/* Start and stop ---------------------------------------------------------- */

/*
 * Returns 0 if @file has the capture and its last run did not end with an
 * error.
 */
int litepcie_capture_check_owner(const struct litepcie_capture_file *file)
{
	const struct litepcie_capture *capture = file->capture;

	lockdep_assert_held(&capture->mutex);

	if (capture->owner && capture->owner != file)
		return -EBUSY;
	if (!capture->owner)
		return -EINVAL;
	return capture->error;
}

static bool is_start(const struct litepcie_capture *capture,
		     const struct litepcie_capture_start *start)
{
	u32 known = LITEPCIE_CAPTURE_KEEP_BAD | LITEPCIE_CAPTURE_LOSSLESS | LITEPCIE_CAPTURE_NEWEST;

	return !(start->flags & ~known) && start->snap <= LITEPCIE_CAPTURE_MOST_FRAME &&
	       start->wait_cycles <= WAIT_CYCLES_MOST && !start->reserved &&
	       start->limit <= litepcie_ring_bytes(capture->ring) &&
	       !memchr_inv(start->reserved2, 0, sizeof(start->reserved2));
}

/*
 * LITEPCIE_IOCTL_CAPTURE_START: the caller is between litepcie_enter() and
 * litepcie_exit().
 */
int litepcie_capture_start_file(struct litepcie_capture_file *file,
				const struct litepcie_capture_start *start)
{
	struct litepcie_capture *capture = file->capture;
	int err;

	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_owner(file);
	if (!err && (capture->run || file->header))
		err = -EBUSY;
	if (!err && !is_start(capture, start))
		err = -EINVAL;
	if (!err) {
		file->wake = 0;
		err = litepcie_capture_begin(capture, start, LITEPCIE_CAPTURE_RUN_RING);
	}
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * Returns the bits of the control register that stay while the block writes out
 * what it has.
 */
static u32 settings_of(const struct litepcie_capture *capture, bool patient)
{
	return (capture->flags & LITEPCIE_CAPTURE_KEEP_BAD ?
			LITEPCIE_CAPTURE_BIT_CONTROL_KEEP_BAD : 0) |
	       (capture->flags & LITEPCIE_CAPTURE_NEWEST ?
			LITEPCIE_CAPTURE_BIT_CONTROL_NEWEST : 0) |
	       (patient && capture->flags & LITEPCIE_CAPTURE_LOSSLESS ?
			LITEPCIE_CAPTURE_BIT_CONTROL_LOSSLESS : 0);
}

/*
 * LITEPCIE_IOCTL_CAPTURE_STOP: the caller is between litepcie_enter() and
 * litepcie_exit().
 */
int litepcie_capture_stop_file(struct litepcie_capture_file *file,
			       struct litepcie_capture_stop *stop)
{
	struct litepcie_capture *capture = file->capture;
	int err = 0;

	if (stop->position || memchr_inv(stop->reserved, 0, sizeof(stop->reserved)))
		return -EINVAL;
	mutex_lock(&capture->mutex);
	if (capture->owner && capture->owner != file) {
		err = -EBUSY;
	} else {
		err = litepcie_capture_finish(capture, 0, true, settings_of(capture, true));
		WRITE_ONCE(capture->error, 0);
		WRITE_ONCE(capture->status->error, 0);
		stop->position = litepcie_capture_position(capture);
	}
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * For read(): make @file the owner of the capture, with a ring of the driver's,
 * and start it.  The caller is between litepcie_enter() and litepcie_exit().
 */
int litepcie_capture_take_to_read(struct litepcie_capture_file *file)
{
	struct litepcie_capture *capture = file->capture;
	struct litepcie_geometry shape = shape_of(capture, READ_RING, READ_MBUF);
	struct litepcie_capture_start start = {
		.wait_cycles	= litepcie_cycles(capture->card, READ_WAIT_US),
		.limit		= READ_RING,
	};
	struct litepcie_ring *ring;
	int err;

	lockdep_assert_held(&capture->mutex);

	if (capture->owner)
		return capture->owner == file ? -EINVAL : -EBUSY;
	err = check_able(capture);
	if (err)
		return err;
	ring = litepcie_ring_alloc(litepcie_capture_dma(capture), DMA_FROM_DEVICE, &shape,
				   capture->allowance);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	use_ring(capture, file, ring, READ_MBUF);
	err = litepcie_capture_begin(capture, &start, LITEPCIE_CAPTURE_RUN_READ);
	if (err) {
		WRITE_ONCE(capture->owner, NULL);
		drop_ring(capture);
	}
	return err;
}

/* The end of a file, and of the card -------------------------------------- */

/*
 * Take the capture from its owner.  @live says that the capture is known to have
 * stopped, so its ring is dropped.  Otherwise a ring that is mapped for the card
 * stays, since the card may still write to it.
 */
static void forget_owner(struct litepcie_capture *capture, bool live)
{
	struct eventfd_ctx *event = NULL;

	lockdep_assert_held(&capture->mutex);

	WRITE_ONCE(capture->owner, NULL);
	spin_lock_irq(&capture->wait.lock);
	swap(capture->event, event);
	capture->wake = U64_MAX;
	WRITE_ONCE(capture->error, 0);
	WRITE_ONCE(capture->limit, 0);
	memset(capture->status, 0, sizeof(*capture->status));
	spin_unlock_irq(&capture->wait.lock);
	if (event)
		eventfd_ctx_put(event);
	if (live || (capture->ring && !capture->ring->dev))
		drop_ring(capture);
}

/*
 * For a file that is being closed: stop its capture, and free the ring.  No frame
 * waits for room any more, since nobody will give room.
 */
void litepcie_capture_leave(struct litepcie_capture_file *file)
{
	struct litepcie_capture *capture = file->capture;
	bool live = !litepcie_enter(capture->card);

	mutex_lock(&capture->mutex);
	if (capture->owner == file) {
		if (live) {
			litepcie_capture_silence(capture);
			/* litepcie_capture_halt() itself logs a failure */
			litepcie_capture_finish(capture, 0, true, settings_of(capture, false));
		}
		/*
		 * If the card was lost during the stop, the capture may not have
		 * stopped.
		 */
		forget_owner(capture, live && !litepcie_is_gone(capture->card));
	}
	mutex_unlock(&capture->mutex);
	if (live)
		litepcie_exit(capture->card);
}

/*
 * End the run with @error and wake the waiting threads, because the hardware is
 * about to go or has gone.  The caller has made sure that litepcie_enter()
 * fails.
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
	litepcie_capture_finish(capture, error, live, settings_of(capture, false));
	mutex_unlock(&capture->mutex);
	litepcie_capture_news(capture);
}

/*
 * Stop the capture block at the probe, or when the card is back after a reset or
 * sleep.  If it does not stop, an error is returned and the card cannot be used.
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
	if (!capture->owner)
		drop_ring(capture);
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * Unmap the ring and the status page from the card, which is quiet and is being
 * removed from the driver.
 */
void litepcie_capture_unmap(struct litepcie *card)
{
	struct litepcie_capture *capture = card->capture;

	if (!capture)
		return;
	mutex_lock(&capture->mutex);
	if (capture->ring)
		litepcie_ring_unmap(capture->ring);
	if (!capture->owner)
		drop_ring(capture);
	if (capture->able)
		dma_unmap_page(&card->pdev->dev, capture->status_dma, PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
	capture->able = false;
	mutex_unlock(&capture->mutex);
}
