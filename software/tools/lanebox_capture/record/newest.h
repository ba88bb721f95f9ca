/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The flight recorder of record --newest. The card fills the ring round and round, and writes over
 * the oldest MBUFs (parts of the ring). Nothing is taken from the ring until the recording ends.
 * Then record.c writes the whole MBUFs that are left, which are the newest ones.
 */
#ifndef LANEBOX_CAPTURE_NEWEST_H
#define LANEBOX_CAPTURE_NEWEST_H

#include "record.h"

/*
 * Returns the sentence that says which settings of @recording do not go together with --newest, or
 * NULL if all do.
 */
const char *newest_refuses(const struct recording *recording);

/*
 * Let the card fill the ring of the first queue until one of the recording's limits is reached, the
 * generator has made all its frames, or a signal comes. Then stop the generator. Returns false
 * after a failure, which is noted.
 */
bool newest_follow(struct util *util, struct recording *recording);

/*
 * Wait until newest_end() says that the card fills the rings no more. The thread of a queue other
 * than the first calls this.
 */
void newest_wait(struct recording *recording);

/*
 * The thread of the first queue has stopped the capture: wake the threads of the other ones of
 * @count queues, which then take the MBUFs (parts of the ring) that are left.
 */
void newest_end(struct recording *recordings, unsigned int count);

#endif /* LANEBOX_CAPTURE_NEWEST_H */
