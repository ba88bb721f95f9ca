/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The internal header of the library: the handle of a card, and the functions that a back end must
 * provide.
 *
 * A back end says how registers and DMA memory are reached. All other code is common to the back
 * ends. The code of the DMA stands in folders, one above the other:
 *   dma      the calls of a stream: who owns which buffer, and waits
 *   dma/engine
 *            a run: which buffers the card gets, which of them raise interrupts, lost interrupts
 *   dma/table, kernel/channel.c
 *            the two channels (struct litepcie_channel), which give the card descriptors and read
 *            its counts. The folder dma/table has the channel of every back end that reaches
 *            registers and memory itself: it uses the card's own descriptor table. The channel of
 *            the folder kernel uses calls of the driver.
 *   vfio, sim, kernel
 *            the three back ends
 * The folder describe reads what a card says of itself: its blocks, registers and identity.
 * The callers of these functions have checked all arguments.
 */
#ifndef LITEPCIE_BACKEND_H
#define LITEPCIE_BACKEND_H

#include <errno.h>
#include <pthread.h>

#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "dma/engine/notices.h"
#include "dma/stream.h"

/* longest time in ms from one look at the card's progress to the next, in a thread that waits */
#define LITEPCIE_WAIT_SLICE_MS	200

/*
 * The kinds of host memory that a card reaches: the ring of h2c, the ring of c2h, the notices
 * (records and status lines that the card writes, see notices.h), and for each queue of a capture
 * its ring and its status line (capture.h). Those named here are of queue 0, and those of queue n
 * are 2 * n further.
 */
#define LITEPCIE_QUEUES_MOST	16u
#define LITEPCIE_MEMORY_H2C	0u
#define LITEPCIE_MEMORY_C2H	1u
#define LITEPCIE_MEMORY_NOTICES	2u
#define LITEPCIE_MEMORY_CAPTURE	3u
#define LITEPCIE_MEMORY_CAPTURE_STATUS	4u
#define LITEPCIE_MEMORIES	(LITEPCIE_MEMORY_CAPTURE + 2 * LITEPCIE_QUEUES_MOST)

/*
 * A write of 4 or 8 bytes to BAR0, of a list of such writes that are made in order. The layout is
 * that of a simulated board's messages, so a list of writes is copied as a whole.
 */
struct litepcie_post {
	uint64_t	offset;
	uint32_t	bar;	/* 0 */
	uint32_t	size;
	uint64_t	value;
};

/* Add a write of 4 bytes to a list of writes, at @post. Returns the place of the next write. */
static inline struct litepcie_post *litepcie_post_add(struct litepcie_post *post, uint32_t offset,
						      uint32_t value)
{
	post->offset = offset;
	post->bar = 0;
	post->size = 4;
	post->value = value;
	return post + 1;
}

/* How a back end makes writes to BAR0. */
enum litepcie_post_by {
	/* a write of the library: the kernel's driver makes it and has the right card for sure */
	LITEPCIE_POST_OWN,
	/* the same, but the write may go out with the next access, which comes soon */
	LITEPCIE_POST_LATER,
	/* a write of the program: made by a mapping of the BAR, if there is one */
	LITEPCIE_POST_PROGRAM,
};

/* Where the counts of finished buffers are read. */
enum litepcie_ask {
	/* the cheapest source: memory, if the card or the driver writes its counts there */
	LITEPCIE_ASK_MEMORY,
	/* the card itself, which also finds out whether it is still there */
	LITEPCIE_ASK_CARD,
};

/* What a back end does about the interrupt of the user's logic. */
enum litepcie_user {
	LITEPCIE_USER_OFF,
	LITEPCIE_USER_ON,
	/* set dev->user_raised if such an interrupt has come */
	LITEPCIE_USER_LOOK,
};

struct litepcie_capture_access;

/*
 * The functions of a DMA channel, by which a back end reaches it. Each is called with dev->lock
 * held, and releases the lock only while it sleeps.
 */
