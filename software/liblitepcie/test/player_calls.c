/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the library's calls for the player, which makes frames of the packets that come by h2c, on a
 * card that has one (first argument): which settings litepcie_play() refuses, and what
 * litepcie_played() returns for a good pcapng stream, for a stream that ends inside a block, and
 * for a stream with a block that breaks a rule.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "liblitepcie.h"
#include "litepcie_capture.h"
#include "open.h"
#include "run.h"

#define WAIT_MS		20000
#define PACKET		60u	/* bytes of the packet */
#define BLOCK		96u	/* bytes of a packet's pcapng block, with the end mark of options */

static struct litepcie_player settings(uint32_t pace)
{
	return (struct litepcie_player) {
		.struct_size = sizeof(struct litepcie_player), .pace = pace,
	};
}

static void put(uint8_t *block, size_t at, uint32_t value)
{
	memcpy(block + at, &value, sizeof(value));
}

static void make_block(uint8_t *block)
{
	memset(block, 0, BLOCK);
	put(block, 0, 6);
	put(block, 4, BLOCK);
	put(block, 20, PACKET);
	put(block, 24, PACKET);
	put(block, BLOCK - 4, BLOCK);
}

/*
 * Send the @bytes bytes at @data to the player. Returns the player's results, read 20 ms or a bit
 * more after the card has received all bytes.
 */
static struct litepcie_played play(struct litepcie *dev, const uint8_t *data, size_t bytes)
{
	const struct run_config config = {
		.directions = LITEPCIE_H2C,
	};
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct litepcie_player player = settings(LITEPCIE_PACE_FAST);
	struct litepcie_played played = { .struct_size = sizeof(played) };
	uint64_t number;

	CHECK_EQUAL(litepcie_play(dev, &player), 0);
	CHECK_EQUAL(run_start(dev, &config), 0);
	CHECK(h2c_get(dev, &number, WAIT_MS) > 0);
	memcpy(h2c_buffer(dev, number), data, bytes);
	CHECK_EQUAL(h2c_send(dev, bytes), 0);
	CHECK_EQUAL(h2c_drain(dev, WAIT_MS), 0);
	nanosleep(&nap, NULL);
	CHECK_EQUAL(litepcie_played(dev, &played), 0);
	CHECK_EQUAL(run_stop(dev), 0);
	CHECK_EQUAL(litepcie_play_stop(dev), 0);
	return played;
}

static void test_results(struct litepcie *dev)
{
	uint8_t data[4 * BLOCK];
	struct litepcie_played played;

	for (size_t i = 0; i < 4; i++)
		make_block(data + i * BLOCK);
	put(data + BLOCK, 0, 5);
	put(data + 2 * BLOCK, 20, 0);
	played = play(dev, data, sizeof(data));
	CHECK_EQUAL(played.passed, 4);
	CHECK_EQUAL(played.skipped, 1);
	CHECK_EQUAL(played.empty, 1);
	CHECK_EQUAL(played.packets, 2);
	CHECK_EQUAL(played.bytes, 2 * PACKET);
	CHECK(!played.error && !played.in_block && played.idle);
	CHECK(played.ended_ns > played.begun_ns && played.ended_ns < played.begun_ns + 10000);
	played = play(dev, data, 3 * BLOCK + 64);
	CHECK(!played.error && played.in_block && played.passed == 3 && played.packets == 1);
	put(data + 2 * BLOCK, 4, BLOCK + 1);
	played = play(dev, data, sizeof(data));
	CHECK_EQUAL(played.error, 1);
	CHECK_EQUAL(played.passed, 2);
	CHECK(strstr(litepcie_play_error(played.error), "no multiple of 4"));
	CHECK(strstr(litepcie_play_error(99), "does not know"));
}

static void refused(struct litepcie *dev, struct litepcie_player player, const char *words)
{
	CHECK_EQUAL(litepcie_play(dev, &player), -EINVAL);
	CHECK(strstr(litepcie_why(dev), words));
}

static void test_refusals(struct litepcie *dev)
{
	struct litepcie_player player = settings(LITEPCIE_PACE_FAST);

	player.port = LITEPCIE_CAPTURE_PORTS;
	refused(dev, player, "port 16: it must be at most 15");
	refused(dev, settings(9), "pace 9: it must be one of");
	refused(dev, settings(LITEPCIE_PACE_LINE), "a rate of 0 bytes a second: it must be from");
	player = settings(LITEPCIE_PACE_LINE);
	player.bytes_per_s = UINT64_C(100000000000);
	refused(dev, player, "a rate of 100000000000 bytes a second");
	player.bytes_per_s = 1000000000;
	player.least = 256;
	refused(dev, player, "a least length of 256: each must be at most 255");
	player = settings(LITEPCIE_PACE_PACKETS);
	player.packets_per_s = -1;
	refused(dev, player, "bytes a second: it must be from");
	player.struct_size = 0;
	refused(dev, player, "struct_size of struct litepcie_player is 0");
}

int main(int argc, char **argv)
{
	struct litepcie *dev;

	if (!open_device(&dev, argc == 2, argv[1], "usage: player_calls DEVICE"))
		return 2;
	test_refusals(dev);
	test_results(dev);
	litepcie_close(dev);
	if (!failed_checks)
		puts("player_calls: the player's calls do what they say");
	return failed_checks != 0;
}
