// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes calls that take the driver's locks, for the tests in sim/test. Each call must return: it
 * would hang if a mutex that it takes, or card->live for writing, were still held.
 *
 *   locks DEV		make the calls in a child process. If DEV-capture exists, the capture's
 *			locks are tried, too
 *
 * A process that waits in mutex_lock() cannot be killed. So the parent process waits for the child
 * with a time limit, and says in which call the child hangs. The calls also take spinlocks. If a
 * spinlock is held, the processor that makes the call hangs in the kernel.
 *
 * Exit status: 0 if every call returns with the expected result, 1 if one does not (with a message
 * on stderr), 2 wrong usage.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../uapi/litepcie_capture_node.h"
#include "calls.h"

#define PATIENCE_MS	10000

/* name of the driver's call that the child process is in; lies in memory shared with the child */
static const char *volatile *stage;

static void need(bool true_, const char *call)
{
	if (!true_)
		fail("%s: %s", call, strerror(errno));
}

/*
 * Check that a call of the child process has succeeded, or has failed with @error. Otherwise end
 * the child process.
 */
static void ends(long rc, int error, const char *call)
{
	need(rc >= 0 || errno == error, call);
}

/*
 * Make calls that use the direction's ring or owner: each takes way->mutex, and mmap() and EXPORT
 * take card->live, too.
 */
static void way_mutex(int fd, uint32_t way)
{
	struct litepcie_ring_info info = { .way = way };
	struct litepcie_event event = { .way = way, .fd = -1 };
	struct litepcie_export export = { .way = way, .fd_flags = O_CLOEXEC };
	void *ring;

	*stage = "RING_INFO";
	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "RING_INFO");
	*stage = "EVENT";
	need(!ioctl(fd, LITEPCIE_IOCTL_EVENT, &event), "EVENT");
	*stage = "mmap() of a ring";
	ring = mmap(NULL, info.ring_bytes, PROT_READ, MAP_SHARED, fd, (off_t)info.ring_offset);
	need(ring != MAP_FAILED && !munmap(ring, info.ring_bytes), "mmap() of a ring");
	*stage = "EXPORT";
	need(!ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export) && !close(export.fd), "EXPORT");
}

/*
 * Make calls that take card->live: ADVANCE, COUNTS and EVENT for the user's logic. ADVANCE takes
 * way->mutex, too. EVENT takes the lock of the interrupt of the user's logic, if the logic has an
 * interrupt.
 */
static void way_counts(int fd, uint32_t way)
{
	struct litepcie_advance advance = { .way = way };
	struct litepcie_counts counts = { .way = way };
	struct litepcie_event event = { .way = LITEPCIE_EVENT_USER, .fd = -1 };

	*stage = "ADVANCE";
	need(!ioctl(fd, LITEPCIE_IOCTL_ADVANCE, &advance), "ADVANCE");
	*stage = "COUNTS";
	need(!ioctl(fd, LITEPCIE_IOCTL_COUNTS, &counts), "COUNTS");
	*stage = "EVENT of the user's logic";
	ends(ioctl(fd, LITEPCIE_IOCTL_EVENT, &event), ENXIO, "EVENT of the user's logic");
}

static void stop(int fd)
{
	*stage = "stop";
	need(!run_c2h(fd, 0, NULL) && !run_h2c(fd, 0, NULL), "stop");
}

/*
 * Make calls that take the driver's locks way->io and way->wait.lock. The file has O_NONBLOCK, so
 * read() and write() do not wait for data or room.
 */
static void way_io(int fd)
{
	static char buffer[BUFFER];
	struct pollfd poller = { .fd = fd, .events = POLLIN | POLLOUT };

	*stage = "read()";
	ends(read(fd, buffer, sizeof(buffer)), EAGAIN, "read()");
	*stage = "write()";
	ends(write(fd, buffer, sizeof(buffer)), EAGAIN, "write()");
	*stage = "poll()";
	need(poll(&poller, 1, 0) >= 0, "poll()");
	*stage = "fsync()";
	need(!fsync(fd), "fsync()");
}

/*
 * Make calls that take the locks of the capture's node: capture->mutex, queue->wait.lock and
 * file->io. The ioctl WAKE fails before read(), since the file owns no queue of the capture, and
 * after read(), since WAKE is not for files that use read().
 */
static void capture_calls(const char *device)
{
	struct litepcie_capture_info info = { .ask = LITEPCIE_CAPTURE_ASK_ACCOUNTS };
	struct litepcie_capture_wake wake = { .fd = -1 };
	struct litepcie_capture_stop end = { 0 };
	char node[64], data[64];
	int fd;

	snprintf(node, sizeof(node), "%s-capture", device);
	if (access(node, F_OK))
		return;
	*stage = "open() of the capture";
	fd = open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	need(fd >= 0, node);
	*stage = "INFO of the capture";
	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_INFO, &info), *stage);
	*stage = "WAKE of the capture";
	ends(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), EINVAL, *stage);
	*stage = "STOP of the capture";
	need(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_STOP, &end), *stage);
	*stage = "read() of the capture";
	need(read(fd, data, sizeof(data)) == sizeof(data), *stage);
	*stage = "WAKE beside read()";
	ends(ioctl(fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), EBUSY, *stage);
	*stage = "close(), which stops the capture";
	close(fd);
}

static void every_call(const char *device)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };
	int fd;

	/* open() takes the driver's locks card->live and card->files_lock */
	*stage = "open()";
	fd = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	need(fd >= 0, device);
	*stage = "LOCK";
	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "LOCK");
	need(lock.dma_reader_status && lock.dma_writer_status, "LOCK: a direction has an owner");
	way_mutex(fd, LITEPCIE_WAY_H2C);
	way_mutex(fd, LITEPCIE_WAY_C2H);
	way_io(fd);
	stop(fd);
	way_counts(fd, LITEPCIE_WAY_H2C);
	way_counts(fd, LITEPCIE_WAY_C2H);
	stop(fd);
	*stage = "start, with card->irq_lock";
	need(!small_ring(fd, LITEPCIE_WAY_C2H) && !run_c2h(fd, 1, NULL), "start");
	need(!small_ring(fd, LITEPCIE_WAY_H2C) && !run_h2c(fd, 1, NULL), "start");
	*stage = "close(), which stops the DMA";
	close(fd);
	capture_calls(device);
	exit(0);
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc != 2) {
		fprintf(stderr, "usage: locks DEV\n");
		return 2;
	}
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	need(stage != MAP_FAILED, "shared memory");
	child = fork();
	need(child >= 0, "fork");
	if (child == 0)
		every_call(argv[1]);
	for (int i = 0; waitpid(child, &status, WNOHANG) == 0; i++) {
		if (i == PATIENCE_MS)
			fail("%s does not come back: a lock is held", *stage);
		usleep(1000);
	}
	return status ? 1 : 0;
}
