/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The calls that start and stop a stream, hand out its buffers and reset the card, and those for
 * the counts and the descriptor of the DMA. litepcie_stream_acquire() takes no lock and does not
 * access the card if a buffer is known to be ready. litepcie_stream_release() does neither if less
 * than a batch of released buffers then waits for hand-over to the card.
 *
 * The counts hw, acquired and sw of a stream say who owns its buffers. In both directions, the
 * buffers from number sw up to acquired - 1 belong to the program. In c2h, the buffers from number
 * acquired up to hw - 1 are filled and wait for the program. In h2c, the buffers from number hw up
 * to sw - 1 are on their way to the card or are kept back for a batch, and all others are free.
 */
#include <string.h>

#include "dma/engine/engine.h"

/* Start and stop of a stream ------------------------------------------------------------------ */

static struct litepcie_stream *other_of(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;

	return stream == &dev->h2c ? &dev->c2h : &dev->h2c;
}

/*
 * Two running streams share the loopback and the time between two polls of the card, so their
 * options loopback, poll_us and adaptive must agree. Returns -EINVAL with a sentence if the other
 * stream of the handle runs with other values, else 0.
 */
static int check_other(struct litepcie_stream *stream)
{
	const struct litepcie_stream *other = other_of(stream);
	const struct litepcie_stream_options *ours = &stream->options, *theirs = &other->options;

	if (!other->active)
		return 0;
	if (ours->loopback != theirs->loopback)
		return litepcie_fail(-EINVAL, "%s runs %s loopback: %s must run in the same way",
				     other->name, theirs->loopback ? "with" : "without",
				     stream->name);
	if (ours->poll_us != theirs->poll_us || ours->adaptive != theirs->adaptive)
		return litepcie_fail(-EINVAL, "%s runs with poll_us %u%s: %s must have the same",
				     other->name, theirs->poll_us,
				     theirs->adaptive ? ", adaptive" : "", stream->name);
	return 0;
}

static void reset(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;

	if (!other_of(stream)->active)
		dev->stats = (struct litepcie_stats) { .interrupts = -1, .interrupts_expected = -1 };
	else if (stream == &dev->h2c)
		dev->stats.h2c_errors = 0;
	else
		dev->stats.c2h_errors = 0;
	litepcie_count_set(&stream->hw, 0);
	litepcie_count_set(&stream->sw, 0);
	stream->acquired = stream->handed = stream->spared = 0;
}

/*
 * Stop the stream, with the lock held. The lock is released while this thread waits for the run's
 * last interrupts. So a second thread that stops a stream of this handle first waits until
 * dev->stopping is false again. The ring stays mapped, as the program may still read buffers that
 * were filled. The stream counts as stopped even if the stop fails, and the error is returned.
 */
static int stop(struct litepcie_stream *stream)
{
	struct litepcie *dev = stream->dev;
	int rc, error = 0;

	while (dev->stopping)
		pthread_cond_wait(&dev->woken, &dev->lock);
	if (!stream->active)
		return 0;
	dev->stopping = true;
	rc = litepcie_engine_stop(stream);
	if (stream->options.pattern)
		error = litepcie_pattern_set(stream, false);
	if (dev->backend->channel->own)
		dev->backend->channel->own(stream, false);
	stream->active = false;
	stream->stops++;
	dev->stopping = false;
	pthread_cond_broadcast(&dev->woken);
	return rc < 0 ? rc : error;
}

/*
 * Start the stream, with the lock held. Returns -EBUSY if the stream runs or another program has
 * the direction, -EINVAL if the other stream runs with another loopback, poll_us or adaptive, or
 * the error of the back end.
 */
static int start(struct litepcie_stream *stream)
{
	const struct litepcie_channel *channel = stream->dev->backend->channel;
	int rc;

	if (stream->active)
		return litepcie_fail(-EBUSY, "%s runs already: stop it first", stream->name);
	rc = check_other(stream);
	if (rc < 0)
		return rc;
	reset(stream);
	litepcie_engine_configure(stream);
	rc = channel->own ? channel->own(stream, true) : 0;
	if (rc < 0)
		return rc;
	stream->active = true;
	rc = litepcie_pattern_set(stream, stream->options.pattern) ?: litepcie_engine_start(stream);
	if (rc < 0) {
		char why[LITEPCIE_WHY_SIZE];

		/* stop() may fail and set another sentence: keep that of the error @rc. */
		memcpy(why, litepcie_sentence(), sizeof(why));
		stop(stream);
		memcpy(litepcie_sentence(), why, sizeof(why));
	}
	return rc;
}

