/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the library: the handle, and what a back end must provide.
 *
 * A back end says how registers and DMA memory are reached. The rest is common to all back ends:
 * card.c knows what registers mean, dma.c who owns which buffer, and engine.c how a run goes. A
 * back end's channel (struct litepcie_channel) passes descriptors to the card and reads its counts.
 * table.c is the channel for every back end that reaches registers and memory itself: it uses the
 * card's own descriptor table. kernel_dma.c is the channel that uses calls of the driver. The
 * callers of these functions have checked all arguments.
 */
#ifndef LITEPCIE_BACKEND_H
#define LITEPCIE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "liblitepcie.h"
#include "notices.h"

#define LITEPCIE_WAIT_SLICE_MS	200	/* a waiting thread looks at the card at least this often */

/* The shape of a ring before litepcie_ring_setup(): that of LitePCIe's kernel driver. */
#define LITEPCIE_BUFFER_SIZE	8192u
#define LITEPCIE_BUFFER_COUNT	256u

/* Kinds of host memory that a card reaches: the two rings, and its notices (notices.h). */
#define LITEPCIE_MEMORY_H2C	0u
#define LITEPCIE_MEMORY_C2H	1u
#define LITEPCIE_MEMORY_NOTICES	2u
#define LITEPCIE_MEMORIES	3u

/* A mapping of memory, which is unmapped when its last user drops it: litepcie_ring_drop(). */
struct litepcie_memory {
	_Atomic unsigned int	users;
	void			*base;
	size_t			size;
	/* the mapped file; -1: there is none that can be exported */
	int			fd;
	bool			placed;	/* it is the program's own memory, never unmapped here */
};

/*
 * The ring of one direction. Buffer numbers have 64 bits and never wrap. @sw, @handed, @uneven and
 * @spared belong to the one thread that uses the direction. @hw is written under the handle's lock.
 */
struct litepcie_ring {
	struct litepcie_memory *memory;	/* belongs to the back end; NULL: the ring has none yet */
	uint8_t		*base;		/* address of @memory; NULL: not known before a start */
	/* set by litepcie_ring_place(), used from the next start on */
	void		*place;
	size_t		place_bytes;
	_Atomic uint64_t hw;	/* buffers that the card has filled (c2h) or fetched (h2c) */
	_Atomic uint64_t sw;	/* buffers that the user has released (c2h) or submitted (h2c) */
	/* number of buffers that the card has been told of, of the first @sw */
	uint64_t	handed;
	bool		uneven;	/* h2c: some buffer was not sent whole, so each length is kept */
	uint64_t	spared;	/* h2c: bytes of the buffers below @sw that were not sent */
	_Atomic bool	active;	/* the direction runs; written under the lock, read without */
};

/* A write of 4 or 8 bytes to BAR0: one of several that are made in order. */
struct litepcie_post {
	uint32_t	offset;
	uint32_t	size;
	uint64_t	value;
};

struct litepcie_table;

/*
 * The functions of a DMA channel, by which a back end reaches it. They are called with dev->lock
 * held, and release the lock only while they sleep.
 */
struct litepcie_channel {
	/*
	 * Take the active directions for this handle, and give them back. NULL: no other program
	 * could have them.
	 */
	int (*take)(struct litepcie *dev);
	int (*give)(struct litepcie *dev);
	/*
	 * Returns 0, or -EOPNOTSUPP with a sentence if the driver has no held runs. NULL: they are
	 * always possible.
	 */
	int (*check)(struct litepcie *dev);
	/* Make rings of this shape while no direction is active. NULL: each start makes them. */
	int (*setup)(struct litepcie *dev, size_t size, unsigned int count);
	/* Get the active directions ready. The card has no descriptor yet. */
	int (*start)(struct litepcie *dev, bool loopback);
	/* Enable the active directions. All c2h buffers have been handed to the card. */
	int (*run)(struct litepcie *dev);
	/* Stop every direction that is active or was half started. */
	int (*stop)(struct litepcie *dev);
	/*
	 * Hand the card @count buffers from number @first on. table->asks says which of them raise
	 * an interrupt, table->lengths how many bytes each has.
	 */
	int (*post)(struct litepcie *dev, struct litepcie_table *table, uint64_t first,
		    uint64_t count);
	/*
	 * Bring ring.hw of the active directions up to date, and call litepcie_engine_done().
	 * poll() does this in the cheapest way, look() asks the card itself. If look is NULL,
	 * poll() asks the card.
	 */
	int (*poll)(struct litepcie *dev);
	int (*look)(struct litepcie *dev);
	/*
	 * Like poll(), called before a sleep, if that takes only reads of memory. NULL: sleep()
	 * itself looks.
	 */
	int (*glance)(struct litepcie *dev);
	/*
	 * Does what poll() does, and leaves the descriptor of event_fd() as it is. NULL: poll()
	 * does so.
	 */
	int (*peek)(struct litepcie *dev);
	/* Sleep until there may be news of @directions. Returns 1, or 0 when the time is over. */
	int (*sleep)(struct litepcie *dev, unsigned int directions, int timeout_ms);
	/*
	 * Called when an interrupt has ended sleep(), to clear the interrupt. NULL: there is
	 * nothing to clear.
	 */
	int (*woken)(struct litepcie *dev);
	/* Both directions share one interrupt, so only one thread sleeps, on behalf of all. */
	bool shared;
	/* Returns a descriptor that the program can poll(), or -errno with a sentence. */
	int (*event_fd)(struct litepcie *dev);
	/* Returns a descriptor of the memory of an active ring, or -errno with a sentence. */
	int (*export)(struct litepcie *dev, const struct litepcie_ring *ring);
	/*
	 * user_enable() switches the interrupts of the user's logic on or off. user_look() sets
	 * dev->user_raised if such an interrupt came.
	 */
	int (*user_enable)(struct litepcie *dev, bool on);
	int (*user_look)(struct litepcie *dev);
};

