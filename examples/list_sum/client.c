/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Client of the block list_sum. It puts a linked list into memory that the card
 * reaches, lets the card walk through it, and compares sum and length. Then a
 * node leads to a wrong address, and the card must stop with an error.
 * usage: client DEVICE   (vfio:ADDRESS or sim:SOCKET)
 *
 * The kernel driver tells no addresses of host memory, so it is of no use here.
 * Exit status 0: all was right, 1: something failed, 2: usage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csr.h"
#include "liblitepcie.h"
#include "litepcie_stream.h"

#define NODES		1000u
#define CUT		500u	/* the node that leads to a wrong address at the end */
#define STEP		7919u	/* a prime: the list jumps through the memory */
#define NOWHERE		0xdead0000000ull
#define ERROR_SHIFT	4
#define WAIT_MS		10000

#define FAIL(...) (fprintf(stderr, "client: " __VA_ARGS__), fputc('\n', stderr), exit(1))

/* A node of the list, little endian. */
struct node {
	uint64_t next, value;
};

static int check(int rc)
{
	if (rc < 0)
		FAIL("%s", litepcie_why(NULL));
	return rc;
}

static size_t place_of(size_t n, size_t room)
{
	return n * STEP % room;
}

static uint64_t value_of(size_t n)
{
	return n * 0x9e3779b97f4a7c15u;
}

/* Writes the linked list into the memory of the ring. Returns the sum of the list's values. */
static uint64_t write_list(const struct litepcie_stream_info *ring, size_t room)
{
	struct node *nodes = ring->base;
	uint64_t sum = 0;

	for (size_t n = 0; n < NODES; n++) {
		struct node *node = &nodes[place_of(n, room)];

		node->value = value_of(n);
		node->next = n + 1 < NODES ?
			ring->address + place_of(n + 1, room) * sizeof(*node) : 0;
		sum += node->value;
	}
	return sum;
}

/*
 * Lets the card add up the list whose first node is at the bus address `head`.
 * The program ends if the card's sum or number of nodes is not `sum` or `length`,
 * or if the card reports no error although `fails` is set, or the reverse.
 */
static void walk(struct litepcie *dev, uint64_t head, uint64_t sum, uint32_t length, bool fails)
{
	uint32_t state, found_length;
	uint64_t found;

	check(litepcie_writeq(dev, CSR_USER_HEAD_ADDR, head));
	check(litepcie_writel(dev, CSR_USER_START_ADDR, 1));
	if (check(litepcie_user_wait(dev, WAIT_MS)) == 0)
		FAIL("no interrupt within %d s", WAIT_MS / 1000);
	check(litepcie_readl(dev, CSR_USER_STATE_ADDR, &state));
	check(litepcie_readq(dev, CSR_USER_SUM_ADDR, &found));
	check(litepcie_readl(dev, CSR_USER_LENGTH_ADDR, &found_length));
	if (found_length != length || found != sum)
		FAIL("%" PRIu32 " nodes with sum %" PRIx64 ", not %" PRIu32 " with %" PRIx64,
		     found_length, found, length, sum);
	if ((state >> ERROR_SHIFT != 0) != fails)
		FAIL("error code %" PRIu32, state >> ERROR_SHIFT);
}

int main(int argc, char **argv)
{
	struct litepcie_stream_info ring = { .struct_size = sizeof(ring) };
	struct litepcie_stream *h2c;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	uint64_t sum, cut = 0;
	size_t room;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[1], "-d") != 0)) {
		fprintf(stderr, "usage: %s [-d] vfio:ADDRESS|sim:SOCKET\n", argv[0]);
		return 2;
	}
	if (litepcie_open(&dev, argv[argc - 1], why, sizeof(why)))
		FAIL("%s", why);
	/* No buffer of this stream goes to the card, so its ring is memory for the list. */
	check(litepcie_stream_open(dev, LITEPCIE_H2C, NULL, &h2c));
	check(litepcie_stream_start(h2c));
	check(litepcie_stream_info(h2c, &ring));
	if (!ring.address)
		FAIL("%s: the kernel driver tells no address; use vfio: or sim:", argv[argc - 1]);
	check(litepcie_user_enable(dev, true));

	room = ring.buffer_size * ring.buffer_count / sizeof(struct node);
	sum = write_list(&ring, room);
	walk(dev, ring.address, sum, NODES, false);
	for (size_t n = 0; n <= CUT; n++)
		cut += value_of(n);
	((struct node *)ring.base)[place_of(CUT, room)].next = NOWHERE;
	walk(dev, ring.address, cut, CUT + 1, true);
	printf("%u nodes added up; a wrong address after %u nodes was an error\n", NODES, CUT + 1);
	litepcie_close(dev);
	return 0;
}
