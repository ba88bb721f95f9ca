// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements those commands of the test program packets in which a ring or the card's descriptor
 * table is full.
 */
#include <poll.h>
#include <unistd.h>

#include "packets.h"

/* Tests of a ring that is full of packets ----------------------------------------------------- */

/*
 * Packets are written until both rings are full: no program reads, so no c2h buffer goes back to
 * the card. write() with O_NONBLOCK must then fail with EAGAIN and overwrite nothing. So all
 * packets that were written are then read and compared.
 */
int full(void)
{
	static uint8_t packet[H2C_SIZE - 6], got[H2C_SIZE];
	unsigned int sent_packets = 0;

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 0), "packets of c2h");
	start_c2h();
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	for (unsigned int quiet = 0; quiet < 100 && sent_packets < 200;) {
		memset(packet, (int)(sent_packets + 1), sizeof(packet));
		if (write(fd, packet, sizeof(packet)) == sizeof(packet)) {
			sent_packets++;
			quiet = 0;
		} else {
			need(errno == EAGAIN, "write");
			usleep(2000);
			quiet++;
		}
	}
	if (sent_packets < COUNT || sent_packets > 2 * COUNT + 8)
		fail("%u packets had room", sent_packets);
	need(!fcntl(fd, F_SETFL, 0), "blocking calls");
	alarm(TIMEOUT_S);
	for (unsigned int n = 0; n < sent_packets; n++) {
		memset(packet, (int)(n + 1), sizeof(packet));
		if (read(fd, got, sizeof(got)) != sizeof(packet) ||
		    memcmp(packet, got, sizeof(packet)))
			fail("packet %u of %u: other bytes", n, sent_packets);
	}
	alarm(0);
	printf("full: ok\n");
	return 0;
}

/* Tests of a ring that is full of bytes ------------------------------------------------------- */

/*
 * Fill @to with the stream's bytes from byte @at on. Byte n of the stream has the value n modulo
 * 251. No ring's size is a multiple of 251, so bytes at the wrong offset are noticed.
 */
static void fill_from(uint8_t *to, size_t at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)((at + i) % 251);
}

/*
 * Write pieces of @bytes each, from byte @at of the stream on, until no write() has found room for
 * 0.2 s or @most pieces are written. With packets off, write() takes a part of a piece that does
 * not fit as a whole, and the next piece begins after that part. Returns the offset in the stream
 * at which the written bytes end.
 */
static size_t write_pieces(size_t at, size_t bytes, unsigned int most)
{
	static uint8_t piece[H2C_SIZE];

	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	for (unsigned int quiet = 0; quiet < 100 && most;) {
		ssize_t part;

		fill_from(piece, at, bytes);
		part = write(fd, piece, bytes);
		if (part > 0) {
			at += (size_t)part;
			most--;
			quiet = 0;
		} else {
			need(errno == EAGAIN, "write");
			usleep(2000);
			quiet++;
		}
	}
	need(!fcntl(fd, F_SETFL, 0), "blocking calls");
	return at;
}

static void read_pieces(size_t at, size_t end)
{
	static uint8_t got[H2C_SIZE], wanted[H2C_SIZE];

	alarm(TIMEOUT_S);
	while (at < end) {
		size_t most = end - at < sizeof(got) ? end - at : sizeof(got);
		ssize_t part = read(fd, got, most);

		need(part > 0, "read");
		fill_from(wanted, at, (size_t)part);
		if (memcmp(got, wanted, (size_t)part))
			fail("bytes %zu to %zu of %zu: wrong data", at, at + (size_t)part, end);
		at += (size_t)part;
	}
	alarm(0);
}

/*
 * Writes of some thousand bytes fill the rings before the card's table is full of descriptors. With
 * one length of the writes the ring may by chance be full at the end of a buffer, so two lengths
 * are tried.
 */
