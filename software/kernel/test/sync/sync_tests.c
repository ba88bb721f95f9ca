// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests how fsync() and the last close() wait for the data of an h2c stream, which is a run in
 * which write() gives the card its data. sync.c makes up the card. If the card tells what the
 * user's logic has taken, and the logic takes the data in time, close() loses no data, except an
 * incomplete beat that LitePCIe's endpoint cannot send. If the logic does not take the data,
 * close() ends when its time is over, counts the bytes that the card has not fetched, and frees the
 * ring and the direction. If the card goes away, close() ends soon.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include <unistd.h>

#include "sync.h"

#define TIMEOUT_MS	10000u	/* default of the driver's parameter close_timeout_ms */

static struct pci_dev pdev;
struct litepcie card;
struct litepcie_chan channel;
static struct litepcie_way *const way = &channel.way[LITEPCIE_WAY_H2C];
static struct litepcie_status_way status;
static struct litepcie_index pages[2];
static struct litepcie_file owner, other;
static u64 ends[DEPTH];
static u8 data[SIZE * COUNT];
static const char *part;

void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "sync: %s: %s\n", part, what);
	exit(1);
}

/* Calls of a program on an h2c stream --------------------------------------------------------- */

static ssize_t write_to(struct litepcie_file *file, size_t bytes, bool nonblock)
{
	struct iov_iter iter = { data, bytes };

	return litepcie_stream_transfer(way, file, &iter, nonblock);
}

static void send(struct litepcie_file *file, size_t bytes)
{
	need(write_to(file, bytes, true) == (ssize_t)bytes, "write() does not take all");
}

/* Close the owner's file.  Returns the number of ticks that close() has waited. */
static unsigned long close_owner(void)
{
	unsigned long begin = jiffies;

	leave(&owner);
	need(!way->owner && (!way->run || card.lost), "the direction belongs to a file that is closed");
	return jiffies - begin;
}

static bool nothing_is_kept(void)
{
	return !rings && !mapped && !way->ring;
}

/* Check that the direction works for the next file, and that this file sends only its own data. */
static void next_file_sends(void)
{
	u64 unsent = way->unsent, fetched = made.fetched;

	made = (struct made){ .pace = 1, .fetched = fetched };
	said[0] = 0;
	send(&other, 1000);
	leave(&other);
	need(made.fetched == fetched + 1000, "the next file's data is not what the card fetches");
	need(way->unsent == unsent && !said[0], "data of the next file is dropped");
	need(nothing_is_kept(), "a ring of the next file is kept");
}

/* Tests of close() where the card takes the data in time --------------------------------------- */

static void test_close_ends_when_all_is_taken(void)
{
	made.pace = 1;
	made.untaken = 50;
	send(&owner, 3 * SIZE + 100);
	need(close_owner() == 54, "close() does not end when the logic has taken all");
	need(made.fetched == 3 * SIZE + 100 && made.packets == 1, "the card has not got all");
	need(!way->unsent && !said[0], "data counts as dropped");
	need(nothing_is_kept(), "a ring is kept");
	next_file_sends();
}

static void test_close_without_the_bit_ends_when_all_is_fetched(void)
{
	way->tells_taken = false;
	made.pace = 1;
	made.untaken = 50;
	send(&owner, 3 * SIZE);
	need(close_owner() == 3, "close() does not end when the card has fetched all");
	need(!way->unsent && !said[0] && made.fetched == 3 * SIZE, "data counts as dropped");
}

static void test_close_without_data_does_not_wait(void)
{
	litepcie_stream_close(&owner);
	made.pace = 1;
	send(&owner, SIZE);
	need(!litepcie_stream_sync(&owner), "fsync()");
	need(!close_owner() && !way->unsent && !said[0], "close() waits for data that has left");
}

static void test_close_sends_less_than_a_beat(void)
{
	made.pace = 1;
	send(&owner, 5);
	need(!made.level && close_owner() == 1, "close() does not wait for an incomplete beat");
	need(made.fetched == 5 && made.packets == 1, "the last bytes are not sent");
}

/*
 * Let the card fetch nothing in the first 21 ticks. A descriptor table that is full stays full
 * until then.
 */
static void go_on_later(void)
{
	made.pace = jiffies > 20;
}

