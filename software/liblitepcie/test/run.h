/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Helpers by which a test starts one or both streams of a card by one struct run_config, and
 * reaches a buffer by its number, any number of times and in any order.
 */
#ifndef LITEPCIE_TEST_RUN_H
#define LITEPCIE_TEST_RUN_H

#include <errno.h>

#include "helpers.h"

/*
 * The streams that run_start() starts (`directions`), and their options. c2h_limit and flush_us are
 * used for c2h only.
 */
struct run_config {
	unsigned int	directions;
	bool		loopback, pattern, packets, adaptive;
	uint64_t	c2h_limit;
	unsigned int	interrupt_every, batch, flush_us, poll_us;
};

struct run_record {
	uint32_t	bytes, flags;
};

static inline struct litepcie_stream *run_stream(struct litepcie *dev, unsigned int direction)
{
	return direction == LITEPCIE_H2C ? &dev->h2c : &dev->c2h;
}

/*
 * Close a stream and open it again with the options of @config. The ring keeps its sizes, and it
 * stays in the program's own memory if run_place() has put it there. A stream that was never open
 * gets the default sizes.
 */
static inline int run_open(struct litepcie *dev, unsigned int direction,
			   const struct run_config *config)
{
	struct litepcie_stream *stream = run_stream(dev, direction);
	bool c2h = direction == LITEPCIE_C2H;
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .loopback = config->loopback,
		.buffer_size = stream->options.buffer_size,
		.buffer_count = stream->options.buffer_count, .memory = stream->options.memory,
		.memory_bytes = stream->options.memory_bytes, .pattern = config->pattern,
		.packets = config->packets, .adaptive = config->adaptive,
		.limit = c2h ? config->c2h_limit : 0, .batch = config->batch,
		.interrupt_every = config->interrupt_every,
		.flush_us = c2h ? config->flush_us : 0, .poll_us = config->poll_us,
	};

	litepcie_stream_close(stream);
	return litepcie_stream_open(dev, direction, &options, &stream);
}

/*
 * Stop both streams, h2c first. If c2h stopped first, the card could drop data of the loopback, and
 * litepcie_stream_drain() of h2c in another thread could succeed in that moment.
 */
static inline int run_stop(struct litepcie *dev)
{
	int h2c = litepcie_stream_stop(&dev->h2c), c2h = litepcie_stream_stop(&dev->c2h);

	return h2c < 0 ? h2c : c2h;
}

static inline int run_start(struct litepcie *dev, const struct run_config *config)
{
	bool c2h = config->directions & LITEPCIE_C2H, h2c = config->directions & LITEPCIE_H2C;
	int rc = c2h ? run_open(dev, LITEPCIE_C2H, config) : 0;

	if (rc == 0 && h2c)
		rc = run_open(dev, LITEPCIE_H2C, config);
	if (rc == 0 && c2h)
		rc = litepcie_stream_start(&dev->c2h);
	if (rc == 0 && h2c)
		rc = litepcie_stream_start(&dev->h2c);
	if (rc < 0)
		run_stop(dev);
	return rc;
}

/*
 * Let the next runs have rings of @count buffers of @size bytes. h2c is set first, and keeps the
 * new sizes if c2h is refused. A direction that is refused keeps its old sizes for its next run.
 */
static inline int run_shape(struct litepcie *dev, size_t size, unsigned int count)
{
	const struct run_config config = { .directions = LITEPCIE_H2C | LITEPCIE_C2H };

	for (unsigned int direction = LITEPCIE_H2C; direction <= LITEPCIE_C2H; direction++) {
		struct litepcie_stream *stream = run_stream(dev, direction);
		struct litepcie_stream_options before = stream->options;
		int rc;

		stream->options.buffer_size = size;
		stream->options.buffer_count = count;
		rc = run_open(dev, direction, &config);
		if (rc < 0) {
			stream->options = before;
			return rc;
		}
	}
	return 0;
}

/*
 * Let the next runs of @direction have their ring in @memory (@bytes bytes), or in memory of the
 * library or the driver if @memory is NULL. After an error the next run has its ring where it was
 * before this call.
 */
static inline int run_place(struct litepcie *dev, unsigned int direction, void *memory,
			    size_t bytes)
{
	const struct run_config config = { .directions = direction };
	struct litepcie_stream *stream = run_stream(dev, direction);
	struct litepcie_stream_options before = stream->options;
	int rc;

	stream->options.memory = memory;
	stream->options.memory_bytes = bytes;
	rc = run_open(dev, direction, &config);
	if (rc < 0)
		stream->options = before;
	return rc;
}

