/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what the files of the driver that sync.c includes need of the kernel and of card.h.
 * Declares the made-up card, too. The stand-ins for the locks check the order in which they are
 * taken. The program has one thread, so to take a lock that is held is a deadlock.
 */
#ifndef SYNC_H
#define SYNC_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"

#define LITEPCIE_CARD_H
#define LITEPCIE_COMPAT_H
#define LITEPCIE_TRACE_H

typedef uint8_t u8;
typedef uint32_t u32;
typedef __u64 u64, dma_addr_t;
typedef __s64 s64;

#define LITEPCIE_WAYS 2
enum dma_data_direction { DMA_TO_DEVICE = 1, DMA_FROM_DEVICE };

#define __iomem
#define HZ				1000
#define MAX_JIFFY_OFFSET		(~0ul >> 2)
#define ERESTARTSYS			512
#define BIT(_n)				(1ul << (_n))
#define min(_a, _b)			((_a) < (_b) ? (_a) : (_b))
#define max(_a, _b)			((_a) > (_b) ? (_a) : (_b))
#define min_t(_type, _a, _b)		min((_type)(_a), (_type)(_b))
#define min3(_a, _b, _c)		min(min(_a, _b), _c)
#define round_down(_x, _to)		((_x) & ~((u64)(_to) - 1))
#define round_up(_x, _to)		round_down((_x) + (_to) - 1, _to)
#define ilog2(_x)			(63 - __builtin_clzll(_x))
#define lower_32_bits(_x)		((u32)(_x))
#define upper_32_bits(_x)		((u32)((u64)(_x) >> 32))
#define cpu_to_le64(_x)			(_x)
#define le64_to_cpu(_x)			(_x)
#define unlikely(_x)			(_x)
#define swap(_a, _b) \
	do { __typeof__(_a) was_ = (_a); (_a) = (_b); (_b) = was_; } while (0)
#define READ_ONCE(_x)			(_x)
#define smp_load_acquire(_from)		(*(_from))
#define wake_up_poll(_wait, _events)	((void)(_wait), (void)(_events))
#define WRITE_ONCE(_x, _value)		((_x) = (_value))
#define smp_store_release(_to, _value)	(*(_to) = (_value))
#define container_of(_pointer, _type, _member) \
	((_type *)((char *)(_pointer) - __builtin_offsetof(_type, _member)))
#define PTR_ERR(_pointer)		((int)(intptr_t)(_pointer))
#define ERR_PTR(_error)			((void *)(intptr_t)(_error))
#define IS_ERR(_pointer)		((uintptr_t)(_pointer) >= (uintptr_t)-4095)
#define module_param(_name, _type, _mode)	struct module_param_##_name
#define MODULE_PARM_DESC(_name, _text)	struct module_parm_desc_##_name
#define msecs_to_jiffies(_ms)		((unsigned long)(_ms))
#define usecs_to_jiffies(_us)		((unsigned long)(_us) / 1000)
#define time_after(_a, _b)		((long)((_b) - (_a)) < 0)
#define dev_err(_dev, ...)		((void)(_dev), snprintf(said, sizeof(said), __VA_ARGS__))
#define dev_warn			dev_err
#define dev_warn_ratelimited		dev_err
#define trace_litepcie_run(_way, _run, _error)	((void)(_error))
#define trace_litepcie_ring(_way, _ring)	((void)(_ring))
#define trace_litepcie_progress(_way, _hardware, _software)	((void)0)
#define pci_set_master(_pdev)		((_pdev)->master = true)
#define pci_clear_master(_pdev)		((_pdev)->master = false)

/* Stand-ins for the kernel's locks ------------------------------------------------------------ */

/*
 * Ranks of the driver's locks, outermost first: way->io, card->live, way->mutex, card->master_lock
 * and way->wait.lock. A lock may be taken only while no lock of its own or of a later rank is held.
 */
enum { RANK_IO, RANK_LIVE, RANK_MUTEX, RANK_MASTER, RANK_WAIT, RANKS };

struct mutex { int rank; };
typedef struct mutex spinlock_t;

void lock_take(struct mutex *lock);
bool lock_try(struct mutex *lock);
void lock_leave(struct mutex *lock);
void must_be_held(int rank, const char *name);

#define mutex_lock			lock_take
#define mutex_lock_nested(_lock, _subclass)	lock_take(_lock)
#define mutex_trylock			lock_try
#define mutex_lock_interruptible(_lock)	(lock_take(_lock), 0)
#define mutex_unlock			lock_leave
#define spin_lock_irq			lock_take
#define spin_unlock_irq			lock_leave
#define lockdep_assert_held(_lock)	must_be_held(*(int *)(_lock), #_lock)

/* Stand-ins for the kernel's waits and works -------------------------------------------------- */

typedef struct { spinlock_t lock; } wait_queue_head_t;
struct work_struct { int nothing; };

struct delayed_work {
	struct work_struct	work;
	void			(*function)(struct work_struct *work);
	bool			pending;
};

extern unsigned long jiffies;
extern struct task { int nothing; } *const current;

