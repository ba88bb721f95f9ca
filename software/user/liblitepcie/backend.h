/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the library: the handle, and what a back end must provide.
 *
 * A back end says how registers and DMA memory are reached. The rest is common to all: card.c knows
 * what registers mean, dma.c who owns which buffer, and engine.c how a run goes. A back end's
 * channel (struct litepcie_channel) passes descriptors to the card and reads its counts. table.c
 * does that by the card's own descriptor table, for every back end that reaches registers and
 * memory itself. kernel_dma.c does it by calls of the driver. The callers of these functions have
 * checked all arguments.
 */
#ifndef LITEPCIE_BACKEND_H
#define LITEPCIE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "liblitepcie.h"
#include "notices.h"

#define LITEPCIE_WAIT_SLICE_MS	200	/* longest sleep before the card is looked at again */

/* The shape of a ring before litepcie_ring_setup(): that of LitePCIe's kernel driver. */
#define LITEPCIE_BUFFER_SIZE	8192u
#define LITEPCIE_BUFFER_COUNT	256u

/* Kinds of host memory that a card reaches: the two rings, and its notices (notices.h). */
#define LITEPCIE_MEMORY_H2C	0u
#define LITEPCIE_MEMORY_C2H	1u
#define LITEPCIE_MEMORY_NOTICES	2u
#define LITEPCIE_MEMORIES	3u

/* A mapping, which is unmapped when its last user drops it: litepcie_ring_drop(). */
struct litepcie_memory {
	_Atomic unsigned int	users;
	void			*base;
	size_t			size;
	int			fd;	/* the file that is mapped; -1: none that can be exported */
	bool			placed;	/* the program's own memory: never unmapped here */
};

/*
 * One direction. Buffer numbers have 64 bits and never wrap. @sw, @handed, @uneven and @spared
 * belong to the one thread that uses the direction; @hw is written under the handle's lock.
 */
struct litepcie_ring {
	struct litepcie_memory *memory;	/* the back end's; NULL: the ring has none yet */
	uint8_t		*base;		/* of @memory; NULL: known from the next start on */
	void		*place;		/* of litepcie_ring_place(), used from the next start on */
	size_t		place_bytes;
	_Atomic uint64_t hw;	/* buffers that the card has filled (c2h) or fetched (h2c) */
	_Atomic uint64_t sw;	/* buffers that the user has released (c2h) or submitted (h2c) */
	uint64_t	handed;	/* of @sw, those that the card has been told of */
	bool		uneven;	/* h2c: a buffer was not sent whole, so lengths are kept */
	uint64_t	spared;	/* h2c: bytes of the buffers below @sw that were not sent */
	_Atomic bool	active;	/* the direction runs; written under the lock, read without */
};

/* A write of 4 or 8 bytes to BAR0, one of many in order. */
struct litepcie_post {
	uint32_t	offset;
	uint32_t	size;
	uint64_t	value;
};

struct litepcie_table;

/*
 * A DMA channel as a back end reaches it. Its functions are called with dev->lock held, and release
 * that only while they sleep.
 */
struct litepcie_channel {
	/* Take the active directions for this handle, and give them up; NULL: nobody else has any. */
	int (*take)(struct litepcie *dev);
	int (*give)(struct litepcie *dev);
	/* -EOPNOTSUPP with a sentence: the driver has no held runs; NULL: always possible. */
	int (*check)(struct litepcie *dev);
	/* Make rings of this shape; no direction is active. NULL: each start makes them. */
	int (*setup)(struct litepcie *dev, size_t size, unsigned int count);
	/* Get the active directions ready: the card has no descriptor yet. */
	int (*start)(struct litepcie *dev, bool loopback);
	/* Enable the active directions; all c2h buffers have been posted. */
	int (*run)(struct litepcie *dev);
	/* Stop whatever is active or was half started. */
	int (*stop)(struct litepcie *dev);
	/*
	 * Give the card @count buffers from @first on; table->asks says which of them raise an
	 * interrupt, table->lengths how many bytes each has.
	 */
	int (*post)(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
		    uint64_t count);
	/*
	 * Bring ring.hw of the active directions up to date, and call litepcie_engine_done().
	 * poll() does it in the cheapest way, look() asks the card itself. look NULL: poll() asks
	 * the card.
	 */
	int (*poll)(struct litepcie *dev);
	int (*look)(struct litepcie *dev);
	/* poll() before a sleep, if poll() reads nothing but memory; NULL: sleep() does that. */
	int (*glance)(struct litepcie *dev);
	/* Sleep until there may be news of @directions. Returns 1, or 0 when the time is over. */
	int (*sleep)(struct litepcie *dev, unsigned int directions, int timeout_ms);
	/* Called when sleep() has ended by an interrupt, to clear it; NULL: nothing to do. */
	int (*woken)(struct litepcie *dev);
	/* One interrupt stands for both directions, so only one thread sleeps, for all. */
	bool shared;
	/* A descriptor to poll(), or -errno with a sentence. */
	int (*event_fd)(struct litepcie *dev);
	/* A descriptor of the memory of an active ring, or -errno with a sentence. */
	int (*export)(struct litepcie *dev, const struct litepcie_ring *ring);
	/* Switch the interrupts of the user's logic; and set dev->user_raised if one came. */
	int (*user_enable)(struct litepcie *dev, bool on);
	int (*user_look)(struct litepcie *dev);
};

