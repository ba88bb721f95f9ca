/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * liblitepcie: registers, MMIO and DMA of one Lanebox card.
 *
 * The same calls reach a card through Lanebox's kernel driver, through VFIO without any module of its
 * own, or, without a machine around it, the simulated board behind a vfio-user socket. They mean the
 * same on each: the card has the buffers that it was given and waits when it has none, so no data is
 * lost or sent twice, however slow the program is. Behind LitePCIe's own driver, which cannot do
 * that, there are registers and memory. What the card has, and where, it says itself: one library
 * fits every build of the gateware.
 *
 * Every call that can fail returns 0 or a count, or -errno; litepcie_why() then has a sentence.
 * Nothing is printed, no signal is touched, no thread is made. Every call that can block takes a
 * timeout or ends within the one of the device string.
 *
 * A timeout is in milliseconds, as poll()'s: 0 is a look without waiting, a negative one waits for
 * ever. A wait, for ever or not, also ends
 *   with -ECANCELED  within a fifth of a second after another thread has stopped the DMA, by
 *                    litepcie_dma_stop(), or switched the user's interrupt off
 *   with -EINTR      when a signal is handled by the thread that sleeps: of several threads that
 *                    wait on one handle only one does, and one that is not asleep yet misses it.
 *                    A signal never ends a register access.
 *
 * Handles are independent of each other. On one handle each call says who may be in it:
 *   Threads: any.       at any time, from any number of threads
 *   Threads: one way.   one thread for h2c and one for c2h, which may be two
 *   Threads: alone.     no other call on this handle at the same time
 *
 * Errors with a meaning of their own:
 *   -ENODEV     the card is gone: the board process left, or nothing is bound to the driver; or,
 *               from a wait, VFIO wants it back: whoever unbinds or removes it waits for our close
 *   -EIO        the card does not answer: it reads all ones, or reports the impossible; or it was
 *               reset while a direction ran, which must be stopped and started again
 *   -ETIMEDOUT  nothing came in time
 *   -ECANCELED  another thread ended what this one waited for
 *   -EBUSY      another program, or another handle, runs this DMA direction
 *   -EPROTO     the peer does not speak the protocol, or the card is of another kind or version
 *   -EOPNOTSUPP this back end cannot make this access, or its driver cannot hold a stream
 *   -ENOENT     the card has no such block, register or BAR
 */
#ifndef LIBLITEPCIE_H
#define LIBLITEPCIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LITEPCIE_WHY_SIZE	320	/* of a sentence, the longest path included */

/* Directions, by the way the data goes. */
#define LITEPCIE_H2C	1u
#define LITEPCIE_C2H	2u

/* Most parameters of a block that litepcie_block() hands out; BARs of a card. */
#define LITEPCIE_PARAMETERS	16
#define LITEPCIE_BARS		6

/* Shapes of a ring; the most buffers are card.table_depth. */
#define LITEPCIE_BUFFER_SMALLEST	4096u
#define LITEPCIE_BUFFER_LARGEST		4194304u
#define LITEPCIE_BUFFERS_FEWEST		16u

/* Longest flush time of litepcie_dma_config. */
#define LITEPCIE_FLUSH_US_LARGEST	1000000u

/* Why a c2h buffer has ended, of litepcie_c2h_record. None is set: it is full. */
#define LITEPCIE_RECORD_LAST	1u	/* the packet ends with it */
#define LITEPCIE_RECORD_FLUSHED	2u	/* the flush time was over */
#define LITEPCIE_RECORD_ERROR	4u	/* the logic in the user slot called the packet bad */

struct litepcie;
struct litepcie_memory;

/* What the card was built from and for, by its capability table. */
struct litepcie_card {
	char		target[32];	/* board that it was built for */
	char		digest[65];	/* SHA-256 over the gateware's sources, in hexadecimal */
	char		identifier[128];
	char		endpoint[16];	/* "litepcie", "lanebox", or "unknown" to this library */
	unsigned int	blocks;		/* for litepcie_block() */
	unsigned int	channels;	/* of DMA */
	unsigned int	data_width;	/* bits */
	unsigned int	address_width;	/* bits of host memory that the DMA reaches */
	unsigned int	table_depth;	/* descriptors, which is the most buffers in a ring */
	unsigned int	read_tags;	/* reads that the card may have in flight */
	uint32_t	clock_hz;
	uint32_t	tick_ps;	/* of device time, never 0 */
};

