/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test that litepcie_util latency uses the DMA channel of its handle, on a card with two channels:
 * that channel's registers, interrupt cause and loopback. The other channel may be another
 * program's.
 */
#include "../litepcie_util/latency/latency_transfer.c"
#include "../litepcie_util/streams.c"
#include "parts/words_card.h"

/*
 * for each channel: offset in BAR0 of its DMA block, and number of the interrupt cause of its c2h
 */
static const uint32_t places[] = { 0x2000, 0x4000 };
static const uint32_t causes[] = { 4, 9 };

double util_tick_ns(const struct litepcie *card)
{
	(void)card;
	return 4;
}

static void begin_two_channels(void)
{
	uint32_t *parameter;

	begin_card();
	add_needed_blocks();
	parameter = add_block_at(LITEPCIE_BLOCK_DMA, 1, 1, 0, places[1], 12);
	parameter[LITEPCIE_DMA_H2C_CAUSE] = 8;
	parameter[LITEPCIE_DMA_C2H_CAUSE] = causes[1];
	sign_table();
	know_card();
}

static bool inside(unsigned int channel, uint32_t offset)
{
	return offset >= places[channel] && offset < places[channel] + 0x800;
}

static void transfers_use_the_channel_of_the_handle(unsigned int channel)
{
	struct transfer transfer = { .dev = &dev, .channel = channel };
	const struct transfer_way *ways[] = { &transfer.h2c, &transfer.c2h };

	begin_two_channels();
	CHECK_EQUAL(find_ways(&transfer), 0);
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(inside(channel, ways[i]->enable));
		CHECK(inside(channel, ways[i]->value));
		CHECK(inside(channel, ways[i]->loop));
		CHECK(inside(channel, ways[i]->status));
		CHECK(inside(channel, ways[i]->flush));
	}
	CHECK(transfer.h2c.enable != transfer.c2h.enable);
	CHECK_EQUAL(enable_cause(&transfer), 0);
	CHECK_EQUAL(card.written[0][1], 1u << causes[channel]);
	CHECK_EQUAL(loop_back(&transfer), 0);
	CHECK(inside(channel, card.written[0][0]));
	CHECK_EQUAL(card.written[0][1], 1);
}

static void only_vfio_s_option_names_another_channel(void)
{
	CHECK_EQUAL(transfer_channel("vfio", "vfio:0000:22:00.0"), 0);
	CHECK_EQUAL(transfer_channel("vfio", "vfio:0000:22:00.0,channel=1"), 1);
	CHECK_EQUAL(transfer_channel("vfio", "vfio:0000:22:00.0,type1,channel=3"), 3);
	CHECK_EQUAL(transfer_channel("vfio", "vfio:0000:22:00.0,channel=2,iommufd"), 2);
	CHECK_EQUAL(transfer_channel("sim", "sim:/tmp/a,channel=1"), 0);
}

int main(void)
{
	transfers_use_the_channel_of_the_handle(0);
	transfers_use_the_channel_of_the_handle(1);
	only_vfio_s_option_names_another_channel();
	return failed_checks != 0;
}
