/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The library's calls for the card's identifier, time, link, counters and pattern. They access
 * registers by the functions of the back end that has opened the card.
 */
#include <stdio.h>

#include "helpers.h"
#include "layout.h"

#define COUNTERS_SNAPSHOT	(1u << LITEPCIE_PCIE_COUNTERS_CONTROL_SNAPSHOT_OFFSET)
#define COUNTERS_CLEAR		(1u << LITEPCIE_PCIE_COUNTERS_CONTROL_CLEAR_OFFSET)
#define PATTERN_C2H_GENERATE	(1u << LITEPCIE_PATTERN_CONTROL_C2H_GENERATE_OFFSET)
#define PATTERN_H2C_CHECK	(1u << LITEPCIE_PATTERN_CONTROL_H2C_CHECK_OFFSET)

/* Identity, time, link ------------------------------------------------------------------------ */

/*
 * Read the gateware's identifier into dev->card.identifier. The block with the identifier has one
 * character in each word. Reading stops after a word of 0, which ends the text, at the end of the
 * block, or when dev->card.identifier is full.
 */
int litepcie_identifier_read(struct litepcie *dev)
{
	uint32_t words[32], most = dev->map.identifier_size / 4;
	char *text = dev->card.identifier;
	uint32_t done = 0, room = sizeof(dev->card.identifier) - 1;

	while (done < most && done < room) {
		uint32_t n = most - done < 32 ? most - done : 32;
		int rc = litepcie_get_words(dev, dev->map.identifier + 4 * done, words, n);

		if (rc < 0)
			return rc;
		for (uint32_t i = 0; i < n && done < room; i++, done++) {
			text[done] = (char)words[i];
			if (!text[done])
				return 0;
		}
	}
	return 0;
}

int litepcie_identifier(struct litepcie *dev, char *text, size_t size)
{
	snprintf(text, size, "%s", dev->card.identifier);
	return 0;
}

int litepcie_time_read(struct litepcie *dev, uint64_t *ticks)
{
	uint32_t low, high;
	/* a read of the lower half of the device time latches its upper half */
	int rc = litepcie_get(dev, dev->map.time_low, &low) ?:
		 litepcie_get(dev, dev->map.time_high, &high);

	if (rc == 0)
		*ticks = (uint64_t)high << 32 | low;
	return rc;
}

int litepcie_time(struct litepcie *dev, uint64_t *ticks)
{
	int rc;

	litepcie_lock(dev);
	rc = litepcie_time_read(dev, ticks);
	litepcie_unlock(dev);
	return rc;
}

static unsigned int field(uint32_t word, unsigned int offset, unsigned int size)
{
	return word >> offset & ((1u << size) - 1);
}

static int read_conditions(struct litepcie *dev, struct litepcie_conditions *conditions)
{
	uint32_t link, mps, mrrs, msi;
	int rc = litepcie_get(dev, dev->map.link_status, &link) ?:
		 litepcie_get(dev, dev->map.mps, &mps) ?:
		 litepcie_get(dev, dev->map.mrrs, &mrrs) ?:
		 litepcie_get(dev, dev->map.phy_msi, &msi);

	if (rc < 0)
		return rc;

	*conditions = (struct litepcie_conditions) {
		.mps = mps,
		.mrrs = mrrs,
		.link_up = field(link, LITEPCIE_PCIE_PHY_LINK_STATUS_STATUS_OFFSET,
				 LITEPCIE_PCIE_PHY_LINK_STATUS_STATUS_SIZE),
		.link_gen = 1 + field(link, LITEPCIE_PCIE_PHY_LINK_STATUS_RATE_OFFSET,
				      LITEPCIE_PCIE_PHY_LINK_STATUS_RATE_SIZE),
		.link_lanes = 1u << field(link, LITEPCIE_PCIE_PHY_LINK_STATUS_WIDTH_OFFSET,
					  LITEPCIE_PCIE_PHY_LINK_STATUS_WIDTH_SIZE),
		.msi = msi & 1,
	};
	return 0;
}

