// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests read() of the capture's node, for the program node.
 */
#include "node_card.h"

#define RING	0x400000u	/* size in bytes of the ring that the driver makes for read() */
/* bytes of a record that fills half of one of this ring's MBUFs, its equal parts of 64 KiB */
#define MANY	0x8000u

static u8 bytes[RING];

/* Open the node for the queue, and read the pcapng header by two calls of read(). */
static struct file *reader(unsigned int queue)
{
	struct file *filp = file_of(queue);

	need(node_read(filp, bytes, 100, false) == 100, "the header's first bytes");
	need(node_read(filp, bytes + 100, RING, false) == LITEPCIE_CAPTURE_HEADER_BYTES - 100,
	     "the header is not a page");
	return filp;
}

static u32 word(size_t at)
{
	u32 value;

	memcpy(&value, bytes + at, sizeof(value));
	return value;
}

static void frame_comes(void)
{
	frame(0, 64);
}

void test_reading(void)
{
	struct file *filp = reader(0);
	unsigned int blocks = 0;

	for (size_t at = 0; at < LITEPCIE_CAPTURE_HEADER_BYTES; at += word(at + 4), blocks++)
		need(word(at + 4) >= 12 && word(at + word(at + 4) - 4) == word(at + 4),
		     "a block of the header has no end");
	need(blocks == 2 + LITEPCIE_CAPTURE_PORTS, "not an interface for each port");
	need(word(0) == LITEPCIE_PCAPNG_SECTION && word(8) == LITEPCIE_PCAPNG_ORDER_MAGIC, "magic");
	need(node_read(filp, bytes, RING, false) == -EAGAIN, "data that nobody wrote");
	for (unsigned int n = 0; n < 3 * RING / MANY; n++) {
		frame(0, MANY);
		need(node_read(filp, bytes, 1000, false) == 1000, "a piece of a record");
		need(node_read(filp, bytes + 1000, RING, false) == MANY - 1000, "the rest of it");
		need(bytes[0] == 1 && bytes[MANY - 1] == 1, "other bytes than the card's");
	}
	need(!made.lost, "the room of what was read is not given back");
	need(ring(filp, MBUF) == -EBUSY && wake(filp, 1, -1) == -EBUSY, "two kinds of runs");
	frame(0, 64);
	need(!stop(filp, NULL), "STOP");
	need(node_read(filp, bytes, RING, true) == 64, "data from before STOP");
	need(node_read(filp, bytes, RING, true) == 0, "no end of file behind STOP");
	node_close(filp);
}

void test_reading_waits(void)
{
	struct file *filp = reader(0);
	struct poll_table_struct table = { 0 };
	unsigned int woken;

	asleep = frame_comes;
	need(node_read(filp, bytes, RING, true) == 64, "read() does not wait");
	asleep = NULL;
	need(!node_poll(filp, &table) && table.count == 1, "poll() has news");
	woken = table.wait[0]->woken;
	frame(0, 64);
	need(table.wait[0]->woken == woken + 1 && node_poll(filp, NULL) & EPOLLIN,
	     "poll() does not let the card call");
	need(node_read(filp, bytes, RING, false) == 64 &&
	     node_read(filp, bytes, 1, false) == -EAGAIN,
	     "a read that does not wait");
	woken = table.wait[0]->woken;
	frame(0, 64);
	need(table.wait[0]->woken == woken + 1, "edge-triggered epoll sleeps for ever");
	node_close(filp);
}

#define READABLE	(EPOLLIN | EPOLLRDNORM)

/* After a card reset read() first returns what the card wrote before the reset, and then fails. */
void test_reading_ends_with_an_error(void)
{
	struct file *filp = reader(0);

	frame(0, 64);
	need(node_read(filp, bytes, 10, false) == 10, "a piece");
	outside = true;
	litepcie_capture_abort(&card, -EIO);
	outside = false;
	need(node_poll(filp, NULL) == (EPOLLERR | READABLE), "poll() hides data from before it");
	need(node_read(filp, bytes, RING, true) == 54, "an error hides data from before it");
	need(node_poll(filp, NULL) == EPOLLERR, "poll() goes on to say that there is data");
	need(node_read(filp, bytes, RING, true) == -EIO, "no error behind the data");
	need(!stop(filp, NULL) && node_read(filp, bytes, RING, true) == 0, "STOP");
	node_close(filp);
}

/* When the card has gone, read() first returns what the card wrote, and then fails with ENODEV. */
void test_reading_ends_with_the_card(void)
{
	struct file *filp = reader(0);

	frame(0, 64);
	made.gone = true;
	need(litepcie_check_lost(&card), "nobody notices that the card has gone");
	need(node_poll(filp, NULL) == (EPOLLHUP | EPOLLERR | READABLE), "poll() hides data");
	need(node_read(filp, bytes, RING, true) == 64, "data is lost with the card");
	need(node_poll(filp, NULL) == (EPOLLHUP | EPOLLERR), "poll() says that there is data");
	need(node_read(filp, bytes, RING, true) == -ENODEV, "no error behind the data");
	node_close(filp);
}
