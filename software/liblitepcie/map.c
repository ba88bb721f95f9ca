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
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "litepcie_capability.h"

/*
 * A register that the library uses. It is looked for if the card has a block of type @block that
 * the library can use, or always if @block is 0.
 */
struct wanted {
	uint16_t	block;
	uint16_t	place;	/* offset in struct litepcie_map of what gets the register's offset */
	/* name of the register; # stands for the number of the handle's DMA channel */
	const char	*name;
};

#define WANTED(type, field, text) \
	{ .block = type, .place = offsetof(struct litepcie_map, field), .name = text }
#define ALWAYS(field, text)	WANTED(0, field, text)
#define RECORDS(field, text)	WANTED(LITEPCIE_BLOCK_RECORDS, notices.field, text)
#define SLOT(field, text)	WANTED(LITEPCIE_BLOCK_SLOT, slot.field, text)
#define CAPTURE(field)		WANTED(LITEPCIE_BLOCK_CAPTURE, capture.field, "capture_" #field)
#define PLAYER(field)		WANTED(LITEPCIE_BLOCK_PLAYER, player.field, "player_" #field)

/* LitePCIe's names of the DMA's directions are "reader" for h2c and "writer" for c2h. */
static const struct wanted registers[] = {
	ALWAYS(time_low, "device_time_low"),
	ALWAYS(time_high, "device_time_high"),
	ALWAYS(link_status, "pcie_phy_link_status"),
	ALWAYS(phy_msi, "pcie_phy_msi_enable"),
	ALWAYS(mps, "pcie_phy_max_payload_size"),
	ALWAYS(mrrs, "pcie_phy_max_request_size"),
	ALWAYS(irq_enable, "pcie_msi_enable"),
	ALWAYS(irq_clear, "pcie_msi_clear"),
	ALWAYS(irq_vector, "pcie_msi_vector"),
	ALWAYS(counters_control, "pcie_counters_control"),
	ALWAYS(counters_time, "pcie_counters_time"),
	ALWAYS(pattern_control, "pattern_control"),
	ALWAYS(pattern_beats, "pattern_h2c_beats"),
	ALWAYS(pattern_errors, "pattern_h2c_errors"),
	ALWAYS(pattern_first_error, "pattern_h2c_first_error"),

	ALWAYS(h2c.enable, "pcie_dma#_reader_enable"),
	ALWAYS(h2c.value, "pcie_dma#_reader_table_value"),
	ALWAYS(h2c.push, "pcie_dma#_reader_table_we"),
	ALWAYS(h2c.loop, "pcie_dma#_reader_table_loop_prog_n"),
	ALWAYS(h2c.loop_status, "pcie_dma#_reader_table_loop_status"),
	ALWAYS(h2c.flush, "pcie_dma#_reader_table_reset"),
	ALWAYS(c2h.enable, "pcie_dma#_writer_enable"),
	ALWAYS(c2h.value, "pcie_dma#_writer_table_value"),
	ALWAYS(c2h.push, "pcie_dma#_writer_table_we"),
	ALWAYS(c2h.loop, "pcie_dma#_writer_table_loop_prog_n"),
	ALWAYS(c2h.loop_status, "pcie_dma#_writer_table_loop_status"),
	ALWAYS(c2h.flush, "pcie_dma#_writer_table_reset"),
	ALWAYS(loopback, "pcie_dma#_loopback_enable"),

	RECORDS(records, "pcie_notices#_writer_records_base"),
	RECORDS(entries, "pcie_notices#_writer_records_entries"),
	RECORDS(line[0], "pcie_notices#_reader_status_base"),
	RECORDS(line[1], "pcie_notices#_writer_status_base"),
	RECORDS(flush, "pcie_notices#_writer_flush"),
	RECORDS(control, "pcie_notices#_control"),

	SLOT(now, "slot_now"),
	SLOT(state, "slot_state"),
	SLOT(time, "slot_time"),

	CAPTURE(control), CAPTURE(snap), CAPTURE(wait), CAPTURE(mbuf_log2),
	CAPTURE(segment_log2), CAPTURE(last_segment), CAPTURE(status_base),
	CAPTURE(segment_base), CAPTURE(segment_index), CAPTURE(limit),
	CAPTURE(generator_control), CAPTURE(generator_size), CAPTURE(generator_period),
	CAPTURE(generator_count), CAPTURE(generator_seed), CAPTURE(generator_port_mask),
	CAPTURE(generator_made), CAPTURE(status), CAPTURE(position), CAPTURE(account_control),
	CAPTURE(account_frames), CAPTURE(account_bytes),

	PLAYER(control), PLAYER(rate), PLAYER(cost), PLAYER(status), PLAYER(packets),
	PLAYER(bytes), PLAYER(passed), PLAYER(skipped), PLAYER(empty), PLAYER(begun),
	PLAYER(ended),
};

/* Blocks that a card may have ----------------------------------------------------------------- */

/*
 * Find the block of a type that not every card has. Returns NULL if the card has none with at least
 * @parameters, or if the block is of another version: its registers may then lie elsewhere.
 */
