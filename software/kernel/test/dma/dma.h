/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what the driver's dma.c needs of the kernel and of card.h, for the test program dma,
 * which includes the driver's dma.c. The program has one thread. So the stand-ins for spinlocks do
 * nothing, and a mutex is a flag.
 */
#ifndef DMA_H
#define DMA_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"

#define LITEPCIE_CARD_H
#define LITEPCIE_COMPAT_H
#define LITEPCIE_TRACE_H

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef u64 dma_addr_t;

#define LITEPCIE_WAYS 2

#define __iomem
#define HZ				1000
#define BIT(_n)				(1ul << (_n))
#define ilog2(_x)			(63 - __builtin_clzll(_x))
#define lower_32_bits(_x)		((u32)(_x))
#define upper_32_bits(_x)		((u32)((u64)(_x) >> 32))
#define READ_ONCE(_x)			(_x)
#define WRITE_ONCE(_x, _value)		((_x) = (_value))
#define smp_store_release(_to, _value)	(*(_to) = (_value))
#define wake_up_poll(_wait, _events)	((void)(_events), (*(_wait))++)
#define container_of(_pointer, _type, _member) \
	((_type *)((char *)(_pointer) - __builtin_offsetof(_type, _member)))
#define dev_err(_dev, ...)		((void)(_dev), snprintf(said, sizeof(said), __VA_ARGS__))
#define dev_warn_ratelimited		dev_err
#define lockdep_assert_held(_lock)	need(*(_lock), #_lock)
#define mutex_lock(_lock)		((void)(*(_lock) = true))
#define mutex_unlock(_lock)		((void)(*(_lock) = false))
#define spin_lock_irq(_lock)		((void)(_lock))
#define spin_unlock_irq(_lock)		((void)(_lock))
#define INIT_DELAYED_WORK(_work, _function)	((_work)->function = (_function))
#define schedule_delayed_work(_work, _delay)	((void)((_work)->pending = true))
#define cancel_delayed_work_sync(_work)		((void)((_work)->pending = false))
#define pci_set_master(_pdev)		((_pdev)->master = true)
#define pci_clear_master(_pdev)		((_pdev)->master = false)
#define trace_litepcie_run(_way, _run, _error)	((void)(_error))

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

struct work_struct { int nothing; };

struct delayed_work {
	struct work_struct	work;
	void			(*function)(struct work_struct *work);
	bool			pending;
};

struct litepcie_geometry { u32 size, count, per_interrupt, mode, interval_us, flags; };
struct litepcie_ring { struct litepcie_geometry geometry; };
struct litepcie_ends { bool packets; u32 flush_us; };
struct litepcie_stream { u64 at; };
struct litepcie_held { u64 advanced, done, bytes, position; };
struct pci_dev { bool master; };
struct device { int nothing; };

struct litepcie {
	struct pci_dev	*pdev;
	bool		master_lock, lost;
	u32		unquiet;
};

struct litepcie_chan {
	struct litepcie		*card;
	struct device		dev;
	struct { bool able; }	notices;
	/* number of calls of wake_up_poll(), by which dma.c wakes the threads in poll() */
	unsigned int		pollers;
};

struct litepcie_file {
	struct litepcie_ends	ends[LITEPCIE_WAYS];
	struct litepcie_index	*index;
};

struct litepcie_way {
	struct litepcie_chan		*chan;
	u32				id;
	u8				*regs;
	u32				cause, in_flight;
	bool				tells_taken, reports, mutex, indexed;
	struct litepcie_file		*owner;
	struct litepcie_ring		*ring;
	struct litepcie_ends		ends;
	struct { bool lock; }		wait;
	struct litepcie_status_way	*status;
	u32				run, count, mode, interval_us;
	int				error;
	unsigned int			generation;
	u64				position, interrupts, watched_interrupts, missed;
	s64				hw_count, sw_count, watched;
	struct litepcie_held		held;
	struct litepcie_stream		stream;
	struct delayed_work		watchdog;
};

extern char said[256];	/* the driver's last log message */

void need(bool holds, const char *what);
u32 readl(const u8 *address);
void writel(u32 value, u8 *address);

struct litepcie *litepcie_of(struct litepcie_way *way);
struct device *litepcie_dev(struct litepcie_way *way);
bool litepcie_is_gone(const struct litepcie *card);
bool litepcie_check_lost(struct litepcie *card);
dma_addr_t litepcie_ring_dma(const struct litepcie_ring *ring, u32 buffer);
void litepcie_dma_ask(struct litepcie_way *way);
void litepcie_dma_news(struct litepcie_way *way);
int litepcie_owner_ring(struct litepcie_way *way);
void litepcie_owner_set(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_owner_forget(struct litepcie_way *way, bool live);
void litepcie_owner_drop_orphan(struct litepcie_way *way);
void litepcie_notices_start(struct litepcie_way *way, u32 flush_us);
void litepcie_notices_stop(struct litepcie_way *way, bool live);
void litepcie_notices_off(struct litepcie_way *way);
void litepcie_timer_init(struct litepcie_way *way);
void litepcie_timer_start(struct litepcie_way *way);
void litepcie_timer_stop(struct litepcie_way *way);

const char *litepcie_way_name(const struct litepcie_way *way);
void litepcie_dma_init(struct litepcie_way *way);
void litepcie_master_off(struct litepcie *card, u32 cause);
void litepcie_master_on(struct litepcie *card, u32 cause);
bool litepcie_dma_taken(struct litepcie_way *way);
int litepcie_dma_halt(struct litepcie_way *way);
void litepcie_dma_describe(struct litepcie_way *way, u64 offset, u32 bytes, bool irq, bool last);
int litepcie_dma_start(struct litepcie_way *way, struct litepcie_file *file, u32 run);
int litepcie_dma_stop(struct litepcie_way *way);
int litepcie_dma_end(struct litepcie_way *way, struct litepcie_file *file);
void litepcie_dma_give(struct litepcie_way *way, struct litepcie_file *file, bool live);
void litepcie_dma_abort(struct litepcie_way *way, int error);
int litepcie_dma_settle(struct litepcie_way *way);

#endif /* DMA_H */
