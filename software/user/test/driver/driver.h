/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for the driver: the library's calls on /dev/litepcieN are answered in this process. It
 * stands behind DRIVER_DEVICE, a device file that every machine has and hardly any program opens.
 * The linker replaces ioctl(), mmap(), poll() and fopen() by those of the stand-in.
 */
#ifndef LITEPCIE_TEST_DRIVER_H
#define LITEPCIE_TEST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#define DRIVER_DEVICE	"/dev/full"
#define DRIVER_PAGE	4096u
#define DRIVER_BAR0	0x20000u
#define DRIVER_RECORDS	256u	/* entries of the ring of records, which has one page */

struct driver {
	bool		stock;		/* the driver is LitePCIe's, which has only its own calls */
	bool		records;	/* the card writes records */
	bool		old;		/* the driver lacks LITEPCIE_IOCTL_PACKETS */
	bool		user;		/* the program has no CAP_SYS_RAWIO */
	bool		taken[2];	/* h2c, c2h: another program owns the direction */
	bool		owned[2];	/* the library's handle owns the direction */
	bool		no_memory;	/* RING_SETUP fails with ENOMEM */
	int		place_error;	/* errno with which RING_MEMORY fails; 0: it works */
	/* address of a ring in the program's memory; 0: in the driver's */
	uint64_t	place[2];
	uint32_t	mode[2], interval_us[2];	/* values that the library has set */
	bool		foreign;	/* another program's rings lie in its own memory */
	/* shapes of the rings: bytes of a buffer, buffers */
	uint32_t	size[2], count[2];
	uint32_t	per_interrupt[2], flags[2];
	uint64_t	advanced[2];	/* buffers that the library has handed over in this run */
	unsigned int	advances[2];	/* number of calls that have handed over buffers */
	/* lengths of h2c buffers, by number; 0: whole buffer */
	uint32_t	lengths[DRIVER_RECORDS];
	uint32_t	packets[2], flush_us[2];	/* values that the library has set */
	bool		notify[2];	/* the last hand-over asked for an interrupt */
	uint64_t	hardware[2];	/* buffers that the stand-in's card has finished */
	int64_t		interrupts[2];	/* interrupts that sysfs shows */
	int		event[3];	/* eventfd of h2c, c2h and the user's logic, or -1 */
	bool		looped;		/* the library has started LitePCIe's loop */
	bool		counts;		/* sysfs has counts of interrupts */
	bool		silent;		/* the card does not answer */
	bool		gone;		/* the card is removed: every call fails with ENODEV */
	unsigned int	calls, polls;	/* calls of ioctl() and of poll() on the device */
	/* step of a sleep in poll(), so that a thread wakes late; 0: 1 ms */
	int		doze_ms;
	unsigned int	reads, writes;	/* number of register accesses by ioctl() */
	/* a user may map this page for writing */
	bool		allowed[DRIVER_BAR0 / DRIVER_PAGE];
};

extern struct driver driver;

/* Take the contents of BAR0 from a file. Returns false if that fails. */
bool driver_load(const char *path);

/* The register of the card at @offset in BAR0. */
volatile uint32_t *driver_register(uint32_t offset);

/* Return to the initial state: Lanebox's driver, root, and no other program. */
void driver_reset(void);

/* The card writes the record of c2h buffer @number, but the status page does not show it yet. */
void driver_record(uint64_t number, uint32_t bytes, uint32_t flags);

/* Set the count of buffers with errors in direction @way (0: h2c, 1: c2h). */
void driver_errors(int way, uint64_t errors);

/* The card finishes @buffers more in direction @way, and interrupts. */
void driver_finish(int way, uint64_t buffers);

/* End the runs with @error. With @rests the driver has stopped them. Without it they stay held. */
void driver_abort(int error, bool rests);

/* The logic in the user slot raises its interrupt. */
void driver_call(void);

#endif /* LITEPCIE_TEST_DRIVER_H */
