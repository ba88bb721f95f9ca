/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the offsets of the registers that the library itself uses. They are found by name when the
 * card is opened, so no access has to search for a name.
 */
#include <errno.h>
#include <stdio.h>

#include "backend.h"
#include "litepcie_capability.h"

/*
 * Find the registers of one direction of the DMA. @theirs is LitePCIe's name for that direction:
 * "reader" for h2c, "writer" for c2h.
 */
static int find_direction(struct litepcie *dev, const char *theirs,
			  struct litepcie_dma_registers *registers)
{
	struct {
		const char *name;
		uint32_t *offset;
	} wanted[] = {
		{ "enable", &registers->enable },
		{ "table_value", &registers->value },
		{ "table_we", &registers->push },
		{ "table_loop_prog_n", &registers->loop },
		{ "table_loop_status", &registers->loop_status },
		{ "table_reset", &registers->flush },
	};
	char name[64];
	int rc = 0;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		snprintf(name, sizeof(name), "pcie_dma%u_%s_%s", dev->channel, theirs,
			 wanted[i].name);
		litepcie_need(dev, name, wanted[i].offset, &rc);
	}
	return rc;
}

static int find_dma(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_DMA, dev->channel);
	struct litepcie_map *map = &dev->map;
	char name[64];
	int rc;

	if (!block || block->parameters <= LITEPCIE_DMA_H2C_BUFFERED)
		return litepcie_fail(dev, -EPROTO, "%s: the card has no DMA channel %u; it has %u",
				     dev->name, dev->channel, dev->card.channels);
	map->h2c_cause = 1u << (block->parameter[LITEPCIE_DMA_H2C_CAUSE] & 31);
	map->c2h_cause = 1u << (block->parameter[LITEPCIE_DMA_C2H_CAUSE] & 31);
	if (block->parameters <= LITEPCIE_DMA_H2C_SETTLED ||
	    !block->parameter[LITEPCIE_DMA_H2C_SETTLED])
		map->h2c_in_flight = block->parameter[LITEPCIE_DMA_H2C_BUFFERED];
	map->h2c_tells_taken = block->parameters > LITEPCIE_DMA_H2C_TAKEN &&
			       block->parameter[LITEPCIE_DMA_H2C_TAKEN];
	rc = find_direction(dev, "reader", &map->h2c);
	if (rc == 0)
		rc = find_direction(dev, "writer", &map->c2h);
	snprintf(name, sizeof(name), "pcie_dma%u_loopback_enable", dev->channel);
	litepcie_need(dev, name, &map->loopback, &rc);
	return rc;
}

/*
 * Find the registers of records, the card's reports of finished c2h buffers. Records are used only
 * if their ring has room for one for each descriptor of the card's table.
 */
static int find_notices(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_RECORDS, dev->channel);
	struct litepcie_notice_registers *notices = &dev->map.notices;
	struct {
		const char *name;
		uint32_t *offset;
	} wanted[] = {
		{ "writer_records_base", &notices->records },
		{ "writer_records_entries", &notices->entries },
		{ "writer_status_base", &notices->line[1] },
		{ "reader_status_base", &notices->line[0] },
		{ "writer_flush", &notices->flush },
		{ "control", &notices->control },
	};
	char name[64];
	int rc = 0;

	if (!block || block->parameters <= LITEPCIE_RECORDS_MOST_ENTRIES ||
	    block->parameter[LITEPCIE_RECORDS_MOST_ENTRIES] < dev->card.table_depth)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		snprintf(name, sizeof(name), "pcie_notices%u_%s", dev->channel, wanted[i].name);
		litepcie_need(dev, name, wanted[i].offset, &rc);
	}
	return rc;
}

static void find_user(struct litepcie *dev)
{
	const struct litepcie_block *block = litepcie_find_block(dev, LITEPCIE_BLOCK_USER, 0);

	if (block && block->parameters > LITEPCIE_USER_CAUSE)
		dev->map.user_cause = 1u << (block->parameter[LITEPCIE_USER_CAUSE] & 31);
}

