/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of a capture. capture.c opens, starts and stops it. capture_ring.c reads the status
 * line, and hands out spans (parts of the ring) to the program. capture_records.c makes a table of
 * a span's frames. capture_counts.c reads the counts of frames, and controls the generator and the
 * sorting of frames to queues. capture_rule.c makes rules. capture_file.c writes the header of a
 * file. capture_clock.c sets the card's clock. capture_pages.c chooses pages and their NUMA node.
 * capture_wait.c has the times of waits. capture_access.c and kernel/capture.c reach the card.
 * capture_access.c uses capture_run.c, which starts and stops the capture block, capture_state.c,
 * which tells the state of the block, and capture_registers.c, which accesses its registers.
 * player.c controls the player. gateware/capture/README.md describes what the card writes.
 */
#ifndef LITEPCIE_CAPTURE_INTERNAL_H
#define LITEPCIE_CAPTURE_INTERNAL_H

#include <stddef.h>

#include "helpers.h"
#include "describe/layout.h"
#include "litepcie_capability.h"
#include "litepcie_capture.h"

/* Bits of the registers capture_control, capture_status and capture_account_control. */
#define CAPTURE_RUN		(1u << LITEPCIE_CAPTURE_CONTROL_RUN_OFFSET)
#define CAPTURE_IDLE		(1u << LITEPCIE_CAPTURE_STATUS_IDLE_OFFSET)
#define CAPTURE_ACCOUNTS_BUSY	(1u << LITEPCIE_CAPTURE_STATUS_ACCOUNTS_BUSY_OFFSET)
#define CAPTURE_GENERATOR_IDLE	(1u << LITEPCIE_CAPTURE_STATUS_GENERATOR_IDLE_OFFSET)
#define CAPTURE_SNAPSHOT	(1u << LITEPCIE_CAPTURE_ACCOUNT_CONTROL_SNAPSHOT_OFFSET)

/*
 * Bytes of memory for status lines, a page: the page of a queue's line that a back end allocates,
 * and the driver's page with the lines of all queues.
 */
#define CAPTURE_STATUS_BYTES	4096u

/*
 * The status line of a capture queue: counts that the card writes to host memory. The ring's data
 * before @position consists of whole pcapng blocks.
 */
struct litepcie_capture_line {
	uint64_t	position;	/* bytes written to the ring since the start */
	uint64_t	records;	/* number of frames written to the ring */
	uint64_t	lost;		/* number of frames lost, as ring or card had no room */
	/* time in ns by the card's clock at which the line was written */
	uint64_t	time;
};

_Static_assert(offsetof(struct litepcie_capture_line, records) == LITEPCIE_CAPTURE_LINE_RECORDS,
	       "status line");
_Static_assert(offsetof(struct litepcie_capture_line, lost) == LITEPCIE_CAPTURE_LINE_LOST,
	       "status line");
_Static_assert(offsetof(struct litepcie_capture_line, time) == LITEPCIE_CAPTURE_LINE_TIME,
	       "status line");

struct litepcie_capture;

/*
 * How a capture reaches the card. The handle's lock is not held. All functions but close() return 0
 * (generated(): 0 or 1), or -errno with a sentence. The thread that uses the capture calls them,
 * and they may sleep. Positions and limits are in bytes since the start.
 */
struct litepcie_capture_access {
	/* Make the capture ready for a start. If this fails, the caller calls close(). */
	int (*open)(struct litepcie_capture *capture);
	/*
	 * Give up the memory of ring and status line, which is freed once the card can no longer
	 * write there.
	 */
	void (*close)(struct litepcie_capture *capture);
	/*
	 * Start the capture at position 0 with all of the ring free. A queue other than 0 begins
	 * only at the next start of queue 0. Set capture->limit, up to which the card may write.
	 * Afterwards ring and status line have their memory.
	 */
	int (*start)(struct litepcie_capture *capture);
	/*
	 * End the capture of this queue. For queue 0 the card takes no more frames for any queue.
	 * For another queue the card completes the current MBUF (part of the ring), with which the
	 * data of the queue ends, at the position capture->end. What the card writes to the ring
	 * behind that is ignored. When stop() returns 0, all data and its status line are in
	 * memory.
	 */
	int (*stop)(struct litepcie_capture *capture);
	/* Let the card write to the ring up to position @limit. */
	int (*allow)(struct litepcie_capture *capture, uint64_t limit);
	/*
	 * Check that the card answers, and that it was not reset during the run. Returns -EIO or
	 * -ENODEV if not. For another queue than 0 the function sets capture->ended if the stop of
	 * queue 0 has ended the run of this queue.
	 */
	int (*answers)(struct litepcie_capture *capture);
	/*
	 * True if the run that the capture was started for is over, and the queue's status line in
	 * memory is the last one: the card writes to the ring no more. The function makes no
	 * register access and no system call.
	 */
	bool (*is_complete)(const struct litepcie_capture *capture);
	/*
	 * Fill in two members of @stats: @port, the counts of each port's frames, all as of one
	 * moment, and @net_lost. If another program has the queue, @position and @released become
	 * those of that program's capture.
	 */
	int (*accounts)(struct litepcie_capture *capture, struct litepcie_capture_stats *stats);
	/* Set the rules and the table of queues in @sorting; NULL: all frames go to queue 0. */
	int (*sort)(struct litepcie_capture *capture, const struct litepcie_sorting *sorting);
	/* Get the numbers of frames that rules have discarded, all as of one moment. */
	int (*discards)(struct litepcie_capture *capture, struct litepcie_discards *discards);
	/* Start the generator with settings that have been checked; NULL: stop it. */
	int (*generate)(struct litepcie_capture *capture,
			const struct litepcie_generator *generator);
	/* Get the number of frames that the generator has made. Returns 1 if it is idle, else 0. */
	int (*generated)(struct litepcie_capture *capture, uint32_t *made);
	/*
	 * Sleep until the card's position may be beyond capture->seen, at most @most_ms. NULL:
	 * there is nothing to sleep on, so the caller sleeps for short times
	 * (litepcie_capture_nap()).
	 */
	int (*wait)(struct litepcie_capture *capture, int most_ms);
};

