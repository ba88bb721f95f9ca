/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the status line of a capture, hand out the data in the ring to the program, and give its
 * room back to the card.
 *
 * Two counts of bytes since the start say where the data is: `position`, which the card writes to
 * host memory after the data, and `limit`, up to which the card may write. Both only grow during a
 * run. With the setting `newest` the card ignores the limit.
 */
#include "capture.h"

#include <string.h>

#define BLOCK_UNIT	8u	/* a pcapng block in the ring has a multiple of this many bytes */
/* how often releases give the card a new limit in one round of the ring, at most */
#define LIMIT_STEPS		8u
/* the same for a ring of LARGE_RING bytes or more */
#define LARGE_RING_STEPS	4u
#define LARGE_RING		((uint64_t)256 << 20)
#define FIRST_NAP_US	10u

/* The card's position and limit in the ring --------------------------------------------------- */

void litepcie_capture_rewind(struct litepcie_capture *capture)
{
	memset(&capture->seen, 0, sizeof(capture->seen));
	capture->given = capture->released = capture->overwritten = 0;
	capture->lapsed = 0;
	capture->limit = capture->limits = 0;
}

static int check_line(const struct litepcie_capture *capture,
		      const struct litepcie_capture_line *line)
{
	uint64_t position = line->position;

	if (position < capture->seen.position)
		return litepcie_fail(-EIO, "the status line says %llu bytes after it said %llu: "
				     "the card has lost its state", (unsigned long long)position,
				     (unsigned long long)capture->seen.position);
	if (position % BLOCK_UNIT || (!capture->config.newest && position > capture->limit))
		return litepcie_fail(-EIO, "the status line says %llu bytes: it must be a multiple "
				     "of %u up to the limit of %llu", (unsigned long long)position,
				     BLOCK_UNIT, (unsigned long long)capture->limit);
	return 0;
}

/*
 * The card may write a new status line while this function reads the line. So the line is read
 * again until its position is the same before and after the other counts. Acquire ordering makes
 * sure that the ring's data is read after the position.
 */
int litepcie_capture_poll(struct litepcie_capture *capture)
{
	const struct litepcie_capture_line *line = capture->line;
	struct litepcie_capture_line now;
	int rc;

	if (!line)
		return 0;
	now.position = __atomic_load_n(&line->position, __ATOMIC_ACQUIRE);
	if (now.position == capture->seen.position || capture->seen.position == capture->end)
		return 0;
	for (;;) {
		uint64_t again;

		now.records = __atomic_load_n(&line->records, __ATOMIC_RELAXED);
		now.lost = __atomic_load_n(&line->lost, __ATOMIC_RELAXED);
		now.time = __atomic_load_n(&line->time, __ATOMIC_ACQUIRE);
		again = __atomic_load_n(&line->position, __ATOMIC_ACQUIRE);
		if (again == now.position)
			break;
		now.position = again;
	}
	if (now.position > capture->end)
		now.position = capture->end;
	rc = check_line(capture, &now);
	if (rc == 0)
		capture->seen = now;
	return rc;
}

int litepcie_capture_allow(struct litepcie_capture *capture, uint64_t limit)
{
	int rc = capture->access->allow(capture, limit);

	if (rc == 0) {
		capture->limit = limit;
		capture->limits++;
	}
	return rc;
}

/* Spans of the ring, which the program gets and releases -------------------------------------- */

/*
 * Returns the position up to which the card may have written to the ring, in a capture with
 * `newest`. When the run is over, and the last status line is in memory, the position is that of
 * this line. It is then the end of an MBUF (part of the ring), which the card seals at a stop.
 * Before that the card may be ahead of the line by at most what the queue may use of the
 * staging memory (the buffer before the ring).
 *
 * The line may say more than capture->seen, since the card goes on to write to the ring of a queue
 * that was stopped alone.
 */
static uint64_t written_to(const struct litepcie_capture *capture)
{
	bool complete = capture->access->is_complete(capture);
	uint64_t position = capture->line ?
			    __atomic_load_n(&capture->line->position, __ATOMIC_ACQUIRE) : 0;

	if (position < capture->seen.position)
		position = capture->seen.position;
	if (complete && position % capture->config.mbuf_bytes == 0)
		return position;
	return position + capture->config.staging_bytes;
}

/*
 * Returns the position from which on no data in the ring has been overwritten, in a capture with
 * `newest`. It is rounded up to the beginning of an MBUF (part of the ring).
 */
static uint64_t oldest(const struct litepcie_capture *capture)
{
	uint64_t ring = capture->config.ring_bytes, mbuf = capture->config.mbuf_bytes;
	uint64_t written = written_to(capture);

	return written > ring ? (written - ring + mbuf - 1) / mbuf * mbuf : 0;
}

static void skip_overwritten(struct litepcie_capture *capture)
{
	uint64_t from = capture->config.newest ? oldest(capture) : 0;

	/* Beyond capture->end the ring has no data of this queue. */
	if (from > capture->end)
		from = capture->end;
	if (from <= capture->given)
		return;
	capture->overwritten += from - capture->given;
	capture->lapsed += capture->given - capture->released;
	capture->given = capture->released = from;
}

