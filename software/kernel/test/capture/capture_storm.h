/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the random calls of the test program `capture`.  One thread makes them, and no data is
 * checked: the guest's kernel log and the other tests show what the calls have broken.
 */
#ifndef CAPTURE_STORM_H
#define CAPTURE_STORM_H

/*
 * Become the user nobody, and make @count random steps with the capture's node @device. Each step
 * is one system call or a few. Then print how often each kind of call succeeded, and how often it
 * failed with which error. Returns 0.
 */
int storm(const char *device, unsigned long count, unsigned int seed);

#endif /* CAPTURE_STORM_H */
