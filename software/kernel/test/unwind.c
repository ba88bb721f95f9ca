// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes calls of /dev/litepcieN in which the driver requests something of the kernel, such as
 * memory. In the build of the driver with the files of faults/, such requests may be refused.
 *
 *   unwind all DEV		make the calls, also those of DEV-capture if it exists; print how
 *				many failed
 *   unwind export DEV FILE	export a ring and replace it; make FILE, and keep the export until SIGTERM
 *
 * Exit status of `all`: 0 if each call succeeded, or failed with an error to which a refused
 * request leads; 1 otherwise. `export` ends by the signal, or with 1. Wrong usage: 2.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../uapi/litepcie_capture_node.h"
#include "calls.h"

#define PAGES	4u	/* number of pages of a direction's first ring; each page is one buffer */

static int failures;

/*
 * Check the result of a call of the driver. Returns false if the call has failed with one of the
 * errors to which a refused request inside the driver can lead, and ends the program after any
 * other error. EOPNOTSUPP is the error of a capture whose status page could not be mapped at the
 * probe.
 */
static bool ok(bool done, const char *what)
{
	const int errors[] = { ENOMEM, EBADF, EMFILE, EIO, EOPNOTSUPP };

	if (done)
		return true;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errno == errors[i]) {
			failures++;
			return false;
		}
	fail("%s: %s", what, strerror(errno));
}

static bool set_up(int fd, uint32_t way, uint32_t pages)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = 4096, .buffer_count = pages, .buffers_per_interrupt = 1,
	};

	return ok(!ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup), "setup");
}

static void own_memory(int fd, uint32_t way)
{
	char *memory = aligned_alloc(4096, PAGES * 4096);
	struct litepcie_ring_memory request = {
		.setup = { way, 4096, PAGES, 1, 0, 0, 0, 0 }, .address = (uintptr_t)memory,
	};

	ok(!ioctl(fd, LITEPCIE_IOCTL_RING_MEMORY, &request), "own memory");
	free(memory);
}

static void map(int fd, uint64_t offset, size_t bytes)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (!ok(memory != MAP_FAILED, "mmap"))
		return;
	memory[bytes - 1] = 1;
	munmap(memory, bytes);
}

static int export_ring(int fd, uint32_t way)
{
	struct litepcie_export export = { .way = way, .fd_flags = O_RDWR | O_CLOEXEC };

	return ok(!ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export), "export") ? export.fd : -1;
}

static void one_way(int fd, uint32_t way)
{
	struct litepcie_ring_info info = { .way = way };
	struct litepcie_event event = { .way = way, .fd = eventfd(0, 0) };
	int exported;

	ok(!ioctl(fd, LITEPCIE_IOCTL_EVENT, &event), "event");
	close(event.fd);
	if (!set_up(fd, way, PAGES))
		return;
	if (!ok(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "info"))
		return;
	map(fd, info.ring_offset, PAGES * 4096);
	map(fd, info.index_offset, 4096);
	exported = export_ring(fd, way);
	own_memory(fd, way);
	set_up(fd, way, 2 * PAGES);
	if (exported >= 0)
		close(exported);
}

/* Calls of /dev/litepcieN-capture -------------------------------------------------------------- */

#define CAPTURE_RING	0x10000u	/* bytes of the smallest ring that a capture may have */
#define CAPTURE_MBUF	0x1000u

/* Capture frames to a ring in the program's own memory. */
static void capture_own(const char *node)
{
	struct litepcie_capture_ring ring = {
		.bytes = CAPTURE_RING, .mbuf_bytes = CAPTURE_MBUF,
	};
	struct litepcie_capture_start start = { .wait_cycles = 250, .limit = CAPTURE_RING };
	struct litepcie_capture_generate frames = { .size = 64, .count = 100 };
	struct litepcie_capture_info info = { .ask = LITEPCIE_CAPTURE_ASK_ACCOUNTS };
	struct litepcie_capture_wake wake = { .fd = eventfd(0, 0) };
	struct litepcie_capture_stop stop = { 0 };
	char *memory = aligned_alloc(CAPTURE_RING, CAPTURE_RING), *status;
	int fd = open(node, O_RDWR | O_CLOEXEC);

	ring.address = (uintptr_t)memory;
	if (ok(fd >= 0, node)) {
		status = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (ok(status != MAP_FAILED, "status page"))
			munmap(status, 4096);
		ok(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_INFO, &info), "capture info");
		if (ok(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_RING, &ring), "capture ring") &&
		    ok(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_START, &start), "capture start")) {
			ok(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_WAKE, &wake), "capture wake");
			ok(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_GENERATE, &frames), "generate");
			ok(!ioctl(fd, LITEPCIE_IOCTL_CAPTURE_STOP, &stop), "capture stop");
		}
		close(fd);
	}
	close(wake.fd);
	free(memory);
}

/* Read the pcapng header by read().  At the first read() of a file the driver makes a ring. */
static void capture_read(const char *node)
{
	static char data[4096];
	int fd = open(node, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (!ok(fd >= 0, node))
		return;
	ok(read(fd, data, sizeof(data)) == sizeof(data), "the header by read()");
	close(fd);
}

static void capture(const char *device)
{
	char node[64];

	snprintf(node, sizeof(node), "%s-capture", device);
	if (access(node, F_OK))
		return;
	capture_own(node);
	capture_read(node);
}

static int all(const char *device)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (ok(fd >= 0, device)) {
		ok(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "lock");
		one_way(fd, LITEPCIE_WAY_H2C);
		one_way(fd, LITEPCIE_WAY_C2H);
		loopback(fd, 1);
		ok(!run_c2h(fd, 1, NULL), "start");
		ok(!run_h2c(fd, 1, NULL), "start");
		close(fd);
	}
	capture(device);
	printf("unwind: %d calls failed\n", failures);
	return 0;
}

static int export_and_wait(const char *device, const char *flag)
{
	struct litepcie_ioctl_lock lock = { .dma_writer_request = 1 };
	int fd = open_or_fail(device);

	if (ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) || export_ring(fd, LITEPCIE_WAY_C2H) < 0 ||
	    !set_up(fd, LITEPCIE_WAY_C2H, PAGES))
		fail("an export: %s", strerror(errno));
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	pause();
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "all"))
		return all(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "export"))
		return export_and_wait(argv[2], argv[3]);
	fprintf(stderr, "usage: unwind all DEV | export DEV FILE\n");
	return 2;
}
