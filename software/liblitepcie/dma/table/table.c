/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Hand descriptors to LitePCIe's descriptor table in its "prog" mode, in which every descriptor
 * runs once, and count those that the card has executed.
 *
 * In this mode loop_status (litepcie/frontend/dma.py) has an index that counts executed descriptors
 * modulo 2^16, and a count of the wraps of the index. So the whole register is the number of
 * executed descriptors modulo 2^32, read at one instant. A descriptor counts as executed
 *   h2c: when its data is in the card; with LitePCIe's endpoint, when the last read request for it
 *        has been issued, and its data may still be on the way
 *   c2h: when the DMA has handed over its last write, and the last bytes may not have reached the
 *        host
 * A card without records raises the descriptor's interrupt at the same moment. h2c_usable() and
 * c2h_usable() find the buffers whose data has arrived. If a card writes records and status lines,
 * its counts are read from those (notices.c), not from its registers.
 */
#include <fcntl.h>

#include "table.h"

/* most descriptors in one call of the back end's post(); a descriptor takes three writes */
#define BATCH	64u

/* Memory of the rings ------------------------------------------------------------------------- */

static unsigned int kind_of(const struct litepcie_stream *stream)
{
	return stream->direction == LITEPCIE_H2C ? LITEPCIE_MEMORY_H2C : LITEPCIE_MEMORY_C2H;
}

int litepcie_table_setup(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	struct litepcie_memory *memory = NULL;
	int rc = dev->backend->memory(dev, kind_of(stream), stream->options.memory,
				      litepcie_ring_bytes(stream), &memory, &stream->iova);

	if (rc < 0)
		return rc;
	stream->memory = memory;
	stream->base = memory->base;
	rc = litepcie_table_notices_setup(dev);
	if (rc < 0)
		litepcie_table_free(stream);
	return rc;
}

void litepcie_table_free(struct litepcie_stream *stream)
{
	stream->memory = NULL;
	stream->base = NULL;
	stream->dev->backend->memory_free(stream->dev, kind_of(stream));
}