struct litepcie_backend {
	const char *name;
	const struct litepcie_channel *channel;

	/*
	 * Parse dev->name and make the registers reachable. close() is called only after this has
	 * succeeded.
	 */
	int (*open)(struct litepcie *dev);
	/*
	 * Set up rings, interrupts and bus mastering once the card is known. NULL: a driver has
	 * done so.
	 */
	int (*attach)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/* Reset the card. Registers are then reachable as after open(), and attach() follows. */
	int (*reset)(struct litepcie *dev);

	int (*readl)(struct litepcie *dev, uint32_t offset, uint32_t *value);
	/* Read consecutive words, which have no side effects. NULL: readl() is called for each. */
	int (*read_words)(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);
	/* Write one register. NULL: post() is called with one write. */
	int (*writel)(struct litepcie *dev, uint32_t offset, uint32_t value);
	/*
	 * Make a write that may be sent together with the next access, which follows soon. NULL:
	 * writel() is used.
	 */
	int (*defer)(struct litepcie *dev, uint32_t offset, uint32_t value);
	/*
	 * Make writes in order. They may be on their way when this returns. A later read comes
	 * after them.
	 */
	int (*post)(struct litepcie *dev, const struct litepcie_post *posts, size_t count);
	int (*bar_read)(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size);
	int (*bar_write)(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size);
	/* Map a BAR into this process. NULL: BARs cannot be mapped. */
	int (*bar_map)(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);
	const char *(*mmio_path)(const struct litepcie *dev);

	/*
	 * All threads share one connection to the board of a simulated card, so
	 * each access takes the handle's lock.
	 */
	bool serial;
	/*
	 * The back end replaces the pages of a program's own memory, so that memory must be
	 * private.
	 */
	bool exchanges;

	/*
	 * For table.c: provide memory of this kind (LITEPCIE_MEMORY_), which the card reaches at
	 * *@iova. The memory is all zeros, or lies at @place and keeps its contents. It replaces
	 * the last memory of the same kind, and belongs to the back end.
	 */
	int (*memory)(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		      struct litepcie_memory **memory, uint64_t *iova);
	/*
	 * Sleep until the card's interrupt. Returns 1 after an interrupt, with stats.interrupts
	 * brought up to date. Returns 0 when the time is over or litepcie_timer() is readable.
	 */
	int (*sleep)(struct litepcie *dev, int timeout_ms);
	/*
	 * Two interrupts may merge into one before they are counted, as in a CPU's interrupt
	 * controller.
	 */
	bool merges;
	/* the descriptor that an interrupt makes readable; used by table_run.c */
	int (*event_fd)(const struct litepcie *dev);
	/*
	 * Returns -ENODEV with a sentence if the kernel asks that the device be closed. NULL: it
	 * never does.
	 */
	int (*asked_back)(struct litepcie *dev);
	/*
	 * True if the card cannot be reached again, and a call has said so. NULL: that never
	 * happens.
	 */
	bool (*gone)(const struct litepcie *dev);
};

extern const struct litepcie_backend litepcie_kernel_backend;
extern const struct litepcie_backend litepcie_sim_backend;
extern const struct litepcie_backend litepcie_vfio_backend;

