// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests dma/timer.c with a stand-in for the kernel that has one timer. In turn, an interrupt on
 * another processor, or a stop of the direction, comes at each step of the timer's callback.
 *
 * The kernel warns when a callback moves its own timer forward while that timer is queued, as an
 * interrupt may have queued it meanwhile. When the callback has ended, a direction that runs must
 * have its interrupt cause switched on or its timer queued: otherwise neither an interrupt nor the
 * timer would tell the driver of progress. A direction that is stopped must have neither.
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LITEPCIE_CARD_H
#define LITEPCIE_COMPAT_H

typedef uint64_t u64;
typedef int64_t ktime_t;

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum { CLOCK_MONOTONIC_, HRTIMER_MODE_REL };
enum { LITEPCIE_MODE_INTERRUPT, LITEPCIE_MODE_ADAPTIVE, LITEPCIE_MODE_POLL };

#define CLOCK_MONOTONIC		CLOCK_MONOTONIC_
#define NSEC_PER_USEC		1000
#define READ_ONCE(_x)		(_x)
#define container_of(_pointer, _type, _member) \
	((_type *)((char *)(_pointer) - __builtin_offsetof(_type, _member)))

struct hrtimer {
	bool	queued;
	ktime_t	expires;
};

struct litepcie_way {
	struct hrtimer		timer;
	struct { bool lock; } wait;
	unsigned int		run;
	bool			cause, news, reports;
	/*
	 * true while the register write that enables the interrupt cause is on its way to the card
	 */
	bool			posted;
	unsigned int		mode, interval_us;
};

static struct litepcie_way way = { .interval_us = 10 };
static ktime_t now;
static unsigned int place, strike_at;
static void (*strike)(void);
/* true: the card counts a descriptor as done, and its status line is still on its way */
static bool behind;
/*
 * answers to the timer callback's questions for progress, one bit for each question; 1: the card
 * has made progress
 */
static unsigned int seen;
/* true: the driver has asked the card for progress since it enabled the interrupt cause */
static bool looked;
static bool owed;	/* true: the driver has found progress and must still wake threads */

void litepcie_timer_start(struct litepcie_way *way);
void litepcie_timer_interrupt(struct litepcie_way *way);

static void fail(const char *what)
{
	fprintf(stderr, "timer: mode %u, answers %#x, place %u: %s\n", way.mode, seen, strike_at,
		what);
	exit(1);
}

/*
 * Called at each step of the timer's callback. The event on another processor happens at step
 * number strike_at. Steps at which the callback holds wait.lock do not count.
 */
static void step(void)
{
	if (!way.wait.lock && place++ == strike_at && strike)
		strike();
}

#define spin_lock_irqsave(_lock, _flags)	(step(), *(_lock) = true, (void)((_flags) = 0))
#define spin_unlock_irqrestore(_lock, _flags)	(*(_lock) = false, (void)(_flags), step())

static ktime_t ns_to_ktime(u64 ns)
{
	return (ktime_t)ns;
}

static void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
			  int clock, int mode)
{
	(void)function, (void)clock, (void)mode;
	timer->queued = false;
}

static void hrtimer_start(struct hrtimer *timer, ktime_t delay, int mode)
{
	(void)mode;
	timer->queued = true;
	timer->expires = now + delay;
}

/*
 * Stands for the kernel's function hrtimer_forward_now(). The kernel warns if the function is
 * called for a timer that is due and queued: WARN_ON(timer->state & HRTIMER_STATE_ENQUEUED).
 */
__attribute__((unused))
static void hrtimer_forward_now(struct hrtimer *timer, ktime_t delay)
{
	step();
	if (now < timer->expires)
		return;
	if (timer->queued)
		fail("a queued timer is moved forward, so the kernel would warn");
	timer->expires = now + delay;
}

static void hrtimer_cancel(struct hrtimer *timer)
{
	timer->queued = false;
}

static struct litepcie *litepcie_of(struct litepcie_way *way)
{
	(void)way;
	return NULL;
}

