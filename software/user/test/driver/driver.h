/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for the driver: the library's calls on /dev/litepcieN are answered in this process.
 * The stand-in has the name DRIVER_DEVICE, a device file that every machine has and hardly any
 * program opens. The linker replaces ioctl(), mmap(), poll() and fopen() by those of the stand-in.
 */
#ifndef LITEPCIE_TEST_DRIVER_H
#define LITEPCIE_TEST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#define DRIVER_DEVICE	"/dev/full"
#define DRIVER_PAGE	4096u
#define DRIVER_BAR0	0x20000u
#define DRIVER_RECORDS	256u	/* number of entries in the ring of records, which has one page */

struct driver {
	/* the driver is LitePCIe's, which knows only its own calls */
	bool		stock;
	/* the card writes records (its reports of finished c2h buffers) */
	bool		records;
	bool		old;		/* the driver does not know LITEPCIE_IOCTL_PACKETS */
	bool		user;		/* the program has no CAP_SYS_RAWIO, as an ordinary user */
	/* for h2c [0] and c2h [1]: another program owns the direction */
	bool		taken[2];
	/* for h2c [0] and c2h [1]: the library's handle owns the direction */
	bool		owned[2];
	bool		no_memory;	/* RING_SETUP fails with ENOMEM */
	int		place_error;	/* errno with which RING_MEMORY fails; 0: it works */
	/* address of each ring in the program's memory; 0: in the driver's */
	uint64_t	place[2];
	/* mode of each ring and its look interval in us, as the library set them */
	uint32_t	mode[2], interval_us[2];
	/* the rings of another program lie in that program's memory */
	bool		foreign;
	/* shape of each ring: bytes of a buffer, number of buffers */
	uint32_t	size[2], count[2];
	uint32_t	per_interrupt[2], flags[2];
	/* number of buffers of each direction that the library has handed over in this run */
	uint64_t	advanced[2];
	/* number of calls of each direction that have handed over buffers */
	unsigned int	advances[2];
	/* length of each h2c buffer, by its number; 0: whole buffer */
	uint32_t	lengths[DRIVER_RECORDS];
	/* packets and flush time in us of each direction, as the library set them */
	uint32_t	packets[2], flush_us[2];
	/* the last hand-over of each direction asked for an interrupt */
	bool		notify[2];
	/* number of buffers of each direction that the stand-in's card has finished */
	uint64_t	hardware[2];
	/* number of interrupts that sysfs shows for each direction */
	int64_t		interrupts[2];
	/* eventfd for h2c [0], c2h [1] and the user's logic [2], or -1 */
	int		event[3];
	bool		looped;		/* the library has started LitePCIe's loop */
	/* sysfs has counts of interrupts; false: the files do not exist */
	bool		counts;
	/* the card does not answer: calls that ask it fail with EIO */
	bool		silent;
	bool		gone;		/* the card is removed: every call fails with ENODEV */
	unsigned int	calls, polls;	/* number of calls of ioctl() and of poll() on the device */
	/*
	 * ms of a sleep in poll() from one look to the next, so that a thread wakes late; 0: 1 ms
	 */
	int		doze_ms;
	unsigned int	reads, writes;	/* number of register reads and writes by ioctl() */
	/* for each page of BAR0: a user may map it for writing */
	bool		allowed[DRIVER_BAR0 / DRIVER_PAGE];
};

extern struct driver driver;

/* Take the contents of BAR0 from the file @path. Returns false if that fails. */
bool driver_load(const char *path);

/* Return the address of the card's register at @offset in BAR0. */
volatile uint32_t *driver_register(uint32_t offset);

/* Set the stand-in to its initial state: Lanebox's driver, called by root, and no other program. */
void driver_reset(void);

/*
 * Let the card write the record of c2h buffer @number. The status page does not show the buffer
 * yet.
 */
void driver_record(uint64_t number, uint32_t bytes, uint32_t flags);

/* Set the count of buffers with errors in direction @way (0: h2c, 1: c2h). */
void driver_errors(int way, uint64_t errors);

/* Let the card finish @buffers more in direction @way (0: h2c, 1: c2h), and interrupt. */
void driver_finish(int way, uint64_t buffers);

/*
 * End the runs of both directions with @error. With @rests the driver has stopped them. Without it
 * they stay held, which means that the driver has not.
 */
void driver_abort(int error, bool rests);

/* Let the logic in the user slot raise its interrupt. */
void driver_call(void);

#endif /* LITEPCIE_TEST_DRIVER_H */
