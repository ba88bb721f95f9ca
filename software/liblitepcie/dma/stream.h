/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of a stream. open.c opens and closes the stream. dma.c starts and stops it, and hands
 * out its buffers to the program. dma_wait.c waits for the card, and dma_drain.c waits until the
 * card and its user's logic have all h2c data. engine.c makes the run of a stream: it gives buffers
 * to the card.
 */
#ifndef LITEPCIE_DMA_STREAM_H
#define LITEPCIE_DMA_STREAM_H

#include <stdatomic.h>

#include "describe/map.h"
#include "litepcie_stream.h"

/*
 * A mapping of host memory that the card uses: the ring of a stream or of a capture, or memory for
 * records and status lines. The struct counts the users of the mapping: the back end, and each
 * litepcie_stream_keep(). The last litepcie_memory_drop() unmaps the memory, unless it is the
 * program's own.
 */
struct litepcie_memory {
	_Atomic unsigned int	users;
	void			*base;
	size_t			size;
	int			fd;	/* file descriptor of the mapped file; -1: none */
	/* true: the memory is the program's own, so the library does not unmap it */
	bool			placed;
};

/*
 * The stream of one direction: its ring, and the counts of its buffers since the start. Buffer
 * numbers have 64 bits and never wrap.
 *
 * The thread of the stream (the one thread that acquires and releases its buffers) writes @sw,
 * @acquired, @spared and @wanted, also without the handle's lock. It also reads @options, @base,
 * @ahead, @handed and @uneven without the lock. All other writes of members are made under the
 * lock.
 */
struct litepcie_stream {
	struct litepcie	*dev;
	unsigned int	direction;	/* LITEPCIE_H2C or LITEPCIE_C2H */
	const char	*name;		/* "h2c" or "c2h" */
	const struct litepcie_dma_registers *registers;
	bool		open;		/* true between litepcie_stream_open() and _close() */
	/*
	 * the program's options, with the default in place of a 0 in buffer_size, buffer_count and
	 * batch
	 */
	struct litepcie_stream_options options;

	/* mapping of the ring's memory, owned by the back end; NULL: the ring has no memory yet */
	struct litepcie_memory *memory;
	/*
	 * address of the ring in this process; NULL: the ring has no memory yet, as of a closed
	 * stream, or of one that was not started yet behind the kernel driver
	 */
	uint8_t		*base;
	/* bus address of the ring's memory, set by table.c; 0 behind the kernel driver */
	uint64_t	iova;

	/*
	 * number of buffers since the start that the library knows to be finished: filled by the
	 * card (c2h), or fetched by the card (h2c)
	 */
	_Atomic uint64_t hw;
	/* number of buffers that the program has released since the start */
	_Atomic uint64_t sw;
	/* number of buffers that the program has acquired since the start */
	uint64_t	acquired;
	/*
	 * by how much @acquired may exceed @hw: for c2h 0; for h2c the number of buffers of the
	 * ring, since all buffers are free at the start
	 */
	uint64_t	ahead;
	/*
	 * value of @sw at the last hand-over of released buffers to the card; buffers that were
	 * released later wait for a batch
	 */
	uint64_t	handed;
	/* h2c: bytes of released buffers that are not sent, since buffers were sent only in part */
	uint64_t	spared;
	/* true while the stream runs; may be read without the handle's lock */
	_Atomic bool	active;
	/* number of stops of this stream since litepcie_open(); a waiting thread compares it */
	unsigned int	stops;