static void litepcie_cause_enable(struct litepcie *card, unsigned int cause, bool enable)
{
	(void)card;
	(void)cause;
	way.cause = enable;
	way.posted = enable;
	looked = looked && !enable;
	step();
}

static void litepcie_moderation_start(struct litepcie_way *started)
{
	(void)started;
}

/*
 * Stands for litepcie_held_is_behind(), which reads the card's count. Posted writes that were made
 * before a read arrive before the read is answered. So the write that enables the interrupt cause
 * has reached the card when this function returns.
 */
static bool litepcie_held_is_behind(struct litepcie_way *way)
{
	way->posted = false;
	step();
	return behind;
}

static bool litepcie_dma_progress(struct litepcie_way *way)
{
	bool news;

	step();
	if (way->reports && way->posted)
		fail("memory is read before the card has got the cause that was switched on");
	news = seen & 1 && way->run;
	seen >>= 1;
	looked = true;
	owed = owed || news;
	step();
	return news;
}

static void litepcie_dma_news(struct litepcie_way *way)
{
	(void)way;
	owed = false;
	step();
}

#include "../dma/timer.c"

/*
 * If the interrupt cause is switched on, let an interrupt come on another processor, which may
 * start the timer. Time then goes on until the timer is due again, while the callback on this
 * processor has not ended yet.
 */
static void interrupt_elsewhere(void)
{
	strike = NULL;
	if (!way.cause)
		return;
	litepcie_timer_interrupt(&way);
	now += 1000000;
}

static void stop_elsewhere(void)
{
	strike = NULL;
	way.run = false;
}

static void run_callback(unsigned int mode, unsigned int answers, void (*elsewhere)(void))
{
	for (strike_at = 0; strike_at < 16; strike_at++) {
		place = 0;
		strike = elsewhere;
		seen = answers;
		way.mode = mode;
		way.run = true;
		way.cause = false;
		way.posted = false;
		owed = false;
		/*
		 * as the kernel does, take the timer from its queue before the callback is called
		 */
		way.timer.queued = false;
		if (poll_card(&way.timer) == HRTIMER_RESTART)
			way.timer.queued = true;
		if (way.run && !way.cause && !way.timer.queued)
			fail("a running direction will get neither an interrupt nor its timer");
		if (way.run && way.cause && !way.timer.queued && !looked)
			fail("progress from before the cause was enabled would never be seen");
		if (mode == LITEPCIE_MODE_ADAPTIVE && way.cause && way.timer.queued)
			fail("the cause is enabled beside the timer, so each event interrupts");
		if (owed)
			fail("nobody is told of news");
		if (way.run && way.reports && behind && !way.timer.queued)
			fail("no timer looks for a status line that is on its way");
		/*
		 * The stop on the other processor goes on after the callback, since
		 * hrtimer_cancel() waits for the callback.
		 */
		if (!way.run) {
			litepcie_timer_stop(&way);
			if (way.cause || way.timer.queued)
				fail("a stopped direction has its cause enabled or its timer queued");
		}
	}
}

/* Start a run: in poll mode the driver starts its timer, else it enables the interrupt cause. */
static void start(unsigned int mode)
{
	way.mode = mode;
	way.run = true;
	way.cause = way.timer.queued = false;
	strike = NULL;
	litepcie_timer_start(&way);
	if (way.timer.queued != (mode == LITEPCIE_MODE_POLL) || way.cause == way.timer.queued)
		fail("a run begins without its timer or its cause");
}

int main(void)
{
	litepcie_timer_init(&way);
	for (unsigned int mode = LITEPCIE_MODE_ADAPTIVE; mode <= LITEPCIE_MODE_POLL; mode++)
		for (unsigned int answers = 0; answers < 16; answers++) {
			way.reports = answers & 4;
			behind = answers & 8;
			run_callback(mode, answers & 3, interrupt_elsewhere);
			run_callback(mode, answers & 3, stop_elsewhere);
		}
	for (unsigned int mode = LITEPCIE_MODE_INTERRUPT; mode <= LITEPCIE_MODE_POLL; mode++)
		start(mode);
	printf("timer: ok\n");
	return 0;
}
