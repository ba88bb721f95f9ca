/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The interface of a back end: struct litepcie_backend has the functions by which registers and
 * memory are reached, and struct litepcie_channel has those by which the DMA runs.
 *
 * The code of the DMA stands in these folders, from the calls of the program to the card:
 *   dma      the calls of a stream: which buffers belong to the program, and waits
 *   dma/engine
 *            a run: which buffers the card gets, which of them raise interrupts, lost interrupts
 *   dma/table, kernel/channel.c
 *            the two implementations of struct litepcie_channel, which hand buffers over and read
 *            the counts of finished buffers. That of the folder dma/table serves the back ends vfio
 *            and sim: it uses the card's own descriptor table. That of the folder kernel uses calls
 *            of the driver.
 *   vfio, sim, kernel
 *            the three back ends
 * The folder describe reads the card's description of itself: its blocks, registers and identity.
 *
 * These rules hold for each function of both tables, unless its comment says otherwise:
 *   lock     dev->lock is held
 *   sleep    the function does not sleep. An access waits for the card, and a call of the kernel
 *            for the kernel, with the lock held.
 *   result   0, or -errno with a sentence for litepcie_why()
 *   arguments
 *            the caller has checked them: offsets are aligned and lie inside the BAR
 *   units    offsets and sizes are in bytes, timeouts in ms and never negative
 */
#ifndef LITEPCIE_BACKEND_H
#define LITEPCIE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "liblitepcie.h"
#include "litepcie_capture.h"

struct litepcie_capture_access;
struct litepcie_memory;

/*
 * The kinds of host memory that memory() of a back end provides: the rings of h2c and c2h, notices
 * (records and status lines that the card writes, see notices.h), and for each queue of a capture
 * its ring and its status line (capture.h). The two constants for a capture are those of queue 0.
 * For queue n, 2 * n is added to each of the two.
 */
#define LITEPCIE_QUEUES_MOST	LITEPCIE_CAPTURE_QUEUES
#define LITEPCIE_MEMORY_H2C	0u
#define LITEPCIE_MEMORY_C2H	1u
#define LITEPCIE_MEMORY_NOTICES	2u
#define LITEPCIE_MEMORY_CAPTURE	3u
#define LITEPCIE_MEMORY_CAPTURE_STATUS	4u
#define LITEPCIE_MEMORIES	(LITEPCIE_MEMORY_CAPTURE + 2 * LITEPCIE_QUEUES_MOST)

/*
 * An entry of a list of writes to BAR0 that are made in order: a write of 4 or 8 bytes. The layout
 * is that of a simulated board's messages, so a list of writes is copied as a whole.
 */
struct litepcie_post {
	uint64_t	offset;
	uint32_t	bar;	/* number of the BAR: always 0 */
	uint32_t	size;
	uint64_t	value;
};

/* How a back end makes writes to BAR0. */
enum litepcie_post_by {
	/*
	 * a write of the library: behind the kernel driver the write is an ioctl(), which reaches
	 * the opened card for certain, and not a store to a mapping of the BAR
	 */
	LITEPCIE_POST_OWN,
	/* a write of the library that the back end may keep back until the next access or sleep */
	LITEPCIE_POST_LATER,
	/*
	 * a write that the program asks for (litepcie_bar_write_burst()): a store to the mapping if
	 * the register's page is mapped for writing, else as litepcie_bar_write() makes it
	 */
	LITEPCIE_POST_PROGRAM,
};

/* Where the counts of finished buffers are read. */
enum litepcie_ask {
	/*
	 * read the counts in host memory, if the card or the driver writes them there, else in
	 * registers
	 */
	LITEPCIE_ASK_MEMORY,
	/*
	 * read registers of the card, too, which also finds out whether the card is still there;
	 * behind the kernel driver an ioctl() does so
	 */
	LITEPCIE_ASK_CARD,
};

