/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The accounts of a capture, and the generator of frames in the card. */
#include "capture.h"

#include "litepcie_capability.h"

#define FATES		4u	/* delivered, bad, lost for the ring, lost for the staging memory */
#define PERIOD_BITS	24	/* width of the register capture_generator_period */
#define GENERATE	(1u << LITEPCIE_CAPTURE_GENERATOR_CONTROL_RUN_OFFSET)

/* Accounts ------------------------------------------------------------------------------------ */

static int get64(struct litepcie *dev, uint32_t offset, uint64_t *value)
{
	uint32_t words[2] = { 0 };
	int rc;

	litepcie_lock(dev);
	rc = litepcie_unlock(dev, litepcie_get_words(dev, offset, words, 2));
	*value = (uint64_t)words[0] << 32 | words[1];
	return rc;
}

static int get_account(struct litepcie *dev, unsigned int number, struct litepcie_account *account)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	int rc = litepcie_writel(dev, registers->account_control, number);

	if (rc == 0)
		rc = get64(dev, registers->account_frames, &account->frames);
	if (rc == 0)
		rc = get64(dev, registers->account_bytes, &account->bytes);
	return rc;
}

static int get_port(struct litepcie *dev, unsigned int port, struct litepcie_port_accounts *found)
{
	struct litepcie_account *const fates[FATES] = {
		&found->delivered, &found->bad, &found->lost_ring, &found->lost_staging,
	};
	int rc = 0;

	for (unsigned int fate = 0; rc == 0 && fate < FATES; fate++)
		rc = get_account(dev, FATES * port + fate, fates[fate]);
	return rc;
}

int litepcie_capture_stats(struct litepcie_capture *capture, struct litepcie_capture_stats *stats)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_capture_stats found = {
		.released = capture->released, .overwritten = capture->overwritten,
		.limits = capture->limits,
	};
	int rc = litepcie_capture_look(capture);

	if (rc == 0)
		rc = litepcie_writel(dev, dev->map.capture.account_control, CAPTURE_SNAPSHOT);
	if (rc == 0)
		rc = litepcie_capture_await(capture, CAPTURE_ACCOUNTS_BUSY, 0,
					    "the copy of the accounts");
	for (unsigned int port = 0; rc == 0 && port < LITEPCIE_CAPTURE_PORTS; port++)
		rc = get_port(dev, port, &found.port[port]);
	if (rc < 0)
		return rc;
	found.position = capture->seen.position;
	found.records = capture->seen.records;
	found.lost = capture->seen.lost;
	found.time_ns = capture->seen.time;
	return litepcie_struct_out(dev, stats, &found, sizeof(found), "litepcie_capture_stats");
}

/* Generator ----------------------------------------------------------------------------------- */

static int check_generator(struct litepcie *dev, const struct litepcie_generator *generator)
{
	if (!generator->size || generator->size > LITEPCIE_CAPTURE_FRAME_LARGEST)
		return litepcie_fail(dev, -EINVAL, "frames of %u bytes: it must be 1 to %u",
				     generator->size, LITEPCIE_CAPTURE_FRAME_LARGEST);
	if (generator->period >> PERIOD_BITS)
		return litepcie_fail(dev, -EINVAL, "a period of %u: it must be at most %u, in "
				     "1/256 of a clock cycle",
				     generator->period, (1u << PERIOD_BITS) - 1);
	if (generator->port_mask >= LITEPCIE_CAPTURE_PORTS)
		return litepcie_fail(dev, -EINVAL, "a port mask of %u: it must be at most %u",
				     generator->port_mask, LITEPCIE_CAPTURE_PORTS - 1);
	return 0;
}

static int run_generator(struct litepcie *dev, const struct litepcie_generator *generator)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	const struct {
		uint32_t offset, value;
	} words[] = {
		{ registers->generator_size, generator->size },
		{ registers->generator_period, generator->period },
		{ registers->generator_count, generator->count },
		{ registers->generator_seed, generator->seed },
		{ registers->generator_port_mask, generator->port_mask },
		{ registers->generator_control, GENERATE },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		rc = litepcie_writel(dev, words[i].offset, words[i].value);
	return rc;
}

int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_generator *generator)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_generator wanted;
	int rc = 0;

	if (generator)
		rc = litepcie_struct_in(dev, &wanted, sizeof(wanted), generator,
					 "litepcie_generator");
	if (rc == 0 && generator)
		rc = check_generator(dev, &wanted);
	if (rc == 0)
		rc = litepcie_writel(dev, dev->map.capture.generator_control, 0);
	if (rc == 0 && generator) {
		rc = litepcie_capture_await(capture, CAPTURE_GENERATOR_IDLE, CAPTURE_GENERATOR_IDLE,
					    "the generator's last frame");
		if (rc == 0)
			rc = run_generator(dev, &wanted);
	}
	return rc;
}

int litepcie_capture_generated(struct litepcie_capture *capture, uint64_t *frames)
{
	struct litepcie *dev = capture->dev;
	uint32_t made = 0, status = 0;
	/* The count comes after the state: an idle generator has counted its last frame. */
	int rc = litepcie_capture_status(capture, &status);

	if (rc == 0)
		rc = litepcie_readl(dev, dev->map.capture.generator_made, &made);
	*frames = made;
	return rc < 0 ? rc : (status & CAPTURE_GENERATOR_IDLE) != 0;
}