int litepcie_table_export(const struct litepcie_stream *stream)
{
	int fd = fcntl(stream->memory->fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? litepcie_fail_errno(errno, "a descriptor of the ring") : fd;
}

/* Descriptors of buffers ---------------------------------------------------------------------- */

/*
 * Add to a list of register writes, at @p, the three that hand the descriptor of one buffer to the
 * card. Returns the new end of the list.
 */
static struct litepcie_post *describe(const struct litepcie_dma_registers *registers,
				      uint64_t address, uint32_t value, struct litepcie_post *p)
{
	p = litepcie_post_add(p, registers->value, value);
	p = litepcie_post_add(p, registers->value + 4, (uint32_t)address);
	p = litepcie_post_add(p, registers->push, address >> 32);
	return p;
}

/*
 * Add the lengths of buffers to their descriptors. The first of the three writes of a descriptor
 * has the field for the length.
 */
static void add_lengths(struct litepcie_post *posts, const struct litepcie_post *end,
			const uint32_t *lengths, uint64_t slot, uint64_t mask)
{
	for (; posts < end; posts += 3, slot++)
		posts->value |= lengths[slot & mask];
}

/*
 * Hand descriptors to the back end in lists of at most BATCH. The back end sim may send such a list
 * as one message.
 */
int litepcie_table_post(struct litepcie_stream *stream, uint64_t first, uint64_t count)
{
	size_t size = stream->options.buffer_size;
	uint32_t value = (stream->options.packets ? 0 : LITEPCIE_DESCRIPTOR_LAST_DISABLE) |
			 (stream->uneven ? 0 : (uint32_t)size);
	uint64_t mask = stream->options.buffer_count - 1, end = first + count;
	struct litepcie_post posts[3 * BATCH];
	int rc = 0;

	while (rc == 0 && first < end) {
		uint64_t stop = end - first < BATCH ? end : first + BATCH;
		struct litepcie_post *p = posts;

		for (; first < stop; first++) {
			uint64_t slot = first & mask;

			p = describe(stream->registers, stream->iova + slot * size,
				     stream->asks[slot] ? value :
				     value | LITEPCIE_DESCRIPTOR_IRQ_DISABLE, p);
		}
		if (stream->uneven)
			add_lengths(posts, p, stream->lengths,
				    stop - (uint64_t)(p - posts) / 3, mask);
		rc = stream->dev->backend->post(stream->dev, posts, (size_t)(p - posts),
						LITEPCIE_POST_OWN);
	}
	return rc;
}

/* Counts of executed descriptors -------------------------------------------------------------- */

/*
 * Read the card's count of executed descriptors. *@advance gets by how many it is ahead of
 * stream->done. A read that the root port has given up returns all ones. So after all ones the
 * register is read again, up to LITEPCIE_READS times in all. If the last read gives all ones, too,
 * they count as the number of descriptors. Returns -EIO with a sentence if the card was not given
 * so many.
 */
static int read_status(struct litepcie_stream *stream, uint32_t *advance)
{
	uint32_t status = UINT32_MAX;
	int rc = 0;

	for (unsigned int n = 0; rc == 0 && n < LITEPCIE_READS && status == UINT32_MAX; n++)
		rc = litepcie_get(stream->dev, stream->registers->loop_status, &status);
	/* modulo 2^32 this difference is right even when the card's count has wrapped at 2^32 */
	*advance = status - (uint32_t)stream->done;
	if (rc == 0 && *advance > stream->posted - stream->done)
		rc = litepcie_fail(-EIO, "the card says it has finished %u buffers more, but it "
				   "was given %llu (loop_status 0x%08x); it has lost its state",
				   *advance, (unsigned long long)(stream->posted - stream->done),
				   status);
	return rc;
}

static int read_done(struct litepcie_stream *stream)
{
	uint32_t advance;
	int rc = read_status(stream, &advance);

	if (rc == 0)
		litepcie_engine_done(stream, stream->done + advance);
	return rc;
}

/*
 * Count the h2c buffers whose data has arrived in the card, in a run in which some buffers were
 * sent only in part. The card's count of received bytes tells which of the done buffers have
 * arrived.
 */
static int h2c_arrived(struct litepcie_stream *h2c)
{
	uint64_t received = 0;
	int rc = litepcie_engine_received(h2c->dev, &received);

	while (rc == 0 && h2c->arrived < h2c->done) {
		uint64_t bytes = litepcie_engine_h2c_bytes(h2c, h2c->arrived, h2c->arrived + 1);

		if (h2c->arrived_bytes + bytes > received)
			break;
		h2c->arrived_bytes += bytes;
		h2c->arrived++;
	}
	if (rc == 0 && h2c->arrived > h2c->hw)
		h2c->hw = h2c->arrived;
	return rc;
}

/*
 * Count the h2c buffers that the program may write again. With LitePCIe's endpoint, reads of up to
 * h2c_in_flight bytes may be in flight when a buffer counts as done. These bytes can only belong to
 * the last done buffers, so the program may write all earlier ones again. If a buffer of the run
 * was sent only in part, h2c_arrived() counts instead. On other endpoints h2c_in_flight is 0, and
 * every done buffer may be written again.
 */
static int h2c_usable(struct litepcie_stream *h2c)
{
	size_t size = h2c->options.buffer_size;
	uint64_t behind = (h2c->dev->map.h2c_in_flight + size - 1) / size;
	int rc = read_done(h2c);

	if (rc == 0 && behind && h2c->uneven)
		return h2c_arrived(h2c);
	if (rc == 0 && h2c->done > behind && h2c->done - behind > h2c->hw)
		h2c->hw = h2c->done - behind;
	return rc;
}

/*
 * Count the c2h buffers whose data is in host memory. Writes leave the card in order, so these are
 * all done buffers but the last. If the last buffer was done at an earlier register read, its data
 * is in memory, too: a whole round trip has passed since. So a second register read settles the
 * last buffer. The second read is made if the last buffer asked for an interrupt, since the program
 * may wait for it, or if all posted buffers are done, since no further interrupt will come.
 */
static int c2h_usable(struct litepcie_stream *c2h)
{
	uint64_t settled = c2h->done;
	int rc = read_done(c2h);
	bool awaited = c2h->asks[(c2h->done - 1) & (c2h->options.buffer_count - 1)];

	while (rc == 0 && c2h->done > settled && (awaited || c2h->done == c2h->posted)) {
		settled = c2h->done;
		rc = read_done(c2h);
		/* the buffer that asked for an interrupt is now known to be in host memory */
		awaited = false;
	}
	if (rc == 0)
		c2h->hw = c2h->done > settled ? c2h->done - 1 : settled;
	return rc;
}

int litepcie_table_behind(struct litepcie *dev)
{
	uint32_t h2c = 0, c2h = 0;
	int rc = 0;

	if (dev->h2c.active)
		rc = read_status(&dev->h2c, &h2c);
	if (rc == 0 && dev->c2h.active)
		rc = read_status(&dev->c2h, &c2h);
	return rc < 0 ? rc : h2c || c2h;
}

/*
 * If the card writes records, memory has its counts. With LITEPCIE_ASK_CARD its registers are read
 * as well, but only to see whether the card is still there. If the card writes no records, its
 * registers are read whatever @ask says.
 */
int litepcie_table_progress(struct litepcie *dev, enum litepcie_ask ask)
{
	bool reported = dev->notices.records;
	int rc = reported && ask == LITEPCIE_ASK_CARD ? litepcie_table_behind(dev) : 0;

	if (rc < 0)
		return rc;
	rc = 0;
	if (dev->h2c.active)
		rc = reported ? litepcie_notices_h2c(dev) : h2c_usable(&dev->h2c);
	if (rc == 0 && dev->c2h.active)
		rc = reported ? litepcie_notices_c2h(dev) : c2h_usable(&dev->c2h);
	return rc;
}