/* An entry of that table. Types and parameters: software/kernel/uapi/litepcie_capability.h. */
struct litepcie_block {
	unsigned int	type;
	unsigned int	version;
	unsigned int	index;		/* among blocks of this type */
	unsigned int	bar;
	uint32_t	offset;		/* in the BAR */
	uint32_t	size;		/* bytes */
	unsigned int	parameters;
	uint32_t	parameter[LITEPCIE_PARAMETERS];
};

/* A register as LiteX names it. One of two words has its upper half first. */
struct litepcie_register {
	char		name[64];
	uint32_t	offset;		/* in BAR0 */
	unsigned int	words;		/* of 32 bits */
	bool		writable;
};

/* A BAR in this process' memory. */
struct litepcie_window {
	volatile void	*base;
	size_t		size;
	bool		write_combining;	/* else each access is a TLP of its own */
	bool		partial;	/* of some pages: a store there ends in SIGSEGV */
};

/* What was negotiated, as the card sees it. */
struct litepcie_conditions {
	unsigned int	mps;		/* bytes, largest payload of a write */
	unsigned int	mrrs;		/* bytes, largest read request */
	bool		link_up;
	unsigned int	link_gen;	/* 1, 2, 3 */
	unsigned int	link_lanes;
	bool		msi;		/* the host enabled message signalled interrupts */
};

/* Counts of one of the hard block's TLP streams; first and last are device times. */
struct litepcie_stream {
	uint64_t	beats;
	uint64_t	stalls;
	uint64_t	tlps;
	uint64_t	payload_bytes;
	uint64_t	first;
	uint64_t	last;
};

/* All taken at one clock edge, at device time @time. */
struct litepcie_counters {
	uint64_t		time;
	struct litepcie_stream	cq, cc, rq, rc;
};

/* What the pattern checker in the card found since it was switched on. */
struct litepcie_pattern {
	uint64_t	beats;		/* of 32 bytes, compared */
	uint32_t	errors;		/* beats with a wrong dword */
	uint64_t	first_error;	/* number of the first of them */
};

struct litepcie_dma_config {
	unsigned int	directions;	/* LITEPCIE_H2C | LITEPCIE_C2H */
	bool		loopback;	/* inside the DMA: what goes h2c comes back c2h */
	/*
	 * The card's pattern in place of the user's streams: dword i of a stream has the value i.
	 * c2h sends it from dword 0 on, h2c consumes and compares it.
	 */
	bool		pattern;
	/*
	 * Each buffer of h2c is a packet: the user's logic sees its end. A packet that the user's logic
	 * ends, ends its c2h buffer, too; one that is longer than a buffer goes on in the next.
	 * Without packets h2c is a stream without ends, and c2h buffers are always full. It takes a
	 * card with records: block 16 of its table.
	 */
	bool		packets;
	/*
	 * Buffers that may be given to the card for c2h in all, 0: no limit. The last of them
	 * raises an interrupt.
	 */
	uint64_t	c2h_limit;
	/*
	 * Buffers from one interrupt to the next, at most all of the ring; 0: 32, or half the ring
	 * if that is less. Fewer make a single buffer known sooner and cost more interrupts.
	 */
	unsigned int	interrupt_every;
	/*
	 * Released or submitted buffers of which the card is told together, 0: 1. Fewer messages,
	 * or writes to the card, for up to batch - 1 buffers that it hears of later: when there are
	 * enough, at a wait when it has less than half a ring to go on with, or at
	 * litepcie_dma_flush() and litepcie_h2c_drain(). At most half the ring.
	 */
	unsigned int	batch;
	/*
	 * With packets: a c2h buffer that has some data ends when no more has come for so many
	 * microseconds, at most LITEPCIE_FLUSH_US_LARGEST. 0: never.
	 */
	unsigned int	flush_us;
};

/* How a filled c2h buffer has ended. */
struct litepcie_c2h_record {
	uint32_t	bytes;		/* of data, from the buffer's start */
	uint32_t	flags;		/* LITEPCIE_RECORD_ */
};

