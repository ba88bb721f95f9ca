// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests that the memory of rings is limited as locked memory is, and charged for as long as an open
 * file, a mapping or a descriptor of the ring's dma-buf keeps it, even a descriptor that is only in
 * a socket.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "member.h"

#define MIB		(1u << 20)
#define RING_MIB	2u	/* size in MiB of the rings that ask_for_ring() makes */
#define LIMIT_MIB	8u
/* number of rings of 2 MiB that together exceed the limit of 8 MiB by far */
#define TOO_MANY	64

static void limit_to(unsigned int bytes)
{
	struct rlimit limit = { bytes, bytes };

	need(!setrlimit(RLIMIT_MEMLOCK, &limit), "RLIMIT_MEMLOCK");
}

static int ask_for_ring(int fd)
{
	struct litepcie_ring_setup setup = {
		.way = LITEPCIE_WAY_C2H, .buffer_size = 65536, .buffer_count = 32,
		.buffers_per_interrupt = 32,
	};

	return ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup);
}

static int export_ring(int fd)
{
	struct litepcie_export export = { .way = LITEPCIE_WAY_C2H, .fd_flags = O_CLOEXEC | O_RDWR };

	need(!ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export), "export");
	return export.fd;
}

static void need_pinned(unsigned int mib, const char *when)
{
	if (status_kb("VmPin:") != mib * 1024ul)
		fail("%s: VmPin is %lu KiB, not %u MiB", when, status_kb("VmPin:"), mib);
}

/*
 * In each direction one ring with LitePCIe's number and size of buffers is free of charge, so that
 * LitePCIe's programs run on systems that allow only 64 KiB of locked memory by default. With this
 * limit the test maps and starts both rings, and VmPin must stay 0.
 */
static void litepcies_rings_are_free(const char *device)
{
	int fd = open_or_fail(device);

	need(take(fd, true, true) == 2, "taking both");
	need(map_or_null(fd, 0, RING, PROT_READ | PROT_WRITE) &&
	     map_or_null(fd, RING, RING, PROT_READ | PROT_WRITE), "LitePCIe's rings, mapped");
	need(!run_c2h(fd, 1, NULL) && !run_h2c(fd, 1, NULL), "LitePCIe's rings, started");
	need_pinned(0, "with LitePCIe's rings");
	close(fd);
}

/*
 * In each direction of a channel one ring with LitePCIe's number and size of buffers is free of
 * charge at a time. A second one is charged to the process that makes it, and is included in the
 * process's VmPin.
 */
static void one_is_free(const char *device)
{
	int first = open_or_fail(device), second = open_or_fail(device);
	void *own = map_or_null(first, RING, RING, PROT_READ), *another;

	need(own, "the first c2h ring");
	need_pinned(0, "with the card's own ring");
	another = map_or_null(second, RING, RING, PROT_READ);
	need(another, "the second c2h ring");
	need_pinned(RING_MIB, "with a second one");
	munmap(own, RING);
	munmap(another, RING);
	close(first);
	close(second);
	need_pinned(0, "when both are closed");
}

/*
 * When RING_SETUP has replaced a file's ring by one with other buffers, and neither a mapping nor a
 * dma-buf keeps the replaced ring, its memory and data are gone. A ring of another file may then be
 * free of charge in its place.
 */
static void a_replaced_ring_is_free(const char *device)
{
	int first = open_or_fail(device), second = open_or_fail(device);
	uint32_t *own = map_or_null(first, RING, RING, PROT_READ | PROT_WRITE), *another;

	need(own, "LitePCIe's c2h ring");
	*own = 1;
	munmap(own, RING);
	need(take(first, false, true) == 1 && !ask_for_ring(first), "another shape");
	release(first);
	another = map_or_null(second, RING, RING, PROT_READ);
	need(another, "the c2h ring of a second file");
	need_pinned(0, "with LitePCIe's ring, once the first file has replaced its own");
	munmap(another, RING);
	close(second);
	own = map_or_null(first, RING, RING, PROT_READ);
	need(own, "LitePCIe's c2h ring again");
	if (*own)
		fail("a ring that was replaced comes back");
	munmap(own, RING);
	close(first);
}

static unsigned int keep_exports(int fd, int *kept)
{
	unsigned int n = 0;

	while (n < TOO_MANY && !ask_for_ring(fd))
		kept[n++] = export_ring(fd);
	if (n == TOO_MANY)
		fail("%u rings of %u MiB are kept by descriptors, with a limit of %u MiB", n,
		     RING_MIB, LIMIT_MIB);
	refused(ask_for_ring(fd), ENOMEM, "a ring beyond the limit");
	return n;
}

