/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Record the frames of one or several queues of the card in files. Each queue has a capture and a
 * struct recording of its own. The caller opens the captures, and frees the recordings' memory when
 * the card is closed. record() prints nothing: it notes failures in its struct util, and leaves the
 * results in the recordings. A process may be in only one call of record() at a time.
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
	/* path of the file or folder to which the queue is recorded, unless @folders is set */
	const char			*target;
	/*
	 * paths of several folders over which the MBUFs (the parts of the ring) are distributed;
	 * NULL: all MBUFs go to @target
	 */
	char				**folders;
	unsigned int			folder_count;
	struct litepcie_capture_config	config;
	struct litepcie_generator	generator;
	/* true: the card's generator of frames is started with the capture */
	bool				generates;
	/* pcapng files that the card plays as frames during the recording; NULL: none */
	struct play			*play;
	struct output_limits		limits;		/* when a new file begins */
	/*
	 * Time in seconds of the host's clock after which the recording ends; 0: no limit. Only the
	 * limit of the first queue counts, and it ends the recordings of all queues.
	 */
	double				seconds;
	/*
	 * The recording ends when the card has written this many packets of the first queue, or
	 * some more, into the ring. 0: no limit.
	 */
	uint64_t			packets;
	/* true: the queue's thread is to run only on processor @cpu */
	bool				pinned;
	uint32_t			cpu;
	/*
	 * in the recording of the first queue: the rules and the spread (a table of queues) by
	 * which the card is to sort frames into queues; NULL: the card is given none
	 */
	const struct litepcie_sorting	*sorting;
	/* The members from here on are state and results of the recording. */
	struct litepcie_capture		*capture;
	/*
	 * The recording's files are those of @output, or with several folders those of @deal. With
	 * several folders an error message about the beginning of the recording is in @output.why.
	 */
	struct output			output;
	struct deal			deal;
	/* page with the pcapng header of the recording's files */
	void				*header;
	/*
	 * address of the capture's ring; NULL until the recorder has taken the first MBUF (part of
	 * the ring)
	 */
	const uint8_t			*ring;
	struct litepcie_capture_stats	stats;
	/* true: the card's counts at the end of the recording were read */
	bool				counted;
	/*
	 * Times in ns of the first packet, and of the last packet in the last MBUF (part of the
	 * ring). Without a packet @first_ns is UINT64_MAX. @last_ns is UINT64_MAX if its time is
	 * not known: the card may have overwritten that MBUF, or its counts could not be read.
	 */
	uint64_t			first_ns, last_ns;
	/* number of frames that the generator had made when it was last asked */
	uint64_t			made;
	/* true: the generator has made all its frames */
	bool				made_known;
	/*
	 * true: start() of record.c has got -EINVAL from the library, which refuses a setting of
	 * the command line
	 */
	bool				refused;
	/*
	 * true: litepcie_capture_next() has returned -EPIPE: the capture of queue 0 was stopped,
	 * which ends the captures of all queues
	 */
	bool				over;
	/* number of bytes that were taken from the ring and not given back to the card */
	size_t				taken;
	/*
	 * true: when the queue's thread last looked, an MBUF (part of the ring) was still to be
	 * written to a file. The queue's thread sets @busy, and the thread of the first queue reads
	 * it, both by __ATOMIC_RELAXED.
	 */
	bool				busy;
	/*
	 * counts of the frames that the card's rules have discarded; 0 in the recording of a queue
	 * other than 0
	 */
	struct litepcie_discards	discards;
	/*
	 * A queue other than the first has a thread of its own, which notes its failures in @util.
	 * When the thread has ended, record() copies these failures to the struct util of the
	 * command. @util is NULL for the first queue, which the thread that calls record() records.
	 */
	pthread_t			thread;
	struct util			*util;
	/*
	 * The queue's thread waits at its beginning for the semaphore @gate, which is posted when
	 * the captures of all queues have started, or when the recording cannot begin. With
	 * config.newest it waits once more, until the capture of the first queue was stopped.
	 */
	sem_t				gate;
	/* true: the recording cannot begin, so the queue's thread ends without recording */
	bool				called_off;
};

/*
 * Record @count queues, whose captures are open, in @recordings. The recording ends when the first
 * queue reaches one of its limits, its generator has made all its frames, its player has ended,
 * another program stops queue 0 of the card, a signal comes, or the recording of the first queue
 * fails. A failure of another queue ends only the recording of that queue.
 *
 * record() closes the captures, unless a setting was refused. Failures are noted in @util. Returns
 * false if the recording has not begun. The regular files that were made for it are then deleted.
 */
bool record(struct util *util, struct recording *recordings, unsigned int count);

/*
 * Parse @text, SIZE[,PERIOD[,COUNT]], the settings of the card's generator of frames. Each is a
 * number of 32 bits. The member of @generator for a number that is not given stays as it is.
 * Returns false if @text has another form, or more than 63 characters.
 */
bool record_generator(const char *text, struct litepcie_generator *generator);

/*
 * Parse the value of the option --wait: the longest time in ns for which the card holds packets to
 * write them together with later ones. The value is stored in the uint32_t at option->to, and 0
 * becomes LITEPCIE_CAPTURE_AT_ONCE. Returns false if @text is no 32-bit number.
 */
bool record_wait(const struct util_option *option, const char *text);

/*
 * End a command whose settings the library has refused: print the text of litepcie_why() as an
 * error of the command line, and close the card. Returns EXIT_USAGE.
 */
int record_refuse(struct util *util);

#endif /* LANEBOX_CAPTURE_RECORD_H */