/* Register offsets of one direction of a DMA channel, in BAR0. */
struct litepcie_dma_registers {
	uint32_t enable;	/* bit 0: enable; bit 1, when read: the direction is idle */
	uint32_t value;		/* two words: flags and length, then the lower address */
	uint32_t push;		/* upper address; this write puts the descriptor into the table */
	uint32_t loop;		/* the table's mode; 0: each descriptor runs once */
	uint32_t loop_status;
	uint32_t flush;		/* a write of 1 empties the table, and loop_status becomes 0 */
};

/* Offsets of the registers that say where a channel writes its records and status lines. */
struct litepcie_notice_registers {
	uint32_t records;	/* two words: address of the ring of records */
	uint32_t entries;	/* base-2 logarithm of the number of records in the ring */
	uint32_t line[2];	/* two words each: addresses of the status lines of h2c and c2h */
	uint32_t flush;		/* cycles without data after which a c2h buffer ends; 0: never */
	uint32_t control;	/* offset 0: the card writes no records and status lines */
};

/* Offsets of the registers of the user slot's monitor: see gateware/user/monitor.py. */
struct litepcie_slot_registers {
	uint32_t now;		/* a read copies all counters; offset 0: the card has no monitor */
	uint32_t state, time;	/* offsets of two registers; `time` has two words */
	uint32_t side[2][4];	/* for h2c, c2h: since, beats, packets, stalls, two words each */
	uint64_t mask;		/* mask of the bits that the counters have */
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
	/* for each stream, in the order of struct litepcie_stream's fields */
	uint32_t	streams[4][6];
	uint32_t	pattern_control, pattern_beats, pattern_errors, pattern_first_error;
	uint32_t	loopback;
	struct litepcie_dma_registers h2c, c2h;
	struct litepcie_notice_registers notices;
	struct litepcie_slot_registers slot;
	/* interrupt causes, as bits of irq_enable, irq_clear, irq_vector */
	uint32_t	h2c_cause, c2h_cause;
	/* bit of the user's interrupt; 0: the card has no user slot */
	uint32_t	user_cause;
	/* bit 2 of h2c.enable says that the user's logic has taken all */
	bool		h2c_tells_taken;
	/* bytes that may be missing from h2c buffers that count as done */
	uint32_t	h2c_in_flight;
};

/* The descriptors of one direction, as engine.c counts them since the start of the run. */
struct litepcie_table {
	uint64_t	posted;		/* count of descriptors given to the card */
	uint64_t	done;		/* count of descriptors that the card has executed */
	/* of the executed ones, those that asked for an interrupt */
	uint64_t	asked;
	/* for each place in the ring: its descriptor asks for an interrupt */
	bool		*asks;
	/* for each place in the ring: bytes of its buffer; NULL: all are whole */
	uint32_t	*lengths;
	/* Buffers whose data has come. Used if h2c_in_flight is not 0 and lengths are kept. */
	uint64_t	arrived;
	uint64_t	arrived_bytes;	/* bytes of the buffers that @arrived counts */
	uint64_t	iova;		/* address of the ring for the card; used by table.c */
	bool		silent;		/* no descriptor of this direction asks for an interrupt */
};

/*
 * The handle of a card. Its lock protects the tables, ring.hw, the counts, and the accesses of a
 * serial back end. Every call holds the lock, except the fast calls of dma.c. It is released while
 * a thread sleeps.
 */