static inline size_t run_size(struct litepcie *dev)
{
	return dev->c2h.options.buffer_size ? dev->c2h.options.buffer_size : LITEPCIE_BUFFER_SIZE;
}

static inline unsigned int run_count(struct litepcie *dev)
{
	return dev->c2h.options.buffer_count ? dev->c2h.options.buffer_count :
					       LITEPCIE_BUFFER_COUNT;
}

static inline void *run_buffer(struct litepcie_stream *stream, uint64_t number)
{
	size_t slot = number & (stream->options.buffer_count - 1);

	return stream->base ? stream->base + slot * stream->options.buffer_size : NULL;
}

static inline void *h2c_buffer(struct litepcie *dev, uint64_t number)
{
	return run_buffer(&dev->h2c, number);
}

static inline void *c2h_buffer(struct litepcie *dev, uint64_t number)
{
	return run_buffer(&dev->c2h, number);
}

static inline int run_ready(struct litepcie_stream *stream, uint64_t *first, int timeout_ms)
{
	int rc = litepcie_stream_ready(stream, timeout_ms);

	*first = stream->acquired;
	return rc;
}

static inline int c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	return run_ready(&dev->c2h, first, timeout_ms);
}

static inline int h2c_get(struct litepcie *dev, uint64_t *first, int timeout_ms)
{
	return run_ready(&dev->h2c, first, timeout_ms);
}

/*
 * Acquire @count buffers if the stream runs and, by the count of finished buffers that the library
 * knows already, so many can be acquired. Otherwise acquire none. The card's counts are not read.
 */
static inline void run_acquire(struct litepcie_stream *stream, unsigned int count)
{
	uint64_t end = litepcie_count(&stream->hw);

	if (stream->direction == LITEPCIE_H2C)
		end += stream->options.buffer_count;
	if (stream->active && count <= end - stream->acquired)
		stream->acquired += count;
}

static inline int c2h_release(struct litepcie *dev, unsigned int count)
{
	run_acquire(&dev->c2h, count);
	return litepcie_stream_release(&dev->c2h, count);
}

static inline int h2c_submit(struct litepcie *dev, unsigned int count)
{
	run_acquire(&dev->h2c, count);
	return litepcie_stream_release(&dev->h2c, count);
}

static inline int h2c_send(struct litepcie *dev, size_t bytes)
{
	uint64_t acquired = dev->h2c.acquired;
	int rc;

	run_acquire(&dev->h2c, 1);
	rc = litepcie_stream_send(&dev->h2c, bytes);
	if (rc == -EINVAL)
		dev->h2c.acquired = acquired;
	return rc;
}

static inline int h2c_drain(struct litepcie *dev, int timeout_ms)
{
	return litepcie_stream_drain(&dev->h2c, timeout_ms);
}

static inline int c2h_record(struct litepcie *dev, uint64_t number, struct run_record *record)
{
	struct litepcie_buffer buffer = {
		.bytes = dev->c2h.options.buffer_size, .sequence = number,
	};
	int rc = litepcie_check_active(dev, LITEPCIE_C2H);

	if (rc == 0 && number >= litepcie_count(&dev->c2h.hw))
		rc = -EINVAL; /* the library does not know yet that this c2h buffer is filled */
	if (rc == 0)
		rc = litepcie_notices_record(&dev->c2h, &buffer);
	*record = (struct run_record) { .bytes = (uint32_t)buffer.bytes, .flags = buffer.flags };
	return rc;
}

static inline int run_flush(struct litepcie *dev, unsigned int directions)
{
	int rc = directions & LITEPCIE_H2C ? litepcie_stream_flush(&dev->h2c) : 0;

	return rc == 0 && directions & LITEPCIE_C2H ? litepcie_stream_flush(&dev->c2h) : rc;
}

static inline int run_export(struct litepcie *dev, unsigned int direction, int *fd)
{
	return litepcie_stream_export(run_stream(dev, direction), fd);
}

static inline int run_keep(struct litepcie *dev, unsigned int direction,
			   struct litepcie_memory **memory)
{
	return litepcie_stream_keep(run_stream(dev, direction), memory);
}

#endif /* LITEPCIE_TEST_RUN_H */