struct litepcie_stats {
	uint64_t	h2c_submitted;	/* buffers */
	uint64_t	h2c_done;	/* buffers that the card has fetched */
	uint64_t	c2h_done;	/* buffers that the card has filled */
	uint64_t	c2h_released;	/* buffers that the user gave back */
	int64_t		interrupts;	/* taken, -1: cannot be known */
	/* At least so many must have come, -1: as above, or two may become one on their way. */
	int64_t		interrupts_expected;
	uint64_t	interrupts_missed;	/* surely lost; final after litepcie_dma_stop() */
	uint64_t	woken_by_timeout;	/* waits with progress but no interrupt */
	uint64_t	batches;	/* times that the card was told of buffers */
	/* Of the buffers that are done; 0 where the card does not say so. */
	uint64_t	c2h_errors;	/* the user's logic called their packet bad */
	uint64_t	h2c_errors;	/* some of their data could not be fetched */
};

/* Device -------------------------------------------------------------------------------------- */

/*
 * Open the card named @name: "/dev/litepcieN", "vfio:ADDRESS[,channel=N][,type1|,iommufd]", or
 * "sim:SOCKET[,mps=BYTES][,mrrs=BYTES][,timeout=SECONDS]".
 *
 * With "vfio:", like "vfio:0000:22:00.0", the card must be bound to vfio-pci and be behind an
 * IOMMU; no module of its own is needed. The kernel is asked by iommufd where it has that and the
 * user may open its files, else by type1, unless the string names one of them. All BARs are then
 * uncached, memory too: each access is a TLP of its own, so what is to be fast must go by DMA, or
 * by the kernel driver, which can map memory write-combining.
 *
 * With "sim:" the caller is the whole host: the card gets its BAR addresses, maximum sizes (by
 * default what it advertises, and 512), MSI and DMA memory here.
 *
 * Returns 0 and the handle in @dev, or -errno; @why, if not NULL, then gets a sentence of at most
 * LITEPCIE_WHY_SIZE bytes. Threads: any.
 */
int litepcie_open(struct litepcie **dev, const char *name, char *why);

/*
 * Stop what runs, leave the card quiet and free everything. NULL is allowed. Threads: alone.
 */
void litepcie_close(struct litepcie *dev);

/*
 * Reset the card, as after power-on, and get it ready again: registers lose what was in them, rings
 * keep their shape. No direction may run. By way of the kernel driver it takes root. Returns 0 or
 * -errno: -EBUSY while DMA runs, -EOPNOTSUPP where the host knows no reset. Threads: alone.
 */
int litepcie_reset(struct litepcie *dev);

/*
 * The name that the card was opened by. Threads: any.
 */
const char *litepcie_name(const struct litepcie *dev);

/*
 * The way it is reached: "kernel", "vfio" or "sim". Threads: any.
 */
const char *litepcie_backend(const struct litepcie *dev);

/*
 * Why this thread's last call that failed did, in a sentence; it may have been litepcie_open(), and
 * @dev may be NULL. Valid until this thread's next one fails. Threads: any.
 */
const char *litepcie_why(const struct litepcie *dev);

/*
 * What an error of this library means, positive or negative, when there is no sentence at hand.
 * Threads: any.
 */
const char *litepcie_strerror(int error);

/* What the card is ---------------------------------------------------------------------------- */

/*
 * What the card says of itself; it was read when the card was opened. Threads: any.
 */
void litepcie_card(const struct litepcie *dev, struct litepcie_card *card);

/*
 * Block @number of the capability table, from 0. Returns 0, or -ENOENT behind the last one.
 * Threads: any.
 */
int litepcie_block(struct litepcie *dev, unsigned int number, struct litepcie_block *block);

/*
 * Block number @index of this @type. Returns 0, or -ENOENT: the card has none. Threads: any.
 */
int litepcie_block_find(struct litepcie *dev, unsigned int type, unsigned int index,
			struct litepcie_block *block);

/*
 * The gateware's identifier, cut to @size bytes and always terminated. Returns 0. Threads: any.
 */
int litepcie_identifier(struct litepcie *dev, char *text, size_t size);

/*
 * Device time in ticks, which a card counts from its own power-on or reset. Returns 0 or -errno.
 * Threads: any.
 */
int litepcie_time(struct litepcie *dev, uint64_t *ticks);

/*
 * What host and card have agreed upon, as the card sees it. Returns 0 or -errno. Threads: any.
 */
int litepcie_conditions(struct litepcie *dev, struct litepcie_conditions *conditions);