struct litepcie {
	const struct litepcie_backend	*backend;
	pthread_mutex_t			lock;
	/* signalled when the sleeping thread has news */
	pthread_cond_t			woken;
	/* a thread sleeps on behalf of all that wait */
	bool				sleeper;
	bool				stopping;	/* a thread is in litepcie_dma_stop() */
	/* runs that have ended; a waiting thread compares it */
	unsigned int			stops;
	void				*priv;
	char				*name;
	/* number of the DMA channel that this handle uses */
	unsigned int			channel;
	size_t				buffer_size;
	unsigned int			buffer_count;
	uint64_t			bar_size[LITEPCIE_BARS];
	struct litepcie_block		*blocks;
	unsigned int			block_count;
	struct litepcie_register	*registers;
	unsigned int			register_count;
	struct litepcie_card		card;
	uint32_t			table_crc;	/* CRC of the capability table */
	struct litepcie_map		map;
	struct litepcie_ring		h2c, c2h;
	struct litepcie_table		h2c_table, c2h_table;
	struct litepcie_notices		notices;
	/* address of the notices for the card, for table.c */
	uint64_t			notices_iova;
	/* array that h2c_table.lengths may point to */
	uint32_t			*lengths;
	/* lengths of h2c buffers that are not yet posted */
	uint32_t			*wanted;
	uint64_t			c2h_limit;
	/* buffers from one interrupt to the next */
	unsigned int			interrupt_every;
	/* card's count of received bytes when h2c started */
	uint64_t			received_before;
	/* buffers that the card is told of together */
	unsigned int			batch;
	bool				packets;	/* the end of a packet ends its buffer */
	bool				inner;		/* the DMA's own loopback is on */
	/* flush time of c2h buffers in us; 0: never */
	uint32_t			flush_us;
	/* us between two looks at the card; 0: by interrupts */
	uint32_t			poll_us;
	bool				adaptive;	/* looks begin after an interrupt */
	/* looks are under way, DMA interrupts are off */
	bool				looking;
	/* buffers that were done at the last look */
	uint64_t			looked;
	/* descriptor, readable when a look is due; or -1 */
	int				timer;
	/* epoll of @timer and the interrupt, or -1 */
	int				news;
	/* time at which looks began to find nothing, or 0 */
	int64_t				silent_ms;
	/* looks in place of a sleep that found news */
	unsigned int			glances;
	/* litepcie_dma_fd() was called in this run */
	bool				watched;
	/* state of the user's interrupt */
	bool				user_enabled, user_raised;
	/* the pattern is on for the active directions */
	bool				pattern;
	struct litepcie_stats		stats;		/* those counts that are not in the rings */
};

/* The buffer for this thread's sentence of litepcie_why(), of LITEPCIE_WHY_SIZE bytes. */
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
/* returns 0 if it is the card from before the reset */
int litepcie_card_check(struct litepcie *dev);
int litepcie_registers_build(struct litepcie *dev);
int litepcie_map_build(struct litepcie *dev);
int litepcie_identifier_read(struct litepcie *dev);

const struct litepcie_block *litepcie_find_block(const struct litepcie *dev, unsigned int type,
						 unsigned int index);

/*
 * Add a register to dev->registers. Returns -EPROTO if the name is known already, at another place.
 */
int litepcie_register_add(struct litepcie *dev, const struct litepcie_register *entry);
void litepcie_registers_sort(struct litepcie *dev);

/*
 * Find the offset of a register by name. If there is no such register, *@rc becomes -EPROTO, unless
 * it has an error already.
 */
void litepcie_need(struct litepcie *dev, const char *name, uint32_t *offset, int *rc);

/*
 * Switch the card's pattern on or off for the active directions, before or after they run. The bits
 * of the other direction are left alone, since another program may have it.
 */
int litepcie_pattern_set(struct litepcie *dev, bool on);

/*
 * Returns a file of zeros in memory, with MFD_ flags @flags. On failure returns -1 and sets errno,
 * without a sentence.
 */
int litepcie_memory_file(size_t size, unsigned int flags);

/* Ask the kernel to make huge pages of small ones, where the memory is aligned for that. */
void litepcie_memory_huge(void *memory, size_t size);

/*
 * Take over a mapping and its file, if there is one. @placed says that the mapping is the program's
 * own memory. Returns NULL with a sentence when there is no memory: mapping and file have then been
 * given back.
 */
struct litepcie_memory *litepcie_memory_new(struct litepcie *dev, void *base, size_t size, int fd,
					    bool placed);

/*
 * One access of the CPU to a mapped BAR, of 1 to 64 bytes. Returns -EOPNOTSUPP with a sentence if
 * the CPU cannot make it.
 */
int litepcie_load(struct litepcie *dev, const uint8_t *from, void *data, size_t size);
int litepcie_store(struct litepcie *dev, uint8_t *to, const void *data, size_t size);

/*
 * Returns a descriptor that is readable when a look at the card is due, or -1 if no looks are made
 * by timer.
 */
static inline int litepcie_timer(const struct litepcie *dev)
{
	return dev->poll_us ? dev->timer : -1;
}

/* Returns the time of the monotonic clock in milliseconds. */
int64_t litepcie_now_ms(void);

/*
 * Returns the end of a wait of @timeout_ms, as litepcie_now_ms(). It is INT64_MAX if @timeout_ms is
 * negative.
 */
int64_t litepcie_deadline(int timeout_ms);

/*
 * Returns the milliseconds to sleep before the next look at the card, or 0 if the deadline has
 * passed.
 */
int litepcie_slice(int64_t deadline);

static inline uint8_t *litepcie_ring_buffer(const struct litepcie *dev,
					    const struct litepcie_ring *ring, uint64_t number)
{
	return ring->base ? ring->base + (number & (dev->buffer_count - 1)) * dev->buffer_size : NULL;
}

#endif /* LITEPCIE_BACKEND_H */
