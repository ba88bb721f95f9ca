// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements those subcommands of the test program held that test fsync(), epoll, a reset while
 * both directions run, and the interrupt of the user's logic.
 */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "held.h"

/* Tests of fsync() on a channel --------------------------------------------------------------- */

static void send_bytes(const char *from, size_t bytes)
{
	struct pollfd poller = { .fd = fd, .events = POLLOUT };

	for (size_t at = 0; at < bytes;) {
		ssize_t part = write(fd, from + at, bytes - at);

		need(part > 0 || errno == EAGAIN, "write");
		at += part > 0 ? (size_t)part : 0;
		need(poll(&poller, 1, 10000) == 1, "room");
	}
}

static void receive_bytes(char *to, size_t bytes)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	for (size_t at = 0; at < bytes;) {
		ssize_t part;

		need(poll(&poller, 1, 10000) == 1, "data");
		part = read(fd, to + at, bytes - at);
		need(part > 0, "read");
		at += (size_t)part;
	}
}

/*
 * Returns true if the card writes records, by which it reports finished c2h buffers. A record says
 * where a packet ends, so read() then returns only the packet's bytes, without the padding of its
 * last beat.
 */
static bool tells_of_ends(void)
{
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "information");
	return info.records_bytes;
}

/*
 * fsync() sends an incomplete beat, and data that is written later begins a new beat. A card that
 * writes no records returns only whole c2h buffers, so more data follows until three buffers are
 * full.
 */
int sync_beats(void)
{
	enum { HEAD = BEAT + 8, PADDED = 2 * BEAT, ALL = 3 * BUFFER };
	static char sent[ALL], got[ALL];
	unsigned int next = tells_of_ends() ? HEAD : PADDED;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)random_below(256);
	alarm(60);	/* end the program if fsync() does not return */
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	refused(read(fd, got, 1) < 0 ? -1 : 0, EAGAIN, "read() before there is data");
	send_bytes(sent, HEAD);
	for (int i = 0; counts_of(LITEPCIE_WAY_H2C).position != BEAT && i < 2000; i++)
		usleep(5000);
	if (counts_of(LITEPCIE_WAY_H2C).position != BEAT)
		fail("%llu bytes of %u fetched before fsync(), not the whole beats",
		     (unsigned long long)counts_of(LITEPCIE_WAY_H2C).position, HEAD);
	need(!fsync(fd), "fsync");
	if (counts_of(LITEPCIE_WAY_H2C).position != HEAD)
		fail("fsync() with %llu bytes of %u fetched",
		     (unsigned long long)counts_of(LITEPCIE_WAY_H2C).position, HEAD);
	send_bytes(sent + next, ALL - next);
	need(!fsync(fd), "fsync of whole beats");
	if (counts_of(LITEPCIE_WAY_H2C).position != ALL)
		fail("fsync() with %llu bytes of %u fetched",
		     (unsigned long long)counts_of(LITEPCIE_WAY_H2C).position, ALL);
	receive_bytes(got, ALL);
	if (memcmp(got, sent, HEAD) || memcmp(got + next, sent + next, ALL - next))
		fail("an incomplete beat and the next ones: other bytes came back");
	printf("sync: ok\n");
	return 0;
}

/* Tests of epoll on a channel ----------------------------------------------------------------- */

static void watch_for(int epoll, int call, uint32_t events)
{
	struct epoll_event event = { .events = events };

	need(!epoll_ctl(epoll, call, fd, &event), "epoll_ctl");
}

/* Returns the events that epoll reports for the device node, or 0 after @ms milliseconds. */
static uint32_t events_within(int epoll, int ms)
{
	struct epoll_event event = { 0 };
	int found = epoll_wait(epoll, &event, 1, ms);

	need(found >= 0, "epoll_wait");
	return found ? event.events : 0;
}

/*
 * EPOLL_CTL_MOD calls the driver's poll(), but adds the epoll to no further wait queue. The node is
 * added for events of h2c alone. After a change to c2h by EPOLL_CTL_MOD, epoll must report events
 * of c2h.
 *
 * Data comes back by c2h some time after the card is done with the h2c buffer, so the test gives
 * epoll 5 s to report it.
 */