/*
 * The counters of the four TLP streams, all as of one clock edge. Returns 0 or -errno. Threads:
 * any.
 */
int litepcie_counters(struct litepcie *dev, struct litepcie_counters *counters);

/*
 * Set the counters of the TLP streams to 0. Not while a direction runs: litepcie_h2c_drain() may rely
 * on them. Returns 0 or -errno. Threads: any.
 */
int litepcie_counters_clear(struct litepcie *dev);

/*
 * What the card's checker found in the last h2c run with the pattern, also while it runs. Returns 0
 * or -errno. Threads: any.
 */
int litepcie_pattern(struct litepcie *dev, struct litepcie_pattern *pattern);

/* Registers ----------------------------------------------------------------------------------- */

/*
 * Read 32 bits at @offset in BAR0. Returns 0 or -errno. Threads: any.
 */
int litepcie_readl(struct litepcie *dev, uint32_t offset, uint32_t *value);

/*
 * Read a register of two words at @offset in BAR0, again and again until its halves belong
 * together. Returns 0 or -errno. Threads: any.
 */
int litepcie_readq(struct litepcie *dev, uint32_t offset, uint64_t *value);

/*
 * Write 32 bits at @offset in BAR0; they may still be on their way when this returns, a later read
 * comes after them. Returns 0 or -errno. Threads: any.
 */
int litepcie_writel(struct litepcie *dev, uint32_t offset, uint32_t value);

/*
 * Take in the names of all registers from the csr.json that LiteX writes at a build. Without it the
 * registers of the blocks in the capability table are known; with it also the user's own and those
 * of the endpoint. It can be called again. Returns 0 or -errno; -EPROTO: the file is of another
 * build, or not LiteX's, and nothing has changed. Threads: alone.
 */
int litepcie_csr_load(struct litepcie *dev, const char *path);

/*
 * Register @number in the order of their places, from 0. Returns 0, or -ENOENT behind the last one.
 * Threads: any.
 */
int litepcie_register(struct litepcie *dev, unsigned int number, struct litepcie_register *found);

/*
 * Register "ctrl_scratch" or the like. Returns 0, or -ENOENT: no such name, with the nearest in the
 * sentence. Threads: any.
 */
int litepcie_register_find(struct litepcie *dev, const char *name,
			   struct litepcie_register *found);

/*
 * Read a register by name. Of one with two words it is all 64 bits, which belong together. Returns
 * 0 or -errno. Threads: any.
 */
int litepcie_register_read(struct litepcie *dev, const char *name, uint64_t *value);

/*
 * Write a register by name. One with two words gets its upper half first, its lower half last.
 * Returns 0 or -errno; -EACCES: it can only be read, -ERANGE: it is narrower. Threads: any.
 */
int litepcie_register_write(struct litepcie *dev, const char *name, uint64_t value);

/* MMIO ---------------------------------------------------------------------------------------- */

/*
 * One read of @size 4 or 8 bytes at BAR0 + @offset, as one TLP. LitePCIe's driver makes 4-byte
 * accesses only; where the BAR can be mapped, this uses the mapping. Returns 0 or -errno;
 * -EOPNOTSUPP: 8 bytes do not go this way, and litepcie_why() says what to do about it. Threads:
 * any.
 */
int litepcie_mmio_read(struct litepcie *dev, uint32_t offset, size_t size, uint64_t *value);

/*
 * One write of @size 4 or 8 bytes to BAR0, as one TLP, as litepcie_mmio_read() reads; it may still
 * be under way when this returns. Returns 0 or -errno. Threads: any.
 */
int litepcie_mmio_write(struct litepcie *dev, uint32_t offset, size_t size, uint64_t value);

/*
 * @count writes to @offset, @offset + @stride and so on, back to back where the back end can. A
 * @stride of 0 writes the same register again and again. Returns 0 or -errno. Threads: any.
 */
int litepcie_mmio_write_burst(struct litepcie *dev, uint32_t offset, size_t size, size_t stride,
			      const uint64_t *values, size_t count);

/*
 * Bytes of a BAR. Returns 0: the card has none there, or it cannot be reached this way. Threads:
 * any.
 */
uint64_t litepcie_bar_size(const struct litepcie *dev, unsigned int bar);