struct litepcie_channel {
	/* Reserve the direction for this handle, or release it. NULL: nobody else can have it. */
	int (*own)(struct litepcie_stream *stream, bool on);
	/*
	 * Make the ring that the options say, or check that the driver can make one at the start.
	 * Returns -EOPNOTSUPP with a sentence if the driver has no held runs, in which the card
	 * waits for buffers.
	 */
	int (*setup)(struct litepcie_stream *stream);
	/* Take the ring from the card and free it. */
	void (*free)(struct litepcie_stream *stream);
	/* Get the stream ready for a run. The card has no descriptor of the run yet. */
	int (*start)(struct litepcie_stream *stream);
	/* Enable the direction. All c2h buffers have been handed to the card before. */
	int (*run)(struct litepcie_stream *stream);
	/* Stop the direction, which is active, or whose start has failed halfway. */
	int (*stop)(struct litepcie_stream *stream);
	/*
	 * Hand the card @count buffers from number @first on. stream->asks says for each buffer
	 * whether it raises an interrupt, stream->lengths how many bytes it has.
	 */
	int (*post)(struct litepcie_stream *stream, uint64_t first, uint64_t count);
	/*
	 * Bring hw (the count of finished buffers) of the active streams up to date, and call
	 * litepcie_engine_done().
	 */
	int (*progress)(struct litepcie *dev, enum litepcie_ask ask);
	/*
	 * Sleep until there may be news of @directions, at most @timeout_ms, and clear the
	 * descriptor of event_fd(). Returns 1 for news, or 0 when the time is over. The caller then
	 * calls progress().
	 */
	int (*sleep)(struct litepcie *dev, unsigned int directions, int timeout_ms);
	/* Clear the interrupt that has ended sleep(). NULL: there is nothing to clear. */
	int (*woken)(struct litepcie *dev);
	/*
	 * true: both directions share one interrupt, so only one thread sleeps, and wakes the
	 * others that wait. Before a sleep that thread looks at the records in memory. false: each
	 * thread sleeps for its own direction, and sleep() itself looks at memory first.
	 */
	bool shared;
	/* Returns the descriptor of litepcie_dma_fd(), or -errno with a sentence. */
	int (*event_fd)(struct litepcie *dev);
	/* Returns a descriptor of the memory of an active ring, or -errno with a sentence. */
	int (*export)(const struct litepcie_stream *stream);
};

struct litepcie_backend {
	const char *name;
	const struct litepcie_channel *channel;

	/*
	 * Parse dev->name and make the registers reachable. close() may be called only after open()
	 * has succeeded.
	 */
	int (*open)(struct litepcie *dev);
	/*
	 * Set up rings, interrupts and bus mastering after the card has been identified. NULL: a
	 * driver has done so.
	 */
	int (*attach)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/* Reset the card. Its registers are then reachable, and the caller calls attach(). */
	int (*reset)(struct litepcie *dev);

	/* Read consecutive words of BAR0. If there are several, reading them has no side effects. */
	int (*read_words)(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);
	/*
	 * Make writes to BAR0 in order. The writes may still be on their way to the card when this
	 * returns. A later read comes after all of them.
	 */
	int (*post)(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		    enum litepcie_post_by by);
	int (*bar_read)(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
			size_t size);
	int (*bar_write)(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
			 size_t size);
	/* Map a BAR into this process. NULL: this back end cannot map BARs. */
	int (*bar_map)(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);

	/*
	 * All threads share one connection to the process of a simulated board, so each access
	 * takes the handle's lock.
	 */
	bool serial;
	/* true: it replaces the pages of a program's own memory, which must then be private */
	bool exchanges;

