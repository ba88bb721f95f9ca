/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the library: the handle, and what a back end must provide.
 *
 * A back end says how registers and DMA memory are reached. What they mean is in card.c, who owns
 * which buffer in dma.c, and how a run goes in engine.c, once for all. A back end's channel says only
 * how descriptors get to the card and where counts come from: table.c writes them into the card's
 * table and serves every back end that reaches registers and memory itself; kernel_dma.c asks a
 * driver. No function is called with arguments its caller has not checked.
 */
#ifndef LITEPCIE_BACKEND_H
#define LITEPCIE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "liblitepcie.h"
#include "notices.h"

#define LITEPCIE_WAIT_SLICE_MS	200	/* between two looks at the card without an interrupt */

/* The same geometry as LitePCIe's kernel driver has. */
#define LITEPCIE_BUFFER_SIZE	8192u
#define LITEPCIE_BUFFER_COUNT	256u

/* What a card reaches of the host's memory: both rings, h2c first; and what it writes beside them. */
#define LITEPCIE_MEMORY_RINGS	0u
#define LITEPCIE_MEMORY_NOTICES	1u
#define LITEPCIE_MEMORIES	2u

/* A mapping, which is unmapped when nobody needs it any more. */
struct litepcie_memory {
	_Atomic unsigned int	users;
	void			*base;
	size_t			size;
};

/*
 * One direction. Buffer numbers never wrap in software: 64 bits of 8 KiB last for ever. @sw, @handed,
 * @uneven and @spared belong to the one thread that uses the direction; @hw is written under the
 * handle's lock.
 */
struct litepcie_ring {
	struct litepcie_memory *memory;	/* the back end's; NULL: the ring has none yet */
	uint8_t		*base;		/* in that memory */
	_Atomic uint64_t hw;	/* c2h: filled by the card; h2c: fetched, may be written again */
	_Atomic uint64_t sw;	/* c2h: given back by the user; h2c: submitted */
	uint64_t	handed;	/* of sw, what the card has been told */
	bool		uneven;	/* h2c: lengths are kept, since one was shorter than whole */
	uint64_t	spared;	/* h2c: bytes that the buffers below sw are shorter */
	_Atomic bool	active;	/* changed under the lock; calls without a lock look at it */
};

/* A write of 4 or 8 bytes to BAR0, one of many in order. */
struct litepcie_post {
	uint32_t	offset;
	uint32_t	size;
	uint64_t	value;
};

struct litepcie_table;

/*
 * A DMA channel as a back end reaches it. The lock is held, and given up only while a thread sleeps.
 */
struct litepcie_channel {
	/* Take the active directions for this handle, and give them up; NULL: it is the only user. */
	int (*take)(struct litepcie *dev);
	int (*give)(struct litepcie *dev);
	/* Rings of this shape from now on; no direction is active. */
	int (*setup)(struct litepcie *dev, size_t size, unsigned int count);
	/* Get the active directions ready: the card has no descriptor yet. */
	int (*start)(struct litepcie *dev, bool loopback);
	/* Let them run: those of c2h have been posted. */
	int (*run)(struct litepcie *dev);
	/* Stop whatever is active or was half started. */
	int (*stop)(struct litepcie *dev);
	/*
	 * Give the card the buffers from @first on; table->asks says which raise an interrupt,
	 * table->lengths how long each is.
	 */
	int (*post)(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
		    uint64_t count);
	/*
	 * Bring ring.hw of the active directions up to date, and tell litepcie_engine_done(): poll()
	 * for the least that it costs, look() by asking the card itself; NULL: poll() asks it.
	 */
	int (*poll)(struct litepcie *dev);
	int (*look)(struct litepcie *dev);
	/* poll() before a sleep, where it reads nothing but memory; NULL: sleep() does that. */
	int (*glance)(struct litepcie *dev);
	/* Sleep until there may be news of @directions: 1, or until the time is over: 0. */
	int (*sleep)(struct litepcie *dev, unsigned int directions, int timeout_ms);
	/* The sleep ended by an interrupt; NULL: there is nothing to be done about it. */
	int (*woken)(struct litepcie *dev);
	/* One interrupt stands for both directions: one thread sleeps for all. */
	bool shared;
	/* A descriptor to poll(), or -errno with a sentence. */
	int (*event_fd)(struct litepcie *dev);
	/* Interrupts of the user's logic; and note in dev->user_raised if one came. */
	int (*user_enable)(struct litepcie *dev, bool on);
	int (*user_look)(struct litepcie *dev);
};

