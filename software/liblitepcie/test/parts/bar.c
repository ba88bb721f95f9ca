/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test accesses of bar.c. A read of all ones from a mapping returns -ENODEV if the card has gone. A
 * write of two words that does not fit writes neither.
 *
 * Test litepcie_bar_write_burst(), too. A burst to BAR0 goes to the back end, and a burst to
 * BAR2, which is mapped here, through its mapping. Both write the values at the places that offset
 * and stride say. A burst that does not fit into the BAR writes nothing.
 */
#include "words_card.h"

#define SIZE	256u

static uint64_t memory[SIZE / 8];
static struct litepcie_post posted[4];
static size_t posts;

static int keep_posts(struct litepcie *unused, const struct litepcie_post *post, size_t count,
		      enum litepcie_post_by by)
{
	(void)unused;
	CHECK_EQUAL(by, LITEPCIE_POST_PROGRAM);
	for (size_t i = 0; i < count && posts < 4; i++)
		posted[posts++] = post[i];
	return 0;
}

static const struct litepcie_backend fake = {
	.name = "fake", .read_words = card_read_words, .post = keep_posts,
};

static void open_fake(void)
{
	dev.backend = &fake;
	dev.name = (char *)"fake";
	dev.bar_size[0] = dev.bar_size[2] = SIZE;
	dev.bar[2].base = memory;
	memset(memory, 0, sizeof(memory));
	posts = 0;
}

static void a_burst_writes_to_any_bar(void)
{
	const uint64_t values[3] = { 0x1111111122222222, 0x3333333344444444, 0x5555555566666666 };

	open_fake();
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 0, 16, 4, 8, values, 3), 0);
	CHECK_EQUAL(posts, 3);
	CHECK(posted[2].bar == 0 && posted[2].size == 4 && posted[2].offset == 32);
	CHECK_EQUAL((uint32_t)posted[2].value, 0x66666666);

	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, 16, 4, 8, values, 3), 0);
	CHECK_EQUAL(memory[1], 0);
	CHECK_EQUAL(memory[2], 0x22222222);
	CHECK_EQUAL(memory[4], 0x66666666);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, SIZE - 16, 8, 8, values, 2), 0);
	CHECK(memory[SIZE / 8 - 2] == values[0] && memory[SIZE / 8 - 1] == values[1]);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, 0, 8, 0, values, 3), 0);
	CHECK(memory[0] == values[2] && memory[1] == 0);
	CHECK_EQUAL(posts, 3);
}

static void a_burst_that_does_not_fit_writes_nothing(void)
{
	const uint64_t values[2] = { 1, 2 };

	open_fake();
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 6, 0, 4, 4, values, 2), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 1, 0, 4, 4, values, 2), -ENOENT);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, SIZE - 4, 4, 4, values, 2), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, UINT64_MAX - 3, 4, 4, values, 2), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, 0, 4, SIZE_MAX, values, 2), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, 0, 16, 16, values, 2), -EINVAL);
	CHECK_EQUAL(litepcie_bar_write_burst(&dev, 2, 2, 4, 4, values, 2), -EINVAL);
	CHECK_EQUAL(memory[0] + memory[1] + memory[SIZE / 8 - 1] + posts, 0);
}

/* true: the card has gone, so the back end's reads of registers fail */
static bool gone;
static unsigned int reads;

static int read_or_miss(struct litepcie *unused, uint32_t offset, uint32_t *words, size_t count)
{
	(void)unused;
	CHECK(offset == LITEPCIE_CAP_OFFSET && count == 1);
	*words = UINT32_MAX;
	reads++;
	return gone ? -ENODEV : 0;
}

/*
 * All ones from a mapping may be the value of the memory, or the answer of a card that has gone. The
 * library must ask by a register which of the two it is, and must not ask after any other value.
 */
static void all_ones_are_the_card_s_or_nobody_s(void)
{
	static const struct litepcie_backend may_go = { .name = "goes", .read_words = read_or_miss };
	uint8_t data[8];

	open_fake();
	dev.backend = &may_go;
	dev.bar_size[0] = LITEPCIE_CAP_OFFSET + 4;
	memset(memory, 0xff, SIZE / 2);
	memory[2] ^= 1ull << 63;
	for (int n = 0; n < 2; n++) {
		gone = n;
		reads = 0;
		CHECK_EQUAL(litepcie_bar_read(&dev, 2, 8, data, 8), gone ? -ENODEV : 0);
		CHECK_EQUAL(litepcie_bar_read(&dev, 2, 1, data, 1), gone ? -ENODEV : 0);
		CHECK_EQUAL(reads, 2);
		CHECK_EQUAL(litepcie_bar_read(&dev, 2, 16, data, 8), 0);
		CHECK(reads == 2 && data[0] == 0xff && data[7] == 0x7f);
	}
}

static void two_words_are_written_both_or_not(void)
{
	uint64_t value = 7;

	open_fake();
	CHECK_EQUAL(litepcie_writeq(&dev, SIZE - 4, 1), -EINVAL);
	CHECK_EQUAL(litepcie_readq(&dev, SIZE - 4, &value), -EINVAL);
	CHECK_EQUAL(litepcie_writeq(&dev, SIZE - 6, 1), -EINVAL);
	CHECK(posts == 0 && value == 7);
}

int main(void)
{
	all_ones_are_the_card_s_or_nobody_s();
	two_words_are_written_both_or_not();
	a_burst_writes_to_any_bar();
	a_burst_that_does_not_fit_writes_nothing();
	return failed_checks != 0;
}
