/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Streams: the DMA of one card, a stream for each direction. liblitepcie.h includes this file, and
 * says what errors, timeouts and "Threads" mean.
 *
 * A stream is a ring of buffers of equal size, numbered from 0 since its start. The two streams of
 * a card are opened, started, stopped and closed apart, with rings and options of their own. A
 * program acquires buffers in order and releases them in order. It uses a buffer in place between
 * acquire and release:
 *   c2h: an acquired buffer was filled by the card; release gives it back, to be filled again
 *   h2c: an acquired buffer is free for the program to fill; release sends it to the card
 * Data of a released buffer must not be touched.
 */
#ifndef LITEPCIE_STREAM_H
#define LITEPCIE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The limits of a stream's options, LITEPCIE_*_LEAST and LITEPCIE_*_MOST, the defaults
 * LITEPCIE_BUFFER_SIZE and LITEPCIE_BUFFER_COUNT, and the reasons LITEPCIE_RECORD_LAST, _FLUSHED
 * and _ERROR for which a c2h buffer has ended: a packet ended, no data came for the flush time, the
 * user's logic marked the packet as bad. If none is set, the buffer is full.
 */
#include "litepcie_limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The directions of the DMA: host to card (h2c), and card to host (c2h). */
#define LITEPCIE_H2C	1u
#define LITEPCIE_C2H	2u

struct litepcie;
struct litepcie_stream;
struct litepcie_memory;

struct litepcie_stream_options {
	size_t		struct_size;
	/*
	 * Size of a buffer in bytes: a power of two, LITEPCIE_BUFFER_LEAST to LITEPCIE_BUFFER_MOST.
	 * 0: LITEPCIE_BUFFER_SIZE.
	 */
	size_t		buffer_size;
	/*
	 * Number of buffers in the ring: a power of two, LITEPCIE_STREAM_BUFFERS_LEAST to
	 * table_depth of struct litepcie_card. 0: LITEPCIE_BUFFER_COUNT.
	 */
	unsigned int	buffer_count;
	/*
	 * memory: address of the program's own memory for the ring, a multiple of the page size.
	 * memory_bytes: size of that memory. The buffers follow each other from this address on,
	 * and data in the memory stays there until the card or the program overwrites it. NULL: the
	 * ring lies in memory that the library or the kernel driver allocates.
	 *
	 * The memory must stay mapped until the stream is closed, and no other thread may write to
	 * it during litepcie_stream_open() and litepcie_stream_start(). It is pinned and counts as
	 * locked memory: through VFIO while the stream is open, behind the kernel driver while the
	 * stream runs. Behind the kernel driver each buffer must lie in one page, so buffers of
	 * more than 4 KiB take huge pages. The library asks the kernel to make huge pages, which
	 * works if memory and memory_bytes are multiples of 2 MiB. Before Linux 6.1 the program
	 * must call madvise(MADV_HUGEPAGE) before the first use of the memory. The kernel driver
	 * refuses memory of a file, and shared memory other than hugetlbfs's. A simulated board
	 * takes private memory only. While a stream of a simulated board is open, the library
	 * replaces the pages of the memory by shared pages, which a child of fork() sees change.
	 */
	void		*memory;
	size_t		memory_bytes;
	/*
	 * true: the DMA itself sends its h2c data back as c2h data. Both streams must say the same,
	 * and both must run before data moves.
	 */
	bool		loopback;
	/*
	 * true: the card's pattern replaces the stream of the user slot: dword i has the value i.
	 * In c2h the card sends the pattern from dword 0 on, in h2c it compares the data with the
	 * pattern.
	 */
	bool		pattern;
	/*
	 * true: each h2c buffer is a packet, whose end the user's logic sees. When the user's logic
	 * ends a packet, the c2h buffer ends, too. A packet that is longer than a buffer continues
	 * in the next buffer. Without packets h2c is a stream without ends, and c2h buffers are
	 * always full. Packets need a card with records (block type 16 of the capability table).
	 */
	bool		packets;
	/*
	 * true: poll_us takes effect only after an interrupt, when the DMA's interrupts are
	 * switched off and the card's progress is polled. When a poll finds no further buffer done,
	 * polling ends and the interrupts are switched on again.
	 */
	bool		adaptive;
	/*
	 * c2h: the most buffers that the card gets from start to stop. 0: no limit. The last of
	 * them raises an interrupt, if the card raises any.
	 */
	uint64_t	limit;
	/*
	 * The number of buffers from one interrupt to the next. A number above buffer_count counts
	 * as buffer_count. 0: 32, or half the ring if that is less. With a smaller number the
	 * program hears of a single buffer sooner, and the card interrupts more often. In h2c the
	 * last buffer handed to the card asks for an interrupt, too, if fewer are handed at once.
	 * With loopback h2c raises no interrupts, except behind the kernel driver.
	 */
	unsigned int	interrupt_every;
	/*
	 * How many released buffers the library hands to the card at once, at most half the ring.
	 * 0: 1. A larger number saves writes to the card. Up to batch - 1 buffers are kept
	 * back: until there are enough, until a wait at which the card has less than half a ring
	 * left, or until a call of litepcie_stream_flush() or, for h2c, litepcie_stream_drain().
	 */
	unsigned int	batch;
	/*
	 * c2h with packets: a partly filled buffer ends when no more data has come for so many
	 * microseconds, at most LITEPCIE_FLUSH_US_MOST. 0: it does not end for this reason.
	 */
	unsigned int	flush_us;
	/*
	 * 0: the card interrupts when buffers are done. Otherwise a wait polls the card's progress
	 * every poll_us microseconds: LITEPCIE_POLL_US_LEAST to LITEPCIE_POLL_US_MOST. The card
	 * then raises no interrupts for buffers, unless adaptive is true. Behind the kernel driver
	 * the driver polls. A poll reads memory if the card reports its progress there by records,
	 * else registers. interrupt_every has no meaning with polling: in adaptive mode every
	 * buffer asks for an interrupt. Streams of one handle that run at the same time must agree
	 * in poll_us and adaptive.
	 */
	unsigned int	poll_us;
};

