/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test player.c, the library's calls for the card's player, which makes frames of the packets that
 * come by h2c. The test imitates the player's registers. Some reads of these registers fail: they
 * return all ones, as a root port does for a read that the card does not answer.
 */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "describe/layout.h"
#include "helpers.h"
#include "litepcie_capability.h"
#include "litepcie_capture.h"

#define IDLE	(1u << LITEPCIE_PLAYER_STATUS_IDLE_OFFSET)

static struct {
	uint32_t	words[0x40];
	uint32_t	blocked;	/* offset of the register whose reads fail with all ones */
	unsigned int	given_up;	/* number of reads of @blocked that still fail */
	unsigned int	reads;		/* number of words that the library has read */
} card;

static struct litepcie dev;

static int card_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	(void)ours;
	for (size_t i = 0; i < count; i++, offset += 4) {
		words[i] = card.words[offset / 4];
		card.reads++;
		if (offset == card.blocked && card.given_up) {
			card.given_up--;
			words[i] = UINT32_MAX;
		}
	}
	return 0;
}

static const struct litepcie_backend fake = { .name = "fake", .read_words = card_read_words };

/*
 * Set up a player that is idle and has results in all its registers. The next @count reads of the
 * register at @offset fail with all ones.
 */
static void begin(uint32_t offset, unsigned int count)
{
	dev.backend = &fake;
	dev.name = (char *)"fake";
	dev.bar_size[0] = sizeof(card.words);
	dev.map.player = (struct litepcie_player_registers) {
		.control = 0x10, .status = 0x14, .packets = 0x20, .bytes = 0x28, .begun = 0x30,
		.ended = 0x38, .passed = 0x40, .skipped = 0x44, .empty = 0x48,
	};
	pthread_mutex_init(&dev.lock, NULL);
	for (uint32_t n = 0; n < sizeof(card.words) / 4; n++)
		card.words[n] = 0x1000 + n;
	card.words[0x14 / 4] = IDLE;
	card.blocked = offset;
	card.given_up = count;
	card.reads = 0;
}

/*
 * For each register of the results, one or two reads fail with all ones. litepcie_played() must
 * still return the register's value.
 */
static void a_read_that_is_given_up_is_made_again(void)
{
	for (uint32_t offset = 0x14; offset <= 0x48; offset += 4) {
		struct litepcie_played played = { .struct_size = sizeof(played) };

		begin(offset, offset % 3 ? 2 : 1);
		CHECK_EQUAL(litepcie_played(&dev, &played), 0);
		CHECK(played.idle && !played.in_block && !played.error);
		CHECK_EQUAL(played.packets, UINT64_C(0x100800001009));
		CHECK_EQUAL(played.bytes, UINT64_C(0x100a0000100b));
		CHECK_EQUAL(played.begun_ns, UINT64_C(0x100c0000100d));
		CHECK_EQUAL(played.ended_ns, UINT64_C(0x100e0000100f));
		CHECK_EQUAL(played.passed, 0x1010);
		CHECK_EQUAL(played.skipped, 0x1011);
		CHECK_EQUAL(played.empty, 0x1012);
	}
}

static void a_dead_card_is_told(void)
{
	struct litepcie_played played = { .struct_size = sizeof(played) };

	begin(0x14, UINT32_MAX);
	CHECK_EQUAL(litepcie_played(&dev, &played), -EIO);
	CHECK(strstr(litepcie_why(&dev), "fake: the card does not answer"));
	CHECK(strstr(litepcie_why(&dev), "litepcie_util doctor"));
}

/* A count whose lower word is really all ones must be returned, and not be an error. */
static void a_count_of_all_ones_is_told(void)
{
	struct litepcie_played played = { .struct_size = sizeof(played) };

	begin(0, 0);
	card.words[0x28 / 4] = 0;
	card.words[0x2c / 4] = UINT32_MAX;
	CHECK_EQUAL(litepcie_played(&dev, &played), 0);
	CHECK_EQUAL(played.bytes, UINT32_MAX);
}

static int card_post(struct litepcie *ours, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)ours;
	(void)posts;
	(void)count;
	(void)by;
	return 0;
}

/*
 * litepcie_play() waits until the last frame of an earlier start has left. If it does not leave
 * within rest_ms, the call must return -ETIMEDOUT with a sentence that says what to do.
 */
static void a_frame_that_does_not_leave_is_told(void)
{
	const struct litepcie_backend posting = {
		.name = "fake", .read_words = card_read_words, .post = card_post,
	};
	const struct litepcie_player player = {
		.struct_size = sizeof(player), .pace = LITEPCIE_PACE_FAST, .rest_ms = 50,
	};
	int64_t begun = litepcie_now_ms();

	begin(0, 0);
	dev.backend = &posting;
	card.words[0x14 / 4] = 0;
	CHECK_EQUAL(litepcie_play(&dev, &player), -ETIMEDOUT);
	CHECK(litepcie_now_ms() - begun >= 50 && litepcie_now_ms() - begun < 900);
	CHECK(strstr(litepcie_why(&dev), "release spans"));
	/* The library sleeps between the reads, for 1 ms in the end. */
	CHECK(card.reads < 70);
	CHECK_EQUAL(litepcie_play(&dev, NULL), -EINVAL);
	CHECK_EQUAL(litepcie_play_stop(&dev), 0);
	dev.backend = &fake;
}

int main(void)
{
	a_frame_that_does_not_leave_is_told();
	a_read_that_is_given_up_is_made_again();
	a_dead_card_is_told();
	a_count_of_all_ones_is_told();
	return failed_checks != 0;
}