	/*
	 * Provide memory of @kind (a LITEPCIE_MEMORY_ value) for the folder dma/table and for
	 * capture_registers.c. The card reaches it at
	 * *@iova. The memory is all zeros, unless it lies at @place: then its contents are kept. It
	 * replaces the last memory of the same kind, and belongs to the back end.
	 */
	int (*memory)(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		      struct litepcie_memory **memory, uint64_t *iova);
	/* Take memory of @kind from the card and free it. Nothing happens if there is none. */
	void (*memory_free)(struct litepcie *dev, unsigned int kind);
	/* How a capture reaches the card. NULL: by its registers and memory(). */
	const struct litepcie_capture_access *capture;
	/*
	 * Sleep until the card interrupts, at most @timeout_ms. Returns 1 after an interrupt, with
	 * stats.interrupts brought up to date. Returns 0 when the time is over or litepcie_timer()
	 * is readable.
	 */
	int (*sleep)(struct litepcie *dev, int timeout_ms);
	/*
	 * Two interrupts may merge into one before this back end counts them, as in the interrupt
	 * controller of a CPU. The number of interrupts is then not exact.
	 */
	bool merges;
	/*
	 * Returns 1 if the card is gone, which an earlier call has reported, or -ENODEV if the kernel
	 * wants the device back, else 0. NULL: always 0. litepcie_check_wanted() has the sentence.
	 */
	int (*state)(struct litepcie *dev);
	/* Do @what about the interrupt of the user's logic. Called with dev->lock held. */
	int (*user)(struct litepcie *dev, enum litepcie_user what);
};

extern const struct litepcie_backend litepcie_kernel_backend;
extern const struct litepcie_backend litepcie_sim_backend;
extern const struct litepcie_backend litepcie_vfio_backend;

/*
 * The run of the card's capture queues, by the back ends that reach registers themselves. All
 * queues begin and end together, with queue 0.
 */
struct litepcie_capture_run {
	/* number of the last run, and LITEPCIE_RUN_ or 0; any thread may read them at any time */
	uint32_t	number;
	uint32_t	state;
	uint32_t	sort;		/* value of capture_queues_control in a run */
	/* queues whose memory the card may write to until the run ends, though they were closed */
	uint32_t	left;
};

#define LITEPCIE_RUN_ON		1u
#define LITEPCIE_RUN_STOPS	2u

/*
 * The handle of a card. Its lock protects the streams' counts and the accesses of a serial back
 * end. Every call holds the lock, except the fast calls of dma.c. The lock is released
 * while a thread sleeps.
 */
struct litepcie {
	const struct litepcie_backend	*backend;
	pthread_mutex_t			lock;
	/* taken before @lock: one thread at a time copies the capture's accounts and reads the copy */
	pthread_mutex_t			counting;
	pthread_cond_t			woken;	/* signalled when the sleeping thread has news */
	/* true: a thread sleeps on behalf of all threads that wait for the card */
	bool				sleeper;
	bool				stopping;	/* true: a thread is stopping the DMA */
	void				*priv;
	/* how accesses to registers are made, in a word for litepcie_mmio_path(); set by open() */
	const char			*mmio_path;
	/* those of LITEPCIE_HAS_STREAMS and _PACKETS that the way to the card can do */
	uint64_t			able;
	/* readable when the card interrupts, for the channel of the folder dma/table; or -1 */
	int				interrupt;
	char				*name;
	unsigned int			channel;	/* number of the DMA channel in use */
	uint64_t			bar_size[LITEPCIE_BARS];
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
	uint32_t			poll_us;	/* us between two looks; 0: interrupts */
	/* true: adaptive mode, in which the looks at the card begin after an interrupt */
	bool				adaptive;
	/* true: looks at the card's progress are under way, so the interrupts of the DMA are off */
	bool				looking;
	/* number of buffers, of both directions, that the card had finished at the last look */
	uint64_t			looked;
	/* descriptor of a timer that is readable when a look at the card is due, or -1 */
	int				timer;
	/* descriptor of an epoll on @timer and the card's interrupt, or -1 */
	int				news;
	/*
	 * time in ms since which the card makes no progress, or of the last check that it is still
	 * there; 0: it had made progress at the last look
	 */
	int64_t				silent_ms;
	/* number of looks at the notices in memory; every GLANCES-th look also takes interrupts */
	unsigned int			glances;
	/* true: litepcie_dma_fd() was called, so each wait must clear its descriptor */
	bool				watched;
	/* true: a stream whose interrupts can be counted has ended since the first start */
	bool				counted;
	/* the user's interrupt: it is switched on; it has come since the last wait for it */
	bool				user_enabled, user_raised;
	/* the open captures of this handle, by their queues, and what they have in common */
	struct litepcie_capture		*captures[LITEPCIE_QUEUES_MOST];
	struct litepcie_capture_run	run;
	/* counts for litepcie_stats() that are not in the streams */
	struct litepcie_stats		stats;
};

