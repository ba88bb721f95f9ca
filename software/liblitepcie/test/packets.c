/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test packets: requests and their answers through the card's own loopback, and through logic in
 * the user slot that can leave out the end of a packet or mark it as bad
 * (sim/test/blocks/packet_ends.py). answers_are_right() compares all bytes of each answer, and
 * checks that the card does not touch the bytes after its end. On a card without records packets
 * must be refused. The last argument is the seed, and may be missing. The seed is printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "litepcie_capability.h"
#include "open.h"
#include "run.h"
#include "seed.h"

#define SIZE		4096u
#define BUFFERS		16u
#define SMALL		64u
#define BEAT		32u
#define WAIT_MS		20000
#define FLUSH_US	20u
#define JOINED		8u	/* number of c2h buffers that pieces_make_a_stream() fills */
#define UNTOUCHED	0xa5

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

/*
 * Returns the length in bytes of packet @number: SMALL if the number is odd, else a length from 1
 * to SIZE.
 */
static uint32_t length_of(uint32_t number)
{
	return number % 2 ? SMALL : 1 + (number * 2654435761u >> 7) % SIZE;
}

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 167 + at * 29 + (at >> 8));
}

static void fill(uint8_t *data, uint32_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		data[i] = byte_of(number, i);
}

static bool holds(const uint8_t *data, uint32_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (data[i] != byte_of(number, i))
			return false;
	return true;
}

static bool is_untouched(const uint8_t *data, uint32_t from)
{
	for (uint32_t i = from; i < SIZE; i++)
		if (data[i] != UNTOUCHED)
			return false;
	return true;
}

/* Starting and moving buffers ----------------------------------------------------------------- */

static void start(struct litepcie *dev, struct run_config config)
{
	config.directions = LITEPCIE_H2C | LITEPCIE_C2H;
	CHECK_EQUAL(run_shape(dev, SIZE, BUFFERS), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
}

static void stop(struct litepcie *dev, uint64_t h2c, uint64_t c2h)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	CHECK_EQUAL(run_stop(dev), 0);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.h2c_submitted, h2c);
	CHECK_EQUAL(stats.h2c_done, h2c);
	CHECK_EQUAL(stats.c2h_released, c2h);
	CHECK_EQUAL(stats.h2c_errors, 0);
	CHECK_EQUAL(stats.interrupts_missed, 0);
}

static void send(struct litepcie *dev, uint32_t number, uint32_t bytes)
{
	uint64_t first = 0;

	CHECK(h2c_get(dev, &first, WAIT_MS) > 0);
	CHECK_EQUAL(first, number);
	fill(h2c_buffer(dev, first), number, bytes);
	if (bytes == SIZE)
		CHECK_EQUAL(h2c_submit(dev, 1), 0);
	else
		CHECK_EQUAL(h2c_send(dev, bytes), 0);
}

/*
 * Wait for the next c2h buffer. Check that its number is @number and that its record has @bytes and
 * @flags. Returns the address of its data. The buffer is not released.
 */
static uint8_t *receive(struct litepcie *dev, uint64_t number, uint32_t bytes, uint32_t flags)
{
	struct run_record record = { 0 };
	uint64_t first = 0;

	CHECK(c2h_peek(dev, &first, WAIT_MS) > 0);
	CHECK_EQUAL(first, number);
	CHECK_EQUAL(c2h_record(dev, first, &record), 0);
	CHECK_EQUAL(record.bytes, bytes);
	CHECK_EQUAL(record.flags, flags);
	return c2h_buffer(dev, first);
}

/*
 * Fill the c2h buffer at @data with the byte UNTOUCHED and release it. Bytes that the card does not
 * write in the next round of the ring keep this value, so old data cannot pass as new.
 */
static void give_back(struct litepcie *dev, uint8_t *data)
{
	memset(data, UNTOUCHED, SIZE);
	CHECK_EQUAL(c2h_release(dev, 1), 0);
}

/* Tests of packets ---------------------------------------------------------------------------- */

/*
 * Send requests, of which at most @deep are under way at a time, and check the answers. Each c2h
 * buffer is filled with the byte UNTOUCHED beforehand. So if the card writes another value after
 * the end of an answer, is_untouched() finds it.
 */
