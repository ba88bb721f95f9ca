/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The handle of a card: all that the library knows about one opened card. litepcie_open() makes
 * the handle, and litepcie_close() frees it.
 */
#ifndef LITEPCIE_HANDLE_H
#define LITEPCIE_HANDLE_H

#include <pthread.h>

#include "backend.h"
#include "litepcie_diagnostics.h"
#include "dma/engine/notices.h"
#include "dma/stream.h"

/*
 * The run of the card's capture queues, by the back ends that reach registers themselves. All
 * queues begin and end together, with queue 0.
 */
struct litepcie_capture_run {
	/*
	 * number of the last run of queue 0, and its state: LITEPCIE_RUN_ON, LITEPCIE_RUN_STOPS
	 * while it is being stopped, or 0 at rest; any thread may read both at any time
	 */
	uint32_t	number;
	uint32_t	state;
	uint32_t	sort;		/* value of register capture_queues_control in a run */
	/*
	 * bit n: queue n was closed while the card might still write to its memory, which is kept
	 * until the library has seen the card at rest
	 */
	uint32_t	left;
	/*
	 * true: the card may write to the capture rings, since the library has started a run and
	 * has not yet seen the card idle after it. Any thread may read this member at any time
	 * (__ATOMIC_RELAXED).
	 */
	bool		restless;
};

#define LITEPCIE_RUN_ON		1u
#define LITEPCIE_RUN_STOPS	2u

/* The handle of a card. */
struct litepcie {
	const struct litepcie_backend	*backend;
	/*
	 * lock of the handle: protects the streams' counts, the state of waits and stops (@sleeper,
	 * @stopping, @polling), of @run together with the register capture_control, the captures
	 * that are open, and the accesses of a serial back end.
	 * Calls hold the lock, and release it while the thread sleeps. The lock is not needed for
	 * the fast path of litepcie_stream_acquire() and litepcie_stream_release(), for accesses of
	 * the program to BARs by a back end that is not serial, and for reads of members that do
	 * not change between open and close.
	 */
	pthread_mutex_t			lock;
	/*
	 * lock that is taken before @lock: only one thread at a time may let the card copy its
	 * counts of captured frames and read that copy
	 */
	pthread_mutex_t			counting;
	/*
	 * condition variable that wakes the handle's other threads, after the thread that slept for
	 * the card (@sleeper) has woken, and after a thread has stopped the DMA (@stopping)
	 */
	pthread_cond_t			woken;
	/* true: a thread sleeps on behalf of all threads that wait for the card */
	bool				sleeper;
	bool				stopping;	/* true: a thread is stopping the DMA */
	void				*priv;		/* data of the back end; set by open() */
	/* text of litepcie_mmio_path(): how accesses to registers are made; set by open() */
	const char			*mmio_path;
	/* flags LITEPCIE_HAS_STREAMS, _PACKETS and _BAR_MAP that back end and driver can fulfil */
	uint64_t			able;
	/*
	 * descriptor that is readable after an interrupt of the card; used by the folder dma/table;
	 * -1: the back end has none
	 */
	int				interrupt;
	char				*name;
	unsigned int			channel;	/* number of the DMA channel in use */
	uint64_t			bar_size[LITEPCIE_BARS];
	/* mappings of the BARs in this process; base NULL: the BAR is not mapped */
	struct litepcie_window		bar[LITEPCIE_BARS];
	/* a sentence that says why a BAR, or a page of a BAR, is not mapped */
	char				bar_why[LITEPCIE_WHY_SIZE];
	struct litepcie_block		*blocks;
	unsigned int			block_count;
	struct litepcie_register	*registers;
	unsigned int			register_count;
	struct litepcie_card		card;
	/* CRC of the capability table, by which the card is known again after a reset */
	uint32_t			table_crc;
	struct litepcie_map		map;
	struct litepcie_stream		h2c, c2h;
	struct litepcie_notices		notices;
	/* bus address of the notices (records and status lines); used by table_notices.c */
	uint64_t			notices_iova;
	/* us from one read of the card's progress to the next; 0: the card interrupts instead */
	uint32_t			poll_us;
	/* true: the library polls the card by @poll_us only after an interrupt (adaptive mode) */
	bool				adaptive;
	/* true: the library polls the card's progress now, and the DMA's interrupts are off */
	bool				polling;
	/* number of descriptors, of both directions, that the card had executed at the last poll */
	uint64_t			looked;
	/* descriptor of a timer that is readable when the card is to be polled, or -1 */
	int				timer;
	/* descriptor of an epoll on @timer and @interrupt, or -1 */
	int				news;
	/*
	 * time in ms of the first read of the counts that found no progress of the card, or of the
	 * last check that the card is still there; 0: the last read found progress
	 */
	int64_t				silent_ms;
	/*
	 * number of reads of the counts in memory that found progress; after each SPINS-th
	 * (dma_wait.c) the thread also takes interrupts
	 */
	unsigned int			spins;
	/* true: litepcie_dma_fd() was called, so each wait must clear its descriptor */
	bool				watched;
	/*
	 * true: a stream whose interrupts can be counted has ended since the first of the two
	 * streams started
	 */
	bool				counted;
	/*
	 * user_enabled: the program has switched the interrupt of the user's logic on. user_raised:
	 * this interrupt has come, and no wait has returned it yet.
	 */
	bool				user_enabled, user_raised;
	/* the open captures of this handle, by queue number, and the run that they share */
	struct litepcie_capture		*captures[LITEPCIE_QUEUES_MOST];
	struct litepcie_capture_run	run;
	/* counts for litepcie_stats() that are not in the streams */
	struct litepcie_stats		stats;
};

#endif /* LITEPCIE_HANDLE_H */