static int give(struct litepcie_capture *capture, struct litepcie_span *span)
{
	uint64_t mbuf = capture->config.mbuf_bytes, from = capture->given;
	uint64_t end = (from / mbuf + 1) * mbuf, to = capture->seen.position;
	struct litepcie_span found = {
		.data = capture->ring + (from & (capture->config.ring_bytes - 1)),
		.position = from,
		.mbuf = from / mbuf,
		.records = capture->seen.records,
		.lost = capture->seen.lost,
		.time_ns = capture->seen.time,
	};
	int rc;

	if (to >= end) {
		to = end;
		found.sealed = true;
	}
	found.bytes = to - from;
	rc = litepcie_struct_out(span, &found, sizeof(found), "litepcie_span");
	if (rc < 0)
		return rc;
	capture->given = to;
	capture->check_ms = 0;
	return 1;
}

/*
 * Look for blocks in the ring that litepcie_capture_next() has not returned yet. Returns 1 if the
 * ring has some, 0 if not, or -errno.
 */
static int poll_ring(struct litepcie_capture *capture)
{
	int rc;

	/*
	 * Blocks below seen.position are known to be in the ring, so the status line need not be
	 * read for them. With `newest` the line is read, since the card may have overwritten them.
	 */
	if (capture->given < capture->seen.position && !capture->config.newest)
		return 1;
	rc = litepcie_capture_poll(capture);
	if (rc < 0)
		return rc;
	skip_overwritten(capture);
	return capture->given < capture->seen.position;
}

/*
 * If the card has written nothing for LITEPCIE_WAIT_SLICE_MS, check that it still answers and that
 * the kernel does not want it back. The time runs on from one litepcie_capture_next() to the next,
 * until data comes. So a program with short waits notices a lost card, too. A call with a timeout
 * of 0 makes no check.
 */
static int check_card(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc;

	if (!capture->check_ms)
		capture->check_ms = litepcie_deadline(LITEPCIE_WAIT_SLICE_MS);
	if (litepcie_now_ms() < capture->check_ms)
		return 0;
	capture->check_ms = litepcie_deadline(LITEPCIE_WAIT_SLICE_MS);
	rc = capture->access->answers(capture);
	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	rc = litepcie_check_wanted(dev);
	litepcie_unlock(dev);
	return rc;
}

int litepcie_capture_next(struct litepcie_capture *capture, struct litepcie_span *span,
			  int timeout_ms)
{
	int64_t deadline = 0;
	unsigned int nap_us = FIRST_NAP_US;
	int rc, most_ms;

	for (;;) {
		rc = poll_ring(capture);
		if (rc)
			return rc < 0 ? rc : give(capture, span);
		if (capture->ended)
			return litepcie_fail(-EPIPE, "the capture of queue 0 has ended, and with "
					     "it that of queue %u", capture->config.queue);
		if (!capture->running || !timeout_ms)
			return 0;
		if (!deadline)
			deadline = litepcie_deadline(timeout_ms);
		most_ms = litepcie_slice(deadline);
		if (!most_ms)
			return 0;
		rc = litepcie_capture_wait(capture, &nap_us, most_ms);
		if (rc == 0)
			rc = check_card(capture);
		if (rc < 0)
			return rc;
	}
}

/*
 * Returns the limit (the position up to which the card may write) for the data released so far: the
 * released position plus the bytes of the ring. That position is first rounded down to a multiple
 * of a step: an eighth of the ring (a quarter from LARGE_RING bytes on) or an MBUF (part of the
 * ring), whichever is larger.
 *
 * Behind the kernel driver each new limit is a system call. The part of the ring that was released,
 * and that the card does not know to be free, is smaller than a step. So the card can always use
 * the rest of the ring. That is 192 MiB or more of a large ring, into which a card on PCIe 3.0 x8
 * writes for 28 ms or longer.
 */
static uint64_t limit_of(const struct litepcie_capture *capture)
{
	uint64_t ring = capture->config.ring_bytes;
	uint64_t step = ring / (ring < LARGE_RING ? LIMIT_STEPS : LARGE_RING_STEPS);

	if (step < capture->config.mbuf_bytes)
		step = capture->config.mbuf_bytes;
	return capture->released / step * step + ring;
}

int litepcie_capture_release(struct litepcie_capture *capture, size_t bytes)
{
	uint64_t first = capture->released, limit;
	uint64_t lapsed = bytes < capture->lapsed ? bytes : capture->lapsed;
	int rc = 0;

	if (bytes - lapsed > capture->given - first)
		return litepcie_fail(-EINVAL, "a release of %zu bytes: %llu were "
				     "given and not released", bytes,
				     (unsigned long long)(capture->lapsed + capture->given - first));
	capture->lapsed -= lapsed;
	capture->released += bytes - lapsed;
	if (capture->config.newest) {
		rc = litepcie_capture_poll(capture);
		if (rc == 0 && bytes && (lapsed || oldest(capture) > first))
			rc = litepcie_fail(-EOVERFLOW, "the card has written over %zu bytes while "
					   "they were read", bytes);
		return rc;
	}
	limit = limit_of(capture);
	if (capture->running && limit > capture->limit)
		rc = litepcie_capture_allow(capture, limit);
	return rc;
}
