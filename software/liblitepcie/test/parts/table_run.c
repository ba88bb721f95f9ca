/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test litepcie_table_quiesce() of table_run.c while h2c of the card waits for a read whose
 * completion is lost. The function must wait at least for as long as such a read can last. If h2c
 * never comes to rest, the function must return -ETIMEDOUT.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "litepcie_capability.h"
#include "dma/table/table.h"
#include "run.h"

#define H2C_ENABLE	0x100u
#define C2H_ENABLE	0x200u
#define ACCESS_NS	500u	/* time in ns that a read of a card register takes on a fast host */

static struct {
	uint64_t	now_ns, rests_ns;
	/* number of the next register reads that fail with all ones */
	unsigned int	given_up;
	bool		enabled, flushed_busy;
} card;

static bool at_rest(void)
{
	return !card.enabled && card.now_ns >= card.rests_ns;
}

static void fake_readl(struct litepcie *dev, uint32_t offset, uint32_t *value)
{
	(void)dev;
	card.now_ns += ACCESS_NS;
	*value = offset == H2C_ENABLE && !at_rest() ? 0 : LITEPCIE_DMA_ENABLE_IDLE;
	if (card.given_up) {
		card.given_up--;
		*value = UINT32_MAX;
	}
}

static int fake_read_words(struct litepcie *ours, uint32_t offset, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fake_readl(ours, offset + 4 * (uint32_t)i, &words[i]);
	return 0;
}

static int fake_post(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	(void)by;
	for (size_t i = 0; i < count; i++) {
		if (posts[i].offset == H2C_ENABLE)
			card.enabled = posts[i].value & LITEPCIE_DMA_ENABLE_RUN;
		if (posts[i].offset == dev->map.h2c.flush)
			card.flushed_busy |= !at_rest();
	}
	return 0;
}

static const struct litepcie_backend fake = {
	.name = "fake", .read_words = fake_read_words, .post = fake_post,
};

/*
 * Stop a card whose h2c runs, and comes to rest when the card's time is @rests_ns. The first
 * @given_up register reads fail with all ones. Returns the result of litepcie_table_quiesce().
 */
static int quiesce_blocked(uint64_t rests_ns, unsigned int given_up)
{
	static struct litepcie dev;

	memset(&card, 0, sizeof(card));
	memset(&dev, 0, sizeof(dev));
	card.enabled = true;
	card.rests_ns = rests_ns;
	card.given_up = given_up;
	dev.backend = &fake;
	dev.bar_size[0] = 0x20000;
	dev.map.h2c = (struct litepcie_dma_registers) { .enable = H2C_ENABLE, .flush = 0x104 };
	dev.map.c2h = (struct litepcie_dma_registers) { .enable = C2H_ENABLE, .flush = 0x204 };
	return litepcie_table_quiesce(&dev);
}

static int quiesce(uint64_t rests_ns)
{
	return quiesce_blocked(rests_ns, 0);
}

static void a_lost_read_is_waited_for(void)
{
	const uint64_t longest_ns = LITEPCIE_LONGEST_READ_US * UINT64_C(1000);

	CHECK_EQUAL(quiesce(0), 0);
	CHECK(card.now_ns < 10 * ACCESS_NS);
	CHECK_EQUAL(quiesce(longest_ns), 0);
	CHECK(!card.flushed_busy);
}

static void a_direction_that_never_rests_is_an_error(void)
{
	CHECK_EQUAL(quiesce(UINT64_MAX), -ETIMEDOUT);
	CHECK(strstr(litepcie_sentence(), "does not come to rest"));
	CHECK(card.now_ns < 10 * LITEPCIE_LONGEST_READ_US * UINT64_C(1000));
}

static void a_read_that_is_given_up_says_nothing(void)
{
	CHECK_EQUAL(quiesce_blocked(20 * ACCESS_NS, 5), 0);
	CHECK(!card.flushed_busy);
	CHECK_EQUAL(quiesce_blocked(0, UINT32_MAX), -ETIMEDOUT);
	CHECK(strstr(litepcie_sentence(), "does not come to rest"));
}

int main(void)
{
	a_read_that_is_given_up_says_nothing();
	a_lost_read_is_waited_for();
	a_direction_that_never_rests_is_an_error();
	return failed_checks != 0;
}
