/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 */
#ifndef QUEUES_H
#define QUEUES_H

/*
 * Run @rounds in which threads use the queues of the node @device at the same time. Returns the
 * exit status.
 */
int race(const char *device, unsigned int rounds, unsigned int seed);

#endif /* QUEUES_H */