int bytes(void)
{
	static const size_t pieces[] = { 3001, 7919 };
	size_t end = 0;

	take();
	need(!set_packets(LITEPCIE_WAY_C2H, 0, 1000), "flush time of c2h");
	start_c2h();
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		size_t start = end, whole;

		end = write_pieces(start, pieces[i], -1u);
		if (end - start < COUNT * (H2C_SIZE + C2H_SIZE))
			fail("only %zu bytes had room", end - start);
		whole = start + (end - start) / BEAT * BEAT;
		read_pieces(start, whole);
		need(!fsync(fd), "fsync");
		read_pieces(whole, end);
	}
	printf("bytes: ok\n");
	return 0;
}

/* Tests of a card's table that is full of descriptors ----------------------------------------- */

/*
 * Write pieces of C2H_SIZE bytes, each when the card is done with the piece before. Stop when the
 * card has not been done with a piece for 0.3 s, because c2h's ring is full and no program reads.
 * Returns the offset in the stream at which the last written piece ends.
 */
static size_t stall(void)
{
	const struct litepcie_status_way *way = &status->way[LITEPCIE_WAY_H2C];
	size_t end = 0;

	for (unsigned int quiet = 0; quiet < 150; quiet++) {
		if (__atomic_load_n(&way->buffers, __ATOMIC_ACQUIRE) == way->advanced) {
			end = write_pieces(end, C2H_SIZE, 1);
			quiet = 0;
		}
		usleep(2000);
	}
	return end;
}

/* Returns true if poll() reports within @ms milliseconds that write() has room. */
static bool is_writable(int ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLOUT };

	return poll(&poller, 1, ms) == 1 && poller.revents & POLLOUT;
}

/*
 * The card's table has room for one descriptor, and then for none. After write() of a packet was
 * refused, poll() reports POLLOUT only when all of that packet has room.
 */
int places(void)
{
	static uint8_t packet[2 * H2C_SIZE + 64], got[C2H_SIZE];
	const struct litepcie_status_way *way;
	size_t large, small = 0;

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 0), "packets of c2h");
	map_all();
	start_c2h();
	large = stall() / C2H_SIZE;
	way = &status->way[LITEPCIE_WAY_H2C];
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	for (; way->advanced - way->buffers + 1 < info_of(LITEPCIE_WAY_H2C).table_depth; small++)
		need(write(fd, packet, 1) == 1, "a packet of a byte");
	need(is_writable(0), "poll() of a table that has a place");
	refused(write(fd, packet, sizeof(packet)), EAGAIN, "a packet of more buffers than places");
	need(!is_writable(0), "poll() of a packet that has no room");
	need(write(fd, packet, 1) == 1, "a packet of as many");
	refused(write(fd, packet, 1), EAGAIN, "a packet without a place");
	refused(write(fd, packet, sizeof(packet)), EAGAIN, "a packet of three without a place");
	need(!fcntl(fd, F_SETFL, 0), "blocking calls");
	alarm(TIMEOUT_S);
	for (size_t n = 0; n < large + small + 1; n++)
		if (read(fd, got, sizeof(got)) != (n < large ? C2H_SIZE : 1))
			fail("packet %zu of %zu and %zu: wrong length", n, large, small + 1);
	alarm(0);
	need(is_writable(1000 * TIMEOUT_S), "poll() of a refused packet that has room");
	printf("places: ok\n");
	return 0;
}

/* Test of the flush time while the card's table is full --------------------------------------- */

/*
 * The card's table is full of descriptors, and one byte that was written is left: an incomplete
 * beat that could not be handed over. The driver sends such a beat after the flush time
 * (LITEPCIE_IOCTL_PACKETS), and needs a lock for it that fsync() holds here until a signal ends
 * fsync(). The byte must be sent all the same, once reads have made room.
 */
int late(void)
{
	size_t end;

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, 0, 200000), "flush time of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, 0, 1000), "flush time of c2h");
	map_all();
	start_c2h();
	end = stall();
	end = write_pieces(end, BEAT + 1, 1);
	end = write_pieces(end, BEAT, -1u);
	interrupt_in(600000);
	refused(fsync(fd), EINTR, "fsync() of a card that takes nothing");
	usleep(500000);
	read_pieces(0, end);
	printf("late: ok\n");
	return 0;
}