/*
 * One read of @size 1, 2, 4, 8, 16, 32 or 64 bytes, aligned to it, from any BAR. With "sim:" it is
 * one TLP; where the BAR is mapped it is one load of the CPU, which between a guest's CPU and a
 * simulated card arrives in pieces of at most 8 bytes. Returns 0 or -errno; -EOPNOTSUPP: not on
 * this CPU (vector instructions), or not this way. Threads: any.
 */
int litepcie_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
		      size_t size);

/*
 * One write of @size 1, 2, 4, 8, 16, 32 or 64 bytes, aligned to it, to any BAR, as
 * litepcie_bar_read() reads. Returns 0 or -errno. Threads: any.
 */
int litepcie_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
		       size_t size);

/*
 * The whole BAR as memory of this process, until the handle is closed. Lanebox's driver maps memory
 * write-combining and registers uncached; VFIO maps everything uncached, and LitePCIe's driver
 * leaves BAR0 to sysfs, uncached. A simulated board has nothing to map.
 *
 * To a user without CAP_SYS_RAWIO Lanebox's driver maps for writing only those pages that belong to
 * memories and to the user slot, and @window says that it is partial: a store to another page ends
 * in SIGSEGV, and litepcie_writel() reaches the other registers that are allowed. Returns 0 or
 * -errno; -EOPNOTSUPP: it cannot be mapped this way. Threads: any.
 */
int litepcie_bar_map(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);

/*
 * How MMIO travels: "vfio-user", "bar" (mapped) or "ioctl". Threads: any.
 */
const char *litepcie_mmio_path(const struct litepcie *dev);

/* Interrupts of the user's logic -------------------------------------------------------------- */

/*
 * Let the interrupts of the logic in the user slot through, or no more. What was raised before is
 * forgotten; a reset switches them off. Returns 0 or -errno; -ENOENT: its table names none,
 * since what is in the slot has no registers, -EBUSY: another program has them by way of the kernel
 * driver, -EOPNOTSUPP: LitePCIe's driver hands none out. Threads: any.
 */
int litepcie_user_enable(struct litepcie *dev, bool on);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the user's logic raises its interrupt,
 * or has since the last return of 1. Several that came in between count as one, and end the wait of
 * one thread. A direction of the DMA may run at the same time. Returns 1, 0 when none came in time,
 * or -errno; -EINVAL: they are not enabled, -ECANCELED: another thread has switched them off.
 * Threads: any.
 */
int litepcie_user_wait(struct litepcie *dev, int timeout_ms);

/* DMA ----------------------------------------------------------------------------------------- */

/*
 * A direction is a ring of buffers of equal size, numbered from 0 since its start. The user owns a
 * c2h buffer from peek to release, and an h2c buffer from get to submit; in between it is used in
 * place. Data of a released or submitted buffer must not be touched.
 */

/*
 * Give the rings another shape: @count buffers of @size bytes each way, both powers of two, within
 * the LITEPCIE_BUFFER limits. What is in them is lost, and where they are is known from the next
 * start on. No direction may run. After an error the next start has rings of the shape before.
 * Returns 0 or -errno; -EOPNOTSUPP: LitePCIe's driver cannot hold a stream. Threads: alone.
 */
int litepcie_ring_setup(struct litepcie *dev, size_t size, unsigned int count);

/*
 * Bytes of a buffer. Threads: any.
 */
size_t litepcie_buffer_size(const struct litepcie *dev);

/*
 * Buffers in a ring. Threads: any.
 */
unsigned int litepcie_buffer_count(const struct litepcie *dev);

/*
 * Where h2c buffer @number is. Behind the kernel driver a ring belongs to the program that runs it,
 * so each start says anew where it is. Returns NULL before the first. Threads: any.
 */
void *litepcie_h2c_buffer(struct litepcie *dev, uint64_t number);

/*
 * Where c2h buffer @number is, as litepcie_h2c_buffer() says it. Returns NULL before the first
 * start. Threads: any.
 */
void *litepcie_c2h_buffer(struct litepcie *dev, uint64_t number);

/*
 * Keep the memory of one direction's ring mapped for this process, over the end of the run, a ring
 * of another shape and litepcie_close(), until litepcie_ring_drop() of @memory. The device file
 * counts as used until then. Returns 0 or -errno; -EINVAL: the ring has no memory before its first start. Threads: any.
 */
int litepcie_ring_keep(struct litepcie *dev, unsigned int direction,
		       struct litepcie_memory **memory);

