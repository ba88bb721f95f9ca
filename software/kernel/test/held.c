// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests held runs: the card uses only the buffers that ADVANCE hands over, and no data is lost,
 * repeated or torn.
 *
 *   held loop DEV COUNT SEED	loopback; COUNT c2h buffers are compared, with random lengths of
 * 				h2c, numbers of buffers handed over, pauses and ways to wait
 *   held stops DEV COUNT SEED	the same, stopped at random and begun anew, COUNT times
 *   held refuse DEV		calls that must be refused, each with its error
 *   held ready DEV		poll() without the index page, and O_NONBLOCK beside a reader
 *   held sync DEV		fsync() sends an incomplete beat, and later data begins a new beat
 *   held reset DEV FILE	make FILE while both directions run, and wait for the reset: calls fail
 * 				as they should, and DMA works again after the reset
 *   held user DEV		the interrupt of logic that raises one for each write to its memory
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a sentence), 2 wrong usage.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

#define SIZE	4096u
#define COUNT	16u
#define BEAT	32u	/* bytes of a beat; the card cuts the data of an h2c buffer into beats */

static int fd;
static const struct litepcie_status *status;
static struct litepcie_index *index_page;
static uint32_t *h2c, *c2h;

static void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

static void refused(int rc, int error, const char *what)
{
	if (!rc)
		fail("%s was not refused", what);
	if (errno != error)
		fail("%s: %s, not %s", what, strerror(errno), strerror(error));
}

static uint32_t random_below(uint32_t limit)
{
	return (uint32_t)rand() % limit;
}

/* Calls of the driver ------------------------------------------------------------------------- */

static int advance(unsigned int way, uint32_t count, const uint32_t *lengths, uint32_t flags)
{
	struct litepcie_advance advance = {
		.way = way, .count = count, .flags = flags, .lengths = (uintptr_t)lengths,
	};

	return ioctl(fd, LITEPCIE_IOCTL_ADVANCE, &advance);
}

static struct litepcie_counts counts_of(unsigned int way)
{
	struct litepcie_counts counts = { .way = way };

	need(!ioctl(fd, LITEPCIE_IOCTL_COUNTS, &counts), "counts");
	return counts;
}

static uint64_t done(unsigned int way)
{
	return __atomic_load_n(&status->way[way].buffers, __ATOMIC_ACQUIRE);
}

static void *map(uint64_t offset, size_t bytes, int prot)
{
	void *memory = mmap(NULL, bytes, prot, MAP_SHARED, fd, (off_t)offset);

	need(memory != MAP_FAILED, "mmap");
	return memory;
}

static void set_up(unsigned int way, unsigned int per, unsigned int mode)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = SIZE, .buffer_count = COUNT,
		.buffers_per_interrupt = per, .mode = mode,
		.interval_us = mode == LITEPCIE_MODE_INTERRUPT ? 0 : 1000,
		.flags = LITEPCIE_RING_INDEXED,
	};

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup), "setup");
}

static void take(void)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_H2C };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) && lock.dma_reader_status &&
	     lock.dma_writer_status, "lock");
	loopback(fd, 1);
	set_up(LITEPCIE_WAY_H2C, 4, LITEPCIE_MODE_INTERRUPT);
	set_up(LITEPCIE_WAY_C2H, 4, LITEPCIE_MODE_INTERRUPT);
	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	status = map(info.status_offset, 4096, PROT_READ);
	index_page = map(info.index_offset, 4096, PROT_READ | PROT_WRITE);
	h2c = map(info.ring_offset, info.ring_bytes, PROT_READ | PROT_WRITE);
	info = (struct litepcie_ring_info){ .way = LITEPCIE_WAY_C2H };
	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	c2h = map(info.ring_offset, info.ring_bytes, PROT_READ | PROT_WRITE);
}

/* Runs through the loopback ------------------------------------------------------------------- */

/*
 * The state of a stream of dwords that count up. The dwords are sent in h2c buffers of any length,
 * and must come back by c2h without a gap.
 */
struct stream {
	/* dwords that were sent by h2c, and dwords that c2h has brought back */
	uint64_t	sent, got;
	/*
	 * numbers of buffers: h2c handed over to the card; c2h handed over to the card; c2h
	 * compared
	 */
	uint64_t	h2c, c2h_given, c2h;
};

