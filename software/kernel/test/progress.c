// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests progress.c, held.c and advance.c of the driver. Functions and variables of this file stand
 * for the kernel and the card. The tests show that the driver's counts go on when the card's 32-bit
 * counter wraps, that a buffer is announced only after its data has arrived, and that a descriptor
 * raises an interrupt exactly if one was asked for.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"
#include "progress.h"

/* number of descriptors that the table of the stand-in for the card holds */
#define DEPTH	32u
#define SIZE	4096u
/*
 * descriptors that the card has finished before a test begins; the 5th one after these lets the
 * card's 32-bit counter wrap to 0
 */
#define AHEAD	((1ull << 32) - 5)

static u64 ends[DEPTH];
static struct litepcie_ring ring;
static struct litepcie_status_way status;
static struct litepcie_chan channel = { .card = &channel };
static struct litepcie_file file = { .way.chan = &channel };
static struct litepcie_way *const way = &file.way;
/* value that a read of the card's register loop_status returns to the driver */
static u32 loop_status;
/* number of the driver's reads of loop_status since the test changed its value */
static unsigned int reads;
static u64 recorded;		/* number of descriptors whose records the card has written */
/*
 * number of buffers by which the count in the card's status line grows after each load of the
 * driver from this line
 */
static u64 line_goes_on;
/* for each descriptor in the card's table: true if it raises an interrupt */
static bool raises[DEPTH];
static bool lasts[DEPTH];
static u32 bytes_of[DEPTH];
static unsigned int described;
/* number of times that the driver has signalled the direction's eventfd */
static unsigned int told_others;
/* number of the driver's calls of litepcie_check_lost(), which asks whether the card has gone */
static unsigned int suspected;
/* number of the driver's next register reads that the root port gives up: they return all ones */
static unsigned int given_up;
static bool gone;		/* true: the card has gone, so each read returns all ones */

static void fail(const char *what)
{
	fprintf(stderr, "progress: %s, descriptor %lld: %s\n", way->id ? "c2h" : "h2c",
		(long long)way->hw_count, what);
	exit(1);
}

static void need(bool true_, const char *what)
{
	if (!true_)
		fail(what);
}

/* Stand-ins for the kernel, the card, and the driver's other files ----------------------------- */

static u32 readl(const u8 *address)
{
	need(address == way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS,
	     "a register other than loop status is read");
	reads++;
	if (given_up) {
		given_up--;
		return ~0u;
	}
	return gone ? ~0u : loop_status;
}

/*
 * Stands for the load of a word that the card writes. The card may write its status line between
 * any two such loads.
 */
static u64 litepcie_load_reported(const __u64 *word)
{
	u64 value = *word;

	if (line_goes_on) {
		status.buffers += line_goes_on;
		status.position = status.buffers * SIZE;
	}
	return value;
}

/*
 * Stands for smp_store_release() of a count to the status page. Check that the driver announces a
 * count only when the counted data has arrived. In a run of c2h by ADVANCE (LITEPCIE_RUN_HELD) the
 * data has arrived once the card has answered a register read that was made after the card sent the
 * data. A program that reads the new count takes the position from the same page, so the position
 * must have been stored before the count.
 */
static void announce(__u64 *buffers, u64 count)
{
	if (way->run == LITEPCIE_RUN_HELD && way->id == LITEPCIE_WAY_C2H && count > *buffers)
		need(reads >= 2,
		     "a count is announced before a read has been answered after its data");
	need(status.position == (way->run == LITEPCIE_RUN_HELD ? ends[(count - 1) % DEPTH] :
								 count * SIZE),
	     "a count is announced before its position is stored");
	*buffers = count;
}

static void trace_litepcie_progress(struct litepcie_way *way, s64 hw_count, s64 sw_count)
{
	(void)way, (void)hw_count, (void)sw_count;
}

static void litepcie_eventfd_signal(void *event)
{
	(void)event;
	told_others++;
}