/*
 * Give up memory that litepcie_ring_keep() returned. It is unmapped when nobody keeps it and the
 * library needs it no longer; the card may have been closed before. NULL is allowed. Threads: any.
 */
void litepcie_ring_drop(struct litepcie_memory *memory);

/*
 * Take the directions of @config and start them: c2h has all of its ring, h2c what is submitted from
 * now on. Returns 0 or -errno; -EBUSY: another program runs one of them, and litepcie_why() names
 * those that have the card open, -EOPNOTSUPP: LitePCIe's driver cannot hold a stream, or packets are
 * wanted of a card, or a driver, that has whole buffers only. Threads: alone.
 */
int litepcie_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config);

/*
 * Stop all directions. Data in the rings is lost; litepcie_stats() stays. Another thread that
 * waits for a buffer hears of it: its call ends with -ECANCELED. Returns 0 or -errno. Threads: any.
 */
int litepcie_dma_stop(struct litepcie *dev);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the card has finished a further buffer
 * in one of @directions. Buffers that these kept back for a batch go to the card first when it
 * would run short; those of other directions stay. A lost interrupt costs less than a second here.
 * Returns 1, or 0 when the time is over, or -errno: -ECANCELED after a stop by another thread, -EIO
 * when the card was reset, -ENODEV through VFIO also where the kernel wants the card back; then stop
 * and close it, for which somebody waits. A card with records is not asked as long as it has news: a
 * program that looks again and again, with a timeout of 0, reads memory. Threads: one way.
 */
int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);

/*
 * Tell the card now of what was kept back for a batch. Returns 0 or -errno. Threads: one way.
 */
int litepcie_dma_flush(struct litepcie *dev, unsigned int directions);

/*
 * A descriptor for poll(): readable when there may be news of a running direction, until the next
 * litepcie_dma_wait(), for which a timeout of 0 will do. It belongs to the library and must be
 * neither read nor closed; it counts for the run that has been started. Returns it, or -errno.
 * Threads: any.
 */
int litepcie_dma_fd(struct litepcie *dev);

/*
 * Look for filled c2h buffers, waiting up to @timeout_ms for the first, for ever if that is
 * negative. With a timeout of 0 the card is not asked again: this is what the last wait found.
 * Returns their number and the first in @first, 0 for none, or -errno. Threads: one way.
 */
int litepcie_c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms);

/*
 * How filled c2h buffer @number has ended, and after how many bytes. It must be one that
 * litepcie_c2h_peek() has shown and that has not been given back. On a card without records each
 * buffer is full. Returns 0 or -errno. Threads: one way.
 */
int litepcie_c2h_record(struct litepcie *dev, uint64_t number,
			struct litepcie_c2h_record *record);

/*
 * Give the @count oldest of the filled c2h buffers back. Returns 0 or -errno. Threads: one way.
 */
int litepcie_c2h_release(struct litepcie *dev, unsigned int count);

/*
 * Look for free h2c buffers, waiting up to @timeout_ms for the first, for ever if that is negative.
 * Returns their number and the first in @first, 0 for none, or -errno. Threads: one way.
 */
int litepcie_h2c_get(struct litepcie *dev, uint64_t *first, int timeout_ms);

/*
 * Send the @count oldest of the free h2c buffers, all of each. Returns 0 or -errno. Threads: one
 * way.
 */
int litepcie_h2c_submit(struct litepcie *dev, unsigned int count);

/*
 * Send the first @bytes of the oldest free h2c buffer, 1 to all of it. With packets that is a packet.
 * Without, the stream goes on with the next buffer, which begins a beat of its own: what the last
 * beat of this one has behind its bytes is not defined. LitePCIe's endpoint moves whole beats, so
 * there @bytes must be a multiple of a beat, 32. Returns 0 or -errno. Threads: one way.
 */
int litepcie_h2c_send(struct litepcie *dev, size_t bytes);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the card has received the data of every
 * submitted h2c buffer, and the logic in its user slot has taken it: a stop loses nothing then. A
 * card that says neither is believed by its count of received bytes, and its logic may lack the end.
 * Returns 0 or -errno; -ETIMEDOUT: not yet. Threads: one way.
 */
int litepcie_h2c_drain(struct litepcie *dev, int timeout_ms);

/*
 * Counts since the last start, kept after a stop. Threads: any.
 */
void litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* LIBLITEPCIE_H */