int litepcie_stream_start(struct litepcie_stream *stream)
{
	int rc;

	litepcie_lock(stream->dev);
	rc = start(stream);
	litepcie_unlock(stream->dev);
	return rc;
}

int litepcie_stream_stop(struct litepcie_stream *stream)
{
	int rc;

	litepcie_lock(stream->dev);
	rc = stop(stream);
	litepcie_unlock(stream->dev);
	return rc;
}

int litepcie_reset(struct litepcie *dev)
{
	int rc;

	if (litepcie_runs(dev, LITEPCIE_H2C | LITEPCIE_C2H))
		return litepcie_fail(-EBUSY, "this handle runs DMA already: stop it first");
	if (litepcie_has_capture(dev))
		return litepcie_fail(-EBUSY, "this handle has a capture open: close it first");
	litepcie_lock(dev);
	dev->user_enabled = false;
	rc = dev->backend->reset(dev) ?: litepcie_card_check(dev) ?: litepcie_attach(dev);
	litepcie_unlock(dev);
	return rc;
}

int litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats)
{
	struct litepcie_stats found;

	litepcie_lock(dev);
	litepcie_notices_errors(dev);
	found = dev->stats;
	found.h2c_submitted = litepcie_count(&dev->h2c.sw);
	found.h2c_done = litepcie_count(&dev->h2c.hw);
	found.c2h_done = litepcie_count(&dev->c2h.hw);
	found.c2h_released = litepcie_count(&dev->c2h.sw);
	litepcie_unlock(dev);
	return litepcie_struct_out(stats, &found, sizeof(found), "litepcie_stats");
}

int litepcie_dma_fd(struct litepcie *dev)
{
	int rc;

	litepcie_lock(dev);
	dev->watched = true;
	rc = dev->backend->channel->event_fd(dev);
	litepcie_unlock(dev);
	return rc;
}

/* Acquiring buffers --------------------------------------------------------------------------- */

/*
 * Returns the number of buffers that the program can acquire, if the card has finished @hw buffers.
 */
static uint64_t available(const struct litepcie_stream *stream, uint64_t hw)
{
	return hw + stream->ahead - stream->acquired;
}

int litepcie_stream_ready(struct litepcie_stream *stream, int timeout_ms)
{
	uint64_t hw = litepcie_count(&stream->hw), count = available(stream, hw);
	int rc;

	if (!stream->active)
		return litepcie_check_active(stream->dev, stream->direction);
	if (count)
		return (int)count;
	rc = litepcie_wait_beyond(stream, hw, timeout_ms);
	return rc < 0 ? rc : (int)available(stream, litepcie_count(&stream->hw));
}

/*
 * Acquire the next c2h buffer after acquire() has found its record doubtful: check the record once
 * more, and set bytes and flags of the buffer from it. Returns 1, or -EIO with a sentence if the
 * record is missing or cannot be true. The function is rarely called, so it is not inlined.
 * Otherwise the fast path would save CPU registers for it.
 */
__attribute__((noinline))
static int acquire_checked(struct litepcie_stream *stream, struct litepcie_buffer *buffer)
{
	int rc = litepcie_notices_record(stream, buffer);

	if (rc < 0)
		return rc;
	stream->acquired++;
	return 1;
}

/*
 * Acquire the next buffer, which must be ready. The function is inlined, since programs call it for
 * every single buffer.
 */
static inline int acquire(struct litepcie_stream *stream, struct litepcie_buffer *buffer)
{
	const struct litepcie_notices *notices = &stream->dev->notices;
	size_t size = stream->options.buffer_size, bytes = size;
	uint64_t number = stream->acquired;
	uint32_t flags = 0;

	buffer->data = stream->base + (number & (stream->options.buffer_count - 1)) * size;
	buffer->sequence = number;
	if (stream->direction == LITEPCIE_C2H && notices->records) {
		const struct litepcie_record *entry = &notices->records[number & notices->mask];

		bytes = __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
		flags = __atomic_load_n(&entry->flags, __ATOMIC_RELAXED);
		if (entry->sequence != number + 1 || bytes > size)
			return acquire_checked(stream, buffer);
	}
	buffer->bytes = bytes;
	buffer->flags = flags;
	stream->acquired = number + 1;
	return 1;
}

