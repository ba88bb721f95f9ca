/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The files of a recording, in one file or folder (output.h) or in several folders (deal.h). Each
 * function of type bool except files_are_behind() returns false after a failure. Without several
 * folders the failure is noted at once. With several folders files_open() and files_take_ring()
 * note their failure, and files_close() notes that of each folder. Only one thread at a time may
 * call the functions for a recording.
 */
#ifndef LANEBOX_CAPTURE_FILES_H
#define LANEBOX_CAPTURE_FILES_H

#include "record.h"

/*
 * Open the first file of the recording, or of each folder, and write the @header_bytes of
 * recording->header to it. With several folders a comment is added to the header (deal_comment.h).
 */
bool files_open(struct util *util, struct recording *recording, size_t header_bytes);

/*
 * Prepare the files for MBUFs (equal parts) from the ring at recording->ring. Call
 * files_take_ring() once, before the first files_write().
 */
bool files_take_ring(struct util *util, struct recording *recording);

/*
 * Begin to write the MBUF (part of the ring) of @bytes at @data. The MBUF must not change until
 * files_done() has counted it. With several folders the MBUF must be the next one of the ring.
 */
bool files_write(struct util *util, struct recording *recording, const uint8_t *data, size_t bytes);

/*
 * Hand the writes that files_write() has queued to the kernel. With several folders the threads of
 * the folders do that, and files_push() does nothing.
 */
bool files_push(struct util *util, struct recording *recording);

/*
 * Returns how many MBUFs (parts of the ring) it counts as written that no earlier call of
 * files_done() has counted. MBUFs are counted in the order of files_write(), up to the first MBUF
 * that is in no file.
 */
unsigned int files_done(struct recording *recording);

/*
 * Returns how many MBUFs (parts of the ring) are in the files and were not counted by files_done().
 * With several folders the number includes MBUFs behind one that is in no file. Call it only after
 * a failure, and do not call files_done() afterwards.
 */
unsigned int files_kept(struct recording *recording);

/*
 * Returns true if an MBUF (part of the ring) whose write files_write() has begun is not counted as
 * written.
 */
bool files_are_behind(struct recording *recording);

/*
 * Wait, without a time limit, until all MBUFs (parts of the ring) of files_write() are in files, or
 * until a write has failed (with several folders: until all folders have failed).
 */
bool files_finish(struct util *util, struct recording *recording);

/*
 * Write all MBUFs (parts of the ring) of files_write() that are in no file yet, unless a write has
 * failed (with several folders: unless all folders have failed), and close the files. With several
 * folders each folder's failure is noted, even if other folders have taken its MBUFs.
 */
void files_close(struct util *util, struct recording *recording);

/*
 * Delete the regular files of a recording that has not begun, and those folders that files_open()
 * has made. Pipes and devices stay.
 */
void files_discard(struct recording *recording);

/*
 * Free the memory of the files, and close files that are still open. A recording that has begun
 * must have been ended by files_close() before.
 */
void files_free(struct recording *recording);

#endif /* LANEBOX_CAPTURE_FILES_H */