static const struct litepcie_block *optional_block(const struct litepcie *dev, unsigned int type,
						   unsigned int parameters)
{
	const struct litepcie_block *block = litepcie_find_block(dev, type, 0);

	return block && block->version == 1 && block->parameters >= parameters ? block : NULL;
}

static const struct litepcie_block *slot_block(const struct litepcie *dev)
{
	return optional_block(dev, LITEPCIE_BLOCK_SLOT, LITEPCIE_SLOT_WIDTH + 1);
}

static const struct litepcie_block *capture_block(const struct litepcie *dev)
{
	return optional_block(dev, LITEPCIE_BLOCK_CAPTURE, LITEPCIE_CAPTURE_STAGING_BYTES + 1);
}

/*
 * True if the card writes records that can be used: their ring must have room for one for each
 * descriptor of the card's table.
 */
static bool has_records(const struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_RECORDS, dev->channel);

	return block && block->parameters > LITEPCIE_RECORDS_MOST_ENTRIES &&
	       block->parameter[LITEPCIE_RECORDS_MOST_ENTRIES] >= dev->card.table_depth;
}

static bool has_block(const struct litepcie *dev, unsigned int type)
{
	switch (type) {
	case LITEPCIE_BLOCK_RECORDS:
		return has_records(dev);
	case LITEPCIE_BLOCK_SLOT:
		return slot_block(dev);
	case LITEPCIE_BLOCK_CAPTURE:
		return capture_block(dev);
	case LITEPCIE_BLOCK_PLAYER:
		return optional_block(dev, type, 0);
	default:
		return true;
	}
}

/* Facts of the blocks ------------------------------------------------------------------------- */

static int read_dma(struct litepcie *dev)
{
	const struct litepcie_block *block =
		litepcie_find_block(dev, LITEPCIE_BLOCK_DMA, dev->channel);
	struct litepcie_map *map = &dev->map;

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
	return 0;
}

static uint64_t low_bits(uint32_t width)
{
	return width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
}

static void read_parameters(struct litepcie *dev)
{
	const struct litepcie_block *user = litepcie_find_block(dev, LITEPCIE_BLOCK_USER, 0);
	const struct litepcie_block *slot = slot_block(dev), *capture = capture_block(dev);

	if (user && user->parameters > LITEPCIE_USER_CAUSE)
		dev->map.user_cause = 1u << (user->parameter[LITEPCIE_USER_CAUSE] & 31);
	if (slot)
		dev->map.slot.mask = low_bits(slot->parameter[LITEPCIE_SLOT_WIDTH]);
	if (capture)
		dev->map.capture.staging_bytes =
			capture->parameter[LITEPCIE_CAPTURE_STAGING_BYTES];
}

/* Registers ----------------------------------------------------------------------------------- */

static void find_register(struct litepcie *dev, const struct wanted *wanted, int *rc)
{
	uint32_t *offset = (uint32_t *)((uint8_t *)&dev->map + wanted->place);
	const char *mark = strchr(wanted->name, '#');
	char name[64];

	if (mark)
		snprintf(name, sizeof(name), "%.*s%u%s", (int)(mark - wanted->name), wanted->name,
			 dev->channel, mark + 1);
	litepcie_need(dev, mark ? name : wanted->name, offset, rc);
}

/* Find the counters of the four TLP streams, which every card has. */
static void find_streams(struct litepcie *dev, int *rc)
{
	static const char *const streams[4] = { "cq", "cc", "rq", "rc" };
	static const char *const counts[6] = {
		"beats", "stalls", "tlps", "payload_bytes", "first", "last",
	};
	char name[64];

	for (int s = 0; s < 4; s++) {
		for (int c = 0; c < 6; c++) {
			snprintf(name, sizeof(name), "pcie_counters_%s_%s", streams[s], counts[c]);
			litepcie_need(dev, name, &dev->map.streams[s][c], rc);
		}
	}
}

/* Find the counters of the user slot's two streams. */
static void find_sides(struct litepcie *dev, int *rc)
{
	static const char *const counters[4] = { "since", "beats", "packets", "stalls" };
	static const char *const sides[2] = { "h2c", "c2h" };
	char name[64];

	for (int s = 0; s < 2; s++) {
		for (int c = 0; c < 4; c++) {
			snprintf(name, sizeof(name), "slot_%s_%s", sides[s], counters[c]);
			litepcie_need(dev, name, &dev->map.slot.side[s][c], rc);
		}
	}
}

int litepcie_map_build(struct litepcie *dev)
{
	const struct litepcie_block *identifier =
		litepcie_find_block(dev, LITEPCIE_BLOCK_IDENTIFIER, 0);
	int rc;

	if (!identifier)
		return litepcie_fail(dev, -EPROTO, "%s: the card has no identifier", dev->name);
	dev->map.identifier = identifier->offset;
	dev->map.identifier_size = identifier->size;
	rc = read_dma(dev);
	if (rc < 0)
		return rc;
	read_parameters(dev);
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (has_block(dev, registers[i].block))
			find_register(dev, &registers[i], &rc);
	find_streams(dev, &rc);
	if (has_block(dev, LITEPCIE_BLOCK_SLOT))
		find_sides(dev, &rc);
	return rc;
}
