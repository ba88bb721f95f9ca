/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the offsets of the registers that the library itself uses. They are found when the card is
 * opened, most of them by name, so the library's own later accesses need no search for a name.
 */
#include <stddef.h>

#include "helpers.h"
#include "litepcie_capability.h"

#define PLACE(field)	offsetof(struct litepcie_map, field)

/* rows of the table `wanted` (below) for the counters of a TLP stream: cq, cc, rq or rc */
#define STREAM(stream, number) \
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_" stream "_beats", PLACE(streams[number][0]) }, \
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_" stream "_stalls", PLACE(streams[number][1]) }, \
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_" stream "_tlps", PLACE(streams[number][2]) }, \
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_" stream "_payload_bytes", \
	  PLACE(streams[number][3]) }, \
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_" stream "_first", PLACE(streams[number][4]) }, \
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_" stream "_last", PLACE(streams[number][5]) }

/*
 * Rows of the table `wanted` (below) for the registers of one direction of the DMA. The names of
 * these registers are LitePCIe's, which calls h2c "reader" and c2h "writer".
 */
#define DIRECTION(way, theirs) \
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_" theirs "_enable", PLACE(way.enable) }, \
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_" theirs "_table_value", PLACE(way.value) }, \
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_" theirs "_table_we", PLACE(way.push) }, \
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_" theirs "_table_loop_prog_n", PLACE(way.loop) }, \
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_" theirs "_table_loop_status", PLACE(way.loop_status) }, \
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_" theirs "_table_reset", PLACE(way.flush) }

