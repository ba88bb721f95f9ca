// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements the subcommands `refuse` and `ready` of the test program held: calls that must be
 * refused in a held run (in which the card uses only buffers that were handed over), poll() and
 * O_NONBLOCK.
 */
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "held.h"

/* Tests of calls that the driver must refuse -------------------------------------------------- */

static void refuse_numbers(void)
{
	struct litepcie_advance odd = { .way = 1, .reserved = 1 };
	uint32_t lengths[COUNT] = { 32, 0, 32 };

	refused(advance(2, 0, NULL, 0), EINVAL, "a third direction");
	refused(advance(1, 0, NULL, 2), EINVAL, "an unknown flag");
	refused(ioctl(fd, LITEPCIE_IOCTL_ADVANCE, &odd), EINVAL, "a reserved word");
	refused(advance(1, COUNT + 1, NULL, 0), EINVAL, "more buffers than the ring has");
	refused(advance(1, ~0u, NULL, 0), EINVAL, "2^32 - 1 buffers");
	refused(advance(1, 1, lengths, 0), EINVAL, "lengths of c2h");
	refused(advance(0, 2, lengths, 0), EINVAL, "a buffer of no bytes");
	lengths[1] = SIZE + 1;
	refused(advance(0, 2, lengths, 0), EINVAL, "a buffer of more bytes than it has");
	refused(advance(0, 1, (void *)8, 0), EFAULT, "lengths that are nowhere");
	need(!counts_of(0).advanced && !counts_of(1).advanced, "what was refused");
	need(!advance(1, COUNT - 1, NULL, 0), "all buffers but one");
	refused(advance(1, 2, NULL, 0), EINVAL, "one more than the card lacks");
	need(!advance(1, 1, NULL, 0) && counts_of(1).advanced == COUNT, "the last");
	refused(advance(1, 1, NULL, 0), EINVAL, "one more than all");
}

/*
 * The call that starts a run of a direction decides the run's kind: DMA_WRITER and DMA_READER start
 * LitePCIe's loop, ADVANCE starts a held run, read() and write() start a stream. A held run refuses
 * the start of the loop, read() and write(), and the loop refuses ADVANCE. The ADVANCE, read() and
 * stop of a file that does not own the direction are refused, too.
 */
static void refuse_mixing(const char *device)
{
	int other = open_or_fail(device);
	struct litepcie_advance theirs = { .way = 1 };
	char bytes[SIZE] = "";

	refused(run_c2h(fd, 1, NULL), EBUSY, "the loop on a held direction");
	refused(ioctl(other, LITEPCIE_IOCTL_ADVANCE, &theirs), EBUSY, "another's direction");
	refused(run_c2h(other, 0, NULL), EBUSY, "a stop by another");
	refused(read(fd, bytes, sizeof(bytes)) < 0, EBUSY, "read() of a held direction");
	refused(write(fd, bytes, sizeof(bytes)) < 0, EBUSY, "write() to a held direction");
	need(counts_of(1).run == LITEPCIE_RUN_HELD, "how it runs");
	stop();
	need(!run_c2h(fd, 1, NULL), "the loop");
	refused(advance(1, 0, NULL, 0), EBUSY, "ADVANCE in the loop");
	need(counts_of(1).run == LITEPCIE_RUN_LOOP && !counts_of(1).advanced, "how it runs");
	/*
	 * h2c does not run, so no data comes from the card. If read() waited for data instead of
	 * failing with EBUSY, it would wait for ever, and the alarm would end the program.
	 */
	alarm(60);
	refused(read(other, bytes, sizeof(bytes)) < 0, EBUSY, "read() of another's loop");
	alarm(0);
	need(!run_c2h(fd, 0, NULL), "stop");
	close(other);
}

int refuse(const char *device)
{
	take();
	refuse_numbers();
	refuse_mixing(device);
	printf("refuse: ok\n");
	return 0;
}

/* Tests of poll() and O_NONBLOCK -------------------------------------------------------------- */

/* Thread that calls read(), which returns only when data comes or c2h is stopped. */
static void *read_for_ever(void *unused)
{
	char byte;

	need(read(fd, &byte, 1) < 0 && errno == ECANCELED, "read() that is stopped");
	return unused;
}