extern const struct litepcie_capture_access litepcie_capture_by_registers;

struct litepcie_capture {
	struct litepcie				*dev;
	const struct litepcie_capture_access	*access;
	void					*priv;	/* data of the functions in @access */
	struct litepcie_capture_config		config;
	const uint8_t				*ring;
	/* the status line in memory; NULL: there is no ring yet (only behind the kernel driver) */
	const struct litepcie_capture_line	*line;
	uint64_t				ring_iova, line_iova;
	/* copy of the status line as the library has last read it, with @position at most @end */
	struct litepcie_capture_line		seen;
	/* bytes since the start that litepcie_capture_next() has returned or has skipped */
	uint64_t				given;
	/*
	 * bytes, of those that @given counts, that the program has released; with `newest` skipped
	 * bytes count as released, too
	 */
	uint64_t				released;
	/*
	 * position, in bytes since the start, up to which the card may write to the ring now; with
	 * `newest` the card ignores it
	 */
	uint64_t				limit;
	/*
	 * how often the card was given a new @limit since the start; the one at the start counts,
	 * too
	 */
	uint64_t				limits;
	/*
	 * with `newest`: bytes that litepcie_capture_next() has skipped and never returned, since
	 * the card has overwritten them or may soon do so; a skip ends at the beginning of an MBUF
	 */
	uint64_t				overwritten;
	/*
	 * with `newest`: bytes that the program has got and not released, and that
	 * litepcie_capture_next() has since skipped, as the card has overwritten all that the
	 * program held; @released counts these bytes already
	 */
	uint64_t				lapsed;
	/*
	 * position at which the data of this queue ends, if a stop of the queue has set it;
	 * UINT64_MAX: all that the card has written to the ring is data of the queue
	 */
	uint64_t				end;
	/*
	 * number of the run that this queue was last started for, to be compared with run.number of
	 * the handle; used by capture_run.c and capture_state.c
	 */
	uint32_t				run;
	/* true: the stop of queue 0 has ended this queue's run, before this queue was stopped */
	bool					ended;
	/*
	 * time in ms at which a wait next checks that the card is there; 0: no wait has found the
	 * ring empty since data last came, or since the open
	 */
	int64_t					check_ms;
	/* true: the capture is started; the thread of queue 0 reads this, too (__ATOMIC_RELAXED) */
	bool					running;
};

/* Set the capture's counts to those of an empty ring at position 0. */
void litepcie_capture_rewind(struct litepcie_capture *capture);

/*
 * Read the status line into capture->seen. Returns 0, or -EIO with a sentence if the line cannot be
 * true.
 */
int litepcie_capture_poll(struct litepcie_capture *capture);

/* Give the card the position @limit, up to which it may write to the ring. */
int litepcie_capture_allow(struct litepcie_capture *capture, uint64_t limit);

/*
 * Functions for registers that the capture block has for each queue: litepcie_queue_put() writes 32
 * bits, litepcie_queue_put64() writes 64 bits, and litepcie_queue_get64() reads 64 bits. The queue
 * of the capture is selected in the card first, under the same lock. The upper half of 64 bits is
 * written first: the card takes over a new limit at the write of its lower half. The halves that
 * are read belong together, also if the card changes the register meanwhile. litepcie_queue_get64()
 * is for registers of which neither half is ever all ones: if LITEPCIE_READS reads give all ones,
 * it returns -EIO with the sentence that the card does not answer. The caller does not hold the
 * handle's lock.
 */
