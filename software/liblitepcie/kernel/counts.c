/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the counts of finished buffers. poll_way() reads counts and errors from the driver's status
 * page, and records of c2h from a mapped ring, without a system call. If the driver uses the card's
 * records, the card itself writes its counts to the page. ask_way() asks the driver, which reads
 * the card's registers.
 */
#include "kernel.h"

int kernel_stopped_by(const struct litepcie_stream *stream, int error)
{
	struct litepcie *dev = stream->dev;

	if (error == -ENODEV)
		return litepcie_fail(error, "%s: the card is gone: it was unplugged, removed or "
				     "unbound", dev->name);
	return litepcie_fail(-EIO, "%s: the card was reset while %s ran: stop and start it again",
			     dev->name, stream->name);
}

/*
 * Set the stream's count of finished buffers to @done, the count of the driver or of the status
 * page. Returns -EIO with a sentence if that count cannot be true. If the card writes records, c2h
 * goes by them instead, since they come earlier than the count.
 */
static int advance_to(struct litepcie_stream *stream, uint64_t done)
{
	if (stream->direction == LITEPCIE_C2H && stream->dev->notices.records)
		return litepcie_notices_c2h(stream->dev);
	if (done > stream->posted)
		return litepcie_fail(-EIO, "the driver says the card has finished %llu buffers of "
				     "%s, but it was given %llu", (unsigned long long)done,
				     stream->name, (unsigned long long)stream->posted);
	if (done > stream->done)
		stream->dev->silent_ms = 0;
	litepcie_engine_done(stream, done);
	if (done > stream->hw)
		stream->hw = done;
	return 0;
}

static int poll_way(struct litepcie_stream *stream)
{
	const struct litepcie_status *page = kernel_of(stream->dev)->status;
	const struct litepcie_status_way *status = &page->way[kernel_way(stream)];
	uint64_t done = __atomic_load_n(&status->buffers, __ATOMIC_ACQUIRE);
	int error = __atomic_load_n(&status->error, __ATOMIC_ACQUIRE);

	/*
	 * The count was read before the page's @error and @run. If these show that the run has
	 * ended, the count is not used.
	 */
	if (error || __atomic_load_n(&status->run, __ATOMIC_ACQUIRE) != LITEPCIE_RUN_HELD)
		return kernel_stopped_by(stream, error);
	return advance_to(stream, done);
}

static int ask_way(struct litepcie_stream *stream)
{
	struct litepcie_counts counts = { .way = kernel_way(stream) };
	int rc = kernel_ioctl(stream->dev, LITEPCIE_IOCTL_COUNTS, &counts, "DMA counts");

	if (!stream->active)
		return rc;
	/* The ioctl COUNTS fails while the card is being reset, and the reset has ended the run. */
	if (rc == -EIO || rc == -ENODEV)
		return kernel_stopped_by(stream, rc);
	if (rc < 0)
		return rc;
	if (counts.error || counts.run != LITEPCIE_RUN_HELD)
		return kernel_stopped_by(stream, counts.error);
	return advance_to(stream, counts.hardware);
}

/*
 * Read the counts of the running directions in memory, or with LITEPCIE_ASK_CARD ask the driver,
 * which asks the card. If no direction runs, LITEPCIE_ASK_CARD only finds out whether the card is
 * there.
 */
int kernel_progress(struct litepcie *dev, enum litepcie_ask ask)
{
	bool card = ask == LITEPCIE_ASK_CARD;
	int (*update)(struct litepcie_stream *stream) = card ? ask_way : poll_way;
	int rc = 0;

	if (dev->h2c.active || (card && !dev->c2h.active))
		rc = update(&dev->h2c);
	if (rc == 0 && dev->c2h.active)
		rc = update(&dev->c2h);
	return rc;
}