static void answers_are_right(struct litepcie *dev, bool loopback, uint32_t requests, uint32_t deep,
			      unsigned int batch)
{
	uint32_t sent = 0, right = 0;

	start(dev, (struct run_config) {
		.loopback = loopback, .packets = true, .interrupt_every = 1, .batch = batch,
	});
	for (uint32_t n = 0; n < BUFFERS; n++)
		memset(c2h_buffer(dev, n), UNTOUCHED, SIZE);
	for (uint32_t n = 0; n < requests && !failed_checks; n++) {
		uint8_t *data;

		if (n % (requests / 20 + 1) == 0)
			fprintf(stderr, "packets: %u of %u answers\n", n, requests);
		for (; sent < requests && sent < n + deep; sent++)
			send(dev, sent, length_of(sent));
		if (batch > 1)
			CHECK_EQUAL(run_flush(dev, LITEPCIE_H2C), 0);
		data = receive(dev, n, length_of(n), LITEPCIE_RECORD_LAST);
		right += holds(data, n, length_of(n)) && is_untouched(data, length_of(n));
		give_back(dev, data);
	}
	CHECK_EQUAL(right, requests);
	stop(dev, requests, requests);
	printf("packets: %u of %u answers right, %u deep, batches of %u\n", right, requests, deep,
	       batch);
}

static void write_register(struct litepcie *dev, const char *name, uint64_t value)
{
	CHECK_EQUAL(litepcie_register_write(dev, name, value), 0);
}

/*
 * The logic in the user slot sends packets without an end (register user_ends). If no more data
 * comes for FLUSH_US, the card must end the c2h buffer that it has begun to fill. The record of
 * this buffer must say a whole number of beats and have the flag FLUSHED.
 */
static void silence_ends_a_buffer(struct litepcie *dev)
{
	uint8_t *data;

	write_register(dev, "user_ends", 0);
	start(dev, (struct run_config) {
		.packets = true, .interrupt_every = 1, .flush_us = FLUSH_US,
	});
	for (uint32_t n = 0; n < 4; n++) {
		send(dev, n, 100 + n);
		data = receive(dev, n, 4 * BEAT, LITEPCIE_RECORD_FLUSHED);
		CHECK(holds(data, n, 100 + n));
		give_back(dev, data);
	}
	write_register(dev, "user_ends", 1);
	stop(dev, 4, 4);
}

/*
 * A packet that is longer than a c2h buffer must continue in the next buffer. Only the record of
 * its last buffer may have the flag LAST.
 */
static void a_packet_may_be_longer_than_a_buffer(struct litepcie *dev)
{
	uint8_t *data;

	write_register(dev, "user_ends", 0);
	start(dev, (struct run_config) { .packets = true, .interrupt_every = 1 });
	for (uint32_t n = 0; n < 3; n++) {
		send(dev, n, SIZE);
		data = receive(dev, n, SIZE, 0);
		CHECK(holds(data, n, SIZE));
		give_back(dev, data);
	}
	write_register(dev, "user_ends", 1);
	send(dev, 3, 77);
	data = receive(dev, 3, 77, LITEPCIE_RECORD_LAST);
	CHECK(holds(data, 3, 77));
	give_back(dev, data);
	stop(dev, 4, 4);
}

static void a_bad_packet_says_so(struct litepcie *dev)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	start(dev, (struct run_config) { .packets = true, .interrupt_every = 1 });
	for (uint32_t n = 0; n < 6; n++) {
		uint32_t bad = n % 3 == 1 ? LITEPCIE_RECORD_ERROR : 0;

		write_register(dev, "user_bad", bad != 0);
		send(dev, n, SMALL);
		give_back(dev, receive(dev, n, SMALL, LITEPCIE_RECORD_LAST | bad));
	}
	write_register(dev, "user_bad", 0);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_errors, 2);
	stop(dev, 6, 6);
	litepcie_stats(dev, &stats);
	CHECK_EQUAL(stats.c2h_errors, 2);
}

/*
 * In a run without packets, send the first bytes of each h2c buffer, or all of it. The length of
 * each such piece is a multiple of @unit bytes. The pieces must fill the c2h buffers one after the
 * other. Each piece begins at a beat (32 bytes). The bytes from its end to the next beat are
 * undefined, so they are not compared.
 */