int litepcie_queue_put(struct litepcie_capture *capture, uint32_t offset, uint32_t value);
/* Do what litepcie_queue_put() does, for a caller that holds the handle's lock. */
int litepcie_queue_put_locked(struct litepcie_capture *capture, uint32_t offset, uint32_t value);
int litepcie_queue_put64(struct litepcie_capture *capture, uint32_t offset, uint64_t value);
int litepcie_queue_get64(struct litepcie_capture *capture, uint32_t offset, uint64_t *value);
int litepcie_queue_get_account(struct litepcie_capture *capture, uint32_t index, uint32_t number,
			       uint32_t frames, uint32_t bytes, struct litepcie_account *account);

/*
 * These functions of capture_run.c and capture_state.c are start(), stop(), allow() and answers()
 * of struct litepcie_capture_access, for the back ends that reach registers themselves.
 */
int litepcie_run_start(struct litepcie_capture *capture);
int litepcie_run_stop(struct litepcie_capture *capture);
int litepcie_run_allow(struct litepcie_capture *capture, uint64_t limit);
int litepcie_run_answers(struct litepcie_capture *capture);

/* True if the run to which the capture belongs is on. A run that is being stopped is not on. */
bool litepcie_run_is_on(const struct litepcie_capture *capture);

/* This function is is_complete() of struct litepcie_capture_access, for the same back ends. */
bool litepcie_run_is_complete(const struct litepcie_capture *capture);

/* True if the run for which the capture was started has not begun yet. */
bool litepcie_run_is_ahead(const struct litepcie_capture *capture);

/* Set dev->run.state, which other threads read. */
void litepcie_run_set_state(struct litepcie *dev, uint32_t state);

/* Set dev->run.restless: true says to all threads that the card may write to the rings. */
void litepcie_run_set_restless(struct litepcie *dev, bool restless);

/* Free the memory of a queue's ring and status line. The caller holds the lock. */
void litepcie_run_free(struct litepcie *dev, unsigned int queue);

/* Free the memory of queues that were closed while the card could still write to that memory. */
void litepcie_run_free_left(struct litepcie *dev);

/*
 * Target of the gateware of simulated cards, of which two runs are to give the same recording.
 */
#define LITEPCIE_SIMULATED	"sim"

/*
 * True if the start of a capture with these settings sets the card's clock from that of the host.
 */
bool litepcie_capture_is_clocked(const struct litepcie *dev,
				 const struct litepcie_capture_config *config);

/* Set the card's clock to the time of the host's clock. The caller does not hold the lock. */
int litepcie_capture_set_clock(struct litepcie *dev);

/*
 * Read the register capture_status, with checks. Returns -EIO if the card does not answer or was
 * reset during the run, or -ENODEV if the kernel wants the card back. The caller does not hold the
 * lock.
 */
int litepcie_capture_status(struct litepcie_capture *capture, uint32_t *status);

/*
 * Wait until the bits @mask of the register capture_status have @value, for the capture's rest_ms
 * at most (-1: for ever). Returns 0 then, -ETIMEDOUT with a sentence that names @what and ends with
 * @advice, or an error of litepcie_capture_status(). The caller does not hold the lock.
 */
int litepcie_capture_await(struct litepcie_capture *capture, uint32_t mask, uint32_t value,
			   const char *what, const char *advice);

/*
 * Set the sentence that litepcie_why() returns: @what did not end within rest_ms. The sentence ends
 * with @advice, which tells the user what to do. Returns -ETIMEDOUT.
 */
int litepcie_capture_late(const struct litepcie_capture *capture, const char *what,
			  const char *advice);

/*
 * Texts for the arguments @what and @advice of litepcie_capture_await() and
 * litepcie_capture_late(). LITEPCIE_GENERATOR_FRAME is what a start of the generator waits for, and
 * LITEPCIE_GENERATOR_ADVICE what the user can do to end that wait. LITEPCIE_RESET_ADVICE is for
 * waits that only the card ends.
 */
#define LITEPCIE_GENERATOR_FRAME	"the generator's last frame, which waits for room in the ring,"
#define LITEPCIE_GENERATOR_ADVICE	"release spans of the ring, or stop the capture"
#define LITEPCIE_RESET_ADVICE		"reset the card"

/*
 * Returns @wait_ns in cycles of the card's clock: 0 for LITEPCIE_CAPTURE_AT_ONCE, else at least 1.
 */
uint64_t litepcie_capture_wait_cycles(const struct litepcie *dev, uint32_t wait_ns);

/*
 * Sleep until the card may have written more to the ring, at most @most_ms. If access->wait is
 * NULL, sleep as litepcie_capture_nap() does. Returns -EINTR after a signal.
 */
int litepcie_capture_wait(struct litepcie_capture *capture, unsigned int *nap_us, int most_ms);

/* Sleep for *@nap_us, then double *@nap_us, up to 1 ms. Returns -EINTR after a signal. */
int litepcie_capture_nap(unsigned int *nap_us);

#endif /* LITEPCIE_CAPTURE_INTERNAL_H */
