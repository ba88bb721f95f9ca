// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests held runs, in which the card uses only the buffers that LITEPCIE_IOCTL_ADVANCE hands over.
 * `sync` and `epoll` test runs of read() and write() instead, and `user` and `race` the interrupt
 * of the user's logic.  No data must be lost, repeated or torn.
 *
 *   held loop DEV COUNT SEED	loopback; COUNT c2h buffers are compared, with random lengths of
 * 				h2c, numbers of buffers handed over, pauses and ways to wait
 *   held stops DEV COUNT SEED	as loop, stopped at random and begun anew, COUNT times
 *   held refuse DEV		calls that must be refused, each with its error
 *   held ready DEV		poll() with and without the index page, and of another file's
 * 				direction; O_NONBLOCK beside a reader
 *   held sync DEV		fsync() sends an incomplete beat, and later data begins a new beat
 *   held epoll DEV		epoll reports events of c2h after EPOLL_CTL_MOD, although the device
 * 				was added for events of h2c only
 *   held reset DEV FILE	make FILE while both directions run, so that a test resets the card.
 * 				Calls must then fail with EIO, and DMA must work after the reset
 *   held user DEV		the interrupt of the user's logic, for a card whose logic raises one
 * 				for each write to its memory
 *   held race DEV ROUNDS	as `held user`, while another process takes and releases the
 * 				interrupt
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "held.h"

int fd;
const struct litepcie_status *status;
struct litepcie_index *index_page;
static uint32_t *h2c, *c2h;

void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

void refused(int rc, int error, const char *what)
{
	if (!rc)
		fail("%s was not refused", what);
	if (errno != error)
		fail("%s: %s, not %s", what, strerror(errno), strerror(error));
}

uint32_t random_below(uint32_t limit)
{
	return (uint32_t)rand() % limit;
}

/* Calls of the driver ------------------------------------------------------------------------- */

int advance(unsigned int way, uint32_t count, const uint32_t *lengths, uint32_t flags)
{
	struct litepcie_advance advance = {
		.way = way, .count = count, .flags = flags, .lengths = (uintptr_t)lengths,
	};

	return ioctl(fd, LITEPCIE_IOCTL_ADVANCE, &advance);
}

struct litepcie_counts counts_of(unsigned int way)
{
	struct litepcie_counts counts = { .way = way };

	need(!ioctl(fd, LITEPCIE_IOCTL_COUNTS, &counts), "counts");
	return counts;
}

static uint64_t done(unsigned int way)
{
	return __atomic_load_n(&status->way[way].buffers, __ATOMIC_ACQUIRE);
}

void *map(uint64_t offset, size_t bytes, int prot)
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

void take(void)
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

static void fill(struct stream *stream, uint32_t bytes)
{
	uint32_t *to = h2c + stream->h2c % COUNT * (SIZE / 4);

	for (uint32_t i = 0; i < bytes / 4; i++)
		to[i] = (uint32_t)stream->sent++;
	stream->h2c++;
}

/*
 * Send a random number of h2c buffers, up to the room in the ring. All of them are full, or each
 * has a random length. The part of a buffer that is not sent keeps old data.
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

/*
 * Hand to the card a random number of those c2h buffers that it has not had yet, or whose data has
 * been compared.
 */
static void give_back(struct stream *stream)
{
	uint32_t most = (uint32_t)(stream->c2h + COUNT - stream->c2h_given);
	uint32_t count = random_below(most + 1);

	need(!advance(LITEPCIE_WAY_C2H, count, NULL,
		      random_below(2) ? LITEPCIE_ADVANCE_NOTIFY : 0), "advance of c2h");
	stream->c2h_given += count;
}

/*
 * Wait in a randomly chosen way: by poll(), by asking the card for its counts, by a short sleep, or
 * not at all. poll() has a short time limit, since possibly no data is under way that would end it.
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

void start(void)
{
	need(!advance(LITEPCIE_WAY_C2H, 0, NULL, 0), "start of c2h");
}

void turn(struct stream *stream)
{
	send(stream);
	give_back(stream);
	wait_some(stream);
	receive(stream);
}

/*
 * Print a line at most once in each twentieth of the work of `held loop` or `held stops`, which may
 * take an hour.
 */
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

void stop(void)
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
		 * Stop h2c first and wait 2 ms, in which c2h takes data that is under way, as far
		 * as the card has c2h buffers. The card drops the rest when c2h is stopped. So no
		 * data of this run gets into the next one.
		 */
		need(!run_h2c(fd, 0, NULL), "stop of h2c");
		usleep(2000);
		stop();
	}
	printf("held: %llu runs, %llu buffers compared\n", (unsigned long long)runs,
	       (unsigned long long)compared);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: held PART DEV [ARGUMENT...]: see the head of held.c\n");
	return 2;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return usage();
	fd = open_or_fail(argv[2]);
	if (argc == 5) {
		printf("seed %s\n", argv[4]);
		srand((unsigned int)strtoul(argv[4], NULL, 0));
		if (!strcmp(argv[1], "loop"))
			return loop(strtoull(argv[3], NULL, 0));
		if (!strcmp(argv[1], "stops"))
			return stops(strtoull(argv[3], NULL, 0));
	}
	if (argc == 4 && !strcmp(argv[1], "race"))
		return user_race(argv[2], strtoull(argv[3], NULL, 0));
	if (argc == 4 && !strcmp(argv[1], "reset"))
		return reset(argv[3]);
	if (argc == 3 && !strcmp(argv[1], "refuse"))
		return refuse(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "ready"))
		return ready(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "sync"))
		return sync_beats();
	if (argc == 3 && !strcmp(argv[1], "epoll"))
		return changed_epoll();
	if (argc == 3 && !strcmp(argv[1], "user"))
		return user(argv[2]);
	return usage();
}