static void test_close_sends_what_the_table_had_no_room_for(void)
{
	made.meanwhile = go_on_later;
	for (unsigned int n = 0; n < DEPTH - 1; n++)
		send(&owner, 32);
	send(&owner, 40);
	need(made.level == DEPTH && way->stream.at > way->held.bytes, "the table has room");
	need(close_owner() < 50 && made.fetched == 32 * DEPTH + 8, "the last bytes are not sent");
	need(made.packets == 1 && !way->unsent && !said[0], "the last bytes end no packet");
}

/*
 * Let the root port give up register reads while `jiffies` is 11 to 14: these reads return all
 * ones.
 */
static void give_up(void)
{
	made.given_up = jiffies > 10 && jiffies < 15;
}

static void test_all_ones_do_not_say_that_all_is_taken(void)
{
	channel.notices.able = true;
	made.pace = 1;
	made.untaken = 50;
	made.meanwhile = give_up;
	send(&owner, SIZE);
	need(close_owner() == 50, "all ones are taken for data that the logic has taken");
	need(!card.lost && !said[0], "the card is lost");
}

/*
 * The card writes no status line here, so the driver reads from a register how many descriptors are
 * done. Reads of this register that return all ones must not end the stream of write().
 */
static void test_all_ones_do_not_end_the_stream(void)
{
	made.pace = 1;
	made.meanwhile = give_up;
	for (unsigned int n = 0; n < DEPTH - 1; n++)
		send(&owner, 32);
	need(close_owner() == DEPTH - 1, "reads that were given up end the stream, or hold it up");
	need(made.fetched == 32 * (DEPTH - 1) && !way->unsent && !said[0], "data is dropped");
}

/* Tests of close() where the card does not take the data --------------------------------------- */

static void test_close_waits_for_a_bounded_time(void)
{
	unsigned long waited;

	send(&owner, 2 * SIZE + 64);
	waited = close_owner();
	need(waited > TIMEOUT_MS && waited < TIMEOUT_MS + 3, "close() does not wait for 10 s");
	need(way->unsent == 2 * SIZE + 64, "the dropped bytes are not counted");
	need(strstr(said, "close() has waited 10000 ms: 8256 bytes"), "no sentence in the log");
	need(nothing_is_kept() && !made.running && !made.level, "the direction is not at rest");
	need(pdev.master && !card.unquiet, "bus mastering is off");
	next_file_sends();
	need(way->unsent == 2 * SIZE + 64, "the count does not stay");
}

static void test_the_parameter_is_the_bound(void)
{
	unsigned long waited;

	set_close_timeout(70);
	send(&owner, SIZE);
	waited = close_owner();
	need(waited > 70 && waited < 73, "close() does not wait for close_timeout_ms");
	need(strstr(said, "has waited 70 ms: 4096 bytes"), "no sentence in the log");
	set_close_timeout(0);
	send(&owner, SIZE);
	need(close_owner() < 3 && way->unsent == 2 * SIZE, "close() waits, or does not count");
	set_close_timeout(TIMEOUT_MS);
}

static void stand_still(void)
{
	made.pace = made.fetched < 2 * SIZE;
}

static void test_only_what_was_not_fetched_counts(void)
{
	made.meanwhile = stand_still;
	made.pace = 1;
	send(&owner, 5 * SIZE);
	need(close_owner() > TIMEOUT_MS && way->unsent == 3 * SIZE, "the count of dropped bytes");
	need(strstr(said, ": 12288 bytes"), "the count in the log");
}

static void test_bytes_that_were_not_handed_over_count(void)
{
	for (unsigned int n = 0; n < DEPTH - 1; n++)
		send(&owner, 32);
	send(&owner, 40);
	need(close_owner() > TIMEOUT_MS && way->unsent == 32 * DEPTH + 8, "the dropped bytes");
}

static void test_logic_that_does_not_take_is_waited_for(void)
{
	made.pace = 1;
	made.untaken = ~0u;
	send(&owner, SIZE);
	need(close_owner() > TIMEOUT_MS && !way->unsent, "the card has fetched all");
	need(strstr(said, ": 0 bytes") && strstr(said, "has not taken"), "no sentence in the log");
	need(nothing_is_kept(), "a ring is kept");
}

static void test_a_signal_does_not_end_close(void)
{
	made.pace = 1;
	made.untaken = 50;
	made.signal = true;
	send(&owner, SIZE);
	need(close_owner() == 50 && !way->unsent && !said[0], "a signal ends close()");
}