struct litepcie_backend {
	const char *name;
	const struct litepcie_channel *channel;

	/* Parse dev->name and make the registers reachable. close() follows only after a success. */
	int (*open)(struct litepcie *dev);
	/* Set up rings, interrupts and bus mastering once the card is known. NULL: a driver has. */
	int (*attach)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/* Reset the card; registers are reachable as after open(). attach() follows. */
	int (*reset)(struct litepcie *dev);

	int (*readl)(struct litepcie *dev, uint32_t offset, uint32_t *value);
	/* Read consecutive words, which have no side effects; NULL: readl() one after the other. */
	int (*read_words)(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);
	/* NULL: post() of one write. */
	int (*writel)(struct litepcie *dev, uint32_t offset, uint32_t value);
	/* A write that may be sent with the next access, which follows soon; NULL: use writel(). */
	int (*defer)(struct litepcie *dev, uint32_t offset, uint32_t value);
	/* Writes in order. They may be on their way when this returns; a later read comes after. */
	int (*post)(struct litepcie *dev, const struct litepcie_post *posts, size_t count);
	int (*bar_read)(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size);
	int (*bar_write)(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size);
	/* NULL: BARs cannot be mapped. */
	int (*bar_map)(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);
	const char *(*mmio_path)(const struct litepcie *dev);

	/* Accesses of all threads share one connection, so the lock is held for each. */
	bool serial;
	/* A program's own memory gets other pages, so it must be private. */
	bool exchanges;

	/*
	 * For table.c: memory of this kind (LITEPCIE_MEMORY_), which the card reaches at *@iova. It
	 * is all zeros, or lies at @place and keeps its contents. It replaces the memory of the
	 * same kind before it, and belongs to the back end.
	 */
	int (*memory)(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		      struct litepcie_memory **memory, uint64_t *iova);
	/*
	 * Sleep until the card's interrupt. Returns 1, with stats.interrupts brought up to date; or
	 * 0 when the time is over or litepcie_timer() is readable.
	 */
	int (*sleep)(struct litepcie *dev, int timeout_ms);
	/* Two interrupts may become one before they are counted, as in a CPU's controller. */
	bool merges;
	int (*event_fd)(const struct litepcie *dev);	/* for table_run.c */
	/* -ENODEV with a sentence: the kernel asks that the device be closed. NULL: it never does. */
	int (*asked_back)(struct litepcie *dev);
	/* True: the card cannot be reached again, and a call has said so. NULL: never. */
	bool (*gone)(const struct litepcie *dev);
};

extern const struct litepcie_backend litepcie_kernel_backend;
extern const struct litepcie_backend litepcie_sim_backend;
extern const struct litepcie_backend litepcie_vfio_backend;

/* One direction of a DMA channel, in BAR0. */
struct litepcie_dma_registers {
	uint32_t enable;	/* bit 0 enable, bit 1 (read) idle */
	uint32_t value;		/* two words: flags and length, then the lower address */
	uint32_t push;		/* upper address; the write puts the descriptor into the table */
	uint32_t loop;		/* 0: each descriptor runs once */
	uint32_t loop_status;
	uint32_t flush;		/* write 1: empty the table, loop_status becomes 0 */
};

/* Where a channel writes its records and status lines. */
struct litepcie_notice_registers {
	uint32_t records;	/* two words: address of the ring of records */
	uint32_t entries;	/* base-2 logarithm of the number of records in the ring */
	uint32_t line[2];	/* two words each: addresses of the status lines of h2c and c2h */
	uint32_t flush;		/* cycles without data that end a c2h buffer; 0: never */
	uint32_t control;	/* offset 0: the card writes no records and status lines */
};

