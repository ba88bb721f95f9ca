/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Client of the spinal_whiten block. It sends packets of many lengths, compares what
 * comes back, waits for an interrupt for each packet, and compares the number
 * of packets that the block has counted.
 * usage: client DEVICE   (/dev/litepcie0 or sim:SOCKET)
 *
 * Exit status 0: all was right, 1: something failed, 2: usage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csr.h"
#include "liblitepcie.h"

#define PACKETS		100
/* Bytes of the longest packet that is sent. A DMA buffer has at least as many. */
#define LONGEST		4096
#define KEY		0x9e3779b9u
#define WAIT_MS		10000

#define FAIL(...) (fprintf(stderr, "client: " __VA_ARGS__), fputc('\n', stderr), exit(1))

/*
 * Returns the result of a library call. If the call failed, the program ends
 * with the library's sentence.
 */
static int check(int rc)
{
	if (rc < 0)
		FAIL("%s", litepcie_why(NULL));
	return rc;
}

/*
 * Returns the result of a library call that waits. If the call failed, or its
 * result is 0 because WAIT_MS have passed, the program ends with a sentence.
 */
static int some(int rc, const char *what)
{
	if (check(rc) == 0)
		FAIL("%s within %d s", what, WAIT_MS / 1000);
	return rc;
}

static uint8_t byte_of(unsigned int packet, uint32_t i)
{
	return (uint8_t)(packet * 31 + i * 7 + (i >> 8));
}

static uint8_t key_of(uint32_t i)
{
	return (uint8_t)(KEY >> 8 * (i % 4));
}

static void send_packet(struct litepcie_stream *h2c, unsigned int packet, uint32_t bytes)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	uint8_t *data;

	some(litepcie_stream_acquire(h2c, &buffer, WAIT_MS), "the card took no packet");
	data = buffer.data;
	for (uint32_t i = 0; i < bytes; i++)
		data[i] = byte_of(packet, i);
	check(litepcie_stream_send(h2c, bytes));
}

static void receive_packet(struct litepcie_stream *c2h, unsigned int packet, uint32_t bytes)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	const uint8_t *data;

	some(litepcie_stream_acquire(c2h, &buffer, WAIT_MS), "no packet came back");
	if (buffer.bytes != bytes || buffer.flags != LITEPCIE_RECORD_LAST)
		FAIL("packet %u: %u bytes went out, %zu came back (flags %#x)", packet, bytes,
		     buffer.bytes, buffer.flags);
	data = buffer.data;
	for (uint32_t i = 0; i < bytes; i++) {
		const uint8_t wanted = byte_of(packet, i) ^ key_of(i);

		if (data[i] != wanted)
			FAIL("packet %u, byte %u: expected %02x, got %02x", packet, i, wanted,
			     data[i]);
	}
	check(litepcie_stream_release(c2h, 1));
}

/*
 * Waits for the interrupt of one packet. If none comes, the program ends.
 * `before` is the value of user_packets when the program began.
 */
static void wait_interrupt(struct litepcie *dev, unsigned int packet, uint32_t before)
{
	uint32_t counted;

	if (check(litepcie_user_wait(dev, WAIT_MS)))
		return;
	check(litepcie_readl(dev, CSR_USER_PACKETS_ADDR, &counted));
	FAIL("packet %u came back, but no interrupt within %d s; user_packets has counted %" PRIu32
	     " of %u: look at `irq` of the logic", packet, WAIT_MS / 1000, counted - before,
	     packet + 1);
}

int main(int argc, char **argv)
{
	/* With an interrupt for each packet, no packet waits until others have come. */
	const struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.packets = true,
		.interrupt_every = 1,
	};
	char why[LITEPCIE_WHY_SIZE];
	uint32_t before, after;
	struct litepcie_stream *h2c, *c2h;
	struct litepcie *dev;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[1], "-d") != 0)) {
		fprintf(stderr, "usage: %s [-d] /dev/litepcieN|sim:SOCKET\n", argv[0]);
		return 2;
	}
	if (litepcie_open(&dev, argv[argc - 1], why, sizeof(why)))
		FAIL("%s", why);
	check(litepcie_writel(dev, CSR_USER_KEY_ADDR, KEY));
	check(litepcie_readl(dev, CSR_USER_PACKETS_ADDR, &before));
	check(litepcie_user_enable(dev, true));
	check(litepcie_stream_open(dev, LITEPCIE_C2H, &options, &c2h));
	check(litepcie_stream_open(dev, LITEPCIE_H2C, &options, &h2c));
	check(litepcie_stream_start(c2h));
	check(litepcie_stream_start(h2c));
	for (unsigned int packet = 0; packet < PACKETS; packet++) {
		const uint32_t bytes = 1 + packet * 1327 % LONGEST;

		send_packet(h2c, packet, bytes);
		receive_packet(c2h, packet, bytes);
		wait_interrupt(dev, packet, before);
	}
	check(litepcie_stream_stop(h2c));
	check(litepcie_stream_stop(c2h));
	check(litepcie_readl(dev, CSR_USER_PACKETS_ADDR, &after));
	if (after - before != PACKETS)
		FAIL("the card counted %" PRIu32 " packets of %d", after - before, PACKETS);
	printf("%d packets right, an interrupt for each\n", PACKETS);
	litepcie_close(dev);
	return 0;
}
