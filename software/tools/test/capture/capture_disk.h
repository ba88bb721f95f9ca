/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for a disk, whose writes fail when a test wants it, and one for io_uring that writes
 * to this disk. The file includes output.c, deal.c, files.c, ended.c, newest.c and record.c of
 * lanebox-capture, whose writes go to the disk, and processor.c.
 */
#ifndef CAPTURE_DISK_H
#define CAPTURE_DISK_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"

/* A disk whose writes go wrong as planned ----------------------------------------------------- */

static struct {
	unsigned int	writes;		/* number of writes since plan() */
	unsigned int	at;		/* number of the write that fails, from 1; 0: none */
	/* errno of the failing write; 0: the write is short and takes only @most bytes */
	int		error;
	size_t		most;
	bool		stays;		/* true: all later writes fail, too */
} disk;

static bool goes_wrong(void)
{
	disk.writes++;
	return disk.at && (disk.stays ? disk.writes >= disk.at : disk.writes == disk.at);
}

static ssize_t disk_write(int fd, const void *data, size_t bytes)
{
	bool wrong = goes_wrong();

	if (wrong && disk.error) {
		errno = disk.error;
		return -1;
	}
	return write(fd, data, wrong ? disk.most : bytes);
}

static ssize_t disk_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	bool wrong = goes_wrong();

	if (wrong && disk.error)
		return -disk.error;
	return pwrite(fd, data, wrong ? disk.most : bytes, offset);
}

/*
 * processor.c comes before `write` is redefined: it writes to /dev/cpu_dma_latency, not to a disk.
 */
#include "../../lanebox_capture/processor.c"
#define write disk_write
#include "../../lanebox_capture/disk/output.c"
#include "../../lanebox_capture/record/deal.c"
#include "../../lanebox_capture/record/files.c"
#include "../../lanebox_capture/record/ended.c"
#include "../../lanebox_capture/record/newest.c"
#include "../../lanebox_capture/record/record.c"
#undef write

/*
 * Let write number @at from now on fail with @error. With @error 0 the write is short: it takes
 * only @most bytes. With @at 0 no write fails.
 */
static void plan(unsigned int at, int error, size_t most)
{
	disk.writes = 0;
	disk.at = at;
	disk.error = error;
	disk.most = most;
	disk.stays = false;
}

/* A stand-in for io_uring -------------------------------------------------------------------- */

/*
 * Stand-in for the kernel's side of io_uring. A write ends only when the program waits for it by
 * uring_submit(). Of the writes under way, the one that was begun last ends first.
 */
static struct {
	bool			there;
	struct kernel_write {
		int		fd;
		const uint8_t	*data;
		size_t		bytes;
		uint64_t	offset, number;
	} running[OUTPUT_DEPTH];
	unsigned int		count, most;	/* number of writes under way, and its maximum */
	struct uring_end	ends[OUTPUT_DEPTH];
	unsigned int		ended, taken;
	const uint8_t		*memory;
	size_t			bytes;
	/*
	 * number of the first call of uring_submit() that fails, counted from 1 when this is set;
	 * all calls after it fail, too; 0: no call fails
	 */
	unsigned int		fails_at;
} kernel;

int uring_open(struct uring *uring, unsigned int entries)
{
	*uring = (struct uring) { .fd = -1, .entries = entries };
	kernel.count = kernel.most = kernel.ended = kernel.taken = 0;
	kernel.memory = NULL;
	if (!kernel.there)
		return -ENOSYS;
	uring->rings = &kernel;
	return 0;
}

void uring_register(struct uring *uring, const void *memory, size_t bytes)
{
	CHECK_EQUAL(kernel.count + uring->queued, 0);
	kernel.memory = memory;
	kernel.bytes = bytes;
}

void uring_write(struct uring *uring, int fd, const void *data, size_t bytes, uint64_t offset,
		 uint64_t number)
{
	const uint8_t *from = data;

	CHECK(kernel.count + kernel.ended - kernel.taken < uring->entries);
	CHECK(!kernel.memory || (from >= kernel.memory &&
				 from + bytes <= kernel.memory + kernel.bytes));
	kernel.running[kernel.count++] = (struct kernel_write) { fd, from, bytes, offset, number };
	if (kernel.count > kernel.most)
		kernel.most = kernel.count;
	uring->queued++;
}

int uring_submit(struct uring *uring, unsigned int least)
{
	if (kernel.fails_at == 1)
		return -EFAULT;
	kernel.fails_at -= kernel.fails_at > 0;
	uring->queued = 0;
	while (kernel.ended - kernel.taken < least && kernel.count) {
		const struct kernel_write *write = &kernel.running[--kernel.count];

		kernel.ends[kernel.ended++ % OUTPUT_DEPTH] = (struct uring_end) {
			write->number,
			disk_pwrite(write->fd, write->data, write->bytes, (off_t)write->offset),
		};
	}
	CHECK(kernel.ended - kernel.taken >= least);
	return 0;
}

bool uring_take(struct uring *uring, struct uring_end *end)
{
	(void)uring;
	if (kernel.taken == kernel.ended)
		return false;
	*end = kernel.ends[kernel.taken++ % OUTPUT_DEPTH];
	return true;
}

void uring_close(struct uring *uring)
{
	/*
	 * If io_uring has failed, it may be closed while writes are under way. In all other cases
	 * the program must have waited for all writes before.
	 */
	CHECK(!kernel.count || kernel.fails_at == 1);
	kernel.count = 0;
	*uring = (struct uring) { .fd = -1 };
}

#endif /* CAPTURE_DISK_H */