/* Let one tick of the clock pass, in which the card goes on and other threads make their calls. */
void tick(void);

#define signal_pending(_task)		((void)(_task), made.signal)
#define system_wq			NULL
#define INIT_DELAYED_WORK(_work, _function)	((_work)->function = (_function))
#define schedule_delayed_work(_work, _delay)	((void)((_work)->pending = true))
#define mod_delayed_work(_wq, _work, _delay)	((void)((_work)->pending = true))
#define cancel_delayed_work_sync(_work)		((void)((_work)->pending = false))
#define wait_event_interruptible(_wait, _condition) \
({ \
	while (!(_condition) && !made.signal) \
		tick(); \
	(_condition) ? 0 : -ERESTARTSYS; \
})
#define wait_event_timeout(_wait, _condition, _ticks) \
	do { if (!(_condition)) tick(); } while (0)

/*
 * Stands for the kernel's readl_poll_timeout(), which reads the register once more after the time
 * limit. The stand-in does not sleep: it only counts the time.
 */
#define readl_poll_timeout(_address, _value, _condition, _sleep_us, _timeout_us)	\
({											\
	u64 left_ = (_timeout_us);							\
	for (;;) {									\
		(_value) = readl(_address);						\
		if ((_condition) || !left_)						\
			break;								\
		left_ -= left_ < (_sleep_us) ? left_ : (_sleep_us);			\
	}										\
	(_condition) ? 0 : -ETIMEDOUT;							\
})

/* Stand-ins for the driver's other files ------------------------------------------------------ */

struct device { int nothing; };
struct eventfd_ctx { int nothing; };
struct iov_iter { u8 *data; size_t left; };
struct pci_dev { struct device dev; bool master; };
struct litepcie_memory;
struct litepcie_allowance;

struct litepcie_geometry { u32 size, count, per_interrupt, mode, interval_us, flags; };

#define LITEPCIE_GEOMETRY_DEFAULT	((struct litepcie_geometry){ .size = SIZE, .count = COUNT })

struct litepcie_ring {
	struct litepcie_geometry	geometry;
	struct device			*dev;
	unsigned int			references;
	u8				data[];
};

struct litepcie_ends { bool packets; u32 flush_us; };
struct litepcie_stream { u64 at, wanted, warned; };
struct litepcie_held { u64 advanced, done, bytes, position, *end, mask; };

struct litepcie {
	struct pci_dev	*pdev;
	struct mutex	master_lock;
	bool		lost;
	u32		unquiet;
};

struct litepcie_way {
	struct litepcie_chan		*chan;
	u32				id;
	u8				*regs;
	u32				cause, depth, in_flight;
	bool				tells_taken, reports, indexed;
	struct mutex			io, mutex;
	struct litepcie_file		*owner;
	struct litepcie_ring		*ring;
	struct litepcie_allowance	*allowance;
	struct litepcie_ends		ends;
	wait_queue_head_t		wait;
	struct litepcie_status_way	*status;
	u32				run, count, mode, interval_us, margin;
	int				error;
	unsigned int			generation;
	u64				position, interrupts, watched_interrupts, missed, unsent;
	s64				hw_count, sw_count, watched;
	struct litepcie_held		held;
	struct litepcie_stream		stream;
	struct eventfd_ctx		*event;
	struct delayed_work		flusher, watchdog;
};

struct litepcie_chan {
	struct litepcie		*card;
	struct device		dev;
	u8			*loopback;
	struct { bool able; }	notices;
	int			pollers;
	struct litepcie_way	way[LITEPCIE_WAYS];
};

struct litepcie_file {
	struct litepcie_chan	*chan;
	struct litepcie_index	*index;
	struct litepcie_ring	*ring[LITEPCIE_WAYS];
	struct litepcie_ends	ends[LITEPCIE_WAYS];
};

#define litepcie_find_way(_file, _id)	(&(_file)->chan->way[_id])
#define litepcie_load_reported(_word)	(*(_word))

u32 readl(const u8 *address);
void writel(u32 value, u8 *address);
size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *to);
size_t copy_from_iter(void *to, size_t bytes, struct iov_iter *from);
#define iov_iter_count(_iter)		((_iter)->left)

struct litepcie *litepcie_of(struct litepcie_way *way);
struct device *litepcie_dev(struct litepcie_way *way);
int litepcie_enter(struct litepcie *card);
void litepcie_exit(struct litepcie *card);
bool litepcie_is_gone(const struct litepcie *card);
bool litepcie_answers(struct litepcie *card);
bool litepcie_check_lost(struct litepcie *card);
bool litepcie_dma_progress(struct litepcie_way *way);
void litepcie_dma_ask(struct litepcie_way *way);
void litepcie_dma_news(struct litepcie_way *way);
void litepcie_eventfd_signal(struct eventfd_ctx *event);
void eventfd_ctx_put(struct eventfd_ctx *event);

struct litepcie_ring *litepcie_ring_alloc(struct device *dev, enum dma_data_direction direction,
					  const struct litepcie_geometry *geometry,
					  struct litepcie_allowance *allowance);
