// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the owners of queues, for the program node: a queue belongs to one file, until the file is
 * closed, or the card is reset, sleeps, vanishes or does not stop. The ring of a file that was
 * closed must stay mapped as long as the card may write to the ring, and no longer.
 */
#include "node_card.h"

void test_a_queue_has_one_file(void)
{
	struct file *owner = file_of(2), *other = file_of(2), *first = node_open();

	need(choose(owner, QUEUES) == -EINVAL, "a queue is chosen that the card does not have");
	need(start(owner, 0) == -EINVAL && limit(owner, 1) == -EINVAL && sort(first) == -EINVAL,
	     "a file without a ring is let start, limit or sort");
	need(!ring(owner, MBUF) && queue_of(2)->owner == owner->private_data,
	     "the file does not get its queue");
	need(ring(other, MBUF) == -EBUSY, "a second file of the same queue is let in");
	need(start(other, 0) == -EBUSY && stop(other, NULL) == -EBUSY, "another file starts it");
	need(limit(other, 1) == -EBUSY && wake(other, 1, -1) == -EBUSY, "another file moves it");
	need(node_read(other, rings[0], 1, false) == -EBUSY, "another file reads it");
	need(choose(owner, 1) == -EBUSY && number_of(owner) == 2, "the owner changes its queue");
	need(sort(owner) == -EINVAL, "a file of another queue than 0 sorts");
	need(ring(first, 2 * MBUF) == -EINVAL, "rings of one card have MBUFs of two sizes");
	need(!ring(first, MBUF), "queue 0 is not free");
	need(info(other, 0).queue == 2 && info(other, 0).queues == QUEUES, "INFO of another file");
	node_close(owner);
	need(!ring(other, MBUF), "the queue is not free when its file is closed");
	node_close(other);
	node_close(first);
}

/*
 * Begin a run of queues 0 and 1. Frames of port 0 go to queue 0, those of port 1 to queue 1. Each
 * queue gets one frame.
 */
static void begin_run(struct file *files[2], u32 flags)
{
	for (unsigned int n = 0; n < 2; n++) {
		files[n] = file_of(n);
		need(!ring(files[n], MBUF), "RING");
	}
	need(!sort(files[0]) && !start(files[1], flags) && !start(files[0], flags), "START");
	frame(0, 64);
	frame(1, 64);
}

/*
 * When queue 0's file is closed, the run of all queues ends, and the rules by which the file has
 * let the card sort frames into queues are dropped.
 */
void test_closing(void)
{
	struct file *files[2], *next = file_of(0);
	unsigned int woken;

	begin_run(files, LITEPCIE_CAPTURE_LOSSLESS);
	made.blocked = true;
	woken = queue_of(1)->wait.woken;
	jiffies = 0;
	node_close(files[0]);
	need(jiffies < 100, "the end of a file waits for room that nobody gives");
	need(!made.control && !made.sort && !made.enabled, "the run goes on without its owner");
	need(queue_of(1)->wait.woken != woken && !queue_of(1)->run, "other queues are not told");
	need(mapped == 1 && pinned == 1, "a ring that nobody has is kept, or another's is not");
	need(!ring(next, MBUF) && !start(files[1], 0) && !start(next, 0), "the next run");
	need(!made.sort, "rules of a file that was closed sort the frames of the next");
	frame(1, 64);
	need(litepcie_capture_position(queue_of(0)) == 64, "the frame goes to queue 0 by itself");
	need(!stop(next, NULL) && !start(next, LITEPCIE_CAPTURE_LOSSLESS), "a LOSSLESS run");
	need(!stop(next, NULL) && !made.control, "STOP waits for ever for room that nobody gives");
	node_close(next);
	node_close(files[1]);
}

/*
 * Queue 1's file is closed, as if its process was killed, while the run of queue 0 goes on. The
 * ring of queue 1 must stay mapped until the run ends. Until then no frame for this ring may be
 * lost or wait for room, and no other file may get the queue.
 */
