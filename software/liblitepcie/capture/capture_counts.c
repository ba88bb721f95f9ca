/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The accounts (counts) of a capture's frames, the settings that sort frames into the card's queues
 * (rules, and a table that spreads the other frames), and the generator of frames.
 */
#include "capture.h"

#include "litepcie_capability.h"

/* Counts of frames, by port and by what became of them ---------------------------------------- */

int litepcie_capture_stats(struct litepcie_capture *capture, struct litepcie_capture_stats *stats)
{
	struct litepcie_capture_stats found = {
		.released = capture->released, .overwritten = capture->overwritten,
		.limits = capture->limits,
	};
	int rc = litepcie_capture_poll(capture);

	if (rc < 0)
		return rc;
	found.position = capture->seen.position;
	found.records = capture->seen.records;
	found.lost = capture->seen.lost;
	found.time_ns = capture->seen.time;
	rc = capture->access->accounts(capture, &found);
	if (rc < 0)
		return rc;
	return litepcie_struct_out(stats, &found, sizeof(found), "litepcie_capture_stats");
}

int litepcie_capture_discards(struct litepcie_capture *capture, struct litepcie_discards *discards)
{
	struct litepcie_discards found = { 0 };
	int rc = capture->dev->map.sorter.queues ? capture->access->discards(capture, &found) :
						       0;

	if (rc < 0)
		return rc;
	return litepcie_struct_out(discards, &found, sizeof(found), "litepcie_discards");
}

/* Rules and spread, by which frames get to queues --------------------------------------------- */

/*
 * Returns 0, or -EINVAL with a sentence if the capture is not that of queue 0. The rules, the
 * spread (a table of queues) and the generator, which all queues share, belong to the capture of
 * queue 0.
 */
static int check_first(const struct litepcie_capture *capture, const char *what)
{
	if (!capture->config.queue)
		return 0;
	return litepcie_fail(-EINVAL, "%s belongs to the capture of queue 0, and this is queue %u",
			     what, capture->config.queue);
}

static int check_sorting(struct litepcie *dev, const struct litepcie_sorting *sorting)
{
	unsigned int queues = dev->map.sorter.queues;

	if (sorting->rules > LITEPCIE_CAPTURE_RULES)
		return litepcie_fail(-EINVAL, "%u rules: it must be at most %u", sorting->rules,
				     LITEPCIE_CAPTURE_RULES);
	for (unsigned int n = 0; n < LITEPCIE_CAPTURE_SPREAD; n++)
		if (sorting->spread[n] >= queues)
			return litepcie_fail(-EINVAL, "entry %u of the spread names queue %u: the "
					     "card has %u queues", n, sorting->spread[n], queues);
	for (unsigned int n = 0; n < sorting->rules; n++) {
		uint32_t action = sorting->rule[n][LITEPCIE_CAPTURE_RULE_ACTION];
		unsigned int queue = action >> LITEPCIE_CAPTURE_RULE_ACTION_QUEUE &
				     (LITEPCIE_CAPTURE_QUEUES - 1);

		if (action & 1u << LITEPCIE_CAPTURE_RULE_ACTION_HAS_QUEUE && queue >= queues)
			return litepcie_fail(-EINVAL, "rule %u names queue %u: the card has %u "
					     "queues", n, queue, queues);
	}
	return 0;
}

int litepcie_capture_sort(struct litepcie_capture *capture, const struct litepcie_sorting *sorting)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_sorting wanted;
	int rc = check_first(capture, "what sorts frames");

	if (rc == 0 && capture->running)
		rc = litepcie_fail(-EBUSY, "rules and spread cannot change while frames are taken: "
				   "stop the capture first");
	if (rc == 0 && !dev->map.sorter.queues)
		return sorting ? litepcie_fail(-EOPNOTSUPP, "%s: the card has one queue, so it has "
					       "no rules: build its gateware with --capture 2 or "
					       "more", dev->name) : 0;
	if (rc == 0 && sorting)
		rc = litepcie_struct_in(&wanted, sizeof(wanted), sorting, "litepcie_sorting");
	if (rc == 0 && sorting)
		rc = check_sorting(dev, &wanted);
	return rc < 0 ? rc : capture->access->sort(capture, sorting ? &wanted : NULL);
}

/* Generator of test frames -------------------------------------------------------------------- */

static int check_generator(const struct litepcie_generator *generator)
{
	if (!generator->size || generator->size > LITEPCIE_CAPTURE_FRAME_MOST)
		return litepcie_fail(-EINVAL, "frames of %u bytes: it must be 1 to %u",
				     generator->size, LITEPCIE_CAPTURE_FRAME_MOST);
	if (generator->period >> LITEPCIE_CAPTURE_PERIOD_BITS)
		return litepcie_fail(-EINVAL, "a period of %u: it must be at most %u, in 1/256 of "
				     "a clock cycle", generator->period,
				     (1u << LITEPCIE_CAPTURE_PERIOD_BITS) - 1);
	if (generator->port_mask >= LITEPCIE_CAPTURE_PORTS)
		return litepcie_fail(-EINVAL, "a port mask of %u: it must be at most %u",
				     generator->port_mask, LITEPCIE_CAPTURE_PORTS - 1);
	return 0;
}

int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_generator *generator)
{
	struct litepcie_generator wanted;
	int rc;

	if (!generator)
		return litepcie_fail(-EINVAL, "a generator without settings: "
				     "litepcie_capture_generate_stop() stops it");
	rc = litepcie_struct_in(&wanted, sizeof(wanted), generator, "litepcie_generator");
	if (rc == 0)
		rc = check_generator(&wanted);
	if (rc == 0)
		rc = check_first(capture, "the generator");
	return rc < 0 ? rc : capture->access->generate(capture, &wanted);
}

int litepcie_capture_generate_stop(struct litepcie_capture *capture)
{
	int rc = check_first(capture, "the generator");

	return rc < 0 ? rc : capture->access->generate(capture, NULL);
}

int litepcie_capture_generated(struct litepcie_capture *capture, uint64_t *frames)
{
	uint32_t made = 0;
	int rc = capture->access->generated(capture, &made);

	*frames = made;
	return rc;
}
