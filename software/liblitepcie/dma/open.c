/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Open and close a stream: check its options, and make its ring (behind the kernel driver only the
 * start makes the ring). place.c has the calls about the ring's memory. An error is -errno with a
 * sentence.
 */
#include "dma/engine/engine.h"
#include "litepcie_capability.h"

void litepcie_streams_init(struct litepcie *dev)
{
	dev->h2c = (struct litepcie_stream) {
		.dev = dev, .direction = LITEPCIE_H2C, .name = "h2c", .registers = &dev->map.h2c,
	};
	dev->c2h = (struct litepcie_stream) {
		.dev = dev, .direction = LITEPCIE_C2H, .name = "c2h", .registers = &dev->map.c2h,
	};
}

/* Checks of a stream's options ---------------------------------------------------------------- */

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

/*
 * Returns -EINVAL if size or number of the buffers is not a power of two within the limits of
 * library and card, or if a batch is more than half the ring.
 */
static int check_shape(struct litepcie *dev, const struct litepcie_stream_options *options)
{
	size_t size = options->buffer_size;
	unsigned int count = options->buffer_count;

	if (!power_of_two(size) || size < LITEPCIE_BUFFER_LEAST || size > LITEPCIE_BUFFER_MOST)
		return litepcie_fail(-EINVAL, "buffers of %zu bytes: it must be a power of two "
				     "from %u to %u", size, LITEPCIE_BUFFER_LEAST, LITEPCIE_BUFFER_MOST);
	if (!power_of_two(count) || count < LITEPCIE_STREAM_BUFFERS_LEAST ||
	    count > dev->card.table_depth)
		return litepcie_fail(-EINVAL, "%u buffers: it must be a power of two from %u to "
				     "%u, which is what the card has room for", count,
				     LITEPCIE_STREAM_BUFFERS_LEAST, dev->card.table_depth);
	if (options->batch > count / 2)
		return litepcie_fail(-EINVAL, "batches of %u buffers: the ring has %u, of which "
				     "half may be held back", options->batch, count);
	return 0;
}

/*
 * Returns -EINVAL for a flush time without packets or above its limit, or -EOPNOTSUPP for packets
 * if the card writes no records, by which it reports the ends of packets, or the driver cannot use
 * them.
 */
static int check_packets(struct litepcie *dev, const struct litepcie_stream_options *options)
{
	if (options->flush_us && !options->packets)
		return litepcie_fail(-EINVAL, "a flush time of %u us without packets: it ends "
				     "buffers early, so it takes packets", options->flush_us);
	if (options->flush_us > LITEPCIE_FLUSH_US_MOST)
		return litepcie_fail(-EINVAL, "a flush time of %u us: it must be at most %u",
				     options->flush_us, LITEPCIE_FLUSH_US_MOST);
	if (options->packets && !(litepcie_features(dev) & LITEPCIE_HAS_PACKETS))
		return litepcie_fail(-EOPNOTSUPP, "packets: %s, so it has whole buffers only",
				     dev->map.notices.control ? "on this machine the driver cannot "
				     "use the card's records" : "the card writes no records");
	return 0;
}

/*
 * Returns -EINVAL if poll_us (the time between two polls of the card) is neither 0 nor within its
 * limits, or is 0 in adaptive mode.
 */
static int check_polling(const struct litepcie_stream_options *options)
{
	if (options->adaptive && !options->poll_us)
		return litepcie_fail(-EINVAL, "adaptive without poll_us: set poll_us to the time "
				     "between two polls, %u to %u us", LITEPCIE_POLL_US_LEAST,
				     LITEPCIE_POLL_US_MOST);
	if (options->poll_us && (options->poll_us < LITEPCIE_POLL_US_LEAST ||
				 options->poll_us > LITEPCIE_POLL_US_MOST))
		return litepcie_fail(-EINVAL, "poll_us of %u us: it must be 0, or from %u to %u",
				     options->poll_us, LITEPCIE_POLL_US_LEAST,
				     LITEPCIE_POLL_US_MOST);
	return 0;
}

static int check_options(struct litepcie_stream *stream,
			 const struct litepcie_stream_options *options)
{
	struct litepcie *dev = stream->dev;
	int rc = check_shape(dev, options);

	if (rc == 0 && stream->direction == LITEPCIE_H2C && (options->limit || options->flush_us))
		return litepcie_fail(-EINVAL, "%s of h2c: only c2h has one",
				     options->limit ? "a limit" : "a flush time");
	return rc ?: check_packets(dev, options) ?: check_polling(options);
}

/* Opening and closing a stream ---------------------------------------------------------------- */

/*
 * Check @options, in which defaults are filled in, and make the ring. Behind the kernel driver only
 * the start of the stream makes the ring. The caller holds the lock.
 * Returns -EBUSY if this handle has the stream open already, or the error of a check or of the back
 * end. After an error the stream is not open.
 */
static int open_stream(struct litepcie_stream *stream,
		       const struct litepcie_stream_options *options)
{
	int rc;

	if (stream->open)
		return litepcie_fail(-EBUSY, "this handle has %s open already", stream->name);
	rc = check_options(stream, options);
	if (rc < 0)
		return rc;
	stream->options = *options;
	rc = (options->memory ? litepcie_check_memory(stream) : 0) ?: litepcie_engine_setup(stream);
	stream->open = rc == 0;
	return rc;
}

int litepcie_stream_open(struct litepcie *dev, unsigned int direction,
			 const struct litepcie_stream_options *options,
			 struct litepcie_stream **stream)
{
	struct litepcie_stream *found = direction == LITEPCIE_H2C ? &dev->h2c : &dev->c2h;
	struct litepcie_stream_options wanted = { .struct_size = sizeof(wanted) };
	int rc = 0;

	*stream = NULL;
	if (direction != LITEPCIE_H2C && direction != LITEPCIE_C2H)
		return litepcie_fail(-EINVAL, "direction 0x%x: choose h2c or c2h", direction);
	if (options)
		rc = litepcie_struct_in(&wanted, sizeof(wanted), options,
					"litepcie_stream_options");
	if (rc < 0)
		return rc;
	wanted.buffer_size = wanted.buffer_size ?: LITEPCIE_BUFFER_SIZE;
	wanted.buffer_count = wanted.buffer_count ?: LITEPCIE_BUFFER_COUNT;
	wanted.batch = wanted.batch ?: 1;
	litepcie_lock(dev);
	rc = open_stream(found, &wanted);
	litepcie_unlock(dev);
	if (rc == 0)
		*stream = found;
	return rc;
}

/* litepcie_stream_close() returns nothing, so an error of the stop is dropped. */
void litepcie_stream_close(struct litepcie_stream *stream)
{
	if (!stream || !stream->open)
		return;
	litepcie_stream_stop(stream);
	litepcie_lock(stream->dev);
	litepcie_engine_free(stream);
	stream->open = false;
	litepcie_unlock(stream->dev);
}

int litepcie_stream_info(struct litepcie_stream *stream, struct litepcie_stream_info *info)
{
	struct litepcie_stream_info found;

	litepcie_lock(stream->dev);
	found = (struct litepcie_stream_info) {
		.base = stream->base, .buffer_size = stream->options.buffer_size,
		.buffer_count = stream->options.buffer_count,
		.address = stream->base ? stream->iova : 0,
	};
	litepcie_unlock(stream->dev);
	return litepcie_struct_out(info, &found, sizeof(found), "litepcie_stream_info");
}