#define SLOT_SIDE(way) \
	{ LITEPCIE_BLOCK_SLOT, "slot_" #way "_since", PLACE(slot.way.since) }, \
	{ LITEPCIE_BLOCK_SLOT, "slot_" #way "_beats", PLACE(slot.way.beats) }, \
	{ LITEPCIE_BLOCK_SLOT, "slot_" #way "_packets", PLACE(slot.way.packets) }, \
	{ LITEPCIE_BLOCK_SLOT, "slot_" #way "_stalls", PLACE(slot.way.stalls) }

#define CAPTURE(field)	{ LITEPCIE_BLOCK_CAPTURE, "capture_" #field, PLACE(capture.field) }
#define PLAYER(field)	{ LITEPCIE_BLOCK_PLAYER, "player_" #field, PLACE(player.field) }

/*
 * The registers that the library finds by name. For each: the type of its block, its name, and the
 * member of struct litepcie_map that gets its offset in BAR0.
 */
static const struct {
	unsigned int	type;
	const char	*name;	/* name of the register; # stands for the number of the channel */
	size_t		place;
} wanted[] = {
	{ LITEPCIE_BLOCK_DEVICE_TIME, "device_time_low", PLACE(time_low) },
	{ LITEPCIE_BLOCK_DEVICE_TIME, "device_time_high", PLACE(time_high) },
	{ LITEPCIE_BLOCK_ENDPOINT, "pcie_phy_link_status", PLACE(link_status) },
	{ LITEPCIE_BLOCK_ENDPOINT, "pcie_phy_msi_enable", PLACE(phy_msi) },
	{ LITEPCIE_BLOCK_ENDPOINT, "pcie_phy_max_payload_size", PLACE(mps) },
	{ LITEPCIE_BLOCK_ENDPOINT, "pcie_phy_max_request_size", PLACE(mrrs) },
	{ LITEPCIE_BLOCK_INTERRUPTS, "pcie_msi_enable", PLACE(irq_enable) },
	{ LITEPCIE_BLOCK_INTERRUPTS, "pcie_msi_clear", PLACE(irq_clear) },
	{ LITEPCIE_BLOCK_INTERRUPTS, "pcie_msi_vector", PLACE(irq_vector) },
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_control", PLACE(counters_control) },
	{ LITEPCIE_BLOCK_COUNTERS, "pcie_counters_time", PLACE(counters_time) },
	STREAM("cq", 0), STREAM("cc", 1), STREAM("rq", 2), STREAM("rc", STREAM_RC),
	{ LITEPCIE_BLOCK_PATTERN, "pattern_control", PLACE(pattern_control) },
	{ LITEPCIE_BLOCK_PATTERN, "pattern_h2c_beats", PLACE(pattern_beats) },
	{ LITEPCIE_BLOCK_PATTERN, "pattern_h2c_errors", PLACE(pattern_errors) },
	{ LITEPCIE_BLOCK_PATTERN, "pattern_h2c_first_error", PLACE(pattern_first_error) },
	DIRECTION(h2c, "reader"), DIRECTION(c2h, "writer"),
	{ LITEPCIE_BLOCK_DMA, "pcie_dma#_loopback_enable", PLACE(loopback) },
	{ LITEPCIE_BLOCK_RECORDS, "pcie_notices#_writer_records_base", PLACE(notices.records) },
	{ LITEPCIE_BLOCK_RECORDS, "pcie_notices#_writer_records_entries", PLACE(notices.entries) },
	{ LITEPCIE_BLOCK_RECORDS, "pcie_notices#_writer_status_base", PLACE(notices.line[1]) },
	{ LITEPCIE_BLOCK_RECORDS, "pcie_notices#_reader_status_base", PLACE(notices.line[0]) },
	{ LITEPCIE_BLOCK_RECORDS, "pcie_notices#_writer_flush", PLACE(notices.flush) },
	{ LITEPCIE_BLOCK_RECORDS, "pcie_notices#_control", PLACE(notices.control) },
	{ LITEPCIE_BLOCK_SLOT, "slot_now", PLACE(slot.now) },
	{ LITEPCIE_BLOCK_SLOT, "slot_state", PLACE(slot.state) },
	{ LITEPCIE_BLOCK_SLOT, "slot_time", PLACE(slot.time) },
	SLOT_SIDE(h2c), SLOT_SIDE(c2h),
	CAPTURE(control), CAPTURE(snap), CAPTURE(wait), CAPTURE(mbuf_log2), CAPTURE(limit),
	CAPTURE(segment_log2), CAPTURE(last_segment), CAPTURE(segment_base),
	CAPTURE(segment_index), CAPTURE(status_base), CAPTURE(generator_control),
	CAPTURE(generator_size), CAPTURE(generator_period), CAPTURE(generator_count),
	CAPTURE(generator_seed), CAPTURE(generator_port_mask), CAPTURE(generator_made),
	CAPTURE(status), CAPTURE(position), CAPTURE(account_control), CAPTURE(account_frames),
	CAPTURE(account_bytes),
	PLAYER(control), PLAYER(rate), PLAYER(cost), PLAYER(status), PLAYER(packets),
	PLAYER(bytes), PLAYER(passed), PLAYER(skipped), PLAYER(empty), PLAYER(begun),
	PLAYER(ended),
};

/*
 * Returns true if @block is not NULL (the card has it), has the version for which the library was
 * written, and has all parameters up to number @last. The registers of another version may lie
 * elsewhere.
 */
static bool is_known(const struct litepcie_block *block, unsigned int last)
{
	return block && block->version == LITEPCIE_CAP_BLOCK_VERSION && block->parameters > last;
}

/*
 * Returns true if the library uses the registers of this type of block. A card may lack the types
 * records, slot, capture and player. A block of these types in a version that the library does not
 * know is not used. Records are used only if their ring can have a record for each descriptor of
 * the card's table. Of the other types in `wanted` every card must have a block: the function
 * returns true, and find_registers() fails with the name of a missing register.
 */
static bool is_used(const struct litepcie *dev, unsigned int type)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, type, type == LITEPCIE_BLOCK_RECORDS ? dev->channel : 0);

	switch (type) {
	case LITEPCIE_BLOCK_RECORDS:
		return is_known(block, LITEPCIE_RECORDS_MOST_ENTRIES) &&
		       block->parameter[LITEPCIE_RECORDS_MOST_ENTRIES] >= dev->card.table_depth;
	case LITEPCIE_BLOCK_SLOT:
		return is_known(block, LITEPCIE_SLOT_WIDTH);
	case LITEPCIE_BLOCK_CAPTURE:
		return is_known(block, LITEPCIE_CAPTURE_STAGING_BYTES);
	case LITEPCIE_BLOCK_PLAYER:
		return is_known(block, LITEPCIE_PLAYER_STATUS);
	default:
		return true;
	}
}

static int find_registers(struct litepcie *dev)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char name[64];

		if (!is_used(dev, wanted[i].type))
			continue;
		litepcie_register_name(name, sizeof(name), wanted[i].name, dev->channel);
		rc = litepcie_need(dev, name, (uint32_t *)((char *)&dev->map + wanted[i].place));
	}
	return rc;
}

/*
 * Fill in members of dev->map that follow from parameters of blocks: identifier, interrupt causes,
 * facts about h2c, slot monitor and staging memory. Returns -EPROTO if the card lacks an identifier
 * or the DMA channel.
 */