static void test_a_direction_that_does_not_stop(void)
{
	send(&owner, SIZE);
	made.stuck = true;
	need(close_owner() > TIMEOUT_MS && way->unsent == SIZE, "the dropped bytes");
	need(!pdev.master && strstr(said, "does not stop"), "the card may read on");
	need(nothing_is_kept(), "a ring is kept that the card cannot read");
	need(write_to(&other, 1, true) == -EIO && !way->owner, "a stream starts");
	made.stuck = false;
	need(!litepcie_dma_settle(way) && pdev.master, "bus mastering stays off");
	next_file_sends();
}

/* Tests of a card that is removed while close() waits ------------------------------------------ */

/*
 * Remove the card in tick 5. Once a second run the driver's watchdog, which notices the removal if
 * close() itself does not.
 */
static void die(void)
{
	made.gone |= jiffies == 5;
	if (!(jiffies % HZ))
		way->watchdog.function(&way->watchdog.work);
}

static void test_a_card_that_goes_ends_close(void)
{
	made.meanwhile = die;
	send(&owner, SIZE);
	need(close_owner() < 8 && card.lost, "close() waits for a card that has gone");
	need(way->unsent == SIZE && !said[0], "the dropped bytes, or a sentence about a time-out");
	need(rings == 1 && mapped == 1, "the ring is freed while the card may read it");
	need(write_to(&other, 1, true) == -ENODEV, "a stream starts");
	need(litepcie_stream_sync(&other) == -ENODEV, "fsync() on a card that has gone");
	litepcie_owner_unmap(way);
	need(nothing_is_kept(), "the ring is kept when the card has been removed");
}

/*
 * The card's descriptor table is full, so the last bytes cannot be handed over to the card. close()
 * must notice the card's removal all the same, and count these bytes as dropped, too.
 */
static void test_a_card_that_goes_with_a_full_table_ends_close(void)
{
	made.meanwhile = die;
	for (unsigned int n = 0; n < DEPTH - 1; n++)
		send(&owner, 32);
	send(&owner, 40);
	need(close_owner() < 8 && way->unsent == 32 * DEPTH + 8, "close() waits for a lost card");
	litepcie_owner_unmap(way);
}

static void count_wrong(void)
{
	if (jiffies == 5)
		made.done = 100;
}

static void test_a_run_that_fails_ends_close(void)
{
	made.meanwhile = count_wrong;
	send(&owner, SIZE);
	need(close_owner() < 8 && !card.lost, "close() goes on behind an error");
	need(way->unsent == SIZE && !said[0] && nothing_is_kept(), "the dropped bytes, or a ring");
	next_file_sends();
}

static void test_a_card_that_goes_ends_close_by_the_watchdog(void)
{
	channel.notices.able = true;
	made.meanwhile = die;
	send(&owner, SIZE);
	need(close_owner() < HZ + 3 && card.lost, "close() waits for a card that has gone");
	need(way->unsent == SIZE && !said[0], "the dropped bytes, or a sentence about a time-out");
	litepcie_owner_unmap(way);
	need(nothing_is_kept(), "the ring is kept when the card has been removed");
}

static void test_a_card_that_has_gone_has_taken_all(void)
{
	channel.notices.able = true;
	made.pace = 1;
	made.untaken = ~0u;
	made.meanwhile = die;
	send(&owner, SIZE);
	need(close_owner() < 8 && !way->unsent && !said[0], "close() waits for a card that is gone");
	litepcie_owner_unmap(way);
}

static void reset(void)
{
	if (jiffies != 5)
		return;
	entry_error = -EIO;
	litepcie_dma_abort(way, -EIO);
}

static void test_a_reset_ends_close(void)
{
	made.meanwhile = reset;
	send(&owner, SIZE);
	need(close_owner() < 8 && !said[0], "close() goes on behind a reset");
	need(!way->unsent, "close() counts the bytes of a run that the reset has ended");
	need(rings == 1 && mapped == 1, "the ring is freed while the card is away");
	need(write_to(&other, 1, true) == -EIO, "a stream starts while the card is away");
	need(!litepcie_dma_settle(way) && nothing_is_kept(), "the ring is kept behind the reset");
	entry_error = 0;
	next_file_sends();
}

/* Tests of other files while close() waits ----------------------------------------------------- */