/* The user slot's monitor: see gateware/user/monitor.py. */
struct litepcie_slot_registers {
	uint32_t now;		/* a read copies all counters; offset 0: the card has no monitor */
	uint32_t state, time;	/* time has two words */
	uint32_t side[2][4];	/* h2c, c2h: since, beats, packets, stalls, of two words each */
	uint64_t mask;		/* the bits that the counters have */
};

#define STREAM_RC		3
#define STREAM_PAYLOAD_BYTES	3

/* Offsets in BAR0 of the registers that the library uses itself. */
struct litepcie_map {
	uint32_t	identifier, identifier_size;
	uint32_t	time_low, time_high;
	uint32_t	link_status, phy_msi, mps, mrrs;
	uint32_t	irq_enable, irq_clear, irq_vector;
	uint32_t	counters_control, counters_time;
	uint32_t	streams[4][6];	/* as in struct litepcie_counters, _stream */
	uint32_t	pattern_control, pattern_beats, pattern_errors, pattern_first_error;
	uint32_t	loopback;
	struct litepcie_dma_registers h2c, c2h;
	struct litepcie_notice_registers notices;
	struct litepcie_slot_registers slot;
	uint32_t	h2c_cause, c2h_cause;	/* bits of irq_enable, irq_clear, irq_vector */
	uint32_t	user_cause;		/* 0: the card has no user slot */
	bool		h2c_tells_taken;	/* bit 2 of h2c.enable: the user's logic has all */
	uint32_t	h2c_in_flight;		/* bytes that done h2c buffers may still lack */
};

/* One direction as engine.c sees it; counts are of descriptors since the start. */
struct litepcie_table {
	uint64_t	posted;		/* given to the card */
	uint64_t	done;		/* executed */
	uint64_t	asked;		/* executed ones that asked for an interrupt */
	bool		*asks;		/* by place in the ring: asks for an interrupt */
	uint32_t	*lengths;	/* by place in the ring, in bytes; NULL: all are whole */
	uint64_t	arrived;	/* h2c_in_flight and lengths: buffers whose data has come */
	uint64_t	arrived_bytes;	/* bytes of the buffers that @arrived counts */
	uint64_t	iova;		/* address of the ring for the card; used by table.c */
	bool		silent;		/* no descriptor of this direction asks for an interrupt */
};

/*
 * The lock protects the tables, ring.hw, the counts, and the accesses of a serial back end. Every
 * call holds it, except the fast ones of dma.c; it is released while a thread sleeps.
 */
struct litepcie {
	const struct litepcie_backend	*backend;
	pthread_mutex_t			lock;
	pthread_cond_t			woken;		/* signalled when the sleeper has news */
	bool				sleeper;	/* a thread sleeps for all that wait */
	bool				stopping;	/* a thread is in litepcie_dma_stop() */
	unsigned int			stops;		/* runs ended; a waiting thread compares it */
	void				*priv;
	char				*name;
	unsigned int			channel;	/* of DMA */
	size_t				buffer_size;
	unsigned int			buffer_count;
	uint64_t			bar_size[LITEPCIE_BARS];
	struct litepcie_block		*blocks;
	unsigned int			block_count;
	struct litepcie_register	*registers;
	unsigned int			register_count;
	struct litepcie_card		card;
	uint32_t			table_crc;	/* of the capability table */
	struct litepcie_map		map;
	struct litepcie_ring		h2c, c2h;
	struct litepcie_table		h2c_table, c2h_table;
	struct litepcie_notices		notices;
	uint64_t			notices_iova;	/* their address for the card, for table.c */
	uint32_t			*lengths;	/* memory for h2c_table.lengths */
	uint32_t			*wanted;	/* lengths of buffers not yet posted */
	uint64_t			c2h_limit;
	unsigned int			interrupt_every;	/* buffers */
	uint64_t			received_before;	/* card's byte count at h2c's start */
	unsigned int			batch;		/* buffers that the card is told of together */
	bool				packets;	/* a buffer ends where a packet does */
	bool				inner;		/* the DMA's own loopback is on */
	uint32_t			flush_us;	/* 0: never */
	uint32_t			poll_us;	/* between two looks; 0: by interrupts */
	bool				adaptive;	/* looks begin with an interrupt */
	bool				looking;	/* looks go on, DMA interrupts are off */
	uint64_t			looked;		/* buffers that were done at the last look */
	int				timer;		/* readable when a look is due, or -1 */
	int				news;		/* epoll of @timer and the interrupt, or -1 */
	int64_t				silent_ms;	/* when looks began to find nothing, or 0 */
	unsigned int			glances;	/* looks before a sleep that found news */
	bool				watched;	/* litepcie_dma_fd() was called in this run */
	bool				user_enabled, user_raised;	/* the user's interrupt */
	bool				pattern;	/* is on for the active directions */
	struct litepcie_stats		stats;		/* the counts that are not in the rings */
};

