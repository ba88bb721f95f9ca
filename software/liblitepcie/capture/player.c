/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Start and stop the player, and read its results. The program sends the bytes of a pcapng file
 * through the h2c ring. The player in the card makes frames of the file's packets, and gives them
 * to the capture block. gateware/capture/player/registers.py describes the player's registers.
 */
#include "capture.h"

#include "litepcie_capability.h"

/* Bits of the register player_control, and values of its field pace. */
#define RUN		(1u << LITEPCIE_PLAYER_CONTROL_RUN_OFFSET)
#define KEEP_TIME	(1u << LITEPCIE_PLAYER_CONTROL_KEEP_TIME_OFFSET)
#define FIXED_PORT	(1u << LITEPCIE_PLAYER_CONTROL_FIXED_PORT_OFFSET)
#define PER_PACKET	(1u << LITEPCIE_PLAYER_CONTROL_PER_PACKET_OFFSET)
#define RECORDED	(1u << LITEPCIE_PLAYER_CONTROL_PACE_OFFSET)
#define AT_RATE		(2u << LITEPCIE_PLAYER_CONTROL_PACE_OFFSET)

#define IDLE		(1u << LITEPCIE_PLAYER_STATUS_IDLE_OFFSET)
#define IN_BLOCK	(1u << LITEPCIE_PLAYER_STATUS_IN_BLOCK_OFFSET)
#define ERROR_MASK	((1u << LITEPCIE_PLAYER_STATUS_ERROR_SIZE) - 1)

#define RATE_MOST	((1u << LITEPCIE_PLAYER_RATE_BITS) - 1)
/* largest value in bytes of each of the settings overhead and least */
#define COST_MOST	((1u << LITEPCIE_PLAYER_COST_BITS) - 1)

const char *litepcie_play_error(uint32_t error)
{
	static const char *const sentences[] = {
		"no rule is broken",
		"a block's length is below 12, or no multiple of 4",
		"the two lengths of a block differ",
		"a block has 16 MiB or more",
		"a section is big endian",
		"the byte-order magic of a section is none",
		"a packet reaches beyond its block",
		"a packet is longer than a frame can be, or was longer than the card can count",
		"an interface has a number that no port has",
		"the host failed to give the bytes of the stream",
	};

	if (error >= sizeof(sentences) / sizeof(sentences[0]))
		return "this library does not know the error";
	return sentences[error];
}

/* Settings of the player ---------------------------------------------------------------------- */

/*
 * Calculate the value of the register player_rate for @bytes_per_s bytes per second. Returns
 * -EINVAL with a sentence if the register cannot have the value.
 */
static int rate_of(struct litepcie *dev, double bytes_per_s, uint32_t *rate)
{
	double scale = (double)(1u << LITEPCIE_PLAYER_FRACTION_BITS) / dev->card.clock_hz;
	double value = bytes_per_s * scale + 0.5;

	if (!(value >= 1 && value < RATE_MOST))
		return litepcie_fail(-EINVAL, "a rate of %.0f bytes a second: it must be from %.0f "
				     "to %.0f", bytes_per_s, 1 / scale, RATE_MOST / scale);
	*rate = (uint32_t)value;
	return 0;
}

/* Calculate the values of the registers player_control, player_rate and player_cost. */
static int values_of(struct litepcie *dev, const struct litepcie_player *player,
		     uint32_t values[3])
{
	int rc = 0;

	values[0] = (player->keep_time ? KEEP_TIME : 0) | (player->fixed_port ? FIXED_PORT : 0) |
		    player->port << LITEPCIE_PLAYER_CONTROL_PORT_OFFSET;
	switch (player->pace) {
	case LITEPCIE_PACE_FAST:
		break;
	case LITEPCIE_PACE_RECORDED:
		values[0] |= RECORDED;
		break;
	case LITEPCIE_PACE_LINE:
		values[0] |= AT_RATE;
		values[2] = player->overhead | player->least << LITEPCIE_PLAYER_COST_LEAST_OFFSET;
		rc = rate_of(dev, (double)player->bytes_per_s, &values[1]);
		break;
	case LITEPCIE_PACE_PACKETS:
		/*
		 * With a rate of packets each frame counts as COST_MOST bytes, whatever its length.
		 * That is the largest number, with which player_rate has its finest steps.
		 */
		values[0] |= AT_RATE | PER_PACKET;
		values[2] = COST_MOST;
		rc = rate_of(dev, player->packets_per_s * COST_MOST, &values[1]);
		break;
	default:
		rc = litepcie_fail(-EINVAL, "pace %u: it must be one of LITEPCIE_PACE_, 0 to %u",
				   player->pace, LITEPCIE_PACE_PACKETS);
	}
	return rc;
}

static int check_player(const struct litepcie_player *player)
{
	if (player->port >= LITEPCIE_CAPTURE_PORTS)
		return litepcie_fail(-EINVAL, "port %u: it must be at most %u", player->port,
				     LITEPCIE_CAPTURE_PORTS - 1);
	if (player->overhead > COST_MOST || player->least > COST_MOST)
		return litepcie_fail(-EINVAL, "an overhead of %u bytes and a least length of %u: "
				     "each must be at most %u", player->overhead, player->least,
				     COST_MOST);
	return 0;
}

/* Start and stop of the player ---------------------------------------------------------------- */

