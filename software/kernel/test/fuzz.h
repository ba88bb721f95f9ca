/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * What the two parts of fuzz share: calls at random, and calls with an aim.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>

#define FDS	4	/* open files; the aimed calls use the first two */

enum call {
	REG, LOOPBACK, C2H, H2C, INFO, LOCK, C2H_UPDATE, H2C_UPDATE,
	SETUP, RING_INFO, EVENT, BAR, EXPORT, UNKNOWN,
	MMAP, READ, WRITE, POLL, OPEN, CALLS
};

extern int fds[FDS];
extern const char *device;
extern const unsigned long requests[];	/* up to EXPORT */
extern const char *const names[];

unsigned int pick(unsigned int below);
const char *outcome_name(int error);

/* Count a call by its outcome; gives its error, or 0. */
int count(enum call call, bool ok);

/* fuzz_branches.c */
void branches_init(void);
void branches_step(void);
bool branches_below(unsigned long least);
void branches_print(void);

#endif /* FUZZ_H */