struct litepcie_ring *litepcie_ring_wrap(struct device *dev, enum dma_data_direction direction,
					 const struct litepcie_geometry *geometry,
					 struct litepcie_memory *memory);
void litepcie_ring_get(struct litepcie_ring *ring);
void litepcie_ring_put(struct litepcie_ring *ring);
int litepcie_ring_map(struct litepcie_ring *ring, struct device *dev);
void litepcie_ring_unmap(struct litepcie_ring *ring);
size_t litepcie_ring_bytes(const struct litepcie_ring *ring);
dma_addr_t litepcie_ring_dma(const struct litepcie_ring *ring, u32 buffer);
u8 *litepcie_ring_buffer(struct litepcie_ring *ring, u32 buffer);
#define litepcie_ring_for_cpu(_ring, _buffer)	((void)(_ring), (void)(_buffer))
#define litepcie_ring_for_card(_ring, _buffer)	((void)(_ring), (void)(_buffer))

void litepcie_notices_start(struct litepcie_way *way, u32 flush_us);
void litepcie_notices_stop(struct litepcie_way *way, bool live);
void litepcie_notices_off(struct litepcie_way *way);
bool litepcie_notices_ended(const struct litepcie_way *way, u64 number);
void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags);
void litepcie_timer_init(struct litepcie_way *way);
void litepcie_timer_start(struct litepcie_way *way);
void litepcie_timer_stop(struct litepcie_way *way);

/* Functions of the driver's files that the program sync includes */
const char *litepcie_way_name(const struct litepcie_way *way);
void litepcie_dma_init(struct litepcie_way *way);
void litepcie_master_off(struct litepcie *card, u32 cause);
void litepcie_master_on(struct litepcie *card, u32 cause);
int litepcie_dma_halt(struct litepcie_way *way);
bool litepcie_dma_taken(struct litepcie_way *way);
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run);
int litepcie_dma_stop(struct litepcie_way *way);
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_dma_give(struct litepcie_way *way, struct litepcie_file *file, bool live);
void litepcie_dma_abort(struct litepcie_way *way, int error);
int litepcie_dma_settle(struct litepcie_way *way);
void litepcie_owner_set(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_owner_forget(struct litepcie_way *way, bool live);
void litepcie_owner_drop_orphan(struct litepcie_way *way);
int litepcie_owner_ring(struct litepcie_way *way);
bool litepcie_owner_is_other(const struct litepcie_way *way, const struct litepcie_file *file);
void litepcie_owner_leave(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_owner_unmap(struct litepcie_way *way);
int litepcie_held_update(struct litepcie_way *way);
void litepcie_held_append(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
u64 litepcie_held_position(const struct litepcie_way *way);
bool litepcie_stream_ready(struct litepcie_way *way);
ssize_t litepcie_stream_transfer(struct litepcie_way *way, struct litepcie_file *file,
				 struct iov_iter *iter, bool nonblock);
void litepcie_stream_init(struct litepcie_way *way);
int litepcie_stream_sync(struct litepcie_file *file);
void litepcie_stream_close(struct litepcie_file *file);

/* The made-up card ---------------------------------------------------------------------------- */

#define SIZE	4096u	/* bytes of a buffer of the made-up rings */
#define COUNT	8u	/* number of buffers in a made-up ring */
#define DEPTH	16u	/* number of descriptors that the made-up card's table holds */

struct made {
	/* largest number of descriptors that the made-up card finishes in a tick */
	unsigned int	pace;
	/* ticks from the fetch of the last descriptor until the user's logic has taken all data */
	unsigned int	untaken;
	bool		gone;		/* true: the made-up card has gone, reads return all ones */
	bool		given_up;	/* true: the root port answers reads with all ones */
	bool		stuck;		/* true: the made-up card's direction does not stop */
	bool		signal;		/* true: a signal is pending for the calling thread */
	bool		running;
	u32		value;
	u32		bytes[DEPTH];	/* number of bytes of each descriptor in the table */
	bool		last[DEPTH];
	u32		level, done;
	u64		fetched;	/* bytes that the made-up card has fetched in all runs */
	unsigned int	packets;
	/*
	 * function that is called at the end of each tick, to make calls of other threads or to
	 * change the made-up card; or NULL
	 */
	void		(*meanwhile)(void);
	/* function that makes calls of other threads at the end of litepcie_exit(), or NULL */
	void		(*leaving)(void);
};

extern struct made made;
extern char said[256];		/* the driver's last log message */
extern unsigned int rings;	/* number of rings that the driver has not freed */
extern unsigned int mapped;	/* number of rings that are mapped for the card */
/* what litepcie_enter() returns while the card is not lost: 0 or an error */
extern int entry_error;
extern struct litepcie card;
extern struct litepcie_chan channel;

void need(bool holds, const char *what);
/*
 * Close the file as litepcie_release(), the driver's function for the last close(), does, but
 * release only the file's h2c direction.
 */
void leave(struct litepcie_file *file);
/* Set the driver's parameter close_timeout_ms to @ms. */
void set_close_timeout(unsigned int ms);

#endif /* SYNC_H */