static int check_card(struct litepcie *dev)
{
	if (dev->map.player.control)
		return 0;
	return litepcie_fail(-ENODEV, "%s: the card has no player: build its gateware with "
			     "--capture", dev->name);
}

/*
 * Wait until the last frame of an earlier start has left the player, for @rest_ms at most (0:
 * LITEPCIE_CAPTURE_REST_MS, -1: for ever). Returns -ETIMEDOUT with a sentence if it has not. The
 * status is read at once, and then after sleeps of 10 us to 1 ms, which leave the CPU to the thread
 * that makes room for that frame.
 */
static int await_idle(struct litepcie *dev, int rest_ms)
{
	int64_t deadline = litepcie_deadline(rest_ms ? rest_ms : LITEPCIE_CAPTURE_REST_MS);
	unsigned int nap_us = 10;
	uint32_t status = 0;
	int rc;

	for (;;) {
		rc = litepcie_readl(dev, dev->map.player.status, &status);
		if (rc < 0 || litepcie_says(status, IDLE))
			return rc;
		if (!litepcie_slice(deadline))
			return litepcie_fail(-ETIMEDOUT, "%s: a frame of the player's last "
					     "start did not leave in time: release spans of the "
					     "capture's ring, or stop the capture", dev->name);
		litepcie_capture_nap(&nap_us);
	}
}

int litepcie_play(struct litepcie *dev, const struct litepcie_player *player)
{
	const struct litepcie_player_registers *registers = &dev->map.player;
	struct litepcie_player wanted;
	uint32_t values[3] = { 0 };
	int rc = check_card(dev);

	if (rc == 0 && !player)
		rc = litepcie_fail(-EINVAL, "a player without settings: litepcie_play_stop() stops "
				   "it");
	if (rc == 0)
		rc = litepcie_struct_in(&wanted, sizeof(wanted), player, "litepcie_player");
	if (rc == 0)
		rc = check_player(&wanted);
	if (rc == 0)
		rc = values_of(dev, &wanted, values);
	if (rc == 0)
		rc = litepcie_writel(dev, registers->control, 0);
	if (rc == 0)
		rc = await_idle(dev, wanted.rest_ms);
	if (rc == 0)
		rc = litepcie_writel(dev, registers->rate, values[1]);
	if (rc == 0)
		rc = litepcie_writel(dev, registers->cost, values[2]);
	if (rc == 0)
		rc = litepcie_writel(dev, registers->control, values[0]);
	return rc < 0 ? rc : litepcie_writel(dev, registers->control, values[0] | RUN);
}

int litepcie_play_stop(struct litepcie *dev)
{
	int rc = check_card(dev);

	return rc < 0 ? rc : litepcie_writel(dev, dev->map.player.control, 0);
}

/* Results of the player ----------------------------------------------------------------------- */

/*
 * Read all registers of the player's results. Returns 1 if any of their words is all ones, since
 * the root port may have given up that read, 0 if none is, or -errno.
 */
static int read_results(struct litepcie *dev, uint32_t *status, struct litepcie_played *found)
{
	const struct litepcie_player_registers *registers = &dev->map.player;
	const struct {
		uint32_t offset;
		uint64_t *value;
	} wide[] = {
		{ registers->packets, &found->packets },
		{ registers->bytes, &found->bytes },
		{ registers->begun, &found->begun_ns },
		{ registers->ended, &found->ended_ns },
	};
	const struct {
		uint32_t offset;
		uint32_t *value;
	} narrow[] = {
		{ registers->passed, &found->passed },
		{ registers->skipped, &found->skipped },
		{ registers->empty, &found->empty },
	};
	int rc = litepcie_readl(dev, registers->status, status);
	bool doubtful = *status == UINT32_MAX;

	for (size_t i = 0; rc == 0 && i < sizeof(wide) / sizeof(wide[0]); i++) {
		rc = litepcie_readq(dev, wide[i].offset, wide[i].value);
		doubtful |= (uint32_t)*wide[i].value == UINT32_MAX ||
			    *wide[i].value >> 32 == UINT32_MAX;
	}
	for (size_t i = 0; rc == 0 && i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		rc = litepcie_readl(dev, narrow[i].offset, narrow[i].value);
		doubtful |= *narrow[i].value == UINT32_MAX;
	}
	return rc < 0 ? rc : doubtful;
}

/*
 * A count of the player may really be all ones. Such a count is accepted after LITEPCIE_READS reads
 * of the results, if the card has answered the last read of its status.
 */
int litepcie_played(struct litepcie *dev, struct litepcie_played *played)
{
	struct litepcie_played found = { 0 };
	uint32_t status = 0;
	int rc = check_card(dev) ?: 1;

	for (unsigned int n = 0; rc == 1 && n < LITEPCIE_READS; n++)
		rc = read_results(dev, &status, &found);
	if (rc >= 0 && status == UINT32_MAX)
		rc = litepcie_fail(-EIO, "%s: the card does not answer: its registers read "
				     "all ones: ask `litepcie_util doctor` about its link, or "
				     "reset it", dev->name);
	if (rc < 0)
		return rc;
	found.error = status & ERROR_MASK;
	found.in_block = status & IN_BLOCK;
	found.idle = status & IDLE;
	return litepcie_struct_out(played, &found, sizeof(found), "litepcie_played");
}
