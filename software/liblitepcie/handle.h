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
 * The run of the card's capture queues, behind the back ends that reach registers themselves (sim
 * and vfio). The start of queue 0 begins the run for all queues, and its stop ends the run. Any
 * other queue may be stopped earlier.
 */
struct litepcie_capture_run {
	/* number of the last run that queue 0 has begun; any thread may read it at any time */
	uint32_t	number;
	/*
	 * state of the run of all queues: LITEPCIE_RUN_ON, LITEPCIE_RUN_STOPS while queue 0 is
	 * being stopped, or 0 when no run is on, even if the last stop has failed; any thread may
	 * read it at any time
	 */
	uint32_t	state;
	/*
	 * value that the start of queue 0 writes to the register `control` of the block with the
	 * rules (map.sorter.control); 0: all frames go to queue 0. Only the thread of queue 0 uses
	 * this member.
	 */
	uint32_t	sort;
	/*
	 * bit n is 1: queue n was closed while the card might still write to its memory. The memory
	 * is kept until the library has seen the card at rest, or until the handle is closed. This
	 * member is written under the handle's lock.
	 */
	uint32_t	left;
	/*
	 * true: the card may write to the capture rings, since the library has started a run and
	 * has not yet seen the card idle after it. Any thread may read this member at any time
	 * (__ATOMIC_RELAXED).
	 */
	bool		restless;
	/*
	 * number of the last run whose stop has seen the card at rest and the last status line of
	 * each queue in memory; any thread may read it at any time
	 */
	uint32_t	complete;
};

#define LITEPCIE_RUN_ON		1u
#define LITEPCIE_RUN_STOPS	2u

/* The handle of a card. */
struct litepcie {
	const struct litepcie_backend	*backend;
	/*
	 * Lock of the handle. A thread holds it while it uses the library's register accesses, and
	 * releases it while it sleeps. The lock protects
	 *   - the members of @h2c and @c2h, but for those that the thread of the stream uses
	 *     without it (dma/stream.h names them)
	 *   - the state of waits and stops: @sleeper, @stopping, @silent_ms, @spins and @watched
	 *   - the state of polling: @poll_us, @adaptive, @polling, @looked, @timer and @news
	 *   - the counts @stats, and the flag @counted
	 *   - the interrupt of the user's logic: @user_enabled and @user_raised
	 *   - writes of run.left, and the steps of run.state to LITEPCIE_RUN_ON and to
	 *     LITEPCIE_RUN_STOPS, each together with the write of the register capture_control
	 *   - every access by a back end that is serial
	 * Without the lock a thread may read the members hw, sw and active of a stream, and number,
	 * state and restless of @run; and the program may access BARs by a back end that is not
	 * serial. @captures, @registers and @register_count change only in calls that no other call
	 * on the handle may accompany ("Threads: alone"), so they need no lock. All other members
	 * stay as they are after litepcie_open(), litepcie_reset() and litepcie_stream_open().
	 */
	pthread_mutex_t			lock;
	/*
	 * Lock of the card's copy of its counts of captured frames. A thread holds it while it lets
	 * the card make the copy and reads the copy. It takes @lock only after this lock.
	 */
	pthread_mutex_t			counting;
	/*
	 * condition variable that wakes waiting threads of the handle, after a thread that slept
	 * for the card (@sleeper) has woken, and after a thread has stopped a stream (@stopping)
	 */
	pthread_cond_t			woken;
	/*
	 * true: a thread sleeps on behalf of all threads that wait for buffers or for the user's
	 * interrupt, or reads the card's counts after that sleep. The value counts only if the
	 * channel is `shared` (backend.h): behind the kernel driver each thread sleeps for itself.
	 */
	bool				sleeper;
	bool				stopping;	/* true: a thread is stopping a stream */
	void				*priv;		/* data of the back end; set by open() */
	/* result of litepcie_mmio_path(): how the program's accesses reach BAR0; set by open() */
	const char			*mmio_path;
	/* flags LITEPCIE_HAS_STREAMS, _PACKETS and _BAR_MAP that back end and driver can fulfil */
	uint64_t			able;
	/*
	 * file descriptor, readable after an interrupt of the card, and through VFIO also when the
	 * kernel wants the card back; used by the folder dma/table; -1: the back end has none
	 */
	int				interrupt;
	char				*name;
	unsigned int			channel;	/* number of the DMA channel in use */
	uint64_t			bar_size[LITEPCIE_BARS];
	/* mappings of the BARs in this process; base NULL: the BAR is not mapped */
	struct litepcie_window		bar[LITEPCIE_BARS];
	/*
	 * part of a sentence, for errors: why a BAR is not mapped, why a page of a BAR is mapped
	 * for reading only, or why the kernel back end cannot tell which PCI device the card is
	 */
	char				bar_why[LITEPCIE_WHY_SIZE];
	struct litepcie_block		*blocks;
	unsigned int			block_count;
	struct litepcie_register	*registers;
	unsigned int			register_count;
	struct litepcie_card		card;
	/* CRC of the capability table at the open; after a reset it must be the same */
	uint32_t			table_crc;
	struct litepcie_map		map;
	struct litepcie_stream		h2c, c2h;
	struct litepcie_notices		notices;
	/* bus address of the notices (records and status lines); used by table_notices.c */
	uint64_t			notices_iova;
	/*
	 * option poll_us of the streams that run or ran last: time in us from one poll of the
	 * card's progress to the next; 0: the card interrupts and is not polled
	 */
	uint32_t			poll_us;
	/* true: polling by @poll_us begins only after an interrupt of the card (adaptive mode) */
	bool				adaptive;
	/*
	 * true: the timer polls the card's progress now, in place of the DMA's interrupts; always
	 * false behind the kernel driver, which polls by itself
	 */
	bool				polling;
	/*
	 * in adaptive mode, on the back ends sim and vfio: number of DMA descriptors, of both
	 * directions together, that the card had executed at the last poll by the timer
	 */
	uint64_t			looked;
	/* file descriptor of the timer that says when to poll the card; -1: not opened yet */
	int				timer;
	/* file descriptor of an epoll instance on @timer and @interrupt; -1: not opened yet */
	int				news;
	/*
	 * On a card with records (reports of its progress in host memory): time in ms at which
	 * poll_if_silent() (engine.c) was first called since this member was last set to 0, or at
	 * which it last read registers to see whether the card is still there. The start of a
	 * stream and progress of the card set it to 0.
	 */
	int64_t				silent_ms;
	/*
	 * count of dma_wait.c, to which spin() adds 1 when a wait has found finished buffers
	 * without a sleep, and poll_once() for a check, as long as @watched is false. At each
	 * multiple of SPINS the thread also sleeps for 0 ms.
	 */
	unsigned int			spins;
	/*
	 * true: the program has called litepcie_dma_fd() since the first of the running streams
	 * started, so litepcie_dma_wait() must sleep, which clears that descriptor
	 */
	bool				watched;
	/*
	 * true: since the first of the two streams started, settle_interrupts() (engine.c) has
	 * counted the interrupts at the end of a stream whose interrupts can be counted
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