/* A buffer that the program has acquired. */
struct litepcie_buffer {
	size_t		struct_size;
	void		*data;
	/* c2h: number of bytes that the card has written; h2c: number of bytes that fit */
	size_t		bytes;
	/* number of the buffer since the start of its stream, from 0 */
	uint64_t	sequence;
	/* c2h: why the buffer ended, a sum of LITEPCIE_RECORD_ values; 0: it is full; h2c: 0 */
	uint32_t	flags;
};

/* The ring of a stream. */
struct litepcie_stream_info {
	size_t		struct_size;
	/*
	 * Address of the first buffer; the others follow. Behind the kernel driver it is NULL
	 * before the first start, and each start may change it if the library allocates the memory.
	 */
	void		*base;
	size_t		buffer_size;	/* in bytes */
	unsigned int	buffer_count;
	/*
	 * Address of the first buffer for the card; the others follow. The logic in the card's user
	 * slot may read and write the ring there by commands of its own, while the stream runs. 0
	 * behind the kernel driver, which does not give out addresses.
	 */
	uint64_t	address;
};

/* Opening and running a stream ----------------------------------------------------------------- */

/*
 * Open the stream of @direction, LITEPCIE_H2C or LITEPCIE_C2H, with @options, or with the defaults
 * if @options is NULL. The stream does not run yet. Returns 0 and the stream in @stream, or -errno;
 * -EBUSY: this handle has that stream open, -EINVAL: the options contradict each other, are out of
 * their limits, or name memory that is not aligned, too small, or the other stream's, -EFAULT: the
 * memory may not be read and written, -EOPNOTSUPP: the card or the driver does not support packets,
 * the memory is shared and the board simulated, or LitePCIe's driver has no held runs (in which the
 * card waits for buffers). Threads: alone.
 */
int litepcie_stream_open(struct litepcie *dev, unsigned int direction,
			 const struct litepcie_stream_options *options,
			 struct litepcie_stream **stream);

