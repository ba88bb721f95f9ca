/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the records and status lines that the card writes to host memory about its progress.
 * notices.h says what each function promises.
 */
#include "notices.h"

#include "engine.h"

/* Counts from the status lines ---------------------------------------------------------------- */

/*
 * Get in *@buffers the number of finished buffers that a status line (the card's counts of one
 * direction) shows. It is 0 if the card has not written the line yet. Returns -EIO with a sentence
 * if the card was not given so many buffers.
 */
static int read_line(const struct litepcie_stream *stream, const struct litepcie_status_way *line,
		     uint64_t *buffers)
{
	*buffers = __atomic_load_n(&line->buffers, __ATOMIC_ACQUIRE);
	if (*buffers > stream->posted)
		return litepcie_fail(-EIO, "the status line says that the card has finished %llu "
				     "buffers of %s, but it was given %llu; it has lost its state",
				     (unsigned long long)*buffers, stream->name,
				     (unsigned long long)stream->posted);
	return 0;
}

int litepcie_notices_h2c(struct litepcie *dev)
{
	struct litepcie_stream *h2c = &dev->h2c;
	uint64_t done;
	int rc = read_line(h2c, dev->notices.h2c, &done);

	if (rc < 0 || done <= h2c->done)
		return rc;
	litepcie_engine_done(h2c, done);
	if (done > h2c->hw)
		litepcie_count_set(&h2c->hw, done);
	dev->silent_ms = 0;
	return 0;
}

/*
 * True if the card has written its record of buffer @number. The entry may still hold the record of
 * an earlier round of the ring, so the record's sequence number is compared.
 */
static bool is_there(const struct litepcie_notices *notices, uint64_t number)
{
	const struct litepcie_record *entry = &notices->records[number & notices->mask];

	return __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE) == number + 1;
}

bool litepcie_notices_has(const struct litepcie *dev, uint64_t number)
{
	return dev->notices.records && is_there(&dev->notices, number);
}

/*
 * Bring the count of finished c2h buffers up to date. The card writes a buffer's record earlier
 * than the status line. So records beyond the status line's count are checked one by one. Of the
 * buffers up to that count only the last record is checked, since the card writes records in order.
 */
int litepcie_notices_c2h(struct litepcie *dev)
{
	const struct litepcie_notices *notices = &dev->notices;
	struct litepcie_stream *c2h = &dev->c2h;
	uint64_t done = c2h->done, buffers;
	int rc = read_line(c2h, notices->c2h, &buffers);

	if (rc < 0)
		return rc;
	if (buffers > done) {
		if (!is_there(notices, buffers - 1))
			return litepcie_fail(-EIO, "the status line says that the card has filled "
					     "%llu c2h buffers, but the last has no record",
					     (unsigned long long)buffers);
		done = buffers;
	}
	while (done < c2h->posted && is_there(notices, done))
		done++;
	if (done == c2h->done)
		return 0;
	litepcie_engine_done(c2h, done);
	litepcie_count_set(&c2h->hw, done);
	dev->silent_ms = 0;
	return 0;
}

/*
 * Take over the count of errors from a status line. The largest count that was seen is kept, since
 * the kernel driver clears the line at the end of a run.
 */
static void take_errors(const struct litepcie_status_way *line, uint64_t *errors)
{
	uint64_t now = line ? __atomic_load_n(&line->errors, __ATOMIC_RELAXED) : 0;

	if (now > *errors)
		*errors = now;
}

void litepcie_notices_errors(struct litepcie *dev)
{
	if (dev->h2c.active)
		take_errors(dev->notices.h2c, &dev->stats.h2c_errors);
	if (dev->c2h.active)
		take_errors(dev->notices.c2h, &dev->stats.c2h_errors);
}

/* Records of c2h buffers ---------------------------------------------------------------------- */

/*
 * No lock is needed to read the record: the card overwrites it only after the program has released
 * the buffer that the record is about.
 */
int litepcie_notices_record(const struct litepcie_stream *stream, struct litepcie_buffer *buffer)
{
	const struct litepcie_notices *notices = &stream->dev->notices;
	uint64_t number = buffer->sequence;
	const struct litepcie_record *entry;

	if (!notices->records)
		return 0;
	if (!is_there(notices, number))
		return litepcie_fail(-EIO, "c2h buffer %llu is filled, but has no record",
				     (unsigned long long)number);
	entry = &notices->records[number & notices->mask];
	buffer->bytes = __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
	buffer->flags = __atomic_load_n(&entry->flags, __ATOMIC_RELAXED);
	if (buffer->bytes > stream->options.buffer_size)
		return litepcie_fail(-EIO, "the record of c2h buffer %llu says %zu bytes: a buffer "
				     "has %zu", (unsigned long long)number, buffer->bytes,
				     stream->options.buffer_size);
	return 0;
}