static void call(void)
{
	need(write_to(&other, 1, false) == -EBUSY, "write() of another file is not refused");
	need(write_to(&other, 1, true) == -EBUSY, "O_NONBLOCK changes the error");
	need(!litepcie_stream_sync(&other), "fsync() of a file that has written nothing");
	way->flusher.pending = false;
	way->flusher.function(&way->flusher.work);
	need(way->flusher.pending, "the flush time of a stream ends while close() holds its lock");
}

static void test_other_files_do_not_wait_for_close(void)
{
	made.meanwhile = call;
	send(&owner, SIZE);
	need(close_owner() < TIMEOUT_MS + 3, "calls of other files keep close() up");
	made.meanwhile = NULL;
	way->flusher.function(&way->flusher.work);
	next_file_sends();
}

/*
 * close() of a file that does not own the direction h2c does not end the stream that the owner's
 * write() has started.
 */
static void test_close_of_another_file_leaves_the_stream(void)
{
	send(&owner, SIZE);
	leave(&other);
	need(!jiffies && way->owner == &owner && way->run, "close() of another file ends the run");
	made.pace = 1;
	need(close_owner() == 1 && made.fetched == SIZE, "the owner's data is lost");
}

/* Tests of fsync() on an h2c stream ------------------------------------------------------------ */

static void test_fsync_waits_until_all_is_fetched(void)
{
	need(!litepcie_stream_sync(&owner), "fsync() before the first write()");
	made.pace = 1;
	made.untaken = ~0u;
	send(&owner, SIZE + 100);
	need(!litepcie_stream_sync(&owner) && made.fetched == SIZE + 100, "fsync() returns early");
	need(jiffies < 4 && made.packets == 1, "fsync() waits for the logic, or ends no packet");
	send(&owner, 32);
	need(!litepcie_stream_sync(&owner) && made.fetched == SIZE + 132, "a second fsync()");
}

static void send_signal(void)
{
	made.signal = jiffies == 20000;
}

static void test_fsync_ends_with_a_signal_and_by_no_time(void)
{
	made.meanwhile = send_signal;
	send(&owner, SIZE);
	need(litepcie_stream_sync(&owner) == -ERESTARTSYS && jiffies == 20000, "fsync()");
	need(way->run && !way->unsent, "a signal drops data");
	made.signal = false;
	made.pace = 1;
	need(!litepcie_stream_sync(&owner) && made.fetched == SIZE, "the next fsync()");
}

static void test_fsync_says_once_that_reads_have_failed(void)
{
	channel.notices.able = true;
	made.pace = 1;
	send(&owner, SIZE);
	status.errors = 1;
	need(litepcie_stream_sync(&owner) == -EIO, "fsync() does not say that data is missing");
	need(!litepcie_stream_sync(&owner), "fsync() says it twice");
}

static void test_fsync_ends_with_the_run(void)
{
	made.meanwhile = reset;
	send(&owner, SIZE);
	need(litepcie_stream_sync(&owner) == -EIO && jiffies == 5, "fsync() behind a reset");
	need(litepcie_stream_sync(&owner) == -EIO, "fsync() does not say how the run has ended");
	entry_error = 0;
}

/*
 * Do what another thread of the same file may do: stop the run that write() has started, and at
 * once start one in which ADVANCE hands buffers over (LITEPCIE_RUN_HELD).
 */
static void start_held(void)
{
	lock_take(&way->mutex);
	need(!litepcie_dma_end(way, &owner) && !litepcie_dma_start(way, &owner, LITEPCIE_RUN_HELD),
	     "the held run does not start");
	lock_leave(&way->mutex);
}

static void start_held_later(void)
{
	if (jiffies == 5)
		start_held();
}

static void test_fsync_ends_with_the_run_that_another_run_follows(void)
{
	made.meanwhile = start_held_later;
	send(&owner, SIZE);
	need(litepcie_stream_sync(&owner) == -ECANCELED && jiffies == 5 && !made.fetched,
	     "fsync() does not say that a stop has dropped the data");
}

/*
 * When write() has handed over the first of the two descriptors of a packet, another thread stops
 * the run of write() and starts one of ADVANCE (LITEPCIE_RUN_HELD).
 */
static void start_held_amid_a_packet(void)
{
	if (made.level != 1)
		return;
	made.leaving = NULL;
	start_held();
}