/* This thread's sentence for litepcie_why(), of LITEPCIE_WHY_SIZE bytes. */
char *litepcie_sentence(void);

static inline void litepcie_lock(struct litepcie *dev)
{
	pthread_mutex_lock(&dev->lock);
}

static inline int litepcie_unlock(struct litepcie *dev, int rc)
{
	pthread_mutex_unlock(&dev->lock);
	return rc;
}

/* Register accesses within the library; the caller holds the lock. */
int litepcie_get(struct litepcie *dev, uint32_t offset, uint32_t *value);
int litepcie_get64(struct litepcie *dev, uint32_t offset, uint64_t *value);
int litepcie_put(struct litepcie *dev, uint32_t offset, uint32_t value);
int litepcie_get_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);

/* litepcie_time() for a caller that holds the lock. */
int litepcie_time_read(struct litepcie *dev, uint64_t *ticks);

/* Keep a sentence for litepcie_why() and return @error: `return litepcie_fail(...)`. */
__attribute__((format(printf, 3, 4)))
int litepcie_fail(struct litepcie *dev, int error, const char *format, ...);

/* Fill dev->blocks, dev->card, dev->registers, dev->map and dev->card.identifier, in this order. */
int litepcie_capability_read(struct litepcie *dev);
int litepcie_card_check(struct litepcie *dev);	/* 0: the same card as before the reset */
int litepcie_registers_build(struct litepcie *dev);
int litepcie_map_build(struct litepcie *dev);
int litepcie_identifier_read(struct litepcie *dev);

const struct litepcie_block *litepcie_find_block(const struct litepcie *dev, unsigned int type,
						 unsigned int index);

/* Add a register to dev->registers. -EPROTO: the name is known, at another place. */
int litepcie_register_add(struct litepcie *dev, const struct litepcie_register *entry);
void litepcie_registers_sort(struct litepcie *dev);

/* The offset of a register. If there is none of that name, *@rc becomes -EPROTO unless it is set. */
void litepcie_need(struct litepcie *dev, const char *name, uint32_t *offset, int *rc);

/*
 * Switch the pattern on or off for the active directions, before they run or after. The bits of the
 * other direction are left alone, since another program may have it.
 */
int litepcie_pattern_set(struct litepcie *dev, bool on);

/* A file of zeros in memory; -1 and errno without a sentence. @flags: further ones of MFD_. */
int litepcie_memory_file(size_t size, unsigned int flags);

/* Ask the kernel to make huge pages of small ones, where the memory is aligned for that. */
void litepcie_memory_huge(void *memory, size_t size);

/*
 * Take over a mapping and its file, if any. NULL, with a sentence: out of memory; both have been
 * given back. @placed: the mapping is the program's own.
 */
struct litepcie_memory *litepcie_memory_new(struct litepcie *dev, void *base, size_t size, int fd,
					    bool placed);

/* One access of the CPU to a mapped BAR, of 1 to 64 bytes. -EOPNOTSUPP with a sentence. */
int litepcie_load(struct litepcie *dev, const uint8_t *from, void *data, size_t size);
int litepcie_store(struct litepcie *dev, uint8_t *to, const void *data, size_t size);

/* A descriptor that is readable when a look at the card is due; -1: there are no looks by timer. */
static inline int litepcie_timer(const struct litepcie *dev)
{
	return dev->poll_us ? dev->timer : -1;
}

/* Milliseconds of the monotonic clock. */
int64_t litepcie_now_ms(void);

/* When a wait of @timeout_ms ends, by litepcie_now_ms(); INT64_MAX if @timeout_ms is negative. */
int64_t litepcie_deadline(int timeout_ms);

/* Milliseconds to sleep before the next look at the card; 0: the deadline has passed. */
int litepcie_slice(int64_t deadline);

static inline uint8_t *litepcie_ring_buffer(const struct litepcie *dev,
					    const struct litepcie_ring *ring, uint64_t number)
{
	return ring->base ? ring->base + (number & (dev->buffer_count - 1)) * dev->buffer_size : NULL;
}

#endif /* LITEPCIE_BACKEND_H */