struct litepcie_backend {
	const char *name;
	const struct litepcie_channel *channel;

	/* Take dev->name apart and reach the registers; close() follows only where this succeeded. */
	int (*open)(struct litepcie *dev);
	/* Rings, interrupts and bus mastering for a card that is known. NULL: a driver has done it. */
	int (*attach)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/* As after power-on, the registers being reached as after open(). attach() follows. */
	int (*reset)(struct litepcie *dev);

	int (*readl)(struct litepcie *dev, uint32_t offset, uint32_t *value);
	/* Words in a row, which have no side effects; NULL: one after the other. */
	int (*read_words)(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);
	/* NULL: as post() of one. */
	int (*writel)(struct litepcie *dev, uint32_t offset, uint32_t value);
	/* A write that may wait for the next access, which follows soon; NULL: done at once. */
	int (*defer)(struct litepcie *dev, uint32_t offset, uint32_t value);
	/* Writes in order, which need not be done when this returns; a later read comes after. */
	int (*post)(struct litepcie *dev, const struct litepcie_post *posts, size_t count);
	int (*bar_read)(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size);
	int (*bar_write)(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size);
	/* NULL: nothing to map. */
	int (*bar_map)(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);
	const char *(*mmio_path)(const struct litepcie *dev);

	/* One access at a time: the way to the card is shared. */
	bool serial;

	/*
	 * For table.c: one of LITEPCIE_MEMORY_, of zeros, reached by the card at @iova; it replaces
	 * the last of its kind, and stays the back end's. NULL: all memory is a driver's.
	 */
	int (*memory)(struct litepcie *dev, unsigned int kind, size_t bytes,
		      struct litepcie_memory **memory, uint64_t *iova);
	/*
	 * Sleep until the card's interrupt: 1, with stats.interrupts brought up to date,
	 * or until the time is over: 0.
	 */
	int (*sleep)(struct litepcie *dev, int timeout_ms);
	/* Two interrupts may become one before they are counted, as in a CPU's own controller. */
	bool merges;
	int (*event_fd)(const struct litepcie *dev);	/* for table_run.c */
	/* -ENODEV with a sentence: it still works, but must be closed. NULL: nobody asks that. */
	int (*asked_back)(struct litepcie *dev);
	/* True: the way to the card is lost for good, and a call has said so. NULL: never. */
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
	uint32_t records;	/* two words: place of the ring of records */
	uint32_t entries;	/* it has 2 to this power of them */
	uint32_t line[2];	/* two words each: places of the status lines of h2c and c2h */
	uint32_t flush;		/* cycles without data that end a c2h buffer; 0: none do */
	uint32_t control;	/* 0: the card has none of this */
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
	uint32_t	h2c_cause, c2h_cause;	/* bits of irq_enable, irq_clear, irq_vector */
	uint32_t	user_cause;		/* 0: the card has no user slot */
	bool		h2c_tells_taken;	/* its enable register has ENABLE_TAKEN */
	uint32_t	h2c_in_flight;		/* bytes that a done h2c buffer may still lack */
};

/* One direction as engine.c sees it; counts are of descriptors since the start. */
struct litepcie_table {
	uint64_t	posted;		/* given to the card */
	uint64_t	done;		/* executed */
	uint64_t	asked;		/* executed ones that asked for an interrupt */
	bool		*asks;		/* by place in the ring */
	uint32_t	*lengths;	/* by place in the ring, in bytes; NULL: all are whole */
	uint64_t	arrived;	/* with lengths: first buffers of which all bytes have come, */
	uint64_t	arrived_bytes;	/* and their bytes; only of a card with h2c_in_flight */
	uint64_t	iova;		/* of the ring, as the card sees it: table.c's */
	bool		silent;		/* asks for none: the other direction speaks for it */
};

/*
 * The lock protects the way to the card where that is serial, the tables, ring.hw and the counts.
 * It is held by every call but the fast ones of dma.c, and given up while a thread sleeps.
 */
