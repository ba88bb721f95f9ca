/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A driver of the test's own: the calls of /dev/litepcieN that the library makes, answered in this
 * process for DRIVER_DEVICE, a device file that every machine has and hardly a program opens. The
 * linker puts it in the place of ioctl(), mmap(), poll() and fopen().
 */
#ifndef LITEPCIE_TEST_DRIVER_H
#define LITEPCIE_TEST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#define DRIVER_DEVICE	"/dev/full"
#define DRIVER_PAGE	4096u
#define DRIVER_BAR0	0x20000u
#define DRIVER_RECORDS	256u	/* of the ring of records: a page of them */

struct driver {
	bool		stock;		/* LitePCIe's: LitePCIe's calls, no other */
	bool		records;	/* the card writes them */
	bool		old;		/* the driver does not know PACKETS */
	bool		user;		/* without CAP_SYS_RAWIO */
	bool		taken[2];	/* h2c, c2h: another program runs it */
	bool		owned[2];	/* the library does */
	bool		no_memory;	/* for a ring of any shape */
	bool		foreign;	/* rings are in memory of the other program's own */
	uint32_t	size[2], count[2];	/* of the rings */
	uint32_t	per_interrupt[2], flags[2];
	uint64_t	advanced[2];	/* buffers that were handed over in this run */
	unsigned int	advances[2];	/* calls that did that */
	uint32_t	lengths[DRIVER_RECORDS];	/* of h2c buffers, by number; 0: whole */
	uint32_t	packets[2], flush_us[2];	/* as the library has said */
	bool		notify[2];	/* the last of these asked for an interrupt */
	uint64_t	hardware[2];	/* buffers that the card is done with */
	int64_t		interrupts[2];	/* as sysfs has them */
	int		event[3];	/* eventfd of h2c, c2h and the user's logic, or -1 */
	bool		looped;		/* LitePCIe's loop was started */
	bool		counts;		/* sysfs has them at all */
	bool		silent;		/* the card does not answer */
	bool		gone;		/* nor does the driver any more */
	unsigned int	calls, polls;	/* of the device, by ioctl() and by poll() */
	int		doze_ms;	/* what a sleep in poll() takes longer than it might, 0: 1 */
	unsigned int	reads, writes;	/* of registers, by ioctl() */
	bool		allowed[DRIVER_BAR0 / DRIVER_PAGE];	/* a user may write to this page */
};

extern struct driver driver;

/* Take the contents of BAR0 from a file. False: it cannot be read. */
bool driver_load(const char *path);

/* BAR0 as the card has it. */
volatile uint32_t *driver_register(uint32_t offset);

/* As after power-on: Lanebox's driver, root, nobody there. */
void driver_reset(void);

/* The card has filled c2h buffer @number with so many bytes, and has not told more yet. */
void driver_record(uint64_t number, uint32_t bytes, uint32_t flags);

/* So many buffers of a direction had errors. */
void driver_errors(int way, uint64_t errors);

/* The card is done with so many buffers more, and an interrupt says so. */
void driver_finish(int way, uint64_t buffers);

/* The directions that run have an error, and are at rest or just stand still. */
void driver_abort(int error, bool rests);

/* The logic in the user slot raises its interrupt. */
void driver_call(void);

#endif /* LITEPCIE_TEST_DRIVER_H */