/*
 * Acquire the next buffer for a program whose struct litepcie_buffer has another size than the
 * library's. Returns 1, or -errno: then the buffer is not acquired.
 */
__attribute__((noinline))
static int acquire_sized(struct litepcie_stream *stream, struct litepcie_buffer *buffer)
{
	struct litepcie_buffer found;
	int rc = acquire(stream, &found);

	if (rc < 0)
		return rc;
	rc = litepcie_struct_out(buffer, &found, sizeof(found), "litepcie_buffer");
	if (rc < 0)
		stream->acquired--;
	return rc ?: 1;
}

/* Check the card's progress or wait for a buffer, then acquire it. Returns 0 if none has come. */
__attribute__((noinline))
static int acquire_later(struct litepcie_stream *stream, struct litepcie_buffer *buffer,
			 int timeout_ms)
{
	int rc = litepcie_stream_ready(stream, timeout_ms);

	if (rc <= 0)
		return rc;
	return buffer->struct_size == sizeof(*buffer) ? acquire(stream, buffer) :
							acquire_sized(stream, buffer);
}

int litepcie_stream_acquire(struct litepcie_stream *stream, struct litepcie_buffer *buffer,
			    int timeout_ms)
{
	if (!stream->active || !available(stream, litepcie_count(&stream->hw)))
		return acquire_later(stream, buffer, timeout_ms);
	if (buffer->struct_size != sizeof(*buffer))
		return acquire_sized(stream, buffer);
	return acquire(stream, buffer);
}

/* Releasing buffers --------------------------------------------------------------------------- */

/*
 * Hand the buffers that the stream has kept back for a batch to the card. The function is not
 * inlined. Otherwise a release that hands nothing over would save CPU registers for nothing.
 */
__attribute__((noinline))
static int tell(struct litepcie_stream *stream)
{
	int rc;

	litepcie_lock(stream->dev);
	rc = litepcie_hand_over(stream->dev, stream->direction);
	litepcie_unlock(stream->dev);
	return rc;
}

int litepcie_stream_release(struct litepcie_stream *stream, unsigned int count)
{
	uint64_t first = litepcie_count(&stream->sw), end = first + count;

	if (!stream->active)
		return litepcie_check_active(stream->dev, stream->direction);
	if (end > stream->acquired)
		return litepcie_fail(-EINVAL, "release of %u %s buffers: only %llu are acquired",
				     count, stream->name,
				     (unsigned long long)(stream->acquired - first));
	litepcie_count_set(&stream->sw, end);
	return end - stream->handed < stream->options.batch ? 0 : tell(stream);
}

/*
 * LitePCIe's h2c engine cuts a length to whole beats (words of the card's data path). So a card
 * with that engine is given only lengths that are a multiple of a beat.
 */
int litepcie_stream_send(struct litepcie_stream *stream, size_t bytes)
{
	struct litepcie *dev = stream->dev;
	size_t size = stream->options.buffer_size;
	unsigned int beat = dev->card.data_width / 8;
	uint64_t first = litepcie_count(&stream->sw);

	if (stream->direction != LITEPCIE_H2C)
		return litepcie_fail(-EINVAL, "send on c2h: only h2c sends");
	if (!bytes || bytes > size)
		return litepcie_fail(-EINVAL, "send of %zu bytes: it must be 1 to %zu, all of a "
				     "buffer", bytes, size);
	if (dev->map.h2c_in_flight && bytes % beat)
		return litepcie_fail(-EINVAL, "send of %zu bytes: the endpoint of this card moves "
				     "whole beats, so it must be a multiple of %u", bytes, beat);
	if (!stream->active)
		return litepcie_check_active(dev, LITEPCIE_H2C);
	if (first == stream->acquired)
		return litepcie_fail(-EINVAL, "send of %zu bytes: no h2c buffer is acquired",
				     bytes);
	if (bytes != size)
		litepcie_engine_h2c_length(stream, first, (uint32_t)bytes);
	return litepcie_stream_release(stream, 1);
}
