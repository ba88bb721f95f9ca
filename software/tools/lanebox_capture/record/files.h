/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording, in one folder (output.h) or dealt to several (deal.h). A function that
 * returns false has failed. The failure is noted, or files_close() notes it: a folder that fails
 * among several is told only then. All functions are called by the thread that records the queue.
 */
#ifndef LANEBOX_CAPTURE_FILES_H
#define LANEBOX_CAPTURE_FILES_H

#include "record.h"

/* Open the first file, or the first of each folder, with recording->header of @header_bytes. */
bool files_open(struct util *util, struct recording *recording, size_t header_bytes);

/* Register the ring's memory for writes: its address is known once the first MBUF is full. */
bool files_take_ring(struct util *util, struct recording *recording);

/* Begin to write the MBUF at @data. */
bool files_write(struct util *util, struct recording *recording, const uint8_t *data, size_t bytes);

/* Hand the writes to the kernel that are not handed over yet. */
bool files_push(struct util *util, struct recording *recording);

/* Returns how many more MBUFs are in files since the last call. */
unsigned int files_done(struct recording *recording);

/* True if MBUFs that were given are in no file yet. */
bool files_wait(struct recording *recording);

/* Wait until all MBUFs that were given are in files. */
bool files_finish(struct util *util, struct recording *recording);

/* Close the files. A folder that has failed is a failure of the command, also if others went on. */
void files_close(struct util *util, struct recording *recording);

/* Remove the files of a recording that has not begun. */
void files_discard(struct recording *recording);

/* Free the memory of the files, behind litepcie_close(). */
void files_free(struct recording *recording);

#endif /* LANEBOX_CAPTURE_FILES_H */