int changed_epoll(void)
{
	static char sent[SIZE], got[SIZE];
	int epoll = epoll_create1(0), child, status_of_child;

	need(epoll >= 0 && !fcntl(fd, F_SETFL, O_NONBLOCK), "epoll_create1 and O_NONBLOCK");
	refused(read(fd, got, 1) < 0 ? -1 : 0, EAGAIN, "read() before there is data");
	watch_for(epoll, EPOLL_CTL_ADD, EPOLLOUT);
	need(events_within(epoll, 5000) == EPOLLOUT, "room in an empty ring");
	for (int round = 0; round < 20; round++) {
		watch_for(epoll, EPOLL_CTL_MOD, EPOLLIN);
		need(!events_within(epoll, 0), "nothing to read");
		child = fork();
		if (!child) {
			usleep(20000);
			_exit(write(fd, sent, SIZE) != SIZE);
		}
		need(child > 0, "fork");
		need(events_within(epoll, 5000) == EPOLLIN, "data after a change to EPOLLIN");
		receive_bytes(got, SIZE);
		need(waitpid(child, &status_of_child, 0) == child && !status_of_child, "write");
		watch_for(epoll, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
		need(events_within(epoll, 5000) == EPOLLOUT, "room after a change to both");
	}
	printf("epoll: ok\n");
	return 0;
}

/* Test of a reset during a held run ----------------------------------------------------------- */

static void make(const char *name)
{
	int file = open(name, O_CREAT | O_WRONLY, 0600);

	need(file >= 0, name);
	close(file);
}

int reset(const char *flag)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	struct stream stream = { 0 }, next = { 0 };
	struct litepcie_counts counts = { 0 };

	take();
	start();
	while (stream.c2h < 8)
		turn(&stream);
	make(flag);
	index_page->way[LITEPCIE_WAY_C2H].software = ~0ull;
	need(poll(&poller, 1, 20000) == 1 && poller.revents & POLLERR, "poll over the reset");
	for (unsigned int way = 0; way < 2; way++) {
		refused(advance(way, 0, NULL, 0), EIO, "ADVANCE after the reset");
		refused(advance(way, 0, NULL, 0), EIO, "ADVANCE after the reset, once more");
		if (status->way[way].run || status->way[way].error != -EIO)
			fail("the status page does not say that the card was reset");
	}
	/*
	 * Only a call of the driver can tell whether the reset is over, so the ioctl COUNTS is
	 * called until it fails with EIO no longer. The error of the run that the reset ended stays
	 * after the reset.
	 */
	for (int i = 0; ioctl(fd, LITEPCIE_IOCTL_COUNTS, &counts) && errno == EIO && i < 2000; i++)
		usleep(5000);
	for (unsigned int way = 0; way < 2; way++)
		refused(advance(way, 0, NULL, 0), EIO, "ADVANCE when the reset is over");
	refused(fsync(fd), EIO, "fsync() when the reset is over");
	for (int i = 0; run_c2h(fd, 0, NULL) && errno == EIO && i < 2000; i++)
		usleep(5000);
	stop();
	need(!status->way[0].error && !status->way[1].error,
	     "an error in the status page after the stop");
	need(!fsync(fd), "fsync() after the stop");
	loopback(fd, 1);
	start();
	while (next.c2h < 40)
		turn(&next);
	printf("reset: ok\n");
	return 0;
}

/* Tests of the interrupt of the user's logic -------------------------------------------------- */

static volatile uint32_t *map_user_memory(void)
{
	struct litepcie_bar bar = { .bar = 2 };

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), "BAR2");
	/* The upper half of BAR2 is the window to the AXI bus of the user's logic. */
	return (volatile uint32_t *)map(bar.offset + bar.size / 2, 4096, PROT_READ | PROT_WRITE);
}

static int set_event(int file, int event)
{
	struct litepcie_event request = { .way = LITEPCIE_EVENT_USER, .fd = event };

	return ioctl(file, LITEPCIE_IOCTL_EVENT, &request);
}

static uint64_t events(int event)
{
	struct pollfd poller = { .fd = event, .events = POLLIN };
	uint64_t count = 0;

	if (poll(&poller, 1, 300) == 1)
		need(read(event, &count, sizeof(count)) == sizeof(count), "eventfd");
	return count;
}

int user(const char *device)
{
	int event = eventfd(0, EFD_CLOEXEC), other = open_or_fail(device);
	volatile uint32_t *memory = map_user_memory();

	memory[0] = 1;
	need(!events(event), "an interrupt that nobody has asked for");
	need(!set_event(fd, event), "event of the user's logic");
	need(!events(event), "an interrupt of before");
	for (int n = 1; n <= 3; n++) {
		memory[n] = 1;
		need(events(event) == 1, "an interrupt for a write");
	}
	refused(set_event(other, event), EBUSY, "the event of another");
	need(!set_event(fd, -1), "no event");
	memory[0] = 2;
	need(!events(event), "an interrupt that is off");
	need(!set_event(other, event), "the event of the next");
	memory[0] = 3;
	need(events(event) == 1, "an interrupt for the next");
	close(other);
	memory[0] = 4;
	need(!events(event), "an interrupt for a file that was closed");
	need(!set_event(fd, event), "the event when the other has gone");
	printf("user: ok\n");
	return 0;
}

/* Again and again open the device, take the user logic's interrupt if it is free, and close. */
static void take_and_close(const char *device, int event)
{
	for (;;) {
		int file = open_or_fail(device);

		set_event(file, event);
		close(file);
	}
}

static void take_event(int event)
{
	for (int i = 0; set_event(fd, event); i++)
		if (errno != EBUSY || i == 1000000)
			fail("event of the user's logic: %s", strerror(errno));
}

/*
 * Another process takes the interrupt of the user's logic and closes its file, again and again. In
 * each round this program takes the interrupt as soon as it is free, and raises it by a write to
 * the card. The program's eventfd must then be signalled.
 */
int user_race(const char *device, uint64_t rounds)
{
	int event = eventfd(0, EFD_CLOEXEC), others = eventfd(0, EFD_CLOEXEC);
	volatile uint32_t *memory = map_user_memory();
	pid_t other = fork();

	need(other >= 0, "fork");
	if (!other)
		take_and_close(device, others);
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t count;

		take_event(event);
		memory[0] = (uint32_t)round;
		count = events(event);
		if (count != 1)
			fail("round %llu: %llu interrupts for a write",
			     (unsigned long long)round, (unsigned long long)count);
		need(!set_event(fd, -1), "no event");
	}
	need(!kill(other, SIGKILL) && waitpid(other, NULL, 0) == other, "the other process");
	printf("user race: %llu rounds\n", (unsigned long long)rounds);
	return 0;
}