static void ready_beside_a_reader(void)
{
	pthread_t reader;
	char byte;

	alarm(60);	/* end the program if a read() waits although it must not */
	need(!pthread_create(&reader, NULL, read_for_ever, NULL), "thread");
	for (int i = 0; counts_of(LITEPCIE_WAY_C2H).run != LITEPCIE_RUN_STREAM && i < 2000; i++)
		usleep(5000);
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	refused(read(fd, &byte, 1) < 0 ? -1 : 0, EAGAIN, "read() beside a reader");
	need(!run_c2h(fd, 0, NULL), "stop");
	pthread_join(reader, NULL);
}

/*
 * If the h2c ring has the flag LITEPCIE_RING_INDEXED, the program's count of buffers that it has
 * filled is in the index page. poll() reports room as long as this count is ahead of the card's
 * count by fewer than COUNT - 1 buffers, in a ring of COUNT buffers.
 */
static void ready_by_the_index(void)
{
	struct pollfd poller = { .fd = fd, .events = POLLOUT };

	need(!advance(LITEPCIE_WAY_H2C, 0, NULL, 0), "a run without buffers");
	index_page->way[LITEPCIE_WAY_H2C].software = COUNT - 2;
	need(poll(&poller, 1, 0) == 1 && poller.revents == POLLOUT, "the last buffer but one");
	index_page->way[LITEPCIE_WAY_H2C].software = COUNT - 1;
	need(!poll(&poller, 1, 0), "room in a ring that is full");
	need(!run_h2c(fd, 0, NULL), "stop of h2c");
}

static void *release_c2h(void *unused)
{
	struct litepcie_ioctl_lock lock = { .dma_writer_release = 1 };

	usleep(200000);
	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "release");
	return unused;
}

/*
 * poll() of a direction that another file owns wakes when the direction is free. poll() also checks
 * the direction when its time limit ends, so the test checks that poll() returned earlier.
 */
static void ready_when_it_is_free(const char *device)
{
	struct pollfd poller = { .fd = open_or_fail(device), .events = POLLIN };
	pthread_t owner;
	time_t begin;

	need(!poll(&poller, 1, 0), "another file's direction is ready");
	need(!pthread_create(&owner, NULL, release_c2h, NULL), "thread");
	begin = time(NULL);
	need(poll(&poller, 1, 30000) == 1 && poller.revents == POLLIN, "a direction that is free");
	need(time(NULL) - begin < 20, "nobody is woken when a direction is free");
	pthread_join(owner, NULL);
	close(poller.fd);
}

static void *start_late(void *none)
{
	usleep(100000);
	start();
	return none;
}

/* A thread that sleeps in poll() while c2h is at rest is woken when another thread starts c2h. */
static void ready_when_it_starts(void)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	pthread_t starter;

	need(!poll(&poller, 1, 0), "a direction at rest has nothing to read");
	need(!pthread_create(&starter, NULL, start_late, NULL), "thread");
	need(poll(&poller, 1, 10000) == 1 && poller.revents == POLLIN,
	     "a start wakes the thread in poll()");
	pthread_join(starter, NULL);
	stop();
}

int ready(const char *device)
{
	struct litepcie_ring_setup setup = {
		.buffer_size = SIZE, .buffer_count = COUNT, .buffers_per_interrupt = 1,
	};
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	take();
	ready_by_the_index();
	for (setup.way = 0; setup.way < 2; setup.way++)
		need(!ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup), "setup");
	need(!advance(LITEPCIE_WAY_C2H, COUNT, NULL, 0), "all buffers");
	if (poll(&poller, 1, 100))
		fail("poll() while the card has all buffers");
	need(!advance(LITEPCIE_WAY_H2C, 1, NULL, 0), "a buffer of h2c");
	need(poll(&poller, 1, 10000) == 1 && poller.revents == POLLIN, "poll() with a buffer");
	stop();
	ready_when_it_starts();
	ready_beside_a_reader();
	ready_when_it_is_free(device);
	printf("ready: ok\n");
	return 0;
}