/* Return this thread's buffer of LITEPCIE_WHY_SIZE bytes for the sentence of its last error. */
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

/* Do what the back end's attach() does, if it has one. */
static inline int litepcie_attach(struct litepcie *dev)
{
	return dev->backend->attach ? dev->backend->attach(dev) : 0;
}

/* Read or write registers of BAR0 from inside the library. The caller holds the handle's lock. */
int litepcie_get(struct litepcie *dev, uint32_t offset, uint32_t *value);
int litepcie_get64(struct litepcie *dev, uint32_t offset, uint64_t *value);
/* Read 64 bits of a copy of counters that the card has made, and that does not change meanwhile. */
int litepcie_get_copy64(struct litepcie *dev, uint32_t offset, uint64_t *value);
int litepcie_put(struct litepcie *dev, uint32_t offset, uint32_t value);
/* Read a register, and write it with the bits @clear cleared and the bits @set set. */
int litepcie_change(struct litepcie *dev, uint32_t offset, uint32_t clear, uint32_t set);
int litepcie_get_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);

/*
 * Returns true if a register of states that read as @status says one of @states. A read that the
 * root port has given up gives all ones, and says nothing.
 */
static inline bool litepcie_says(uint32_t status, uint32_t states)
{
	return status != UINT32_MAX && status & states;
}

/* Do what litepcie_time() does, for a caller that holds the handle's lock. */
int litepcie_time_read(struct litepcie *dev, uint64_t *ticks);

/* Keep a sentence for litepcie_why() and return the -errno @error: `return litepcie_fail(...)`. */
__attribute__((format(printf, 3, 4)))
int litepcie_fail(struct litepcie *dev, int error, const char *format, ...);

/* Returns -ENODEV with a sentence if the kernel wants the card back. The lock is held. */
static inline int litepcie_check_wanted(struct litepcie *dev)
{
	if (!dev->backend->state || dev->backend->state(dev) >= 0)
		return 0;
	return litepcie_fail(dev, -ENODEV, "%s is asked back: somebody unbinds or removes it, and "
			     "waits until this program has closed it", dev->name);
}

/*
 * Copy a struct that begins with its size in from the program. Members that the program's struct
 * does not have become 0. @size is the size of the library's struct. Returns 0, or -EINVAL with a
 * sentence if the program's struct says no size, or has a setting behind @size that is not 0.
 */
int litepcie_struct_in(struct litepcie *dev, void *ours, size_t size, const void *theirs,
		       const char *name);

/*
 * Copy a struct that begins with its size out to the program, as far as the program's struct
 * reaches. Returns 0, or -EINVAL with a sentence if the program's struct says no size.
 */
int litepcie_struct_out(const struct litepcie *dev, void *theirs, const void *ours, size_t size,
			const char *name);

/*
 * Functions that describe a card that was just opened. They fill dev->blocks and dev->card,
 * dev->registers, dev->map, and dev->card.identifier, and are called in this order.
 */
