/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test the streams by random calls and a card that executes random numbers of descriptors. A model
 * says what each call must return, which descriptors the card must get, and what the library's
 * counts of each direction must be. In about half of the runs the counts begin just below 2^32
 * buffers, where the count in a card's register wraps. random_model.h has the model, random_card.h
 * the card, random_calls.h and random_runs.h the steps of a sequence.
 *
 * Usage: stream_random [SEED [COUNT [STEPS]]]: COUNT sequences of STEPS steps each, with the seeds
 * SEED, SEED + 1 and so on.
 */
#include "random_runs.h"
#include "seed.h"

/*
 * The steps of a sequence. A step with the share 6 is chosen six times as often as a step with the
 * share 1.
 */
static const struct step {
	unsigned int	share;
	const char	*name;
	void		(*make)(unsigned int way);
} steps[] = {
	{ 1, "stop", step_stop },
	{ 2, "start", step_start },
	{ 1, "stop in a wait", step_stop_in_wait },
	{ 1, "untrue count", step_untrue },
	{ 1, "long record", step_long_record },
	{ 1, "flush", step_flush },
	{ 1, "drain", step_drain },
	{ 3, "send", step_send },
	{ 3, "wait", step_wait },
	{ 2, "ready", step_ready },
	{ 4, "release", step_release },
	{ 6, "execute", step_execute },
	{ 6, "acquire", step_acquire },
};

#define STEPS	(sizeof(steps) / sizeof(*steps))

static const struct step *random_step(void)
{
	const struct step *step = steps;
	unsigned int way = below(2), all = 0, place;

	for (size_t n = 0; n < STEPS; n++)
		all += steps[n].share;
	place = below(all);
	for (; place >= step->share; step++)
		place -= step->share;
	step->make(way);
	return step;
}

/* Check the library's counts and the state of each stream against the model of the direction. */
static void check_counts(void)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	CHECK_EQUAL(litepcie_stats(&dev, &stats), 0);
	CHECK_EQUAL(stats.h2c_submitted, models[0].released);
	CHECK_EQUAL(stats.h2c_done, models[0].seen);
	CHECK_EQUAL(stats.c2h_done, models[1].seen);
	CHECK_EQUAL(stats.c2h_released, models[1].released);
	CHECK_EQUAL(stats.h2c_errors, models[0].errors);
	CHECK_EQUAL(stats.c2h_errors, models[1].errors);
	for (unsigned int way = 0; way < 2; way++) {
		CHECK_EQUAL(stream_of(way)->active, MODEL(way)->runs);
		CHECK_EQUAL(stream_of(way)->acquired, MODEL(way)->acquired);
		CHECK_EQUAL(MODEL(way)->first + card.pushed[way], MODEL(way)->posted);
	}
	if (models[0].runs || models[1].runs)
		CHECK_EQUAL(stats.interrupts + card.raised, interrupts);
}

static void sequence(unsigned int seed, unsigned int length)
{
	static struct litepcie_backend backend;

	srand(seed);
	records = one_in(2);
	open_card(records);
	memset(models, 0, sizeof(models));
	interrupts = 0;
	backend = fake;
	backend.post = random_post;
	backend.sleep = random_sleep;
	backend.merges = true;
	dev.backend = &backend;
	for (unsigned int n = 0; n < length && !failed_checks; n++) {
		const struct step *step = random_step();

		check_counts();
		if (failed_checks)
			fprintf(stderr, "seed %u, step %u: %s\n", seed, n, step->name);
	}
}

int main(int argc, char **argv)
{
	unsigned int first = take_seed("stream_random", argc > 1 ? argv[1] : NULL);
	unsigned int count = argc > 2 ? (unsigned int)atoi(argv[2]) : 40;
	unsigned int length = argc > 3 ? (unsigned int)atoi(argv[3]) : 1000;

	for (unsigned int n = 0; n < count && !failed_checks; n++)
		sequence(first + n, length);
	free_memory();
	return failed_checks != 0;
}