/*
 * Reserve the direction for this handle and start it. The card gets all buffers of a c2h ring, up
 * to the option limit, and the h2c buffers that are released from now on. Data that was in the ring
 * before may be lost, unless the ring lies in the program's own memory. Returns 0 or -errno;
 * -EBUSY: the stream runs already, or another program runs the direction, and litepcie_why() then
 * names the programs that have the card open, -EINVAL: the other stream runs and has another
 * loopback, poll_us or adaptive. The kernel driver checks the program's own memory only now:
 * -EMSGSIZE: a buffer in more than one page, -EOPNOTSUPP: memory of another kind, or that the card
 * does not reach, -ENOMEM: more than may be locked. Threads: per direction.
 */
int litepcie_stream_start(struct litepcie_stream *stream);

/*
 * Stop the stream. Data that is on its way, or in buffers that the program has not acquired, is
 * lost. A stream that does not run stays as it is. The other stream goes on. If another thread
 * waits for a buffer of this stream, its call ends with -ECANCELED.
 *
 * The call waits until the card has come to rest: for microseconds as a rule, for 3 s at most. It
 * takes no timeout, since the card may write to the ring until then. Returns 0 or -errno;
 * -ETIMEDOUT: the card did not come to rest, so it must be reset. Threads: any.
 */
int litepcie_stream_stop(struct litepcie_stream *stream);

/*
 * Stop the stream and close it, which takes as long as litepcie_stream_stop(). @stream may be NULL.
 * The ring's memory goes, unless it is the program's own or litepcie_stream_keep() keeps it.
 * Threads: per direction.
 */
void litepcie_stream_close(struct litepcie_stream *stream);

/*
 * Get the address of the stream's ring and the size and number of its buffers. Returns 0, or
 * -EINVAL if @info does not say its size. Threads: any.
 */
int litepcie_stream_info(struct litepcie_stream *stream, struct litepcie_stream_info *info);

/* Buffers of a stream -------------------------------------------------------------------------- */

/*
 * Count the buffers that can be acquired at once. If there is none, wait up to @timeout_ms for the
 * first, for ever if that is negative. With a timeout of 0 the call looks at the card's progress
 * and does not wait: it reads memory if the card reports its progress there by records. On any
 * other card, or if there is no progress for some time, it reads registers. Returns the number of
 * buffers, or 0 if there is none, or -errno; -EINVAL: the stream does not run, -ECANCELED: another
 * thread has stopped it. Threads: per direction.
 */
int litepcie_stream_ready(struct litepcie_stream *stream, int timeout_ms);

/*
 * Acquire the next buffer: of c2h the next that the card has filled, of h2c the next that is free.
 * If there is none, the call looks or waits as litepcie_stream_ready() does. A program may have any
 * number of buffers acquired. Returns 1 and the buffer in @buffer, or 0 if no buffer came in time,
 * or -errno; -EINVAL: the stream does not run, -ECANCELED: another thread has stopped it. Threads:
 * per direction.
 */
int litepcie_stream_acquire(struct litepcie_stream *stream, struct litepcie_buffer *buffer,
			    int timeout_ms);

/*
 * Give the @count oldest of the acquired buffers to the card: of c2h to be filled again, of h2c to
 * be sent, each as a whole. Returns 0 or -errno; -EINVAL: fewer buffers are acquired, or the stream
 * does not run. Threads: per direction.
 */
int litepcie_stream_release(struct litepcie_stream *stream, unsigned int count);

/*
 * Release the oldest acquired buffer of an h2c stream, and send its first @bytes: at least 1 byte,
 * at most the whole buffer. With packets these bytes are a packet. Without packets the next buffer
 * continues the stream at a new beat, and the bytes of this buffer's last beat that were not sent
 * are undefined. LitePCIe's endpoint moves whole beats, so with that endpoint @bytes must be a
 * multiple of a beat, data_width / 8 bytes (struct litepcie_card). Returns 0 or -errno; -EINVAL:
 * @bytes is not allowed, the stream is c2h or does not run, or no buffer is acquired. Threads: per
 * direction.
 */
int litepcie_stream_send(struct litepcie_stream *stream, size_t bytes);

/*
 * Hand the released buffers that are kept back for a batch to the card now. Returns 0 or -errno;
 * -EINVAL: the stream does not run. Threads: per direction.
 */