/*
 * Find the registers of the user slot's monitor. If the block is of another version, its registers
 * may lie elsewhere, so the monitor is not used.
 */
static int find_slot(struct litepcie *dev)
{
	static const char *const counters[4] = { "since", "beats", "packets", "stalls" };
	static const char *const sides[2] = { "h2c", "c2h" };
	const struct litepcie_block *block = litepcie_find_block(dev, LITEPCIE_BLOCK_SLOT, 0);
	struct litepcie_slot_registers *slot = &dev->map.slot;
	char name[64];
	int rc = 0;

	if (!block || block->version != 1 || block->parameters <= LITEPCIE_SLOT_WIDTH)
		return 0;
	litepcie_need(dev, "slot_now", &slot->now, &rc);
	litepcie_need(dev, "slot_state", &slot->state, &rc);
	litepcie_need(dev, "slot_time", &slot->time, &rc);
	for (int s = 0; s < 2; s++) {
		for (int c = 0; c < 4; c++) {
			snprintf(name, sizeof(name), "slot_%s_%s", sides[s], counters[c]);
			litepcie_need(dev, name, &slot->side[s][c], &rc);
		}
	}
	/* counters of 64 bits need no mask, and a width of 0 is taken for 64 */
	slot->mask = UINT64_MAX >> (-block->parameter[LITEPCIE_SLOT_WIDTH] & 63);
	return rc;
}

/*
 * Find the registers of the capture block. If the block is of another version, its registers may
 * lie elsewhere, so it is not used.
 */
static int find_capture(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE, 0);
	struct litepcie_capture_registers *capture = &dev->map.capture;
	struct {
		const char *name;
		uint32_t *offset;
	} wanted[] = {
		{ "capture_control", &capture->control },
		{ "capture_snap", &capture->snap },
		{ "capture_wait", &capture->wait },
		{ "capture_mbuf_log2", &capture->mbuf_log2 },
		{ "capture_segment_log2", &capture->segment_log2 },
		{ "capture_last_segment", &capture->last_segment },
		{ "capture_status_base", &capture->status_base },
		{ "capture_segment_base", &capture->segment_base },
		{ "capture_segment_index", &capture->segment_index },
		{ "capture_limit", &capture->limit },
		{ "capture_generator_control", &capture->generator_control },
		{ "capture_generator_size", &capture->generator_size },
		{ "capture_generator_period", &capture->generator_period },
		{ "capture_generator_count", &capture->generator_count },
		{ "capture_generator_seed", &capture->generator_seed },
		{ "capture_generator_port_mask", &capture->generator_port_mask },
		{ "capture_generator_made", &capture->generator_made },
		{ "capture_status", &capture->status },
		{ "capture_position", &capture->position },
		{ "capture_account_control", &capture->account_control },
		{ "capture_account_frames", &capture->account_frames },
		{ "capture_account_bytes", &capture->account_bytes },
	};
	int rc = 0;

	if (!block || block->version != 1 ||
	    block->parameters <= LITEPCIE_CAPTURE_STAGING_BYTES)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		litepcie_need(dev, wanted[i].name, wanted[i].offset, &rc);
	capture->staging_bytes = block->parameter[LITEPCIE_CAPTURE_STAGING_BYTES];
	return rc;
}

/*
 * Find the registers of several queues. Their places are parameters of the block. A block that is
 * not known is not used: the card then has one queue.
 */
static void find_sorter(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE_QUEUES, 0);
	struct litepcie_sorter_registers *sorter = &dev->map.sorter;
	uint32_t *const places[] = {
		&sorter->select, &sorter->control, &sorter->rule_data, &sorter->rule_index,
		&sorter->spread, &sorter->discard_index, &sorter->discard_frames,
		&sorter->discard_bytes,
	};

	if (!block || block->version != 1 || block->parameters <= LITEPCIE_CAPTURE_QUEUES_ENTRIES ||
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_QUEUES] - 1 >= LITEPCIE_QUEUES_MOST ||
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_RULES] != 1u << LITEPCIE_CAPTURE_RULE_BITS ||
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_ENTRIES] != 1u << LITEPCIE_CAPTURE_SPREAD_BITS)
		return;
	sorter->queues = block->parameter[LITEPCIE_CAPTURE_QUEUES_QUEUES];
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		*places[i] = (uint32_t)block->offset + block->parameter[i];
}