static void *litepcie_of(struct litepcie_way *way)
{
	return way;
}

static bool litepcie_answers(void *card)
{
	(void)card;
	return !gone;
}

static bool litepcie_check_lost(void *card)
{
	(void)card;
	suspected++;
	return true;
}

static struct litepcie_way *litepcie_find_way(struct litepcie_file *file, u32 id)
{
	(void)id;
	return &file->way;
}

static int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run)
{
	(void)file;
	way->run = run;
	return 0;
}

static bool litepcie_notices_ended(const struct litepcie_way *way, u64 number)
{
	(void)way;
	return number < recorded;
}

static void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq,
				  bool last)
{
	need(offset == (way->held.advanced - 1) % ring.geometry.count * SIZE,
	     "a descriptor is for another buffer than the next one");
	bytes_of[described % DEPTH] = bytes;
	lasts[described % DEPTH] = last;
	raises[described++ % DEPTH] = irq;
}

int litepcie_held_update(struct litepcie_way *way);
bool litepcie_dma_progress(struct litepcie_way *way);

/*
 * The kernel's build allows the driver's comparisons of signed and unsigned numbers, so this test
 * does, too.
 */
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "../dma/progress.c"
#include "../dma/held.c"
#include "../dma/advance.c"

/* Tests of the driver's counts ----------------------------------------------------------------- */

static void begin(u32 id, u32 run, u32 count, u32 mode)
{
	static u8 registers[LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS + 4];

	memset(&file, 0, sizeof(file));
	memset(&status, 0, sizeof(status));
	ring.geometry = (struct litepcie_geometry){ SIZE, count, 4, mode };
	*way = (struct litepcie_way){
		.id = id, .regs = registers, .run = run, .count = count, .mode = mode,
		.ring = &ring, .status = &status, .held = { .end = ends, .mask = DEPTH - 1 },
	};
	loop_status = 0;
	reads = described = told_others = suspected = 0;
	recorded = 0;
	given_up = 0;
	gone = false;
}

/*
 * Begin a held run (LITEPCIE_RUN_HELD), in which the card uses only the buffers that ADVANCE hands
 * over. At its beginning here @ahead descriptors have been handed over and are done, each for a
 * whole buffer.
 */
static void begin_held(u32 id, u64 ahead, u32 mode)
{
	begin(id, LITEPCIE_RUN_HELD, DEPTH / 2, mode);
	way->held.advanced = ahead;
	way->held.done = ahead;
	way->held.bytes = ahead * SIZE;
	way->hw_count = (s64)ahead;
	for (u64 n = 0; n < DEPTH; n++)
		ends[(ahead - 1 - n) % DEPTH] = (ahead - n) * SIZE;
	loop_status = (u32)ahead;
}

static void card_is_at(u32 now)
{
	loop_status = now;
	reads = 0;
}

static int advance(u32 count, u32 flags, const u32 *lengths)
{
	struct litepcie_advance request = { .way = way->id, .count = count, .flags = flags };

	return litepcie_held_advance(&file, &request, lengths);
}

/*
 * In LitePCIe's loop the card goes round the ring again and again. The upper half of its register
 * loop_status is then the number of rounds, which wraps to 0, and the lower half is the index of a
 * buffer. The driver's count of buffers must go on beyond that wrap. An index that is not below the
 * ring's number of buffers makes the driver check whether the card has gone.
 */
static void the_loop_goes_on(u32 count)
{
	u64 wrap = (u64)count << 16;

	begin(LITEPCIE_WAY_C2H, LITEPCIE_RUN_LOOP, count, LITEPCIE_MODE_INTERRUPT);
	for (u64 at = wrap - 3; at < 3 * wrap; at += at % wrap == 3 ? wrap - 6 : 1) {
		card_is_at((u32)(at / count << 16 | at % count));
		need(litepcie_dma_progress(way), "progress in the loop is not reported");
		need((u64)way->hw_count == at, "the count is wrong after a wrap of the loop");
		need(!litepcie_dma_progress(way), "the same progress is reported twice");
		need(status.buffers == at, "the status page has a wrong count");
	}
	card_is_at(count);
	need(!litepcie_dma_progress(way) && suspected == 1,
	     "an index beyond the table is not noticed");
}

