// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements those commands of the test program packets in which the host fails a read by the card,
 * or a run ends during a write().
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "packets.h"

/* Tests of data that the card marks as bad ---------------------------------------------------- */

/*
 * The host fails the card's first read of memory, so the first of three packets is bad. read() must
 * fail once with EBADMSG, and then return all three packets. fsync() must fail once with EIO. The
 * status line of each direction must count one error.
 */
int bad(void)
{
	uint8_t packet[64], got[128];
	const struct litepcie_status_way *way;

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 0), "packets of c2h");
	map_all();
	start_c2h();
	for (uint8_t n = 1; n <= 3; n++) {
		memset(packet, n, sizeof(packet));
		need(write(fd, packet, sizeof(packet)) == sizeof(packet), "write");
	}
	alarm(TIMEOUT_S);
	refused(read(fd, got, sizeof(got)), EBADMSG, "read() of a bad packet");
	for (uint8_t n = 1; n <= 3; n++) {
		need(read(fd, got, sizeof(got)) == sizeof(packet), "read");
		memset(packet, n, sizeof(packet));
		if (memcmp(got, packet, sizeof(packet)) && n != 1)
			fail("packet %u: other bytes", n);
	}
	refused(fsync(fd), EIO, "fsync() after a read that failed");
	need(!fsync(fd), "fsync() after it has reported the error");
	alarm(0);
	way = status->way;
	if (way[LITEPCIE_WAY_H2C].errors != 1 || way[LITEPCIE_WAY_C2H].errors != 1)
		fail("%llu errors of h2c, %llu of c2h",
		     (unsigned long long)way[LITEPCIE_WAY_H2C].errors,
		     (unsigned long long)way[LITEPCIE_WAY_C2H].errors);
	printf("bad: ok\n");
	return 0;
}

/*
 * The first of two packets is bad in its second buffer. The first read() returns the buffer before
 * the bad one, the second read() fails with EBADMSG, and the third returns the bad end. The next
 * packet then comes whole.
 */
int bad_end(void)
{
	static uint8_t packet[C2H_SIZE + 64], got[2 * C2H_SIZE];

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 0), "packets of c2h");
	start_c2h();
	alarm(TIMEOUT_S);
	for (int n = 0; n < 2; n++)
		need(write(fd, packet, sizeof(packet)) == sizeof(packet), "write");
	need(read(fd, got, sizeof(got)) == C2H_SIZE, "read() of a buffer before a bad one");
	refused(read(fd, got, sizeof(got)), EBADMSG, "read() of the end of a bad packet");
	need(read(fd, got, sizeof(got)) == 64, "read() of the bad end, after it was reported");
	need(read(fd, got, sizeof(got)) == sizeof(packet), "read() of the next packet");
	refused(fsync(fd), EIO, "fsync() after a read that failed");
	alarm(0);
	printf("bad_end: ok\n");
	return 0;
}

/* Tests of a run that ends during write() ----------------------------------------------------- */

static struct { const void *memory; ssize_t rc; int error; } call;

static void *write_packet(void *unused)
{
	(void)unused;
	call.rc = write(fd, call.memory, 64);
	call.error = errno;
	return NULL;
}

/* Map a page that does not exist yet. A thread that reads the page sleeps until bring_page(). */
static int missing_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register pages = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	call.memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(faults >= 0 && !ioctl(faults, UFFDIO_API, &api) && call.memory != MAP_FAILED, "page");
	pages.range.start = (uintptr_t)call.memory;
	pages.range.len = 4096;
	need(!ioctl(faults, UFFDIO_REGISTER, &pages), "a page that is missing");
	return faults;
}

static void bring_page(int faults)
{
	struct uffdio_zeropage page = { .range = { (uintptr_t)call.memory, 4096 } };

	need(!ioctl(faults, UFFDIO_ZEROPAGE, &page), "the page");
}

/*
 * A second thread sleeps in write() of a packet, whose page is missing. Meanwhile fsync() of the
 * main thread must wait until a signal ends it. Then the main thread stops the run and starts a
 * held run (a run of ADVANCE). When the page has come, write() must fail with ECANCELED.
 */
int ended(void)
{
	struct uffd_msg message;
	pthread_t thread;
	int faults;

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	faults = missing_page();
	alarm(TIMEOUT_S);
	need(!pthread_create(&thread, NULL, write_packet, NULL), "thread");
	need(read(faults, &message, sizeof(message)) == sizeof(message), "a fault");
	interrupt_in(100000);
	refused(fsync(fd), EINTR, "fsync() beside a write()");
	alarm(TIMEOUT_S);
	need(!run_h2c(fd, 0, NULL), "stop of h2c");
	need(!advance(LITEPCIE_WAY_H2C, 1, 0), "advance of h2c");
	bring_page(faults);
	need(!pthread_join(thread, NULL), "join");
	alarm(0);
	if (call.rc >= 0 || call.error != ECANCELED)
		fail("write() of a run that has ended: %zd, %s", call.rc, strerror(call.error));
	printf("ended: ok\n");
	return 0;
}