void test_dead_owners(void)
{
	struct poll_table_struct table = { 0 };
	struct file *files[2], *next = file_of(1);
	unsigned int woken;

	begin_run(files, 0);
	need(!node_poll(next, &table), "another's queue could be read");
	woken = queue_of(1)->wait.woken;
	node_close(files[1]);
	need(queue_of(1)->wait.woken != woken,
	     "who waits for the queue does not hear that it is free");
	need(mapped == 2 && pinned == 2, "the ring is freed while the card may write to it");
	need(made.queue[1].limit == ~0ull && made.control, "frames may wait for a dead owner");
	need(ring(next, MBUF) == -EBUSY,
	     "the queue of a dead owner is taken while the run goes on");
	for (unsigned int n = 0; n < 2 * BYTES / 64; n++)
		frame(1, 64);
	need(!made.lost, "frames for a dead owner's ring are lost");
	frame(0, 64);
	need(!stop(files[0], NULL) && mapped == 1 && pinned == 1,
	     "its ring is kept behind the run");
	need(!litepcie_capture_position(queue_of(1)), "its status line is kept");
	need(!ring(next, MBUF), "its queue cannot be taken behind the run");
	node_close(next);
	node_close(files[0]);
}

/*
 * Do what the driver does with the capture at a reset of the card. With @power the card loses its
 * power, as in a sleep.
 */
static void reset(bool power)
{
	outside = true;
	entry_error = -EIO;
	litepcie_capture_abort(&card, -EIO);
	if (power)
		power_cut();
	need(!litepcie_capture_settle(&card), "the card is not driven behind its reset");
	outside = false;
	entry_error = 0;
}

void test_a_reset(void)
{
	struct file *files[2];

	begin_run(files, 0);
	need(!wake(files[1], 1000, 0), "WAKE");
	reset(false);
	need(events[0].signals == 1, "a waiting program is not told of the reset");
	need(!made.control && !made.enabled && !made.generator[0], "the card goes on");
	need(queue_of(1)->status->error == -EIO && !queue_of(1)->status->run, "the status page");
	for (unsigned int n = 0; n < 2; n++) {
		need(start(files[n], 0) == -EIO && limit(files[n], BYTES) == -EIO, "calls go on");
		need(node_poll(files[n], NULL) == EPOLLERR, "poll() does not say EPOLLERR");
		need(!stop(files[n], NULL) && !start(files[1 - n], 0) == (n == 1),
		     "STOP of a queue does not clear its error, or clears another's");
	}
	need(mapped == 2, "a ring is lost in a reset");
	entry_error = -EIO;
	node_close(files[1]);
	need(mapped == 2, "a ring is unmapped while the card is away");
	entry_error = 0;
	reset(false);
	need(mapped == 1, "a ring that was left while the card was away stays behind its reset");
	node_close(files[0]);
}

/*
 * After a sleep in which the card lost power, the card has forgotten its rules for sorting frames
 * into queues. The next START must write the rules to the card again, without another call of the
 * ioctl SORT.
 */
void test_a_power_cut(void)
{
	struct file *files[2];

	begin_run(files, 0);
	reset(true);
	need(!stop(files[0], NULL) && !stop(files[1], NULL), "STOP");
	need(!start(files[1], 0) && !start(files[0], 0), "START");
	need(made.rule[0] == 1 && made.rule[31] == 32 && made.spread[1] == 1,
	     "the card sorts by rules that it has forgotten");
	frame(1, 64);
	need(litepcie_capture_position(queue_of(1)) == 64, "the frame goes to another queue");
	node_close(files[0]);
	node_close(files[1]);
}

void test_a_lost_card(void)
{
	struct file *files[2];
	unsigned int woken;

	begin_run(files, 0);
	made.gone = true;
	woken = queue_of(1)->wait.woken;
	outside = true;
	litepcie_capture_watch(&card.capture->watchdog.work);
	outside = false;
	need(card.lost && queue_of(1)->wait.woken != woken,
	     "nobody notices that the card has gone");
	need(stop(files[0], NULL) == -ENODEV && limit(files[1], 1) == -ENODEV, "calls go on");
	need(node_poll(files[1], NULL) == (EPOLLHUP | EPOLLERR), "poll() does not say EPOLLHUP");
	node_close(files[1]);
	node_close(files[0]);
	need(mapped == 2, "rings are unmapped while a card that seems lost may write to them");
}

void test_a_stuck_card(void)
{
	struct file *files[2];

	begin_run(files, 0);
	made.stuck = true;
	made.given_up = 2;
	need(stop(files[0], NULL) == -EIO && made.master_off, "bus mastering stays on");
	need(strstr(said, "does not stop") && strstr(said, "bus mastering is off"), "no sentence");
	need(start(files[0], 0) == -EIO, "a run begins without bus mastering");
	made.stuck = false;
	reset(false);
	need(!made.master_off, "bus mastering stays off behind the reset");
	need(!stop(files[1], NULL) && !start(files[1], 0) && !start(files[0], 0), "START");
	node_close(files[0]);
	node_close(files[1]);
}