static void a_held_run_goes_on(u32 id, u64 ahead)
{
	begin_held(id, ahead, LITEPCIE_MODE_INTERRUPT);
	need(!litepcie_dma_progress(way), "progress is reported before there is any");
	for (u64 done = ahead; done < ahead + 3 * DEPTH; done++) {
		need(!advance(1, 0, NULL), "a buffer is refused");
		need(status.advanced == done + 1, "a buffer that was handed over is not counted");
		card_is_at((u32)(done + 1));
		need(litepcie_dma_progress(way), "progress of a held run is not reported");
		need((u64)way->hw_count == done + 1 && status.buffers == done + 1,
		     "the count of a held run is wrong after a wrap");
	}
	card_is_at((u32)way->held.done + 1);
	need(litepcie_dma_progress(way) && way->error == -EIO && status.error == -EIO,
	     "a count of more than was handed over is accepted");
	need(advance(0, 0, NULL) == -EIO,
	     "a buffer is handed over although the card's count is impossible");
}

/*
 * The root port returns all ones for a read that it gives up, and for a read of a card that has
 * gone. The driver must count no buffer as done because of such a read, and the run must go on.
 * With @ahead near 2^32 all ones are a possible count, too. There only one read in a row is given
 * up, since the driver takes all ones from a second read for the count if the card answers.
 */
static void all_ones_say_nothing(u32 id, u64 ahead)
{
	begin_held(id, ahead, LITEPCIE_MODE_INTERRUPT);
	need(!advance(8, 0, NULL), "a call is refused");
	card_is_at((u32)(ahead + 2));
	given_up = 1;
	need(litepcie_dma_progress(way) && (u64)way->hw_count == ahead + 2 && !suspected,
	     "a read that was given up is not repeated");
	if (!ahead) {
		given_up = 2;
		need(!litepcie_dma_progress(way) && way->hw_count == 2 && suspected == 1,
		     "two reads that were given up are not taken for a lost card");
	}
	gone = true;
	suspected = 0;
	need(!litepcie_dma_progress(way) && (u64)way->hw_count == ahead + 2 && suspected == 1,
	     "a card that has gone counts buffers, or is not noticed");
	gone = false;
	need(!way->error && !status.error, "all ones end the run");
	card_is_at((u32)(ahead + 8));
	need(litepcie_dma_progress(way) && (u64)way->hw_count == ahead + 8,
	     "the count is wrong after reads that were given up");
}

/*
 * In this test every fourth buffer of a run raises an interrupt, and so does the last buffer of a
 * call with the flag NOTIFY. In LITEPCIE_MODE_POLL no buffer raises one.
 */
static void interrupts_are_where_they_were_asked_for(u32 mode)
{
	static const struct { u32 count, flags; } calls[] = {
		{ 3, 0 }, { 2, LITEPCIE_ADVANCE_NOTIFY }, { 1, LITEPCIE_ADVANCE_NOTIFY }, { 3, 0 },
		{ 1, 0 }, { 2, LITEPCIE_ADVANCE_NOTIFY },
	};
	static const bool due[] = { 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1 };

	begin_held(LITEPCIE_WAY_H2C, 0, mode);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		need(!advance(calls[i].count, calls[i].flags, NULL), "a call is refused");
	need(described == sizeof(due), "the number of descriptors is wrong");
	for (unsigned int n = 0; n < described; n++)
		need(raises[n] == (due[n] && mode != LITEPCIE_MODE_POLL),
		     "a descriptor asks for an interrupt wrongly, or does not ask");
}

