// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements read() of the capture's node, which returns the header of a pcapng file
 * (LITEPCIE_CAPTURE_HEADER_BYTES), and then the pcapng blocks that the card writes to a ring of the
 * driver's.  So `cat /dev/litepcie0-capture | wireshark -k -i -` shows the frames.
 *
 * read() returns no byte beyond the position in the status line, since the card may not have
 * written the ring's memory there.
 */

#include <linux/slab.h>
#include <linux/uio.h>

#include "capture.h"
#include "uapi/litepcie_pcapng.h"

/* number of new limits that read() writes to the card while it reads one ringful of data */
#define LIMIT_STEPS	8

/* Returns a new page with the pcapng header, or NULL if no memory can be allocated. */
static u8 *make_header(const struct litepcie *card)
{
	u8 *page = kzalloc(LITEPCIE_CAPTURE_HEADER_BYTES, GFP_KERNEL_ACCOUNT);

	if (page)
		litepcie_pcapng_header(page, card->target, LITEPCIE_NAME, LITEPCIE_LINK_ETHERNET,
				       0);
	return page;
}

/* pcapng blocks of the ring, which read() returns after the header -------- */

/*
 * Begin to read: make the header and start the file's queue, unless an earlier read() of the file
 * has done so.  Returns 0 if the file has its queue, whose run may have ended since, or -errno.
 */
static int begin(struct litepcie_capture_file *file)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	u8 *header;
	int err;

	if (file->header)
		return 0;
	header = make_header(capture->card);
	if (!header)
		return -ENOMEM;
	err = litepcie_enter(capture->card);
	if (err)
		goto free_header;
	mutex_lock(&capture->mutex);
	err = litepcie_capture_take_to_read(file);
	if (!err)
		WRITE_ONCE(file->header, header);
	mutex_unlock(&capture->mutex);
	litepcie_exit(capture->card);
	if (!err)
		return 0;
free_header:
	kfree(header);
	return err;
}

static ssize_t copy_header(struct litepcie_capture_file *file, struct iov_iter *to)
{
	size_t part = min_t(size_t, LITEPCIE_CAPTURE_HEADER_BYTES - file->header_at,
			    iov_iter_count(to));
	size_t copied = copy_to_iter(file->header + file->header_at, part, to);

	WRITE_ONCE(file->header_at, file->header_at + copied);
	return part && !copied ? -EFAULT : copied;
}

/*
 * Copy new data of the ring, up to the card's position, as far as @to has room.  Returns the number
 * of bytes copied, or -EFAULT.  The ring of a file that uses read() stays until the file is closed,
 * so capture->mutex is not needed.
 */
static ssize_t copy_blocks(struct litepcie_capture_file *file, struct iov_iter *to)
{
	const struct litepcie_ring *ring = file->queue->ring;
	size_t chunk = litepcie_chunk_bytes(ring);
	u64 position = litepcie_capture_position(file->queue);
	ssize_t done = 0;

	while (file->at < position && iov_iter_count(to)) {
		size_t offset = file->at & (litepcie_ring_bytes(ring) - 1);
		size_t part = min3(position - file->at, (u64)(chunk - offset % chunk),
				   (u64)iov_iter_count(to));
		size_t copied = copy_to_iter(page_address(litepcie_ring_page(ring, offset)) +
					     offset % PAGE_SIZE, part, to);

		WRITE_ONCE(file->at, file->at + copied);
		done += copied;
		if (copied < part)
			return done ? done : -EFAULT;
	}
	return done;
}

/*
 * Give the room of data that the program has read back to the card, an eighth of the ring at a
 * time.  If litepcie_enter() fails, nothing is done: the run is about to end, and a read() that
 * finds no more data returns an error.  The caller holds file->io.  The ring belongs to the file
 * until the file is closed, so its fields are read without capture->mutex.
 */
static void give_room(struct litepcie_capture_file *file)
{
	struct litepcie_capture_queue *queue = file->queue;
	struct litepcie_capture *capture = queue->capture;
	size_t ring = litepcie_ring_bytes(queue->ring);
	u64 limit = round_down(file->at, ring / LIMIT_STEPS) + ring;

	if (limit <= READ_ONCE(queue->limit) || litepcie_enter(capture->card))
		return;
	mutex_lock(&capture->mutex);
	if (queue->used && queue->run == LITEPCIE_CAPTURE_RUN_READ)
		litepcie_capture_allow(queue, limit);
	mutex_unlock(&capture->mutex);
	litepcie_exit(capture->card);
}

/*
 * Copy the pcapng header, or the pcapng blocks that have arrived.  Returns the number of bytes, 0
 * if no block has arrived, or -errno.  Blocks that the card wrote before an error are returned
 * before the error.
 */
static ssize_t take(struct litepcie_capture_file *file, struct iov_iter *to)
{
	ssize_t done;
	int err;

	if (mutex_lock_interruptible(&file->io))
		return -ERESTARTSYS;
	err = begin(file);
	if (err) {
		mutex_unlock(&file->io);
		return err;
	}
	if (file->header_at < LITEPCIE_CAPTURE_HEADER_BYTES)
		done = copy_header(file, to);
	else
		done = copy_blocks(file, to);
	give_room(file);
	mutex_unlock(&file->io);
	return done;
}

static bool has_ended(const struct litepcie_capture_queue *queue)
{
	return smp_load_acquire(&queue->run) != LITEPCIE_CAPTURE_RUN_READ ||
	       litepcie_is_gone(queue->capture->card);
}

static bool has_more(const struct litepcie_capture_file *file)
{
	return litepcie_capture_position(file->queue) > READ_ONCE(file->at);
}

/* Let the card raise an interrupt when it has written more than the file has read. */
static int ask_for_more(struct litepcie_capture_file *file)
{
	struct litepcie *card = file->queue->capture->card;
	int err = litepcie_enter(card);

	if (err)
		return err;
	litepcie_capture_arm(file->queue, &file->at);
	litepcie_exit(card);
	return 0;
}

static int wait_for_more(struct litepcie_capture_file *file)
{
	struct litepcie_capture_queue *queue = file->queue;

	if (wait_event_interruptible(queue->wait, has_more(file) || has_ended(queue)))
		return -ERESTARTSYS;
	return 0;
}

/*
 * read(): returns the number of bytes, or -errno.  Returns 0 if the run was stopped and all was
 * read, or for a length of 0.
 */
ssize_t litepcie_capture_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct litepcie_capture_file *file = iocb->ki_filp->private_data;
	bool nonblock = iocb->ki_flags & IOCB_NOWAIT || iocb->ki_filp->f_flags & O_NONBLOCK;
	bool asked = false;
	ssize_t done;
	int err;

	if (!iov_iter_count(to))
		return 0;
	for (;;) {
		done = take(file, to);
		if (done)
			return done;
		if (litepcie_is_gone(file->queue->capture->card))
			return -ENODEV;
		if (has_ended(file->queue) && !has_more(file))
			return READ_ONCE(file->queue->error);
		/*
		 * With edge-triggered epoll no poll() follows a read(), so the card is asked for an
		 * interrupt here.
		 */
		if (nonblock && asked)
			return -EAGAIN;
		err = ask_for_more(file);
		asked = true;
		if (!err && !nonblock)
			err = wait_for_more(file);
		if (err)
			return err;
	}
}
