/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the random calls of the test program `capture`.  They have one thread and check no
 * data: the guest's kernel log and the other tests show what the calls have broken.
 */
#ifndef CAPTURE_STORM_H
#define CAPTURE_STORM_H

/*
 * Make @count random steps of the capture's node @device as the user nobody: a step is a call of
 * the node, or two. Print for each kind of call how often it succeeded and how often it failed with
 * each error. Returns 0, the exit status.
 */
int storm(const char *device, unsigned long count, unsigned int seed);

#endif /* CAPTURE_STORM_H */