/*
 * LITEPCIE_IOCTL_ADVANCE with a wrong length is refused as a whole, and the card never has more
 * buffers than the ring. The ring of this test has half as many buffers as the card's table holds
 * descriptors.
 */
static void no_more_than_there_is_room_for(void)
{
	u32 lengths[] = { 32, SIZE, 64 };

	begin_held(LITEPCIE_WAY_H2C, 0, LITEPCIE_MODE_INTERRUPT);
	need(!advance(3, 0, lengths), "lengths are refused");
	for (unsigned int n = 0; n < 3; n++)
		need(bytes_of[n] == lengths[n], "a descriptor has a wrong length");
	lengths[1]++;
	need(advance(3, 0, lengths) == -EINVAL,
	     "a length of more bytes than a buffer has is accepted");
	lengths[1] = 0;
	need(advance(3, 0, lengths) == -EINVAL, "a length of 0 is accepted");
	need(described == 3 && status.advanced == 3, "buffers of a refused call are handed over");
	need(!advance(DEPTH / 2 - 3, 0, NULL), "buffers that the ring has room for are refused");
	need(advance(1, 0, NULL) == -EINVAL, "a buffer that the card still has is accepted");
	card_is_at(1);
	need(!advance(1, 0, NULL),
	     "a buffer that the card is done with is refused before progress is reported");
}

/*
 * LitePCIe's endpoint counts an h2c buffer when it has requested the buffer's data. So the last
 * in_flight bytes that it has counted may not have arrived, and the driver does not announce the
 * buffers that hold these bytes.
 */
static void what_is_in_flight_is_the_card_s(void)
{
	begin_held(LITEPCIE_WAY_H2C, 0, LITEPCIE_MODE_INTERRUPT);
	way->in_flight = 2 * SIZE;
	need(!advance(8, 0, NULL), "a call is refused");
	card_is_at(2);
	need(!litepcie_dma_progress(way) && !status.buffers,
	     "buffers whose data is still in flight are announced");
	card_is_at(5);
	need(litepcie_dma_progress(way) && status.buffers == 3,
	     "buffers whose data has arrived are not announced");
}

/*
 * If the card writes its progress to memory, the driver takes its counts from there and not from a
 * register, and does not write the status line itself. litepcie_dma_ask() reads a register only to
 * find out whether the card has gone.
 */
static void a_card_tells_how_far_it_is(u32 id)
{
	begin_held(id, 0, LITEPCIE_MODE_INTERRUPT);
	way->reports = true;
	need(!advance(DEPTH / 2, 0, NULL), "a call is refused");
	need(!litepcie_dma_progress(way), "progress is reported before there is any");
	status.buffers = 3;
	status.position = 3 * SIZE;
	need(litepcie_dma_progress(way) && way->hw_count == 3,
	     "the count of the status line is not taken over");
	need(way->held.position == 3 * SIZE, "the position is not that of the status line");
	need(!litepcie_dma_progress(way), "the same progress of a status line is reported twice");
	need(!advance(3, 0, NULL), "buffers that the status line counts as done are refused");
	need(advance(1, 0, NULL) == -EINVAL,
	     "a buffer that no status line counts as done is accepted");
	need(status.buffers == 3 && status.position == 3 * SIZE && !reads,
	     "a register is read, or the driver writes the status line");
	card_is_at(3);
	litepcie_dma_ask(way);
	need(!suspected, "a card that answers is taken for one that has gone");
	card_is_at(~0u);
	litepcie_dma_ask(way);
	need(suspected == 1, "a card that has gone is not noticed by its silence");
	status.buffers = DEPTH;
	need(litepcie_dma_progress(way) && way->error == -EIO,
	     "a status line that counts too many buffers is accepted");
}

