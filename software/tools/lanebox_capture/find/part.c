/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The binary search of part.h in a recording. */
#include "part.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "litepcie_capture.h"
#include "../litepcie_util/util.h"
#include "play/source.h"

#define PAGE		((size_t)LITEPCIE_CAPTURE_HEADER_BYTES)
#define SEAL		LITEPCIE_CAPTURE_SEAL_BYTES
#define SEAL_LONG	LITEPCIE_CAPTURE_SEAL_LONG
/*
 * A packet has the time at which it came. The seal of an MBUF (part of a recording) may be written
 * before a packet of the next MBUF that came earlier, since packets wait in the card. The search
 * takes it that they wait for 0.1 s at most.
 */
#define LATE_NS		UINT64_C(100000000)

/* A recording in which MBUFs (parts of @mbuf bytes) are probed. */
struct probed {
	int			fd;
	size_t			mbuf, mbufs;
	struct source_interface	interface;
	uint64_t		read_bytes;
	/* true: a probe has found something that a recording with its own times does not have */
	bool			odd;
};

static bool read_at(struct probed *probed, void *to, size_t bytes, size_t at)
{
	ssize_t got = pread(probed->fd, to, bytes, (off_t)at);

	probed->read_bytes += got > 0 ? (uint64_t)got : 0;
	return got == (ssize_t)bytes;
}

/*
 * Read the time of the seal (block with counts) that ends at offset @end of the file. Returns false
 * if no seal ends there.
 */
static bool seal_time(struct probed *probed, size_t end, uint64_t *time)
{
	uint8_t bytes[SEAL_LONG];
	const uint8_t *seal = bytes;
	uint32_t length;

	if (!read_at(probed, bytes, sizeof(bytes), end - sizeof(bytes)))
		return false;
	length = util_word(bytes + sizeof(bytes) - 4);
	if (length != SEAL && length != SEAL_LONG)
		return false;
	seal += sizeof(bytes) - length;
	memcpy(time, seal + LITEPCIE_CAPTURE_SEAL_AT_TIME, sizeof(*time));
	return util_word(seal) == LITEPCIE_PCAPNG_SEAL && util_word(seal + 4) == length &&
	       util_word(seal + LITEPCIE_CAPTURE_SEAL_AT_MAGIC) == LITEPCIE_CAPTURE_SEAL_MAGIC;
}

/*
 * Find the size of an MBUF (part of a recording): the smallest at whose end is a seal (block with
 * counts). Returns false if there is none, so the file is no recording.
 */
static bool find_mbufs(struct probed *probed, size_t size)
{
	size_t mbuf = LITEPCIE_CAPTURE_MBUF_LEAST;
	uint64_t time;

	while (mbuf <= LITEPCIE_CAPTURE_MBUF_MOST && mbuf <= size - PAGE) {
		if (seal_time(probed, PAGE + mbuf, &time)) {
			probed->mbuf = mbuf;
			probed->mbufs = (size - PAGE) / mbuf;
			return !((size - PAGE) % mbuf);
		}
		mbuf *= 2;
	}
	return false;
}

static size_t end_of(const struct probed *probed, size_t n)
{
	return PAGE + (n + 1) * probed->mbuf;
}

/*
 * Returns the time in ns at which MBUF @n of the file (a part of the recording) was complete. The
 * first packet of the MBUF must have come between this time and that of the MBUF before. Otherwise
 * probed->odd becomes true.
 */
static uint64_t time_of(struct probed *probed, size_t n)
{
	uint8_t first[SOURCE_HEAD];
	uint64_t begin = 0, end = 0, time;

	if (!seal_time(probed, end_of(probed, n), &end) ||
	    (n && !seal_time(probed, end_of(probed, n - 1), &begin)) ||
	    !read_at(probed, first, sizeof(first), end_of(probed, n) - probed->mbuf)) {
		probed->odd = true;
		return 0;
	}
	time = source_time(first);
	if (util_word(first) == LITEPCIE_PCAPNG_RECORD &&
	    (time > end || time + LATE_NS < begin))
		probed->odd = true;
	return source_ns(&probed->interface, end);
}

/*
 * Returns the number of the first MBUF (part of the recording) that was complete at @time_ns or
 * later, or the number of all MBUFs if there is none.
 */
static size_t first_at(struct probed *probed, uint64_t time_ns)
{
	size_t low = 0, high = probed->mbufs;

	while (low < high && !probed->odd) {
		size_t middle = low + (high - low) / 2;

		if (time_of(probed, middle) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Set the unit of the times from the file's first page. All interfaces of a recording are alike. */
static bool take_interface(struct probed *probed, const char *path)
{
	struct source header;
	bool right = source_open_part(&header, path, 0, 0, PAGE) && header.interfaces;

	if (right)
		probed->interface = header.interfaces[0];
	probed->read_bytes += header.read_bytes;
	source_close(&header);
	return right && probed->interface.resolution == 9;
}

static bool search(struct probed *probed, struct part *part, uint64_t from_ns, uint64_t to_ns)
{
	size_t first = first_at(probed, from_ns), last = first;
	uint64_t late = to_ns < UINT64_MAX - LATE_NS ? to_ns + LATE_NS : UINT64_MAX;

	/*
	 * A packet of the time may be in any MBUF (part of the recording) up to the first one that
	 * was complete LATE_NS behind the time, and in the one after it.
	 */
	if (first < probed->mbufs)
		last = first_at(probed, late) + 2;
	if (last > probed->mbufs)
		last = probed->mbufs;
	if (last < first)
		last = first;
	part->from = PAGE + first * probed->mbuf;
	part->to = PAGE + last * probed->mbuf;
	return !probed->odd;
}

bool part_find(struct part *part, const char *path, uint64_t from_ns, uint64_t to_ns)
{
	struct probed probed = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	struct stat found;
	bool right = probed.fd >= 0 && fstat(probed.fd, &found) == 0 &&
		     S_ISREG(found.st_mode) && (size_t)found.st_size > PAGE &&
		     find_mbufs(&probed, (size_t)found.st_size) &&
		     take_interface(&probed, path) && search(&probed, part, from_ns, to_ns);

	if (probed.fd >= 0)
		close(probed.fd);
	part->read_bytes = probed.read_bytes;
	return right;
}
