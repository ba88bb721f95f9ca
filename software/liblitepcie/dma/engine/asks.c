/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Note which descriptors of a stream ask for an interrupt, and count those of them that the card
 * has executed (stream->asked). All back ends use this file. asks.h says what each function
 * promises.
 */
#include "asks.h"

#include <string.h>

/*
 * Clear the flags "asks for an interrupt" of the @count buffers from @first on. @count must be at
 * most the number of buffers of the ring.
 */
static void clear_asks(struct litepcie_stream *stream, uint64_t first, uint64_t count)
{
	uint64_t ring = stream->options.buffer_count, slot = first & (ring - 1);
	uint64_t part = count < ring - slot ? count : ring - slot;

	memset(stream->asks + slot, false, part);
	memset(stream->asks, false, count - part);
}

void litepcie_asks_set(struct litepcie_stream *stream, uint64_t first, uint64_t count,
		       uint64_t last)
{
	uint64_t end = first + count, mask = stream->options.buffer_count - 1;
	uint64_t every = stream->interrupt_every, next = first + every - 1 - first % every;
	bool *asks = stream->asks;

	clear_asks(stream, first, count);
	if (stream->silent)
		return;
	for (; next < end; next += every)
		asks[next & mask] = true;
	if (last >= first && last < end)
		asks[last & mask] = true;
}

/* Returns how many of @count flags are true. Eight flags (bytes of 0 or 1) are added up at once. */
static uint64_t count_true(const bool *flags, uint64_t count)
{
	uint64_t sum = 0, eight;

	for (; count >= sizeof(eight); count -= sizeof(eight), flags += sizeof(eight)) {
		memcpy(&eight, flags, sizeof(eight));
		sum += eight * UINT64_C(0x0101010101010101) >> 56;
	}
	while (count--)
		sum += *flags++;
	return sum;
}

void litepcie_engine_done(struct litepcie_stream *stream, uint64_t done)
{
	uint64_t ring = stream->options.buffer_count, slot = stream->done & (ring - 1);
	uint64_t count = done - stream->done, part = count < ring - slot ? count : ring - slot;

	stream->asked += count_true(stream->asks + slot, part) +
			 count_true(stream->asks, count - part);
	stream->done = done;
}