/*
 * Here the card reports each finished c2h buffer by a record, and the number of finished buffers by
 * a status line, which may come later. If the ring seems to have no room, ADVANCE also counts the
 * buffers that have a record, though the status line does not count them yet. A later status line
 * that counts no more than these buffers is no progress.
 */
static void records_tell_before_the_line(void)
{
	begin_held(LITEPCIE_WAY_C2H, 0, LITEPCIE_MODE_INTERRUPT);
	way->reports = true;
	need(!advance(DEPTH / 2, 0, NULL), "a call is refused");
	way->event = way;
	recorded = 4;
	need(!advance(3, 0, NULL), "buffers that have records are refused");
	need(way->hw_count == 4 && !reads,
	     "the count is not that of the records, or a register is read");
	need(told_others == 1, "other waiting threads are not woken once");
	status.buffers = 2;
	status.position = 2 * SIZE;
	need(!litepcie_dma_progress(way) && way->hw_count == 4,
	     "a status line older than the records lowers the count");
	need(way->held.position == 2 * SIZE,
	     "the position of a status line older than the records is not taken");
	recorded = DEPTH;
	need(!advance(1, 0, NULL), "a buffer is refused after others that have records");
	need(advance(DEPTH / 2, 0, NULL) == 0 && way->hw_count <= (s64)way->held.advanced,
	     "records let the count exceed what was handed over");
}

/*
 * The driver reports a count of finished buffers and a position in bytes. The position must never
 * include bytes of a buffer that the count does not include, even if the card writes a newer status
 * line after each load of a word from it.
 */
static void a_position_is_never_ahead_of_its_buffers(u32 id)
{
	begin_held(id, 0, LITEPCIE_MODE_INTERRUPT);
	way->reports = true;
	need(!advance(DEPTH / 2, 0, NULL), "a call is refused");
	status.buffers = 0;
	status.position = 0;
	line_goes_on = 1;
	for (int looks = 0; looks < 7; looks++) {
		litepcie_dma_progress(way);
		need(way->held.position <= (u64)way->hw_count * SIZE,
		     "the position includes bytes of buffers that the count lacks");
	}
	line_goes_on = 0;
	litepcie_dma_progress(way);
	need(way->held.position == status.position,
	     "the position at rest is not that of the status line");
}

static void packets_end_where_they_were_asked_for(bool packets)
{
	begin_held(LITEPCIE_WAY_H2C, 0, LITEPCIE_MODE_INTERRUPT);
	way->ends.packets = packets;
	need(!advance(3, 0, NULL), "a call is refused");
	for (unsigned int n = 0; n < 3; n++)
		need(lasts[n] == packets,
		     "a descriptor does not mark the end of its packet, or marks "
		     "one without packets");
}

int main(void)
{
	for (u32 count = 2; count <= 256; count += count == 2 ? 1 : 253)
		the_loop_goes_on(count);
	for (u32 id = LITEPCIE_WAY_H2C; id <= LITEPCIE_WAY_C2H; id++) {
		a_held_run_goes_on(id, 0);
		a_held_run_goes_on(id, AHEAD);
		all_ones_say_nothing(id, 0);
		all_ones_say_nothing(id, AHEAD);
	}
	for (u32 mode = LITEPCIE_MODE_INTERRUPT; mode <= LITEPCIE_MODE_POLL; mode++)
		interrupts_are_where_they_were_asked_for(mode);
	no_more_than_there_is_room_for();
	what_is_in_flight_is_the_card_s();
	for (u32 id = LITEPCIE_WAY_H2C; id <= LITEPCIE_WAY_C2H; id++)
		a_card_tells_how_far_it_is(id);
	records_tell_before_the_line();
	for (u32 id = LITEPCIE_WAY_H2C; id <= LITEPCIE_WAY_C2H; id++)
		a_position_is_never_ahead_of_its_buffers(id);
	for (int packets = 0; packets < 2; packets++)
		packets_end_where_they_were_asked_for(packets);
	printf("progress: ok\n");
	return 0;
}
