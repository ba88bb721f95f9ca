/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Record the data of the captures' rings in files: one capture and one recording for each queue.
 * The caller opens the captures, and frees the recordings' memory when the card is closed. Nothing
 * here prints: a failure is noted, and the results stay in the recording. One recording runs at a
 * time, since its end is decided by the process's signals and by queue 0 of the card.
 */
#ifndef LANEBOX_CAPTURE_RECORD_H
#define LANEBOX_CAPTURE_RECORD_H

#include <pthread.h>
#include <semaphore.h>

#include "../litepcie_util/util.h"
#include "litepcie_capture.h"
#include "deal.h"
#include "disk/output.h"
#include "play/play.h"

struct recording {
	/* The members up to @sorting are settings: what is to be recorded, and where to. */
	/* path of the file or folder to which is recorded, unless @folders is set */
	const char			*target;
	/* paths of several folders that share the MBUFs; NULL: everything goes to @target */
	char				**folders;
	unsigned int			folder_count;
	struct litepcie_capture_config	config;
	struct litepcie_generator	generator;
	bool				generates;	/* true: the card's generator runs */
	/* files that the card plays during the recording; NULL: none */
	struct play			*play;
	uint64_t			file_bytes;	/* largest size of a file; 0: no limit */
	/* longest duration of the recording in seconds of the host's clock; 0: no limit */
	double				seconds;
	/* The recording ends after this many packets, or some more. 0: no limit. */
	uint64_t			packets;
	bool				pinned;		/* true: the thread runs only on @cpu */
	uint32_t			cpu;
	/* how the card sorts frames into queues; NULL: all frames go to queue 0 */
	const struct litepcie_sorting	*sorting;
	/* The members from here on are state and results of the recording. */
	struct litepcie_capture		*capture;
	/* the recording's files; with several folders @deal has the files instead */
	struct output			output;
	struct deal			deal;
	void				*header;	/* page with which each file begins */
	/* address of the capture's ring; NULL until the first MBUF is full */
	const uint8_t			*ring;
	struct litepcie_capture_stats	stats;
	bool				counted;	/* true: @stats has the card's counts */
	/*
	 * Times of the first and the last packet in ns. Without a packet @first_ns is UINT64_MAX.
	 * @last_ns is UINT64_MAX if it is not known: the last packet may not be in the ring any
	 * more, or the card's counts could not be read.
	 */
	uint64_t			first_ns, last_ns;
	uint64_t			made;		/* frames that the generator has made */
	bool				made_known;	/* true: @made is the final number */
	/* true: the library has refused a setting of the command line with -EINVAL at the start */
	bool				refused;
	/* true: the capture of queue 0 was stopped, which ends the recording of this queue, too */
	bool				over;
	/* bytes that were taken from the ring and not given back to the card */
	size_t				taken;
	/*
	 * true: MBUFs that this queue's ring has handed to the files are in no file yet. The
	 * queue's thread sets @busy, and the thread of queue 0 reads it, both by __ATOMIC_RELAXED.
	 */
	bool				busy;
	/* frames that the card's rules have discarded; only the recording of queue 0 counts them */
	struct litepcie_discards	discards;
	/*
	 * A queue other than the first has a thread of its own, which notes its failures in @util.
	 * record() copies these failures to the command's. @util is NULL for the first queue.
	 */
	pthread_t			thread;
	struct util			*util;
	/* the queue's thread waits for @gate, which is posted when the captures have started */
	sem_t				gate;
	/* true: the captures could not be started, so the thread ends without recording */
	bool				called_off;
};

/*
 * Record @count queues, whose captures are open, until the first queue reaches one of its limits,
 * its generator or player has ended, another program stops queue 0 of the card, a signal comes, or
 * the first queue fails. A failure of another queue ends only the recording of that queue: its
 * later frames are lost in the card, or dropped if the recording is lossless. Each queue other than
 * the first has a thread of its own. record() closes the captures, unless a setting was refused.
 * Failures are noted in @util. Returns false if the recording has not begun. Its files are then
 * deleted.
 */
bool record(struct util *util, struct recording *recordings, unsigned int count);

/*
 * Parse @text, SIZE[,PERIOD[,COUNT]], the settings of the card's generator of frames. The member of
 * @generator for a number that is not given stays as it is. Returns false if @text has another
 * form.
 */
bool record_generator(const char *text, struct litepcie_generator *generator);

/*
 * Parse the value of --wait: the time in ns for which packets wait in the card for more packets, so
 * that the card writes them together. 0 becomes LITEPCIE_CAPTURE_AT_ONCE. Returns false if @text is
 * no 32-bit number.
 */
bool record_wait(const struct util_option *option, const char *text);

/*
 * End a command whose settings the library has refused: print the text of litepcie_why() as an
 * error of the command line, and close the card. Returns EXIT_USAGE.
 */
int record_refuse(struct util *util);

#endif /* LANEBOX_CAPTURE_RECORD_H */
