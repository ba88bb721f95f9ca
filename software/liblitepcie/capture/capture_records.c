/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * litepcie_records(): list the frames of a span (a part of the ring) in a table. litepcie_capture.h
 * says what the call promises.
 */
#include "capture.h"

/*
 * Size of struct litepcie_packet in the library's first version, in which @dropped was its last
 * member.
 */
#define LEAST_SIZE	(offsetof(struct litepcie_packet, dropped) + sizeof(uint64_t))

/*
 * Get the next frame into an entry of @size bytes, the size of the program's struct. The program
 * may have been compiled with an older or a newer header than the library.
 */
static int next_entry(const struct litepcie_span *span, size_t *at, uint8_t *entry, size_t size)
{
	struct litepcie_packet packet;
	size_t known = size < sizeof(packet) ? size : sizeof(packet);
	int rc = litepcie_record_next(span, at, &packet);

	if (rc == 1) {
		memcpy(entry, &packet, known);
		memset(entry + known, 0, size - known);
	}
	return rc;
}

int litepcie_records(const struct litepcie_span *span, size_t *at, struct litepcie_packet *packets,
		     unsigned int count, size_t size)
{
	uint8_t *entry = (uint8_t *)packets;
	unsigned int found = 0;
	int rc = 1;

	if (size < LEAST_SIZE)
		return litepcie_fail(-EINVAL, "a table of entries of %zu bytes: it must be "
				     "sizeof(struct litepcie_packet)", size);
	/* The number of frames is returned as an int, so no more than INT32_MAX are taken. */
	if (count > INT32_MAX)
		count = INT32_MAX;
	for (; found < count && (rc = next_entry(span, at, entry, size)) == 1; entry += size)
		found++;
	/* The frames before a bad block are returned first. The next call then returns -EBADMSG. */
	if (rc < 0 && !found)
		return litepcie_fail(rc, "no valid pcapng block begins at byte %zu of the span",
				     *at);
	return (int)found;
}