static void fill(struct stream *stream, uint32_t bytes)
{
	uint32_t *to = h2c + stream->h2c % COUNT * (SIZE / 4);

	for (uint32_t i = 0; i < bytes / 4; i++)
		to[i] = (uint32_t)stream->sent++;
	stream->h2c++;
}

/*
 * Send a random number of h2c buffers, up to the room in the ring, each of random length. The part
 * of a buffer that is not sent keeps old data.
 */
static void send(struct stream *stream)
{
	uint32_t room = COUNT - (uint32_t)(stream->h2c - done(LITEPCIE_WAY_H2C));
	uint32_t count = random_below(room + 1), lengths[COUNT];
	bool whole = !random_below(3);

	for (uint32_t i = 0; i < count; i++) {
		lengths[i] = whole ? SIZE : BEAT * (1 + random_below(SIZE / BEAT));
		fill(stream, lengths[i]);
	}
	need(!advance(LITEPCIE_WAY_H2C, count, whole ? NULL : lengths,
		      random_below(2) ? LITEPCIE_ADVANCE_NOTIFY : 0), "advance of h2c");
}

static void check(struct stream *stream)
{
	uint32_t *from = c2h + stream->c2h % COUNT * (SIZE / 4);

	for (uint32_t i = 0; i < SIZE / 4; i++) {
		if (from[i] != (uint32_t)stream->got++)
			fail("c2h buffer %llu, dword %u: %#x, not %#x",
			     (unsigned long long)stream->c2h, i, from[i],
			     (uint32_t)stream->got - 1);
		from[i] = 0xdeadbeef;
	}
	stream->c2h++;
}

static void receive(struct stream *stream)
{
	uint64_t ready = done(LITEPCIE_WAY_C2H);

	if (ready > stream->c2h_given)
		fail("the card has filled %llu buffers, but was given %llu",
		     (unsigned long long)ready, (unsigned long long)stream->c2h_given);
	while (stream->c2h < ready && random_below(8))
		check(stream);
}

/* Hand the card again a random number of the c2h buffers whose data has been compared. */
static void give_back(struct stream *stream)
{
	uint32_t most = (uint32_t)(stream->c2h + COUNT - stream->c2h_given);
	uint32_t count = random_below(most + 1);

	need(!advance(LITEPCIE_WAY_C2H, count, NULL,
		      random_below(2) ? LITEPCIE_ADVANCE_NOTIFY : 0), "advance of c2h");
	stream->c2h_given += count;
}

/*
 * Wait in a random way: by poll(), by asking the card for its counts, by a short sleep, or not at
 * all. poll() has a short time limit, since no data may be under way that would end it.
 */
static void wait_some(const struct stream *stream)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	index_page->way[LITEPCIE_WAY_C2H].software = stream->c2h;
	switch (random_below(4)) {
	case 0:
		need(poll(&poller, 1, 5) >= 0, "poll");
		break;
	case 1:
		counts_of(random_below(2));
		break;
	case 2:
		usleep(random_below(300));
		break;
	}
}

/* Start c2h, which must be done before h2c starts: data that comes while c2h is off is dropped. */
static void start(void)
{
	need(!advance(LITEPCIE_WAY_C2H, 0, NULL, 0), "start of c2h");
}

static void turn(struct stream *stream)
{
	send(stream);
	give_back(stream);
	wait_some(stream);
	receive(stream);
}

/* Print a progress line for each twentieth of a run, since the run may take an hour. */
static void say_progress(uint64_t done, uint64_t all, const char *of_what)
{
	static uint64_t next;

	if (done < next)
		return;
	next = done + all / 20 + 1;
	fprintf(stderr, "held: %llu of %llu %s\n", (unsigned long long)done,
		(unsigned long long)all, of_what);
}

static int loop(uint64_t buffers)
{
	struct stream stream = { 0 };

	take();
	start();
	while (stream.c2h < buffers) {
		say_progress(stream.c2h, buffers, "buffers");
		turn(&stream);
	}
	printf("held: %llu buffers compared\n", (unsigned long long)stream.c2h);
	return 0;
}

static void stop(void)
{
	need(!run_h2c(fd, 0, NULL) && !run_c2h(fd, 0, NULL), "stop");
	for (unsigned int way = 0; way < 2; way++) {
		struct litepcie_counts counts = counts_of(way);

		if (counts.run || counts.hardware || counts.advanced || counts.position)
			fail("a direction that was stopped still counts");
	}
}