/* The functions by which the streams of a handle use the DMA, whatever the back end is. */
struct litepcie_channel {
	/*
	 * Reserve the direction for this handle and make its ring, or release the direction.
	 * Returns -EBUSY if another program has it. NULL: no other program can have a direction
	 * while this handle is open, and setup() makes the ring.
	 */
	int (*own)(struct litepcie_stream *stream, bool on);
	/*
	 * Make the ring that the stream's options describe. The back end kernel makes the ring only
	 * at the start of the stream: its setup() only returns -EOPNOTSUPP if the driver has no
	 * held runs, in which the card waits for buffers.
	 */
	int (*setup)(struct litepcie_stream *stream);
	/*
	 * Give up the ring's memory. It is freed, unless it is the program's own or
	 * litepcie_stream_keep() keeps it. The stream does not run.
	 */
	void (*free)(struct litepcie_stream *stream);
	/* Get the stream ready for a run, before the card gets the run's first descriptor. */
	int (*start)(struct litepcie_stream *stream);
	/*
	 * Enable the direction. If it is c2h, post() has handed the run's first buffers over
	 * before, by which the kernel driver has enabled c2h already.
	 */
	int (*run)(struct litepcie_stream *stream);
	/*
	 * Stop the direction, which is active, or whose start has failed halfway. When stop()
	 * returns 0, the direction is at rest. The card then makes no further access to the ring,
	 * except that with LitePCIe's endpoint the last c2h writes may still be on their way.
	 */
	int (*stop)(struct litepcie_stream *stream);
	/*
	 * Hand the card @count buffers from number @first on: at least one, at most all buffers of
	 * the ring. stream->asks says for each buffer whether it asks for an interrupt. If
	 * stream->uneven is true, stream->lengths says how many bytes of it are sent (h2c).
	 */
	int (*post)(struct litepcie_stream *stream, uint64_t first, uint64_t count);
	/*
	 * Bring hw (the count of finished buffers) of the active streams up to date, and call
	 * litepcie_engine_done().
	 */
	int (*progress)(struct litepcie *dev, enum litepcie_ask ask);
	/*
	 * Sleep until the card may have made progress in @directions, at most @timeout_ms, and
	 * clear the descriptor of event_fd(). @directions is 0 in a wait for the user's interrupt:
	 * then the kernel driver's descriptor is not cleared. The lock is released in the sleep.
	 * Returns 1 for possible progress, or 0 when the time is over or the timer of a polled
	 * stream has fired. The caller then calls progress().
	 */
	int (*sleep)(struct litepcie *dev, unsigned int directions, int timeout_ms);
	/*
	 * Handle the card's interrupt that has ended sleep(): clear its cause in the card, begin
	 * polling in adaptive mode, and look for an interrupt of the user's logic if that is on.
	 * NULL: the driver does that.
	 */
	int (*woken)(struct litepcie *dev);
	/*
	 * true: sleep() wakes at an interrupt of either direction and of the user's logic. So only
	 * one thread of the handle sleeps, and wakes the others that wait. spin() (dma_wait.c) may
	 * check the records in memory before the sleep. false: each thread sleeps for the
	 * directions that it waits for, and sleep() itself checks the memory first.
	 */
	bool shared;
	/* Returns the file descriptor of litepcie_dma_fd(), which the caller must not close. */
	int (*event_fd)(struct litepcie *dev);
	/* Returns a new file descriptor of the ring of an active stream. The program closes it. */
	int (*export)(const struct litepcie_stream *stream);
	/* Switch the interrupt of the user's logic on or off, and set dev->user_enabled. */
	int (*user_enable)(struct litepcie *dev, bool on);
	/*
	 * Set dev->user_raised if the interrupt of the user's logic has come. A result of 0 or more
	 * is no error.
	 */
	int (*user_poll)(struct litepcie *dev);
};

struct litepcie_backend {
	/* Facts about the back end ------------------------------------------------------------ */

	const char *name;
	/*
	 * true: all threads share one connection to the process of a simulated board, so each
	 * access takes the handle's lock
	 */
	bool serial;
	/*
	 * true: the back end replaces the pages of a program's own memory, so these pages must be
	 * private
	 */
	bool exchanges;
	/*
	 * true: two interrupts may merge into one before this back end counts them, for example in
	 * the interrupt controller of a CPU, so the number of interrupts is not exact
	 */
	bool merges;
	/* Functions by which the streams of the DMA reach the card. */
	const struct litepcie_channel *channel;
	/* Functions by which a capture reaches the card. NULL: those of capture_access.c. */
	const struct litepcie_capture_access *capture;

