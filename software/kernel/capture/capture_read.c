// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements read() of the capture's node: a page with the header of a pcapng file, and then the
 * pcapng blocks that the card writes to a ring of the driver's.  So
 * `cat /dev/litepcie0-capture | wireshark -k -i -` shows the frames.
 *
 * The header is a section with an interface for each port, all with the same link type and snap
 * length: libpcap refuses a file in which they differ.  read() returns no byte beyond the position
 * in the status line, since the ring's memory there holds older data.
 */

#include <linux/slab.h>
#include <linux/uio.h>

#include "capture.h"

#define ETHERNET	1
#define NANOSECONDS	9

/* number of new limits that read() writes to the card while it reads one ringful of data */
#define LIMIT_STEPS	8

/* Header of a recording, which read() returns first ----------------------- */

/* A pcapng header that is being written: the next bytes go to offset @at of zeroed memory. */
struct header {
	u8	*page;
	size_t	at;
	size_t	block;	/* offset in the page of the pcapng block that is being written */
};

static void put32(struct header *header, u32 value)
{
	__le32 word = cpu_to_le32(value);

	memcpy(header->page + header->at, &word, sizeof(word));
	header->at += sizeof(value);
}

static void put_option(struct header *header, u32 code, const void *data, u32 bytes)
{
	put32(header, code | bytes << 16);
	memcpy(header->page + header->at, data, bytes);
	header->at += round_up(bytes, 4);
}

static void put_text(struct header *header, u32 code, const char *text)
{
	put_option(header, code, text, strlen(text));
}

static void begin_block(struct header *header, u32 type)
{
	header->block = header->at;
	put32(header, type);
	put32(header, 0);
}

static void end_block(struct header *header)
{
	u32 length = header->at + sizeof(u32) - header->block;
	__le32 word = cpu_to_le32(length);

	memcpy(header->page + header->block + sizeof(u32), &word, sizeof(word));
	put32(header, length);
}

static void put_section(struct header *header, const struct litepcie *card)
{
	char hardware[64];

	snprintf(hardware, sizeof(hardware), "Lanebox card, %s", card->target);
	begin_block(header, LITEPCIE_PCAPNG_SECTION);
	put32(header, LITEPCIE_PCAPNG_ORDER_MAGIC);
	put32(header, 1);	/* version of pcapng: 1.0 */
	put32(header, ~0u);	/* section length: -1 in 64 bits says that it is not known */
	put32(header, ~0u);
	put_text(header, LITEPCIE_PCAPNG_HARDWARE, hardware);
	put_text(header, LITEPCIE_PCAPNG_USERAPPL, LITEPCIE_NAME);
	put32(header, 0);
	end_block(header);
}

static void put_interface(struct header *header, unsigned int port)
{
	const u8 resolution = NANOSECONDS;
	char name[16];

	snprintf(name, sizeof(name), "port%u", port);
	begin_block(header, LITEPCIE_PCAPNG_INTERFACE);
	put32(header, ETHERNET);
	put32(header, 0);	/* snap length: 0 says that frames are not cut */
	put_text(header, LITEPCIE_PCAPNG_NAME, name);
	put_option(header, LITEPCIE_PCAPNG_TSRESOL, &resolution, sizeof(resolution));
	put32(header, 0);
	end_block(header);
}

/* Returns a new page with the pcapng header, or NULL if no memory can be allocated. */
static u8 *make_header(const struct litepcie *card)
{
	struct header header = { .page = kzalloc(LITEPCIE_CAPTURE_HEADER, GFP_KERNEL_ACCOUNT) };

	if (!header.page)
		return NULL;
	put_section(&header, card);
	for (unsigned int port = 0; port < LITEPCIE_CAPTURE_PORTS; port++)
		put_interface(&header, port);
	begin_block(&header, LITEPCIE_PCAPNG_FILLER);
	header.at = LITEPCIE_CAPTURE_HEADER - sizeof(u32);
	end_block(&header);
	return header.page;
}

/* pcapng blocks of the ring, which read() returns after the header -------- */

/*
 * Begin to read: make the header and start the capture, unless an earlier read() of the file has
 * done so.  Returns 0 if the file has the capture, which may have ended since, or -errno.
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
		goto free;
	mutex_lock(&capture->mutex);
	err = litepcie_capture_take_to_read(file);
	if (!err)
		WRITE_ONCE(file->header, header);
	mutex_unlock(&capture->mutex);
	litepcie_exit(capture->card);
	if (!err)
		return 0;
free:
	kfree(header);
	return err;
}

static ssize_t copy_header(struct litepcie_capture_file *file, struct iov_iter *to)
{
	size_t part = min_t(size_t, LITEPCIE_CAPTURE_HEADER - file->header_at,
			    iov_iter_count(to));
	size_t copied = copy_to_iter(file->header + file->header_at, part, to);

	WRITE_ONCE(file->header_at, file->header_at + copied);
	return part && !copied ? -EFAULT : copied;
}

/*
 * Copy new data of the ring, up to the card's position, as far as @to has room.  Returns the number
 * of bytes copied, or -EFAULT.  The owner's ring stays while the file is open and reads, so no lock
 * is needed.
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
 * time.  If litepcie_enter() fails, nothing is done, and the next read() returns an error.  The
 * ring belongs to the file, and the caller holds file->io, so the ring's fields need no lock.
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
	if (file->header_at < LITEPCIE_CAPTURE_HEADER)
		done = copy_header(file, to);
	else
		done = copy_blocks(file, to);
	give_room(file);
	mutex_unlock(&file->io);
	return done;
}

static bool has_ended(const struct litepcie_capture_queue *queue)
{
	return READ_ONCE(queue->run) != LITEPCIE_CAPTURE_RUN_READ ||
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

/* read(): returns the number of bytes, 0 if the run was stopped and all was read, or -errno. */
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