static int stops(uint64_t runs)
{
	uint64_t compared = 0;

	take();
	for (uint64_t run = 0; run < runs; run++) {
		struct stream stream = { 0 };
		uint32_t turns = random_below(12);

		say_progress(run, runs, "runs");
		start();
		while (turns--)
			turn(&stream);
		compared += stream.c2h;
		/*
		 * Stop h2c first and wait 2 ms. c2h takes the data that is under way, and drops
		 * what comes when it is off. So no data of this run gets into the next one.
		 */
		need(!run_h2c(fd, 0, NULL), "stop of h2c");
		usleep(2000);
		stop();
	}
	printf("held: %llu runs, %llu buffers compared\n", (unsigned long long)runs,
	       (unsigned long long)compared);
	return 0;
}

/* Calls that must be refused ------------------------------------------------------------------ */

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
 * The call that starts a direction decides its kind of run. Calls that want another kind of run
 * are refused.
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
	 * No data comes from the card, so a call that waited for the owner's data would wait for
	 * ever.
	 */
	alarm(60);
	refused(read(other, bytes, sizeof(bytes)) < 0, EBUSY, "read() of another's loop");
	alarm(0);
	need(!run_c2h(fd, 0, NULL), "stop");
	close(other);
}

static int refuse(const char *device)
{
	take();
	refuse_numbers();
	refuse_mixing(device);
	printf("refuse: ok\n");
	return 0;
}

/* poll() and O_NONBLOCK ----------------------------------------------------------------------- */

/* Thread with a read() that ends only when data comes, or when its direction is stopped. */
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

static int ready(void)
{
	struct litepcie_ring_setup setup = {
		.buffer_size = SIZE, .buffer_count = COUNT, .buffers_per_interrupt = 1,
	};
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	take();
	for (setup.way = 0; setup.way < 2; setup.way++)
		need(!ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup), "setup");
	need(!advance(LITEPCIE_WAY_C2H, COUNT, NULL, 0), "all buffers");
	if (poll(&poller, 1, 100))
		fail("poll() while the card has all buffers");
	need(!advance(LITEPCIE_WAY_H2C, 1, NULL, 0), "a buffer of h2c");
	need(poll(&poller, 1, 10000) == 1 && poller.revents == POLLIN, "poll() with a buffer");
	stop();
	ready_beside_a_reader();
	printf("ready: ok\n");
	return 0;
}

/* fsync() ------------------------------------------------------------------------------------- */

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
 * Returns true if the card writes records. Records say where a packet ends, so read() then returns
 * only the packet's bytes, without the padding of its last beat.
 */
static bool tells_of_ends(void)
{
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_C2H };

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "information");
	return info.records_bytes;
}

/*
 * fsync() sends an incomplete beat, and data that is written later begins a new beat. Without
 * records c2h returns whole buffers, so more data follows until three buffers are full.
 */
static int sync_beats(void)
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

/* A reset during a run ------------------------------------------------------------------------ */

static void make(const char *name)
{
	int file = open(name, O_CREAT | O_WRONLY, 0600);

	need(file >= 0, name);
	close(file);
}

static int reset(const char *flag)
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
	 * Only a call can tell whether the reset is over. The error of the run that the reset
	 * ended stays after the reset.
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

/* The interrupt of the user's logic ----------------------------------------------------------- */

static volatile uint32_t *map_user_memory(void)
{
	struct litepcie_bar bar = { .bar = 2 };

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar), "BAR2");
	/* The window of the user slot's AXI bus is the upper half of BAR2. */
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

static int user(const char *device)
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

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	fd = open_or_fail(argv[2]);
	if (argc == 5) {
		printf("seed %s\n", argv[4]);
		srand((unsigned int)strtoul(argv[4], NULL, 0));
		if (!strcmp(argv[1], "loop"))
			return loop(strtoull(argv[3], NULL, 0));
		if (!strcmp(argv[1], "stops"))
			return stops(strtoull(argv[3], NULL, 0));
	}
	if (argc == 4 && !strcmp(argv[1], "reset"))
		return reset(argv[3]);
	if (argc == 3 && !strcmp(argv[1], "refuse"))
		return refuse(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "ready"))
		return ready();
	if (argc == 3 && !strcmp(argv[1], "sync"))
		return sync_beats();
	if (argc == 3 && !strcmp(argv[1], "user"))
		return user(argv[2]);
	return 2;
}
