/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The accounts of a capture, and the generator of frames in the card. */
#include "capture.h"

#define PERIOD_BITS	24	/* width of the register capture_generator_period */

/* Accounts ------------------------------------------------------------------------------------ */

int litepcie_capture_stats(struct litepcie_capture *capture, struct litepcie_capture_stats *stats)
{
	struct litepcie_capture_stats found = {
		.released = capture->released, .overwritten = capture->overwritten,
		.limits = capture->limits,
	};
	int rc = litepcie_capture_look(capture);

	if (rc == 0)
		rc = capture->access->accounts(capture, found.port);
	if (rc < 0)
		return rc;
	found.position = capture->seen.position;
	found.records = capture->seen.records;
	found.lost = capture->seen.lost;
	found.time_ns = capture->seen.time;
	return litepcie_struct_out(capture->dev, stats, &found, sizeof(found),
				  "litepcie_capture_stats");
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
	return rc < 0 ? rc : capture->access->generate(capture, generator ? &wanted : NULL);
}

int litepcie_capture_generated(struct litepcie_capture *capture, uint64_t *frames)
{
	uint32_t made = 0;
	int rc = capture->access->generated(capture, &made);

	*frames = made;
	return rc;
}
