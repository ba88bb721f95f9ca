// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests read() and write() in LitePCIe's loop, in which the card goes round the ring again and
 * again and does not wait for the program. read() must return whole buffers of the card, in order
 * and none twice, and must count the buffers that it skips. The made-up card writes more buffers
 * during each copy of read(), at most made.pace, so it often comes round to the buffers that are
 * being copied. A buffer's words all have the number of the buffer. A read() or write() that waits
 * must end when another thread ends the run, and must take no part in the next run.
 *
 * usage: rw [random FIRST COUNT STEPS]	(COUNT seeds from FIRST on, each with STEPS reads)
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr) or the usage is
 * wrong.
 */
#include "rw.h"

#define WORDS	64u		/* words of a buffer */
#define MOST	256u		/* largest number of buffers of a ring */
#define ASKED	40u		/* largest number of buffers that a read() asks for */

struct made made;
int entered;
unsigned int warnings;
static struct task task;
struct task *const current = &task;
static struct litepcie_chan channel;
/* direction that the test reads from or writes to */
static struct litepcie_way *way = &channel.way[LITEPCIE_WAY_C2H];
static struct litepcie_file owner = { &channel };
static uint32_t memory[MOST][WORDS];
static struct litepcie_ring ring = { .data = (u8 *)memory };
static struct file filp = { .private_data = &owner };
static uint32_t got[ASKED][WORDS];
static unsigned int seed, steps, copies;

void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "rw: seed %u: %s\n", seed, what);
	exit(1);
}

void take(struct mutex *lock)
{
	need(!lock->held, "a lock is taken twice");
	lock->held = true;
}

void leave(struct mutex *lock)
{
	need(lock->held, "a lock is left that is not held");
	lock->held = false;
}

/* Returns a random number from 0 to @end - 1. */
static unsigned int below(unsigned int end)
{
	return rand() % end;
}

/* The made-up card ---------------------------------------------------------------------------- */

/* Write the first @words words of the next buffer. */
static void write_part(unsigned int words)
{
	uint32_t *buffer = memory[made.written % ring.geometry.count];

	for (unsigned int n = 0; n < words; n++)
		buffer[n] = made.written;
}

/*
 * Let the made-up card write a random number of c2h buffers to the ring, at most @most, and then a
 * random part of the next buffer, which the card's count does not include.
 */
static void go_on(unsigned int most)
{
	for (unsigned int n = below(most + 1); n; n--) {
		write_part(WORDS);
		made.written++;
	}
	write_part(below(WORDS));
}

/*
 * Stands for the driver's litepcie_dma_progress(), which asks the card how many buffers it has
 * written. The made-up card counts one less than it has written.
 */
bool litepcie_dma_progress(struct litepcie_way *asked)
{
	need(asked == way && !way->wait.lock.held, "the card is asked with wait.lock held");
	need(made.interrupts || entered == 1, "read() asks the card without litepcie_enter()");
	if (made.written && !made.stopped)
		way->hw_count = made.written - 1;
	return true;
}

/* Do what an interrupt of the card does: the driver asks the card without litepcie_enter(). */
static void interrupt(void)
{
	made.interrupts = true;
	litepcie_dma_progress(way);
	made.interrupts = false;
}

/*
 * Do what a stop of the run by another thread does: the counts go back to 0, and way->generation,
 * which tells runs apart, changes.
 */
static void stop(void)
{
	made.stopped = true;
	way->generation++;
	way->hw_count = way->sw_count = 0;
}

/* Stand-ins for user memory ------------------------------------------------------------------- */

size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *to)
{
	size_t first = below(bytes / 4 + 1) * 4;

	need(!way->wait.lock.held && !way->mutex.held, "data is copied with a lock held");
	need(copies++ < 100000, "read() does not end");
	memcpy(to->data, from, first);
	go_on(made.pace);
	memcpy(to->data + first, (const u8 *)from + first, bytes - first);
	to->data += bytes;
	to->left -= bytes;
	if (copies == made.stops_after)
		stop();
	return bytes;
}

bool copy_from_iter_full(void *to, size_t bytes, struct iov_iter *from)
{
	copies++;
	memcpy(to, from->data, bytes);
	iov_iter_advance(from, bytes);
	return true;
}

