/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the part of the test program `queues` that has several threads.  All other tests of the
 * program have one thread, and files of their own.
 */
#ifndef QUEUES_H
#define QUEUES_H

/*
 * Run @rounds rounds in which threads use the queues of the capture's node @device at the same
 * time. @seed is the seed of the random pauses. Returns 0, or ends the program if a check fails.
 */
int race(const char *device, unsigned int rounds, unsigned int seed);

#endif /* QUEUES_H */