static void exports_are_charged(const char *device)
{
	int fd = open_or_fail(device), kept[TOO_MANY];
	unsigned int n;

	need(take(fd, false, true) == 1, "taking c2h");
	n = keep_exports(fd, kept);
	if (n * RING_MIB != LIMIT_MIB)
		fail("%u rings of %u MiB, with a limit of %u MiB", n, RING_MIB, LIMIT_MIB);
	need_pinned(LIMIT_MIB, "with all that the limit allows");
	while (n--)
		close(kept[n]);
	need_pinned(RING_MIB, "with one ring left");
	need(!ask_for_ring(fd), "a ring when the others have gone");
	close(fd);
	need_pinned(0, "when all is closed");
}

static void mappings_are_charged(const char *device)
{
	int fd = open_or_fail(device);
	void *kept[TOO_MANY];
	unsigned int n = 0;

	need(take(fd, false, true) == 1, "taking c2h");
	while (n < TOO_MANY && !ask_for_ring(fd)) {
		kept[n] = map_or_null(fd, info_of(fd, 1).ring_offset, RING_MIB * MIB, PROT_READ);
		need(kept[n++], "a mapping");
	}
	if (n * RING_MIB != LIMIT_MIB || errno != ENOMEM)
		fail("%u rings of %u MiB are mapped, with a limit of %u MiB", n, RING_MIB, LIMIT_MIB);
	need(!munmap(kept[0], RING_MIB * MIB / 2), "half a mapping");
	refused(ask_for_ring(fd), ENOMEM, "a ring that is half mapped is all there");
	need(!munmap((char *)kept[0] + RING_MIB * MIB / 2, RING_MIB * MIB / 2), "the other half");
	need(!ask_for_ring(fd), "a ring when another has gone");
	close(fd);
	while (--n)
		munmap(kept[n], RING_MIB * MIB);
	need_pinned(0, "when all is unmapped");
}

static void send_descriptor(int channel, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec vector = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	need(sendmsg(channel, &message, 0) == 1, "sendmsg");
}

/*
 * Fork a process that makes a c2h ring, sends the descriptor of the ring's dma-buf to the socket
 * @channel, and exits. Returns true if the process got a ring.
 */
static bool child_leaves_ring(const char *device, int channel)
{
	pid_t child = fork();
	int status, fd;

	need(child >= 0, "fork");
	if (!child) {
		fd = open_or_fail(device);
		need(take(fd, false, true) == 1, "taking c2h");
		if (ask_for_ring(fd))
			_exit(errno == ENOMEM ? 3 : 1);
		send_descriptor(channel, export_ring(fd));
		_exit(0);
	}
	need(waitpid(child, &status, 0) == child && WIFEXITED(status), "waitpid");
	if (WEXITSTATUS(status) == 1)
		fail("a child failed");
	return !WEXITSTATUS(status);
}

/*
 * The limit of locked memory holds for all processes of a user without CAP_IPC_LOCK together. A
 * ring counts even if only a descriptor in a socket keeps it, and the process that made the ring
 * has ended.
 */
static void the_dead_are_charged(const char *device)
{
	/*
	 * The test runs twice. When the sockets of the first round are closed, the charge for all
	 * its rings must end, so the second round gets as many rings as the first.
	 */
	for (int round = 0; round < 2; round++) {
		unsigned int n = 0;
		int channel[2];

		need(!socketpair(AF_UNIX, SOCK_STREAM, 0, channel), "socketpair");
		while (n < TOO_MANY && child_leaves_ring(device, channel[0]))
			n++;
		if (n * RING_MIB != LIMIT_MIB)
			fail("round %d: ended processes left %u rings of %u MiB, with a limit of %u MiB",
			     round, n, RING_MIB, LIMIT_MIB);
		close(channel[0]);
		close(channel[1]);
	}
}

/*
 * A file that cannot start a direction, since it gets no ring, does not own the direction
 * afterwards.
 */
static void a_start_that_fails_takes_nothing(const char *device)
{
	int first = open_or_fail(device), second = open_or_fail(device);
	void *own = map_or_null(first, RING, RING, PROT_READ);

	need(own, "the ring that is free of charge");
	refused(run_c2h(second, 1, NULL), ENOMEM, "a start without a ring");
	need(!run_c2h(first, 1, NULL), "a start after another file's has failed");
	munmap(own, RING);
	close(first);
	close(second);
}

int charge(const char *device)
{
	limit_to(LIMIT_MIB * MIB);
	one_is_free(device);
	a_replaced_ring_is_free(device);
	exports_are_charged(device);
	mappings_are_charged(device);
	the_dead_are_charged(device);
	limit_to(65536);
	a_start_that_fails_takes_nothing(device);
	litepcies_rings_are_free(device);
	printf("charge: ok\n");
	return 0;
}