static int find_parameters(struct litepcie *dev)
{
	const struct litepcie_block *identifier =
		litepcie_find_block(dev, LITEPCIE_BLOCK_IDENTIFIER, 0);
	const struct litepcie_block *dma =
		litepcie_find_block(dev, LITEPCIE_BLOCK_DMA, dev->channel);
	const struct litepcie_block *user = litepcie_find_block(dev, LITEPCIE_BLOCK_USER, 0);
	const struct litepcie_block *slot = litepcie_find_block(dev, LITEPCIE_BLOCK_SLOT, 0);
	const struct litepcie_block *capture = litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE, 0);
	struct litepcie_map *map = &dev->map;

	if (!identifier)
		return litepcie_fail(-EPROTO, "%s: the card has no identifier", dev->name);
	if (!dma || dma->parameters <= LITEPCIE_DMA_H2C_BUFFERED)
		return litepcie_fail(-EPROTO, "%s: the card has no DMA channel %u; it has %u",
				     dev->name, dev->channel, dev->card.channels);
	map->identifier = identifier->offset;
	map->identifier_size = identifier->size;
	map->h2c_cause = 1u << (dma->parameter[LITEPCIE_DMA_H2C_CAUSE] & 31);
	map->c2h_cause = 1u << (dma->parameter[LITEPCIE_DMA_C2H_CAUSE] & 31);
	if (dma->parameters <= LITEPCIE_DMA_H2C_SETTLED ||
	    !dma->parameter[LITEPCIE_DMA_H2C_SETTLED])
		map->h2c_in_flight = dma->parameter[LITEPCIE_DMA_H2C_BUFFERED];
	map->h2c_tells_taken = dma->parameters > LITEPCIE_DMA_H2C_TAKEN &&
			       dma->parameter[LITEPCIE_DMA_H2C_TAKEN];
	if (user && user->parameters > LITEPCIE_USER_CAUSE)
		map->user_cause = 1u << (user->parameter[LITEPCIE_USER_CAUSE] & 31);
	/*
	 * The parameter is the width of the slot monitor's counters in bits. With 64, and with 0
	 * (not given), the mask of the counters is all ones.
	 */
	if (is_used(dev, LITEPCIE_BLOCK_SLOT))
		map->slot.mask = UINT64_MAX >> (-slot->parameter[LITEPCIE_SLOT_WIDTH] & 63);
	if (is_used(dev, LITEPCIE_BLOCK_CAPTURE))
		map->capture.staging_bytes = capture->parameter[LITEPCIE_CAPTURE_STAGING_BYTES];
	return 0;
}

/*
 * Find the registers of the capture block's clock. The block of an older gateware has no such
 * parameter. The clock of that gateware cannot be set.
 */
static void find_clock(struct litepcie *dev)
{
	const struct litepcie_block *block = litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE, 0);
	struct litepcie_capture_registers *capture = &dev->map.capture;

	if (!is_known(block, LITEPCIE_CAPTURE_CLOCK_OFFSET) ||
	    !block->parameter[LITEPCIE_CAPTURE_CLOCK_OFFSET])
		return;
	capture->clock_offset = (uint32_t)block->offset +
				block->parameter[LITEPCIE_CAPTURE_CLOCK_OFFSET];
	capture->clock_low = capture->clock_offset + LITEPCIE_CAPTURE_GROUP_CLOCK_LOW;
	capture->clock_high = capture->clock_offset + LITEPCIE_CAPTURE_GROUP_CLOCK_HIGH;
}

/*
 * Find the registers by which frames are sorted into several capture queues. Their offsets are
 * parameters of the block LITEPCIE_BLOCK_CAPTURE_QUEUES. A block of an unknown version, or with
 * other numbers of queues, rules or entries of the spread (a table of queues) than the library can
 * use, is ignored: the library then uses one queue.
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

	if (!is_known(block, LITEPCIE_CAPTURE_QUEUES_ENTRIES) ||
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_QUEUES] - 1 >= LITEPCIE_QUEUES_MOST ||
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_RULES] != 1u << LITEPCIE_CAPTURE_RULE_BITS ||
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_ENTRIES] != 1u << LITEPCIE_CAPTURE_SPREAD_BITS)
		return;
	sorter->queues = block->parameter[LITEPCIE_CAPTURE_QUEUES_QUEUES];
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		*places[i] = (uint32_t)block->offset + block->parameter[i];
	if (is_known(block, LITEPCIE_CAPTURE_QUEUES_QUOTA) &&
	    block->parameter[LITEPCIE_CAPTURE_QUEUES_QUOTA])
		sorter->quota = (uint32_t)block->offset +
				block->parameter[LITEPCIE_CAPTURE_QUEUES_QUOTA];
}

/*
 * Find the registers that let the capture block also record the frames of the card's net device.
 * Their offsets are parameters of the block LITEPCIE_BLOCK_CAPTURE_NET. A block of an unknown
 * version is ignored.
 */
static void find_net(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_CAPTURE_NET, 0);
	struct litepcie_net_registers *net = &dev->map.net;

	if (!is_known(block, LITEPCIE_CAPTURE_NET_LOST))
		return;
	net->control = (uint32_t)block->offset + block->parameter[LITEPCIE_CAPTURE_NET_CONTROL];
	net->lost = (uint32_t)block->offset + block->parameter[LITEPCIE_CAPTURE_NET_LOST];
}

int litepcie_map_build(struct litepcie *dev)
{
	int rc = find_parameters(dev);

	find_clock(dev);
	find_sorter(dev);
	find_net(dev);
	return rc < 0 ? rc : find_registers(dev);
}