void iov_iter_advance(struct iov_iter *iter, size_t bytes)
{
	iter->data += bytes;
	iter->left -= bytes;
}

void iov_iter_revert(struct iov_iter *iter, size_t bytes)
{
	iter->data -= bytes;
	iter->left += bytes;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../../file/rw.c"

/* Tests of read() and write() in LitePCIe's loop ---------------------------------------------- */

static void begin(u32 count, u32 pace)
{
	memset(memory, 0xff, sizeof(memory));
	ring.geometry.size = sizeof(memory[0]);
	ring.geometry.count = count;
	made = (struct made){ .pace = pace };
	way->id = way - channel.way;
	way->chan = &channel;
	way->run = LITEPCIE_RUN_LOOP;
	way->owner = &owner;
	way->ring = &ring;
	way->lost = 0;
	way->hw_count = way->sw_count = 0;
}

static ssize_t read_some(unsigned int buffers)
{
	struct kiocb iocb = { &filp, IOCB_NOWAIT };
	struct iov_iter to = { (u8 *)got, buffers * sizeof(got[0]) };
	ssize_t bytes;

	copies = 0;
	bytes = litepcie_read_iter(&iocb, &to);
	if (bytes >= 0)
		need(to.left + bytes == buffers * sizeof(got[0]), "the iterator and the result differ");
	return bytes;
}

/*
 * Check the @bytes bytes that read() has returned: they must be whole buffers, in order, from
 * number @next on, and each buffer that is missing must be counted as lost. Returns the number of
 * the buffer that should come next.
 */
static u64 check(u64 next, ssize_t bytes, u64 lost_before)
{
	u64 lost = way->lost - lost_before;

	need(bytes % sizeof(got[0]) == 0, "a part of a buffer is returned");
	for (size_t n = 0; n < bytes / sizeof(got[0]); n++) {
		u64 number = got[n][0];

		for (unsigned int word = 1; word < WORDS; word++)
			need(got[n][word] == number, "a buffer has words of two");
		need(number >= next && number < made.written, "a buffer comes again, or out of order");
		need(number - next <= lost, "a buffer that is missing is not counted");
		lost -= number - next;
		next = number + 1;
	}
	/* read() may also have counted buffers as lost that come after the last one it returns. */
	return next + lost;
}

static void test_every_buffer_is_returned_whole_or_counted(void)
{
	const u32 counts[] = { 4, 5, 8, 16, 100, MOST };
	u64 next = 0, losses = 0;

	begin(counts[below(sizeof(counts) / sizeof(counts[0]))], 0);
	for (unsigned int n = 0; n < steps; n++) {
		u64 lost = way->lost;
		ssize_t bytes;

		made.pace = below(4) ? below(2) : below(4 * ring.geometry.count / 3);
		go_on(ring.geometry.count);
		/*
		 * in two of three rounds on average an interrupt tells the driver how far the card
		 * is
		 */
		if (below(3))
			interrupt();
		bytes = read_some(1 + below(ASKED));
		need(bytes > 0 || bytes == -EAGAIN, "read() fails");
		next = check(next, bytes > 0 ? bytes : 0, lost);
		need((s64)next == way->sw_count, "sw_count is another than that of the data");
		losses += way->lost - lost;
	}
	need(losses == way->lost && (losses > 0) == (warnings > 0), "losses without a warning");
	need(losses > 0, "the card never overtakes, so the test tests nothing");
}

static void test_a_stop_ends_a_read(void)
{
	ssize_t bytes;

	begin(64, 1);
	go_on(60);
	go_on(60);
	made.written += 40;
	interrupt();
	made.stops_after = 1 + below(3);
	bytes = read_some(ASKED);
	need(bytes > 0 || bytes == -ECANCELED, "read() of a run that is stopped does not end");
	check(0, bytes > 0 ? bytes : 0, way->lost - MOST);
	need(!way->sw_count, "a read() of a run that was stopped counts in the next one");
}

/* A read() that may not wait returns -EAGAIN if another thread copies data of the ring. */
static void test_a_read_that_may_not_wait_waits_for_nobody(void)
{
	begin(64, 1);
	go_on(60);
	interrupt();
	way->io.held = true;
	need(read_some(1) == -EAGAIN, "read() with O_NONBLOCK waits for another thread's read()");
	way->io.held = false;
}

/* If the card overtakes every copy, a signal ends read(). */
static void test_a_signal_ends_a_read_that_gets_nothing(void)
{
	begin(4, 0);
	go_on(1);
	made.written += 4;
	interrupt();
	made.signal = true;
	made.pace = 0;
	made.written += 100;
	need(read_some(1) == -ERESTARTSYS, "a signal does not end read()");
	need(!way->io.held, "way->io is held behind a read()");
}

/* Actions of other threads while a call waits ------------------------------------------------- */

static struct litepcie_file other = { &channel };

static void start_again(void)
{
	stop();
	way->run = LITEPCIE_RUN_LOOP;
	way->generation++;
	way->hw_count = 3;
}

static void start_held(void)
{
	start_again();
	way->run = LITEPCIE_RUN_HELD;
}

static void start_stream(void)
{
	start_again();
	way->run = LITEPCIE_RUN_STREAM;
}

static void end_with_error(void)
{
	stop();
	way->run = LITEPCIE_RUN_REST;
	way->error = -EIO;
}

static void lose_to_another(void)
{
	start_again();
	way->owner = &other;
}

static void release(void)
{
	stop();
	way->run = LITEPCIE_RUN_REST;
	way->owner = NULL;
}

/*
 * Make a read() (c2h) or write() (h2c) that has to wait, while @meanwhile acts as other threads do.
 * Returns the result of the call.
 */
static ssize_t call_that_waits(u32 id, void (*meanwhile)(void))
{
	struct kiocb iocb = { &filp, 0 };
	struct iov_iter iter = { (u8 *)got, sizeof(got[0]) };
	ssize_t done;

	way = &channel.way[id];
	begin(4, 0);
	way->margin = 2;
	way->sw_count = id == LITEPCIE_WAY_H2C ? 2 : 0;
	made.meanwhile = meanwhile;
	copies = 0;
	done = id == LITEPCIE_WAY_C2H ? litepcie_read_iter(&iocb, &iter) :
					litepcie_write_iter(&iocb, &iter);
	need(!copies && iter.left == sizeof(got[0]), "a call moves data of a run that is not its own");
	need(!way->sw_count && !way->lost, "a call counts in a run that is not its own");
	need(!way->io.held && !way->mutex.held, "a lock is held behind a call");
	way->error = 0;
	way = &channel.way[LITEPCIE_WAY_C2H];
	return done;
}

static void test_the_end_of_a_loop_ends_a_call_that_waits_for_it(void)
{
	for (u32 id = 0; id < LITEPCIE_WAYS; id++) {
		need(call_that_waits(id, release) == -ECANCELED, "a stop does not end a call");
		need(call_that_waits(id, start_again) == -ECANCELED, "a call goes on in another loop");
		need(call_that_waits(id, start_held) == -ECANCELED, "a call goes on in a held run");
		need(call_that_waits(id, start_stream) == -ECANCELED, "a call goes on in a stream");
		need(call_that_waits(id, end_with_error) == -EIO, "a call misses the run's error");
		need(call_that_waits(id, lose_to_another) == -ECANCELED, "a call misses its end");
	}
}

static void test_another_files_loop_refuses_read(void)
{
	begin(4, 0);
	way->owner = &other;
	way->hw_count = 3;
	need(read_some(1) == -EBUSY && !copies, "read() gets data of another file's loop");
}

int main(int argc, char **argv)
{
	unsigned int first = argc == 5 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned int count = argc == 5 ? strtoul(argv[3], NULL, 0) : 1;

	if (argc != 1 && argc != 5) {
		fprintf(stderr, "usage: rw [random FIRST COUNT STEPS]\n");
		return 1;
	}
	steps = argc == 5 ? strtoul(argv[4], NULL, 0) : 200;
	for (seed = first; seed < first + count; seed++) {
		srand(seed);
		test_every_buffer_is_returned_whole_or_counted();
		test_a_stop_ends_a_read();
		test_a_read_that_may_not_wait_waits_for_nobody();
		test_a_signal_ends_a_read_that_gets_nothing();
		test_the_end_of_a_loop_ends_a_call_that_waits_for_it();
		test_another_files_loop_refuses_read();
	}
	if (argc == 5)
		printf("rw: %u random sequences from seed %u on: ok\n", count, first);
	else
		printf("rw: ok\n");
	return 0;
}