/* Find the registers of the player, which comes with the capture block. */
static int find_player(struct litepcie *dev)
{
	const struct litepcie_block *block = litepcie_find_block(dev, LITEPCIE_BLOCK_PLAYER, 0);
	struct litepcie_player_registers *player = &dev->map.player;
	struct {
		const char *name;
		uint32_t *offset;
	} wanted[] = {
		{ "player_control", &player->control },
		{ "player_rate", &player->rate },
		{ "player_cost", &player->cost },
		{ "player_status", &player->status },
		{ "player_packets", &player->packets },
		{ "player_bytes", &player->bytes },
		{ "player_passed", &player->passed },
		{ "player_skipped", &player->skipped },
		{ "player_empty", &player->empty },
		{ "player_begun", &player->begun },
		{ "player_ended", &player->ended },
	};
	int rc = 0;

	if (!block || block->version != 1)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		litepcie_need(dev, wanted[i].name, wanted[i].offset, &rc);
	return rc;
}

static int find_streams(struct litepcie *dev)
{
	static const char *const streams[4] = { "cq", "cc", "rq", "rc" };
	static const char *const counts[6] = {
		"beats", "stalls", "tlps", "payload_bytes", "first", "last",
	};
	char name[64];
	int rc = 0;

	for (int s = 0; s < 4; s++) {
		for (int c = 0; c < 6; c++) {
			snprintf(name, sizeof(name), "pcie_counters_%s_%s", streams[s], counts[c]);
			litepcie_need(dev, name, &dev->map.streams[s][c], &rc);
		}
	}
	return rc;
}

int litepcie_map_build(struct litepcie *dev)
{
	const struct litepcie_block *identifier =
		litepcie_find_block(dev, LITEPCIE_BLOCK_IDENTIFIER, 0);
	struct litepcie_map *map = &dev->map;
	int rc = 0;

	if (!identifier)
		return litepcie_fail(dev, -EPROTO, "%s: the card has no identifier", dev->name);
	map->identifier = identifier->offset;
	map->identifier_size = identifier->size;
	litepcie_need(dev, "device_time_low", &map->time_low, &rc);
	litepcie_need(dev, "device_time_high", &map->time_high, &rc);
	litepcie_need(dev, "pcie_phy_link_status", &map->link_status, &rc);
	litepcie_need(dev, "pcie_phy_msi_enable", &map->phy_msi, &rc);
	litepcie_need(dev, "pcie_phy_max_payload_size", &map->mps, &rc);
	litepcie_need(dev, "pcie_phy_max_request_size", &map->mrrs, &rc);
	litepcie_need(dev, "pcie_msi_enable", &map->irq_enable, &rc);
	litepcie_need(dev, "pcie_msi_clear", &map->irq_clear, &rc);
	litepcie_need(dev, "pcie_msi_vector", &map->irq_vector, &rc);
	litepcie_need(dev, "pcie_counters_control", &map->counters_control, &rc);
	litepcie_need(dev, "pcie_counters_time", &map->counters_time, &rc);
	litepcie_need(dev, "pattern_control", &map->pattern_control, &rc);
	litepcie_need(dev, "pattern_h2c_beats", &map->pattern_beats, &rc);
	litepcie_need(dev, "pattern_h2c_errors", &map->pattern_errors, &rc);
	litepcie_need(dev, "pattern_h2c_first_error", &map->pattern_first_error, &rc);
	find_user(dev);
	if (rc == 0)
		rc = find_streams(dev);
	if (rc == 0)
		rc = find_dma(dev);
	if (rc == 0)
		rc = find_slot(dev);
	if (rc == 0)
		rc = find_capture(dev);
	if (rc == 0)
		rc = find_player(dev);
	find_sorter(dev);
	return rc < 0 ? rc : find_notices(dev);
}
