/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Runs the random sequences of a program that tests the driver on a made-up card.
 */
#ifndef SEQUENCES_H
#define SEQUENCES_H

#include <stdio.h>
#include <stdlib.h>

typedef void steps_fn(unsigned int seed, unsigned int steps);

/* The random sequence that is run next: its function, its seed, and its number of steps. */
static struct {
	steps_fn	*make;
	unsigned int	seed, steps;
} sequence;

static void test_random_sequence(void)
{
	sequence.make(sequence.seed, sequence.steps);
}

/*
 * Run random sequences of steps, which the function @make makes. @run runs each sequence as a test.
 * @words has three numbers as texts: the first seed, the number of sequences, and the number of
 * steps of each sequence. Returns 0, the exit status. A check that fails ends the program.
 */
static int run_sequences(const char *program, void (*run)(const char *name, void (*test)(void)),
			 steps_fn *make, char **words)
{
	unsigned int first = (unsigned int)atol(words[0]), count = (unsigned int)atol(words[1]);

	sequence.make = make;
	sequence.steps = (unsigned int)atol(words[2]);
	for (unsigned int n = 0; n < count; n++) {
		sequence.seed = first + n;
		run("test_random_sequence", test_random_sequence);
	}
	printf("%s: %u random sequences from seed %u on: ok\n", program, count, first);
	return 0;
}

#endif /* SEQUENCES_H */