struct litepcie {
	const struct litepcie_backend	*backend;
	pthread_mutex_t			lock;
	pthread_cond_t			woken;		/* the one that slept for all has news */
	bool				sleeper;	/* there is one */
	bool				stopping;	/* a thread is in litepcie_dma_stop() */
	unsigned int			stops;		/* runs that have ended, for threads that wait */
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
	uint64_t			notices_iova;	/* of them, as the card sees it: table.c's */
	uint32_t			*lengths;	/* room for those of h2c_table */
	uint32_t			*wanted;	/* of buffers that the card has not yet */
	uint64_t			c2h_limit;
	unsigned int			interrupt_every;	/* buffers */
	uint64_t			received_before;	/* bytes, when h2c started */
	unsigned int			batch;		/* buffers that the card is told of together */
	bool				packets;	/* a buffer ends where a packet does */
	uint32_t			flush_us;	/* 0: never */
	int64_t				silent_ms;	/* since when a look finds nothing; 0: it did */
	unsigned int			glances;	/* that found news */
	bool				watched;	/* litepcie_dma_fd() was called in this run */
	bool				user_enabled, user_raised;	/* interrupts of its logic */
	bool				pattern;	/* is on for the active directions */
	struct litepcie_stats		stats;	/* what is counted on the way */
};

/* The sentence of this thread, of LITEPCIE_WHY_SIZE bytes. */
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

/* Register accesses within the library, which holds the lock. */
int litepcie_get(struct litepcie *dev, uint32_t offset, uint32_t *value);
int litepcie_get64(struct litepcie *dev, uint32_t offset, uint64_t *value);
int litepcie_put(struct litepcie *dev, uint32_t offset, uint32_t value);
int litepcie_get_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);

/* litepcie_time() for who holds the lock. */
int litepcie_time_read(struct litepcie *dev, uint64_t *ticks);

/* Keep a sentence for litepcie_why() and return @error: `return litepcie_fail(...)`. */
__attribute__((format(printf, 3, 4)))
int litepcie_fail(struct litepcie *dev, int error, const char *format, ...);

/* Fill dev->blocks, dev->card, dev->registers, dev->map and dev->card.identifier, in this order. */
int litepcie_capability_read(struct litepcie *dev);
int litepcie_card_check(struct litepcie *dev);	/* 0: it is still this one */
int litepcie_registers_build(struct litepcie *dev);
int litepcie_map_build(struct litepcie *dev);
int litepcie_identifier_read(struct litepcie *dev);

const struct litepcie_block *litepcie_find_block(const struct litepcie *dev, unsigned int type,
						 unsigned int index);

/* -EPROTO: the name is known, at another place. */
int litepcie_register_add(struct litepcie *dev, const struct litepcie_register *entry);
void litepcie_registers_sort(struct litepcie *dev);

/* The place of a register; a name that is missing goes into *@rc unless an error is there. */
void litepcie_need(struct litepcie *dev, const char *name, uint32_t *offset, int *rc);

/*
 * Put the pattern in place of the user's streams, or take it away, for the directions that are
 * active and not yet, or no longer, running. The other direction may be somebody else's.
 */
int litepcie_pattern_set(struct litepcie *dev, bool on);

/* Take over a mapping. NULL, with a sentence: there is no memory, and it has been unmapped. */
struct litepcie_memory *litepcie_memory_new(struct litepcie *dev, void *base, size_t size);

/* One access of the CPU to a mapped BAR, of 1 to 64 bytes. -EOPNOTSUPP with a sentence. */
int litepcie_load(struct litepcie *dev, const uint8_t *from, void *data, size_t size);
int litepcie_store(struct litepcie *dev, uint8_t *to, const void *data, size_t size);

/* Milliseconds of a clock that nobody sets. */
int64_t litepcie_now_ms(void);

/* When a wait of @timeout_ms ends, by that clock; a negative one never does. */
int64_t litepcie_deadline(int timeout_ms);

/* Milliseconds to sleep before the next look at the card; 0: the deadline has passed. */
int litepcie_slice(int64_t deadline);

static inline uint8_t *litepcie_ring_buffer(const struct litepcie *dev,
					    const struct litepcie_ring *ring, uint64_t number)
{
	return ring->base ? ring->base + (number & (dev->buffer_count - 1)) * dev->buffer_size : NULL;
}

#endif /* LITEPCIE_BACKEND_H */