int litepcie_capability_read(struct litepcie *dev);
/* Return 0 if, after a reset, the card's capability table is the one that it had before. */
int litepcie_card_check(struct litepcie *dev);
int litepcie_registers_build(struct litepcie *dev);
int litepcie_map_build(struct litepcie *dev);
int litepcie_identifier_read(struct litepcie *dev);

const struct litepcie_block *litepcie_find_block(const struct litepcie *dev, unsigned int type,
						 unsigned int index);

/* Add a register. Returns -EPROTO if its name is known with another place or size. */
int litepcie_register_add(struct litepcie *dev, const struct litepcie_register *entry);
void litepcie_registers_sort(struct litepcie *dev);

/* Write the name @pattern to @name, with @number in place of the sign #. */
void litepcie_register_name(char *name, size_t size, const char *pattern, unsigned int number);

/*
 * Find the offset of a register by name. If there is no such register, *@rc becomes -EPROTO, unless
 * it has an error already.
 */
void litepcie_need(struct litepcie *dev, const char *name, uint32_t *offset, int *rc);

/* Returns true if a capture of this handle is open. */
bool litepcie_has_capture(const struct litepcie *dev);

/*
 * Switch off the capture block, which an earlier client may have left running. It does not wait
 * until the block is at rest.
 */
int litepcie_capture_quiesce(struct litepcie *dev);

/*
 * Switch the card's pattern on or off for a stream, before or after it runs. The bits of the other
 * direction stay as they are, since another program may use that direction.
 */
int litepcie_pattern_set(struct litepcie_stream *stream, bool on);

/*
 * Returns the descriptor of a new file in memory that holds @size zero bytes. @flags are MFD_
 * flags. On failure it returns -1 and sets errno, without a sentence.
 */
int litepcie_memory_file(size_t size, unsigned int flags);

/* Ask the kernel to make huge pages of those parts of @memory that are aligned to 2 MiB. */
void litepcie_memory_huge(void *memory, size_t size);

/*
 * Take over a mapping and its file, which @fd is unless it is -1. @placed says that the mapping is
 * the program's own memory. Returns NULL with a sentence if there is no memory: the mapping and the
 * file have then been given back.
 */
struct litepcie_memory *litepcie_memory_new(struct litepcie *dev, void *base, size_t size, int fd,
					    bool placed);

/*
 * Make one load or store of the CPU at a mapped BAR, of 1 to 64 bytes. Returns -EOPNOTSUPP with a
 * sentence if the CPU cannot make an access of this size.
 */
int litepcie_load(struct litepcie *dev, const uint8_t *from, void *data, size_t size);
int litepcie_store(struct litepcie *dev, uint8_t *to, const void *data, size_t size);

/* Returns the descriptor that is readable when a look is due, or -1 without timed looks. */
static inline int litepcie_timer(const struct litepcie *dev)
{
	return dev->poll_us ? dev->timer : -1;
}

/* Returns the time of the monotonic clock in milliseconds. */
int64_t litepcie_now_ms(void);

/*
 * Returns the time, on the clock of litepcie_now_ms(), at which a wait of @timeout_ms ends. It is
 * INT64_MAX if @timeout_ms is negative: the wait never ends.
 */
int64_t litepcie_deadline(int timeout_ms);

/*
 * Returns the time in ms to sleep until the next look at the card: up to LITEPCIE_WAIT_SLICE_MS.
 * Returns 0 if @deadline has passed.
 */
int litepcie_slice(int64_t deadline);

/*
 * Release the handle's lock for a poll() of @count descriptors. Returns what poll() returns, or
 * -errno with a sentence.
 */
struct pollfd;
int litepcie_poll(struct litepcie *dev, struct pollfd *fds, unsigned int count, int timeout_ms);

/* Clear an eventfd or a timer. Returns how often it was raised; 0: not at all, or @fd is -1. */
uint64_t litepcie_take_event(int fd);

#endif /* LITEPCIE_BACKEND_H */
