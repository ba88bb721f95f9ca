/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording, in one folder (output.h) or dealt to several (deal.h). A bool function
 * other than files_wait() returns false after a failure. With one folder the failure is noted at
 * once. With several folders the failure of a folder is noted only by files_close(). All functions
 * are called by the thread that records the queue.
 */
#ifndef LANEBOX_CAPTURE_FILES_H
#define LANEBOX_CAPTURE_FILES_H

#include "record.h"

/*
 * Open the first file, or the first of each folder, and write recording->header to it, which has
 * @header_bytes.
 */
bool files_open(struct util *util, struct recording *recording, size_t header_bytes);

/*
 * Tell the files where the ring's memory is, at recording->ring. Call it once, before the first
 * files_write().
 */
bool files_take_ring(struct util *util, struct recording *recording);

/*
 * Begin to write the MBUF at @data, which has @bytes. It must stay as it is until files_done() has
 * counted it. With several folders it must be the MBUF that is next in the ring.
 */
bool files_write(struct util *util, struct recording *recording, const uint8_t *data, size_t bytes);

/*
 * Hand the writes that files_write() has queued to the kernel. Folders of several do so themselves.
 */
bool files_push(struct util *util, struct recording *recording);

/*
 * Returns how many MBUFs are in files that no earlier call has counted, in the order in which they
 * were given.
 */
unsigned int files_done(struct recording *recording);

/* True if MBUFs that were given are in no file yet. */
bool files_wait(struct recording *recording);

/* Wait, without a limit, until all MBUFs that were given are in files. */
bool files_finish(struct util *util, struct recording *recording);

/* Close the files. A folder that has failed is a failure of the command, also if others went on. */
void files_close(struct util *util, struct recording *recording);

/* Delete the files of a recording that has not begun, and the folders that were made for it. */
void files_discard(struct recording *recording);

/* Close the files, and free their memory. Call it when no MBUF is being written any more. */
void files_free(struct recording *recording);

#endif /* LANEBOX_CAPTURE_FILES_H */