static void pieces_make_a_stream(struct litepcie *dev, uint32_t unit)
{
	static uint8_t stream[JOINED * SIZE], defined[JOINED * SIZE];
	uint32_t number = 0, wrong = 0;

	memset(defined, 0, sizeof(defined));
	start(dev, (struct run_config) { .loopback = true, .interrupt_every = 1 });
	for (uint32_t at = 0; at < sizeof(stream) && !failed_checks; number++) {
		uint32_t rest = sizeof(stream) - at, most = rest < SIZE ? rest : SIZE;
		uint32_t piece = unit * (1 + any(most / unit));

		send(dev, number, piece);
		fill(stream + at, number, piece);
		memset(defined + at, 1, piece);
		at += (piece + BEAT - 1) / BEAT * BEAT;
	}
	for (uint32_t n = 0; n < JOINED && !failed_checks; n++) {
		const uint8_t *data = receive(dev, n, SIZE, 0);

		for (uint32_t i = 0; i < SIZE; i++)
			wrong += defined[n * SIZE + i] && data[i] != stream[n * SIZE + i];
		CHECK_EQUAL(c2h_release(dev, 1), 0);
	}
	CHECK_EQUAL(wrong, 0);
	stop(dev, number, JOINED);
}

static void nonsense_is_refused(struct litepcie *dev)
{
	struct run_record record;

	start(dev, (struct run_config) { .loopback = true, .packets = true });
	CHECK_EQUAL(h2c_send(dev, 0), -EINVAL);
	CHECK_EQUAL(h2c_send(dev, SIZE + 1), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "send of 4097 bytes: it must be 1 to 4096") != NULL);
	CHECK_EQUAL(c2h_record(dev, 0, &record), -EINVAL);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(c2h_record(dev, 0, &record), -EINVAL);
	CHECK_EQUAL(h2c_send(dev, 1), -EINVAL);
}

static void with_records(struct litepcie *dev, uint32_t requests)
{
	answers_are_right(dev, true, requests, 1, 1);
	answers_are_right(dev, false, requests / 8, 1, 1);
	answers_are_right(dev, true, requests / 8, BUFFERS, 1);
	answers_are_right(dev, true, requests / 8, BUFFERS, 4);
	silence_ends_a_buffer(dev);
	a_packet_may_be_longer_than_a_buffer(dev);
	a_bad_packet_says_so(dev);
	pieces_make_a_stream(dev, 1);
	nonsense_is_refused(dev);
}

/*
 * A card without records (reports of finished c2h buffers) must refuse packets. It has LitePCIe's
 * endpoint, which ends a c2h buffer only when it is full, and takes only whole beats (32 bytes) as
 * the length of an h2c buffer.
 */
static void without_records(struct litepcie *dev)
{
	const struct run_config config = {
		.directions = LITEPCIE_C2H, .packets = true,
	};

	CHECK_EQUAL(run_start(dev, &config), -EOPNOTSUPP);
	CHECK(strstr(litepcie_why(dev), "whole buffers only") != NULL);
	start(dev, (struct run_config) { .loopback = true });
	CHECK_EQUAL(h2c_send(dev, 77), -EINVAL);
	CHECK(strstr(litepcie_why(dev), "a multiple of 32") != NULL);
	CHECK_EQUAL(run_stop(dev), 0);
	pieces_make_a_stream(dev, BEAT);
	printf("packets: none\n");
}

int main(int argc, char **argv)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };
	struct litepcie *dev;

	if (!open_device(&dev, argc == 4 || argc == 5, argv[1],
			 "usage: packets DEVICE CSR_JSON NUMBER [SEED]"))
		return 2;
	seed = take_seed("packets", argc == 5 ? argv[4] : NULL);
	CHECK_EQUAL(litepcie_csr_load(dev, argv[2]), 0);
	if (litepcie_block_find(dev, LITEPCIE_BLOCK_RECORDS, 0, &block) == 0)
		with_records(dev, (uint32_t)strtoul(argv[3], NULL, 0));
	else
		without_records(dev);
	litepcie_close(dev);
	return failed_checks != 0;
}