	/* Open, close and reset of the card ---------------------------------------------------- */

	/*
	 * Parse dev->name and make the registers reachable: set dev->bar_size and dev->mmio_path,
	 * and dev->bar of each BAR that the back end maps.
	 * An open() that fails has undone what it did, and close() is not called. -ENOMEM may come
	 * without a sentence.
	 */
	int (*open)(struct litepcie *dev);
	/*
	 * Stop DMA that an earlier client left running, and set up interrupts and bus mastering,
	 * after the card has been identified. dev->map is known. A failure is followed by close(),
	 * or after a reset by a later close(). NULL: a kernel driver has done this.
	 */
	int (*attach)(struct litepcie *dev);
	/* Free all that open(), attach() and memory() have made. No stream or capture is open. */
	void (*close)(struct litepcie *dev);
	/*
	 * Reset the card. Its registers are then reachable, and the caller calls
	 * litepcie_card_check() and attach(). No stream runs. Returns -EOPNOTSUPP if the kernel
	 * cannot reset the card.
	 */
	int (*reset)(struct litepcie *dev);

	/* Registers and BARs ------------------------------------------------------------------ */

	/*
	 * Read consecutive words of 4 bytes from BAR0. The caller asks for more than one word only
	 * where reading has no side effects.
	 */
	int (*read_words)(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);
	/*
	 * Make writes to BAR0 in order. The writes may still be on their way to the card when
	 * post() returns. A later read comes after all of them. With LITEPCIE_POST_PROGRAM the lock
	 * is held only if the back end is serial.
	 */
	int (*post)(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		    enum litepcie_post_by by);
	/*
	 * Make one access of the program, of 1, 2, 4, 8, 16, 32 or 64 bytes, to a BAR that is not
	 * mapped. bar_write() also gets the writes to a BAR of which some pages are mapped for
	 * reading only. The lock is held only if the back end is serial, so several threads may be
	 * in these functions. Returns -EOPNOTSUPP if the driver cannot make an access of this size.
	 * NULL: this back end maps every BAR of dev->bar_size.
	 */
	int (*bar_read)(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size);
	int (*bar_write)(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size);
	/* Memory that the card reaches -------------------------------------------------------- */

	/*
	 * Provide memory of @kind (a LITEPCIE_MEMORY_ value) for the folder dma/table and for
	 * capture_access.c. The card reaches the memory at *@iova. New memory is all zeros. If
	 * @place is not NULL, the program's memory there is used, and its contents are kept. The
	 * memory replaces the last memory of the same kind, and belongs to the back end.
	 */
	int (*memory)(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		      struct litepcie_memory **memory, uint64_t *iova);
	/*
	 * Take memory of @kind from the card. The memory is then freed, unless it is the program's
	 * own or litepcie_stream_keep() keeps it. Nothing happens if there is no memory of @kind.
	 */
	void (*memory_free)(struct litepcie *dev, unsigned int kind);

	/* Interrupts of the card -------------------------------------------------------------- */

	/*
	 * Sleep until the card interrupts, at most @timeout_ms. The lock is released in the sleep.
	 * Returns 1 after an interrupt, with stats.interrupts brought up to date. Returns 0 when
	 * the time is over, when the descriptor litepcie_timer() is readable, or when the kernel
	 * wants the device back.
	 */
	int (*sleep)(struct litepcie *dev, int timeout_ms);
	/*
	 * Returns 1 if the card is gone, which an earlier call has reported, or -ENODEV if the
	 * kernel wants the device back, else 0. This function sets no sentence:
	 * litepcie_check_wanted() does. NULL: always 0.
	 */
	int (*state)(struct litepcie *dev);
};

extern const struct litepcie_backend litepcie_kernel_backend;
extern const struct litepcie_backend litepcie_sim_backend;
extern const struct litepcie_backend litepcie_vfio_backend;

#endif /* LITEPCIE_BACKEND_H */