int litepcie_conditions(struct litepcie *dev, struct litepcie_conditions *conditions)
{
	struct litepcie_conditions found = { 0 };
	int rc;

	litepcie_lock(dev);
	rc = read_conditions(dev, &found);
	litepcie_unlock(dev);
	return rc ?: litepcie_struct_out(conditions, &found, sizeof(found), "litepcie_conditions");
}

/* Counters of the TLP streams ----------------------------------------------------------------- */

static int read_stream(struct litepcie *dev, const uint32_t registers[6],
		       struct litepcie_tlp_stream *stream)
{
	uint64_t *values[6] = {
		&stream->beats, &stream->stalls, &stream->tlps,
		&stream->payload_bytes, &stream->first, &stream->last,
	};
	int rc = 0;

	for (int i = 0; i < 6 && rc == 0; i++)
		rc = litepcie_get_copy64(dev, registers[i], values[i]);
	return rc;
}

static int read_counters(struct litepcie *dev, struct litepcie_counters *counters)
{
	struct litepcie_tlp_stream *streams[4] = {
		&counters->cq, &counters->cc, &counters->rq, &counters->rc,
	};
	int rc = litepcie_put(dev, dev->map.counters_control, COUNTERS_SNAPSHOT) ?:
		 litepcie_get_copy64(dev, dev->map.counters_time, &counters->time);

	for (int i = 0; i < 4 && rc == 0; i++)
		rc = read_stream(dev, dev->map.streams[i], streams[i]);
	return rc;
}

int litepcie_counters(struct litepcie *dev, struct litepcie_counters *counters)
{
	struct litepcie_counters found = { 0 };
	int rc;

	litepcie_lock(dev);
	rc = read_counters(dev, &found);
	litepcie_unlock(dev);
	return rc ?: litepcie_struct_out(counters, &found, sizeof(found), "litepcie_counters");
}

int litepcie_counters_clear(struct litepcie *dev)
{
	return litepcie_writel(dev, dev->map.counters_control, COUNTERS_CLEAR);
}

/* The card's pattern -------------------------------------------------------------------------- */

/*
 * Empty the path between the DMA and the card's pattern checker, since the checker would also
 * compare data that an earlier run left there. Switch the checker on until two reads of its count
 * of beats are equal, and then off. The caller starts the checker again.
 */
static int flush_h2c(struct litepcie *dev)
{
	uint64_t before = UINT64_MAX, beats = 0;
	int rc = litepcie_change(dev, dev->map.pattern_control, 0, PATTERN_H2C_CHECK);

	while (rc == 0 && beats != before) {
		before = beats;
		rc = litepcie_get64(dev, dev->map.pattern_beats, &beats);
	}
	if (rc == 0)
		rc = litepcie_change(dev, dev->map.pattern_control, PATTERN_H2C_CHECK, 0);
	return rc;
}

int litepcie_pattern_set(struct litepcie_stream *stream, bool on)
{
	bool h2c = stream->direction == LITEPCIE_H2C;
	uint32_t own = h2c ? PATTERN_H2C_CHECK : PATTERN_C2H_GENERATE;
	struct litepcie *dev = stream->dev;
	int rc = litepcie_change(dev, dev->map.pattern_control, own, 0);

	if (rc == 0 && on && h2c)
		rc = flush_h2c(dev);
	return rc == 0 && on ? litepcie_change(dev, dev->map.pattern_control, 0, own) : rc;
}

static int read_pattern(struct litepcie *dev, struct litepcie_pattern *pattern)
{
	return litepcie_get64(dev, dev->map.pattern_beats, &pattern->beats) ?:
	       litepcie_get(dev, dev->map.pattern_errors, &pattern->errors) ?:
	       litepcie_get64(dev, dev->map.pattern_first_error, &pattern->first_error);
}

int litepcie_pattern(struct litepcie *dev, struct litepcie_pattern *pattern)
{
	struct litepcie_pattern found = { 0 };
	int rc;

	litepcie_lock(dev);
	rc = read_pattern(dev, &found);
	litepcie_unlock(dev);
	return rc ?: litepcie_struct_out(pattern, &found, sizeof(found), "litepcie_pattern");
}