	/* number of DMA descriptors (one for each buffer) given to the card since the start */
	uint64_t	posted;
	/* number of DMA descriptors since the start that the card is known to have executed */
	uint64_t	done;
	/* how many of the @done executed DMA descriptors asked for an interrupt */
	uint64_t	asked;
	/* for each buffer of the ring: true if its DMA descriptor asks for an interrupt */
	bool		*asks;
	/* h2c: true if a buffer of this run was sent only in part, so that @lengths must be used */
	bool		uneven;
	/*
	 * h2c, for each buffer of the ring: bytes to send of the buffer that the card was given;
	 * set only while @uneven is true
	 */
	uint32_t	*lengths;
	/*
	 * h2c, for each buffer of the ring: bytes to send of a buffer that the card has not been
	 * given yet; copied to @lengths when the card is given the buffer; set only while @uneven
	 * is true
	 */
	uint32_t	*wanted;
	/*
	 * h2c: number of buffers whose data has come to the card, and the bytes of these buffers;
	 * read only if map.h2c_in_flight is not 0 and @uneven is true
	 */
	uint64_t	arrived, arrived_bytes;
	/*
	 * h2c, if map.h2c_in_flight is not 0: the card's count of received bytes (answers to its
	 * reads) at the start
	 */
	uint64_t	received_before;
	/*
	 * a buffer asks for an interrupt if its number plus 1 is a multiple of this, unless @silent
	 * is true; post() in engine.c says which other buffers ask for one
	 */
	unsigned int	interrupt_every;
	/* true: no buffer of this run asks the card for an interrupt */
	bool		silent;
};

static inline uint64_t litepcie_count(const _Atomic uint64_t *count)
{
	return atomic_load_explicit((_Atomic uint64_t *)count, memory_order_acquire);
}

static inline void litepcie_count_set(_Atomic uint64_t *count, uint64_t value)
{
	atomic_store_explicit(count, value, memory_order_release);
}

static inline size_t litepcie_ring_bytes(const struct litepcie_stream *stream)
{
	return stream->options.buffer_size * stream->options.buffer_count;
}

/* Give the streams of a new handle their names and registers. */
void litepcie_streams_init(struct litepcie *dev);

/* Returns 0, or -EINVAL with a sentence if one of @directions does not run. */
int litepcie_check_active(struct litepcie *dev, unsigned int directions);

/*
 * Give the card the released buffers of @directions that were kept back for a batch. Streams that
 * do not run are left out. Returns 0, or -errno with a sentence. The caller holds the lock.
 */
int litepcie_hand_over(struct litepcie *dev, unsigned int directions);

/*
 * Wait until the number of finished buffers of @directions, added up, differs from @before. Returns
 * 1 then, 0 after @timeout_ms, or -errno with a sentence: -ECANCELED after a stop by another
 * thread, -EINVAL if one of @directions does not run. With a negative @timeout_ms the wait has no
 * end of time. The caller holds the lock, which is released in sleeps.
 */
int litepcie_wait_for(struct litepcie *dev, unsigned int directions, uint64_t before,
		      int timeout_ms);

/*
 * Wait until the card has finished more than @known buffers of @stream, at most @timeout_ms. A
 * @timeout_ms of 0 reads the counts once. Returns -errno as litepcie_wait_for() does. A result of 0
 * or more says nothing about buffers: the caller reads stream->hw again. The caller does not hold
 * the lock.
 */
int litepcie_wait_beyond(struct litepcie_stream *stream, uint64_t known, int timeout_ms);

/* Returns -ECANCELED with the sentence that another thread has stopped the DMA during a wait. */
int litepcie_stopped(void);

/*
 * Sleep once until the card may have made progress, at most @timeout_ms, then read the card's
 * counts. If the channel is `shared` and another thread sleeps already, this thread waits until
 * that thread has woken and has read the counts, or until a stop has ended. Returns 1 if the card
 * may have made progress or the other thread has woken, 0 if the time is over, or -errno. The
 * caller holds the lock, which is released in the sleep.
 */
int litepcie_sleep_once(struct litepcie *dev, unsigned int directions, int timeout_ms);

/* Do what litepcie_diagnose() does, for a caller that holds the handle's lock. */
void litepcie_diagnose_held(struct litepcie *dev, unsigned int directions, char *text,
			    size_t size);

/*
 * Check that the ring of @stream can lie in the program's own memory that its options name, and ask
 * the kernel for huge pages there. Returns 0, or -EINVAL, -EFAULT or -EOPNOTSUPP with a sentence.
 */
int litepcie_check_memory(struct litepcie_stream *stream);

#endif /* LITEPCIE_DMA_STREAM_H */