int litepcie_stream_flush(struct litepcie_stream *stream);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the card has received the data of every
 * released buffer of an h2c stream, and the logic in its user slot has taken the data. A stop then
 * loses no data. LitePCIe's endpoint reports neither of the two. With that endpoint the call goes
 * by the card's count of received bytes, and the logic may not have taken the last data yet.
 * Returns 0 or -errno; -ETIMEDOUT: the data is not yet received and taken, -EINVAL: the stream is
 * c2h or does not run, -ECANCELED: another thread has stopped it. Threads: per direction.
 */
int litepcie_stream_drain(struct litepcie_stream *stream, int timeout_ms);

/* Both streams --------------------------------------------------------------------------------- */

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the card has finished a further buffer
 * in one of @directions. Buffers of @directions that are kept back for a batch go to the card first
 * if it would run short of buffers. Buffers of other directions are kept back. If an interrupt is
 * lost, the wait may end about 1.2 s later. On a card with records (reports of its progress in host
 * memory) a program that looks again and again, with a timeout of 0, reads memory, and registers
 * only if there is no progress for some time. Returns 1, or 0 when the time is over, or -errno;
 * -EINVAL: @directions names none, or one that does not exist or does not run, -ECANCELED: another
 * thread has stopped one of them, -EIO: the card was reset, -ENODEV: the card is gone, or through
 * VFIO the kernel wants it back. In that case stop and close the card, since the kernel waits for
 * that. Threads: per direction.
 */
int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);

/*
 * Get a descriptor for poll(). It is readable when a running stream may have finished buffers, or
 * with poll_us when the card's progress is to be polled. It stays readable until the next
 * litepcie_dma_wait(), whose timeout may be 0. A wait of any call may take the news of both
 * directions and clear the descriptor. So call litepcie_stream_ready() for both directions with a
 * timeout of 0, which clears nothing, and poll() only if no direction has buffers. The descriptor
 * may also be readable when nothing new has come. The descriptor belongs to the library and must be
 * neither read nor closed. It is valid for the streams that run; after a further start, call this
 * again. Returns the descriptor, or -errno; -EINVAL: behind the kernel driver no direction runs.
 * Threads: any.
 */
int litepcie_dma_fd(struct litepcie *dev);

/* Memory of a stream's ring -------------------------------------------------------------------- */

/*
 * Get a descriptor of the memory of a running stream's ring, for another process or another device.
 * A shared mmap() of the descriptor has buffer 0 at its beginning. Behind the kernel driver the
 * descriptor is a dma-buf, else a file of memfd_create(). The memory exists until the descriptor is
 * closed everywhere, but the next start may use other memory. A process that has the descriptor
 * sees the data that the card writes, and can write data that the card reads. Only this process
 * knows how far the card is. The caller closes the descriptor.
 *
 * Returns 0 and the descriptor in @fd, or -errno; -EINVAL: the stream does not run, -EADDRINUSE:
 * the ring lies in the program's own memory, -EOPNOTSUPP: on this machine the kernel driver cannot
 * share a ring. Threads: any.
 */
int litepcie_stream_export(struct litepcie_stream *stream, int *fd);

/*
 * Keep the memory of a stream's ring mapped for this process until litepcie_memory_drop() of
 * @memory: over the end of the run, litepcie_stream_close() and litepcie_close(). Behind the kernel
 * driver the device file counts as used until then. For a ring in the program's own memory the call
 * keeps nothing. Returns 0 or -errno; -EINVAL: the ring has no memory yet, as before the first
 * start behind the kernel driver. Threads: any.
 */
int litepcie_stream_keep(struct litepcie_stream *stream, struct litepcie_memory **memory);

/*
 * Give up memory that litepcie_stream_keep() returned. The memory is unmapped when nothing else
 * keeps it and the library no longer needs it. The card may have been closed before. If @memory is
 * NULL, nothing happens. Threads: any.
 */
void litepcie_memory_drop(struct litepcie_memory *memory);

#ifdef __cplusplus
}
#endif

#endif /* LITEPCIE_STREAM_H */