static void test_write_of_a_packet_ends_with_the_run_that_another_run_follows(void)
{
	owner.ends[LITEPCIE_WAY_H2C].packets = true;
	made.leaving = start_held_amid_a_packet;
	need(write_to(&owner, 2 * SIZE, true) == -ECANCELED && !made.level && !made.leaving,
	     "write() does not say that a stop has dropped the rest of the packet");
}

/*
 * LitePCIe's endpoint (in_flight is not 0) cannot send an incomplete beat. fsync() and close() must
 * send the whole beats all the same. For the 5 bytes that are left fsync() fails with EOPNOTSUPP,
 * and close() counts them as dropped.
 */
static void test_whole_beats_leave_by_any_endpoint(void)
{
	way->in_flight = 4096;
	made.pace = 1;
	send(&owner, 2 * SIZE + 5);
	need(litepcie_stream_sync(&owner) == -EOPNOTSUPP, "fsync() of an incomplete beat");
	need(close_owner() < 5 && made.fetched == 2 * SIZE, "whole beats are lost");
	need(way->unsent == 5 && strstr(said, "5 bytes"), "the dropped bytes");
}

/* The list of the tests ------------------------------------------------------------------------ */

static void run(const char *name, void (*test)(void))
{
	part = name;
	made = (struct made){ 0 };
	jiffies = 0;
	said[0] = 0;
	entry_error = 0;
	pdev = (struct pci_dev){ .master = true };
	card = (struct litepcie){ .pdev = &pdev, .master_lock = { RANK_MASTER } };
	channel = (struct litepcie_chan){ .card = &card };
	status = (struct litepcie_status_way){ 0 };
	owner = (struct litepcie_file){ .chan = &channel, .index = &pages[0] };
	other = (struct litepcie_file){ .chan = &channel, .index = &pages[1] };
	*way = (struct litepcie_way){
		.chan = &channel, .cause = 3, .regs = (u8 *)0x1000, .depth = DEPTH,
		.tells_taken = true, .io = { RANK_IO }, .mutex = { RANK_MUTEX },
		.wait = { { RANK_WAIT } }, .status = &status,
		.held = { .end = ends, .mask = DEPTH - 1 },
	};
	litepcie_dma_init(way);
	litepcie_stream_init(way);
	test();
	made = (struct made){ .pace = 1 };
	leave(&owner);
	need(nothing_is_kept(), "a ring is left");
}

#define RUN(_test)	run(#_test, _test)

int main(void)
{
	alarm(60);	/* end the program if the driver waits without calling tick() */
	RUN(test_close_ends_when_all_is_taken);
	RUN(test_close_without_the_bit_ends_when_all_is_fetched);
	RUN(test_close_without_data_does_not_wait);
	RUN(test_close_sends_less_than_a_beat);
	RUN(test_close_sends_what_the_table_had_no_room_for);
	RUN(test_all_ones_do_not_say_that_all_is_taken);
	RUN(test_all_ones_do_not_end_the_stream);
	RUN(test_close_waits_for_a_bounded_time);
	RUN(test_the_parameter_is_the_bound);
	RUN(test_only_what_was_not_fetched_counts);
	RUN(test_bytes_that_were_not_handed_over_count);
	RUN(test_logic_that_does_not_take_is_waited_for);
	RUN(test_a_signal_does_not_end_close);
	RUN(test_a_direction_that_does_not_stop);
	RUN(test_a_card_that_goes_ends_close);
	RUN(test_a_card_that_goes_with_a_full_table_ends_close);
	RUN(test_a_run_that_fails_ends_close);
	RUN(test_a_card_that_goes_ends_close_by_the_watchdog);
	RUN(test_a_card_that_has_gone_has_taken_all);
	RUN(test_a_reset_ends_close);
	RUN(test_other_files_do_not_wait_for_close);
	RUN(test_close_of_another_file_leaves_the_stream);
	RUN(test_fsync_waits_until_all_is_fetched);
	RUN(test_fsync_ends_with_a_signal_and_by_no_time);
	RUN(test_fsync_says_once_that_reads_have_failed);
	RUN(test_fsync_ends_with_the_run);
	RUN(test_fsync_ends_with_the_run_that_another_run_follows);
	RUN(test_write_of_a_packet_ends_with_the_run_that_another_run_follows);
	RUN(test_whole_beats_leave_by_any_endpoint);
	puts("sync: ok");
	return 0;
}
